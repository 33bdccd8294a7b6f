//! Particles from the proton-proton collisions of one bunch crossing.
//!
//! This generator contains no physics model: simple functions imitate spectra, multiplicities and fractions of LHCb's
//! full simulation.

use super::SimSpec;
use super::flight::{
    ELECTRON, Flight, K_SHORT, KAON, LAMBDA, MUON, PHOTON, PION, PROTON, Vector, azimuth, boosted,
    decay_point, momentum, scaled, sum,
};
use super::random::Random;

/// Luminous region: standard deviations across and along the beam, mm.
const BEAM_SPOT: f64 = 0.026;
const BEAM_LENGTH: f64 = 63.0;
/// Mean number of charged hadrons of a collision, |eta| < 8.
const CHARGED: f64 = 67.5;
/// Number of photons per charged hadron; then of K_S and Lambda (charged decays only).
const PHOTONS: f64 = 1.65;
const K_SHORTS: f64 = 0.048;
const LAMBDAS: f64 = 0.017;
/// Ratio of the transverse momenta of photons and hadrons.
const PHOTON_SOFTNESS: f64 = 0.45;
/// Fraction of photons that are an electron pair from the beginning; then a typical mass of the pair, GeV/c^2.
const DALITZ: f64 = 0.006;
const DALITZ_MASS: f64 = 0.01;
/// Number of charmed hadrons of a collision that do not come from b hadrons.
const PROMPT_CHARM: f64 = 0.25;
/// Activity of the collision with the b hadrons: its minimum, and the scale of the rest; larger than in other collisions.
const SIGNAL_ACTIVITY: [f64; 2] = [0.3, 0.65];

/// All particles of one event before they enter material, and the positions of the collisions, mm.
pub(super) fn collide(spec: &SimSpec, random: &mut Random) -> (Vec<Flight>, Vec<Vector>) {
    let (mut flights, mut vertices) = (Vec::new(), Vec::new());
    let pileup = random.poisson(spec.pileup);
    let collisions = pileup + usize::from(spec.beauty);
    for number in 0..collisions {
        let signal = spec.beauty && number == 0;
        let [x, y] = spec.beam.map(|beam| beam + BEAM_SPOT * random.normal());
        let vertex = [x, y, BEAM_LENGTH * random.normal()];
        vertices.push(vertex);
        // Collisions differ widely in activity: a gamma distribution, as in negative-binomial fits.
        let [least, more] = if signal { SIGNAL_ACTIVITY } else { [0.0, 0.5] };
        let activity = least + more * random.gamma2();
        soft(CHARGED * activity, vertex, random, &mut flights);
        for _ in 0..random.poisson(PROMPT_CHARM * activity) {
            prompt_charm(vertex, random, &mut flights);
        }
        if signal {
            beauty_pair(vertex, random, &mut flights);
        }
    }
    (flights, vertices)
}

/// Makes the soft particles of a collision: `charged` hadrons on average, and the particles that accompany them.
fn soft(charged: f64, vertex: Vector, random: &mut Random, flights: &mut Vec<Flight>) {
    for _ in 0..random.poisson(charged) {
        let kind = hadron([0.81, 0.93], random);
        let p = momentum(transverse(random), rapidity(random), azimuth(random));
        flights.push(Flight::new(kind, sign(random), p, vertex));
    }
    for _ in 0..random.poisson(charged * PHOTONS) {
        let p = momentum(PHOTON_SOFTNESS * transverse(random), rapidity(random), azimuth(random));
        if random.chance(DALITZ) {
            let share = random.uniform();
            for (charge, share) in [(-1.0, share), (1.0, 1.0 - share)] {
                let kick = scaled(random.direction(), DALITZ_MASS);
                flights.push(Flight::new(ELECTRON, charge, sum(scaled(p, share), kick), vertex));
            }
        } else {
            flights.push(Flight::new(PHOTON, 1.0, p, vertex));
        }
    }
    for (parent, share) in [(&K_SHORT, K_SHORTS), (&LAMBDA, LAMBDAS)] {
        for _ in 0..random.poisson(charged * share) {
            let p = momentum(1.4 * transverse(random), rapidity(random), azimuth(random));
            flights.extend(parent.decay(p, vertex, random));
        }
    }
}

/// Draws the transverse momentum of a hadron: soft, with a harder tail.
fn transverse(random: &mut Random) -> f64 {
    let scale = if random.chance(0.9) { 0.197 } else { 0.55 };
    scale * random.gamma2()
}

