//! Particles in flight: kinematics, decays and boosts. Momenta in GeV/c, masses in GeV/c^2, lengths in mm.

use super::random::Random;
use std::f64::consts::{PI, TAU};

pub(super) type Vector = [f64; 3];

/// A stable particle in flight.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    pub pid: i32,
    pub charge: f64,
    pub momentum: Vector,
    pub origin: Vector,
    pub from_beauty: bool,
    pub from_charm: bool,
    pub from_strange: bool,
}

pub(super) const ELECTRON: i32 = 11;
pub(super) const MUON: i32 = 13;
pub(super) const PHOTON: i32 = 22;
pub(super) const PION: i32 = 211;
pub(super) const KAON: i32 = 321;
pub(super) const PROTON: i32 = 2212;

impl Flight {
    /// Creates a particle; `kind` is its PDG code without sign, and `charge` is ignored for photons.
    pub fn new(kind: i32, charge: f64, momentum: Vector, origin: Vector) -> Self {
        // Negative leptons have positive codes.
        let sign = if matches!(kind, ELECTRON | MUON) { -charge } else { charge };
        let pid = if sign < 0.0 { -kind } else { kind };
        let charge = if kind == PHOTON { 0.0 } else { charge };
        let (from_beauty, from_charm, from_strange) = (false, false, false);
        Self { pid, charge, momentum, origin, from_beauty, from_charm, from_strange }
    }

    pub fn mass(&self) -> f64 {
        match self.pid.abs() {
            ELECTRON => 0.000_511,
            MUON => 0.105_66,
            PION => 0.139_57,
            KAON => 0.493_68,
            PROTON => 0.938_27,
            _ => 0.0,
        }
    }

    /// Returns whether the particle is a hadron.
    pub fn is_hadron(&self) -> bool {
        self.pid.abs() > 100
    }
}

