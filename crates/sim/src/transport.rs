//! Particles on their way through foil and modules: hits, scattering, conversions, interactions.

use super::flight::{ELECTRON, Flight, PHOTON, PION, PROTON, Vector, azimuth, deflected, norm, scaled, sum};
use super::random::Random;
use peloton::event::VELO_MODULES;
use peloton::velo::geometry::{MODULE, MODULE_Z, PLANE_OFFSET, SENSORS, Sensor, side};

/// Material of a module where it has a sensor, in radiation lengths: 0.2 mm of sensor, 0.2 mm of chip and
/// 0.5 mm of cooling plate, all silicon (0.0096), and a share of what holds and feeds them.
const MODULE_X0: f64 = 0.011;
/// The corrugated foil between beam and modules: a cylinder with the mean path through the real one.
const FOIL_RADIUS: f64 = 4.5;
const FOIL_X0: f64 = 0.012;
/// Nuclear interaction lengths per radiation length, silicon.
const INTERACTIONS_PER_X0: f64 = 0.25;
/// No sensor reaches further out, mm.
const OUTSIDE: f64 = 52.0;
/// No sensor reaches further in, mm.
const INSIDE: f64 = 5.0;
/// Planes of sensors: two in each module.
const PLANES: usize = 2 * VELO_MODULES;
/// z of the planes, mm, rising.
static PLANE_Z: [f64; PLANES] = {
    let mut all = [0.0; PLANES];
    let mut plane = 0;
    while plane < PLANES {
        all[plane] = MODULE_Z[plane / 2] + if plane % 2 == 1 { PLANE_OFFSET } else { -PLANE_OFFSET };
        plane += 1;
    }
    all
};
/// Sensors of the lower and of the upper plane of a module.
const SENSORS_OF_PLANE: [[usize; 2]; 2] = [[0, 3], [1, 2]];
/// More secondaries than this are not followed.
const MAX_FLIGHTS: usize = 50_000;
/// Momentum below which a particle is not followed, GeV/c.
const MIN_MOMENTUM: f64 = 0.001;
/// What an electron loses per radiation length of silicon by ionisation, GeV.
const ELECTRON_LOSS: f64 = 0.036;
/// Electrons knocked out with more than 1 MeV, per radiation length of silicon: 0.1535 MeV cm^2/g, times
/// Z/A, times 21.8 g/cm^2 (Particle Data Group, Passage of particles through matter, 34.2.6).
const DELTA_RAYS: f64 = 1.67;
const DELTA_ENERGY: f64 = 0.001;

/// A sensor crossed by a charged particle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// Number of the particle.
    pub flight: usize,
    /// Four times the module, plus the sensor.
    pub sensor: usize,
    /// Where the middle of the sensor was crossed, in its own frame, mm.
    pub at: [f64; 2],
    /// du/dz and dv/dz.
    pub slope: [f64; 2],
}

/// Where a particle left the Velo, from where on it flies freely.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exit {
    pub at: Vector,
    /// Unit vector.
    pub direction: Vector,
    /// Momentum, GeV/c.
    pub p: f64,
}

/// Follows all particles and those they make, which are appended to `flights`. The second list says of each
/// particle where it left, if it did.
pub(super) fn transport(
    flights: &mut Vec<Flight>,
    random: &mut Random,
) -> (Vec<Crossing>, Vec<Option<Exit>>) {
    let (mut crossings, mut exits) = (Vec::new(), Vec::new());
    let mut number = 0;
    while number < flights.len() {
        let mut walk = Walk::new(&flights[number], number);
        let left = walk.run(random, &mut crossings);
        exits.push(left.then_some(Exit { at: walk.at, direction: walk.direction, p: walk.p }));
        if flights.len() + walk.made.len() <= MAX_FLIGHTS {
            flights.append(&mut walk.made);
        }
        number += 1;
    }
    (crossings, exits)
}

/// One particle under way.
struct Walk<'a> {
    flight: &'a Flight,
    number: usize,
    at: Vector,
    /// Unit vector.
    direction: Vector,
    p: f64,
    made: Vec<Flight>,
}

impl<'a> Walk<'a> {
    fn new(flight: &'a Flight, number: usize) -> Self {
        let p = norm(flight.momentum);
        let direction = scaled(flight.momentum, 1.0 / p.max(1e-12));
        Self { flight, number, at: flight.origin, direction, p, made: Vec::new() }
    }

    /// Says whether the particle leaves, or ends on the way.
    fn run(&mut self, random: &mut Random, crossings: &mut Vec<Crossing>) -> bool {
        if self.p < MIN_MOMENTUM || self.direction[2] == 0.0 {
            return false;
        }
        let forward = self.direction[2] > 0.0;
        let mut in_foil = radius2(self.at) < FOIL_RADIUS * FOIL_RADIUS;
        // How many planes are behind from the beginning.
        let below = |at: f64| PLANE_Z.partition_point(|z| *z < at);
        let behind = if forward { below(self.at[2]) } else { PLANES - below(self.at[2]) };
        for step in behind..PLANES {
            let plane = if forward { step } else { PLANES - 1 - step };
            let z = PLANE_Z[plane];
            let mut path = (z - self.at[2]) / self.direction[2];
            if path <= 1e-9 {
                continue;
            }
            let mut next = sum(self.at, scaled(self.direction, path));
            if in_foil && radius2(next) >= FOIL_RADIUS * FOIL_RADIUS {
                in_foil = false;
                self.at = sum(self.at, scaled(self.direction, self.path_to_foil()));
                if self.ends_in(FOIL_X0, random) {
                    return false;
                }
                path = (z - self.at[2]) / self.direction[2];
                next = sum(self.at, scaled(self.direction, path));
            }
            if radius2(next) > OUTSIDE * OUTSIDE || path < 0.0 {
                return true;
            }
            self.at = next;
            if radius2(next) >= INSIDE * INSIDE && self.cross(plane, random, crossings) {
                return false;
            }
            if (self.direction[2] > 0.0) != forward {
                return false;
            }
        }
        true
    }