/// Draws a pseudorapidity: a plateau that falls off smoothly at 5.
fn rapidity(random: &mut Random) -> f64 {
    loop {
        let eta = random.between(-8.0, 8.0);
        if random.chance(1.0 / (1.0 + libm::exp(eta.abs() - 5.25))) {
            return eta;
        }
    }
}

fn sign(random: &mut Random) -> f64 {
    if random.chance(0.5) { 1.0 } else { -1.0 }
}

/// Draws a pion, a kaon or a proton; `shares` are the cumulative shares of the first two.
fn hadron(shares: [f64; 2], random: &mut Random) -> i32 {
    match random.uniform() {
        u if u < shares[0] => PION,
        u if u < shares[1] => KAON,
        _ => PROTON,
    }
}

/// A heavy hadron that decays to several particles.
struct Heavy {
    mass: f64,
    ctau: f64,
    /// Mean number of charged daughters; there are at least two.
    charged: f64,
    /// Mean momentum of a daughter in the rest frame of the hadron.
    at_rest: f64,
}

const BEAUTY: Heavy = Heavy { mass: 5.37, ctau: 0.455, charged: 5.0, at_rest: 0.66 };
const CHARM: Heavy = Heavy { mass: 1.87, ctau: 0.2, charged: 2.5, at_rest: 0.5 };
const PHI_MASS: f64 = 1.019_46;

/// Makes a B_s that decays to two phi and so to four kaons, and another b hadron near it.
fn beauty_pair(vertex: Vector, random: &mut Random, flights: &mut Vec<Flight>) {
    let eta = 3.2 + 0.75 * random.normal();
    let phi = azimuth(random);
    let b = momentum(3.0 * random.gamma2(), eta, phi);
    let place = decay_point(vertex, b, BEAUTY.mass, BEAUTY.ctau, random);
    let back_to_back = scaled(random.direction(), 2.48);
    for at_rest in [back_to_back, scaled(back_to_back, -1.0)] {
        let resonance = boosted(at_rest, PHI_MASS, b, BEAUTY.mass);
        let kaon = scaled(random.direction(), 0.127);
        for (charge, at_rest) in [(1.0, kaon), (-1.0, scaled(kaon, -1.0))] {
            let p = boosted(at_rest, 0.493_68, resonance, PHI_MASS);
            flights.push(Flight { from_beauty: true, ..Flight::new(KAON, charge, p, place) });
        }
    }
    let other = momentum(2.5 * random.gamma2(), eta + random.normal(), phi + azimuth(random));
    let place = decay_point(vertex, other, BEAUTY.mass, BEAUTY.ctau, random);
    let first = flights.len();
    BEAUTY.decay(other, place, random, flights);
    // The other half of the daughters come from a charmed hadron.
    let charm = scaled(other, 0.45);
    let place = decay_point(place, charm, CHARM.mass, CHARM.ctau, random);
    for daughter in flights[first..].iter_mut().step_by(2) {
        daughter.origin = place;
        daughter.from_charm = true;
    }
    flights[first..].iter_mut().for_each(|daughter| daughter.from_beauty = true);
}

fn prompt_charm(vertex: Vector, random: &mut Random, flights: &mut Vec<Flight>) {
    let p = momentum(0.9 * random.gamma2(), rapidity(random), azimuth(random));
    let place = decay_point(vertex, p, CHARM.mass, CHARM.ctau, random);
    let first = flights.len();
    CHARM.decay(p, place, random, flights);
    flights[first..].iter_mut().for_each(|daughter| daughter.from_charm = true);
}

impl Heavy {
    /// Makes the charged daughters of a hadron of momentum `p` that decays at `place`. Momenta in the rest
    /// frame are drawn independently, so their sum is right only on average.
    fn decay(&self, p: Vector, place: Vector, random: &mut Random, flights: &mut Vec<Flight>) {
        for _ in 0..2 + random.poisson(self.charged - 2.0) {
            let kind = match random.uniform() {
                u if u < 0.05 => MUON,
                u if u < 0.10 => ELECTRON,
                _ => hadron([0.74, 0.96], random),
            };
            let at_rest = scaled(random.direction(), 0.5 * self.at_rest * random.gamma2());
            let mut flight = Flight::new(kind, sign(random), at_rest, place);
            flight.momentum = boosted(at_rest, flight.mass(), p, self.mass);
            flights.push(flight);
        }
    }
}