pub(super) fn norm(v: Vector) -> f64 {
    (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt()
}

pub(super) fn scaled(v: Vector, factor: f64) -> Vector {
    v.map(|component| factor * component)
}

pub(super) fn sum(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Momentum from transverse momentum, pseudorapidity and azimuth.
pub(super) fn momentum(pt: f64, eta: f64, phi: f64) -> Vector {
    let (sin, cos) = libm::sincos(phi);
    [pt * cos, pt * sin, pt * libm::sinh(eta)]
}

/// Pseudorapidity and azimuth of a momentum.
pub(super) fn angles(p: Vector) -> (f64, f64) {
    let pt = (p[0] * p[0] + p[1] * p[1]).sqrt();
    (libm::asinh(p[2] / pt.max(1e-12)), libm::atan2(p[1], p[0]))
}

/// The unit vector `direction`, turned by two small angles about axes perpendicular to it.
pub(super) fn deflected(direction: Vector, first: f64, second: f64) -> Vector {
    // The first axis across `direction`, from a vector that is never parallel to it.
    let [x, y, z] = direction;
    let across = if x * x < 0.5 { [0.0, z, -y] } else { [-z, 0.0, x] };
    let a = scaled(across, 1.0 / norm(across));
    let b = [y * a[2] - z * a[1], z * a[0] - x * a[2], x * a[1] - y * a[0]];
    let turned = sum(direction, sum(scaled(a, first), scaled(b, second)));
    scaled(turned, 1.0 / norm(turned))
}

/// Transforms a momentum from the rest frame of a parent, of momentum `parent` and mass `mass`, to the
/// laboratory.
pub(super) fn boosted(at_rest: Vector, rest_mass: f64, parent: Vector, mass: f64) -> Vector {
    let p = norm(at_rest);
    let energy = (p * p + rest_mass * rest_mass).sqrt();
    let parent_p = norm(parent);
    let parent_energy = (parent_p * parent_p + mass * mass).sqrt();
    let along = (at_rest[0] * parent[0] + at_rest[1] * parent[1] + at_rest[2] * parent[2]) / mass;
    let factor = (energy + along / (parent_energy / mass + 1.0)) / mass;
    sum(at_rest, scaled(parent, factor))
}

/// Draws the decay point of a particle of the given momentum, mass and c tau.
pub(super) fn decay_point(origin: Vector, p: Vector, mass: f64, ctau: f64, random: &mut Random) -> Vector {
    sum(origin, scaled(p, ctau * random.exponential() / mass))
}

/// The decay in flight of a strange hadron into two charged hadrons.
pub(super) struct TwoBody {
    pub mass: f64,
    pub ctau: f64,
    pub kinds: [i32; 2],
    /// Momentum of each daughter in the rest frame of the parent, GeV/c.
    pub at_rest: f64,
}

pub(super) const K_SHORT: TwoBody =
    TwoBody { mass: 0.497_61, ctau: 26.84, kinds: [PION, PION], at_rest: 0.206_0 };
pub(super) const LAMBDA: TwoBody =
    TwoBody { mass: 1.115_68, ctau: 78.9, kinds: [PROTON, PION], at_rest: 0.100_6 };

impl TwoBody {
    /// Returns the two daughters of a parent with momentum `p` that was produced at `origin`.
    pub fn decay(&self, p: Vector, origin: Vector, random: &mut Random) -> [Flight; 2] {
        let place = decay_point(origin, p, self.mass, self.ctau, random);
        let direction = scaled(random.direction(), self.at_rest);
        let sign = if random.chance(0.5) { 1.0 } else { -1.0 };
        let daughter = |kind, charge, at_rest| {
            let mut flight = Flight::new(kind, charge, at_rest, place);
            flight.momentum = boosted(at_rest, flight.mass(), p, self.mass);
            flight.from_strange = true;
            flight
        };
        let [first, second] = self.kinds;
        [daughter(first, sign, direction), daughter(second, -sign, scaled(direction, -1.0))]
    }
}

/// A random azimuth.
pub(super) fn azimuth(random: &mut Random) -> f64 {
    TAU * random.uniform() - PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decays_conserve_energy_and_momentum() {
        let mut random = Random::new(3, 4);
        for parent in [&K_SHORT, &LAMBDA] {
            for p in [[0.1, 0.2, 5.0], [0.0, 0.0, 0.01], [-2.0, 1.0, -3.0]] {
                let daughters = parent.decay(p, [0.0; 3], &mut random);
                let energy = |p: Vector, mass: f64| (norm(p) * norm(p) + mass * mass).sqrt();
                let total = daughters.iter().map(|d| energy(d.momentum, d.mass())).sum::<f64>();
                let expected = energy(p, parent.mass);
                assert!((total / expected - 1.0).abs() < 2e-3, "{total} {expected}");
                let missing = sum(sum(daughters[0].momentum, daughters[1].momentum), scaled(p, -1.0));
                assert!(norm(missing) < 2e-3 * expected, "{missing:?}");
                assert_eq!(daughters[0].charge, -daughters[1].charge);
            }
        }
    }

    #[test]
    fn angles_invert_momentum() {
        for (pt, eta, phi) in [(0.3, 3.2, 1.0), (2.0, -4.5, -3.0), (1.0, 0.0, 0.5)] {
            let p = momentum(pt, eta, phi);
            let (e, f) = angles(p);
            assert!((e - eta).abs() < 1e-12 && (f - phi).abs() < 1e-12);
        }
    }

    #[test]
    fn deflection_is_by_the_angles_asked_for() {
        for direction in [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.6, 0.0, -0.8]] {
            let turned = deflected(direction, 3e-3, 4e-3);
            let cos: f64 = (0..3).map(|i| direction[i] * turned[i]).sum();
            assert!((norm(turned) - 1.0).abs() < 1e-12);
            assert!(((2.0 * (1.0 - cos)).sqrt() - 5e-3).abs() < 1e-6, "{direction:?}");
        }
    }

    #[test]
    fn leptons_have_the_signs_of_the_particle_data_group() {
        let pid = |kind, charge| Flight::new(kind, charge, [0.0; 3], [0.0; 3]).pid;
        assert_eq!(
            [pid(ELECTRON, -1.0), pid(ELECTRON, 1.0), pid(PION, -1.0), pid(PROTON, 1.0)],
            [11, -11, -211, 2212]
        );
    }
}