    /// Length of the way out to the foil.
    fn path_to_foil(&self) -> f64 {
        let ([x, y, _], [dx, dy, _]) = (self.at, self.direction);
        let a = dx * dx + dy * dy;
        let b = x * dx + y * dy;
        let c = x * x + y * y - FOIL_RADIUS * FOIL_RADIUS;
        ((b * b - a * c).max(0.0).sqrt() - b) / a.max(1e-300)
    }

    /// Crosses one plane of a module; says whether the particle ends there.
    fn cross(&mut self, plane: usize, random: &mut Random, crossings: &mut Vec<Crossing>) -> bool {
        let module = plane / 2;
        let turn = side(module);
        let (x, y) = (turn * self.at[0], turn * self.at[1]);
        for number in SENSORS_OF_PLANE[plane % 2] {
            let sensor = &MODULE[number];
            let [u, v] = sensor.local(x, y);
            if !Sensor::contains(u, v) {
                continue;
            }
            if self.flight.charge != 0.0 {
                let [dx, dy, dz] = self.direction;
                let tip = sensor.local(x + turn * dx / dz, y + turn * dy / dz);
                crossings.push(Crossing {
                    flight: self.number,
                    sensor: SENSORS * module + number,
                    at: [u, v],
                    slope: [tip[0] - u, tip[1] - v],
                });
            }
            if self.ends_in(MODULE_X0 / self.direction[2].abs().max(0.05), random) {
                return true;
            }
        }
        false
    }

    /// Passes `x0` radiation lengths of material; says whether the particle ends there.
    fn ends_in(&mut self, x0: f64, random: &mut Random) -> bool {
        if self.flight.pid == PHOTON {
            // Pair production at high energy: 7/9 per radiation length.
            let converts = random.chance(7.0 / 9.0 * x0);
            if converts {
                self.convert(random);
            }
            return converts;
        }
        let mass = self.flight.mass();
        let beta = self.p / (self.p * self.p + mass * mass).sqrt();
        // Highland's formula; GeV and rad.
        let angle = 0.0136 / (beta * self.p) * x0.sqrt() * (1.0 + 0.038 * libm::log(x0));
        self.direction = deflected(self.direction, angle * random.normal(), angle * random.normal());
        if random.chance(DELTA_RAYS * x0) {
            self.knock_on(random);
        }
        if self.flight.pid.abs() == ELECTRON {
            self.p -= ELECTRON_LOSS * x0;
            return self.p < MIN_MOMENTUM;
        }
        let interacts = self.flight.is_hadron() && random.chance(INTERACTIONS_PER_X0 * x0);
        if interacts {
            self.interact(random);
        }
        interacts
    }

    /// A photon becomes an electron and a positron, which share its energy evenly in the mean.
    fn convert(&mut self, random: &mut Random) {
        let share = random.uniform();
        for (charge, share) in [(-1.0, share), (1.0, 1.0 - share)] {
            let p = self.p * share;
            if p > MIN_MOMENTUM {
                let angle = 0.000_511 / p;
                let direction = deflected(self.direction, angle * random.normal(), angle * random.normal());
                self.made.push(Flight::new(ELECTRON, charge, scaled(direction, p), self.at));
            }
        }
    }

    /// An atomic electron is knocked out: its energy falls off as 1/E^2, its angle follows from it.
    fn knock_on(&mut self, random: &mut Random) {
        let energy = DELTA_ENERGY / (1.0 - random.uniform());
        if energy < 0.5 * self.p {
            let mass = 0.000_511;
            let p = (energy * energy + 2.0 * energy * mass).sqrt();
            let tangent = (2.0 * mass / energy).sqrt();
            let phi = azimuth(random);
            let direction = deflected(self.direction, tangent * libm::cos(phi), tangent * libm::sin(phi));
            self.made.push(Flight::new(ELECTRON, -1.0, scaled(direction, p), self.at));
        }
    }

    /// A hadron breaks up on a nucleus into a few others.
    fn interact(&mut self, random: &mut Random) {
        for _ in 0..1 + random.poisson(1.0 + libm::log(1.0 + self.p)) {
            let p = self.p * (0.22 * random.exponential()).min(0.9);
            let (across, along) = (0.2 * random.normal(), 0.2 * random.normal());
            let kind = if random.chance(0.75) { PION } else { PROTON };
            let charge = if kind == PROTON || random.chance(0.5) { 1.0 } else { -1.0 };
            if p > 0.05 {
                let direction = deflected(self.direction, across / p, along / p);
                self.made.push(Flight::new(kind, charge, scaled(direction, p), self.at));
            }
        }
    }
}

fn radius2(at: Vector) -> f64 {
    at[0] * at[0] + at[1] * at[1]
}
