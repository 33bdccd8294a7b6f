//! Transports particles through the foil and modules of the Velo: crossings, scattering, conversions, interactions.

use super::flight::{ELECTRON, Flight, PHOTON, PION, PROTON, Vector, azimuth, deflected, norm, scaled, sum};
use super::random::Random;
use peloton::event::VELO_MODULES;
use peloton::velo::geometry::{MODULE, MODULE_Z, PLANE_OFFSET, SENSORS, Sensor, side};

/// Material of a module where it has a sensor, in radiation lengths: 0.2 mm of sensor, 0.2 mm of chip and
/// 0.5 mm of cooling plate, all silicon (0.0096), and a share of supports and cables.
const MODULE_X0: f64 = 0.011;
/// The corrugated foil between beam and modules: a cylinder with the mean path through the real one.
const FOIL_RADIUS: f64 = 4.5;
const FOIL_X0: f64 = 0.012;
/// Nuclear interaction lengths per radiation length, silicon.
const INTERACTIONS_PER_X0: f64 = 0.25;
/// Largest distance of a sensor from the z axis, mm.
const OUTSIDE: f64 = 52.0;
/// Smallest distance of a sensor from the z axis, mm.
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
/// z of the planes, mm, falling.
static PLANE_Z_FALLING: [f64; PLANES] = {
    let mut all = PLANE_Z;
    let mut plane = 0;
    while plane < PLANES {
        all[plane] = PLANE_Z[PLANES - 1 - plane];
        plane += 1;
    }
    all
};
/// Path below which a plane counts as passed, mm.
const SHORTEST: f64 = 1e-9;
/// Number of particles that are processed alternately.
const TURNS: usize = 4;
/// Sensors of the lower and of the upper plane of a module.
const SENSORS_OF_PLANE: [[usize; 2]; 2] = [[0, 3], [1, 2]];
/// Largest number of particles of an event; further secondaries are not followed.
const MAX_FLIGHTS: usize = 50_000;
/// Momentum below which a particle is not followed, GeV/c.
const MIN_MOMENTUM: f64 = 0.001;
/// Energy that an electron loses by ionisation per radiation length of silicon, GeV.
const ELECTRON_LOSS: f64 = 0.036;
/// Electrons knocked out with more than 1 MeV, per radiation length of silicon: 0.1535 MeV cm^2/g, times
/// Z/A, times 21.8 g/cm^2 (Particle Data Group, Passage of particles through matter, 34.2.6).
const DELTA_RAYS: f64 = 1.67;
const DELTA_ENERGY: f64 = 0.001;

/// A sensor crossed by a charged particle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// Index of the particle.
    pub flight: usize,
    /// Index of the sensor: four times the module, plus the sensor in the module.
    pub sensor: usize,
    /// Coordinates of the crossing in the middle of the sensor's thickness, in the sensor's frame, mm.
    pub at: [f64; 2],
    /// Slopes du/dz and dv/dz of the particle in the sensor's frame.
    pub slope: [f64; 2],
}

/// The state of a particle where it left the Velo.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exit {
    pub at: Vector,
    /// Unit vector.
    pub direction: Vector,
    /// Momentum, GeV/c.
    pub p: f64,
}

/// Follows all particles and the secondaries that they make, which are appended to `flights`. The second list
/// has the exit of each particle that left the Velo.
pub(super) fn transport(
    flights: &mut Vec<Flight>,
    random: &mut Random,
) -> (Vec<Crossing>, Vec<Option<Exit>>) {
    let (mut crossings, mut exits) = (Vec::new(), Vec::with_capacity(2 * flights.len()));
    let mut courses = Course::of_all(flights).into_iter();
    let mut number = 0;
    while number < flights.len() {
        let course = courses.next().unwrap_or_else(|| Course::of(&flights[number]));
        let mut walk = Walk { flight: &flights[number], number, course, made: Vec::new() };
        let left = walk.run(random, &mut crossings);
        let Course { at, direction, p, .. } = walk.course;
        exits.push(left.then_some(Exit { at, direction, p }));
        if flights.len() + walk.made.len() <= MAX_FLIGHTS {
            flights.append(&mut walk.made);
        }
        number += 1;
    }
    (crossings, exits)
}

/// Position and direction of a particle.
struct Course {
    at: Vector,
    /// Unit vector.
    direction: Vector,
    p: f64,
    /// z of the planes that the particle has not reached, in the order of its flight.
    ahead: &'static [f64],
    in_foil: bool,
}

impl Course {
    /// The course at the origin of a particle.
    fn of(flight: &Flight) -> Self {
        let p = norm(flight.momentum);
        let direction = scaled(flight.momentum, 1.0 / p.max(1e-12));
        let at = flight.origin;
        let ahead = match direction[2] {
            _ if p < MIN_MOMENTUM => &[],
            z if z > 0.0 => &PLANE_Z[PLANE_Z.partition_point(|z| *z < at[2])..],
            z if z < 0.0 => &PLANE_Z_FALLING[PLANES - PLANE_Z.partition_point(|z| *z < at[2])..],
            _ => &[],
        };
        Self { at, direction, p, ahead, in_foil: radius2(at) < FOIL_RADIUS * FOIL_RADIUS }
    }

    /// The courses of all particles up to the foil, or to the end of the planes: nothing happens to them before. Each
    /// step waits for the division of the previous one, so several particles are processed alternately to overlap
    /// divisions.
    fn of_all(flights: &[Flight]) -> Vec<Self> {
        let mut all: Vec<Self> = flights.iter().map(Self::of).collect();
        let mut waiting = all.iter_mut().filter(|course| course.in_foil);
        let mut under_way: [Option<&mut Self>; TURNS] = std::array::from_fn(|_| waiting.next());
        let mut left = under_way.iter().flatten().count();
        while left > 0 {
            for slot in &mut under_way {
                if slot.as_mut().is_some_and(|course| !course.coast()) {
                    *slot = waiting.next();
                    left -= usize::from(slot.is_none());
                }
            }
        }
        all
    }

    /// Length of the path to a plane; negative if the plane is behind.
    fn path_to(&self, z: f64) -> f64 {
        (z - self.at[2]) / self.direction[2]
    }

    fn after(&self, path: f64) -> Vector {
        sum(self.at, scaled(self.direction, path))
    }

    /// Moves to the next plane if it is reached within the foil; returns false otherwise.
    fn coast(&mut self) -> bool {
        let Some((&z, behind)) = self.ahead.split_first() else { return false };
        let path = self.path_to(z);
        if path > SHORTEST {
            let next = self.after(path);
            if radius2(next) >= FOIL_RADIUS * FOIL_RADIUS {
                return false;
            }
            self.at = next;
        }
        self.ahead = behind;
        true
    }
}

/// The simulation of one particle.
struct Walk<'a> {
    flight: &'a Flight,
    number: usize,
    course: Course,
    made: Vec<Flight>,
}

impl Walk<'_> {
    /// Follows the particle. Returns true when it leaves the Velo, false when it ends before.
    fn run(&mut self, random: &mut Random, crossings: &mut Vec<Crossing>) -> bool {
        if self.course.p < MIN_MOMENTUM || self.course.direction[2] == 0.0 {
            return false;
        }
        let forward = self.course.direction[2] > 0.0;
        while self.course.in_foil && self.course.coast() {}
        while let Some((&z, behind)) = self.course.ahead.split_first() {
            let plane = if forward { PLANES - 1 - behind.len() } else { behind.len() };
            self.course.ahead = behind;
            let mut path = self.course.path_to(z);
            if path <= SHORTEST {
                continue;
            }
            let mut next = self.course.after(path);
            if self.course.in_foil {
                self.course.in_foil = false;
                self.course.at = self.course.after(self.path_to_foil());
                if self.ends_in(FOIL_X0, random) {
                    return false;
                }
                path = self.course.path_to(z);
                next = self.course.after(path);
            }
            if radius2(next) > OUTSIDE * OUTSIDE || path < 0.0 {
                return true;
            }
            self.course.at = next;
            if radius2(next) >= INSIDE * INSIDE && self.cross(plane, random, crossings) {
                return false;
            }
            if (self.course.direction[2] > 0.0) != forward {
                return false;
            }
        }
        true
    }

    /// Length of the path to the foil.
    fn path_to_foil(&self) -> f64 {
        let ([x, y, _], [dx, dy, _]) = (self.course.at, self.course.direction);
        let a = dx * dx + dy * dy;
        let b = x * dx + y * dy;
        let c = x * x + y * y - FOIL_RADIUS * FOIL_RADIUS;
        ((b * b - a * c).max(0.0).sqrt() - b) / a.max(1e-300)
    }

    /// Crosses one plane of a module; returns whether the particle ends there.
    fn cross(&mut self, plane: usize, random: &mut Random, crossings: &mut Vec<Crossing>) -> bool {
        let module = plane / 2;
        let turn = side(module);
        let (x, y) = (turn * self.course.at[0], turn * self.course.at[1]);
        for number in SENSORS_OF_PLANE[plane % 2] {
            let sensor = &MODULE[number];
            let [u, v] = sensor.local(x, y);
            if !Sensor::contains(u, v) {
                continue;
            }
            if self.flight.charge != 0.0 {
                let [dx, dy, dz] = self.course.direction;
                let tip = sensor.local(x + turn * dx / dz, y + turn * dy / dz);
                crossings.push(Crossing {
                    flight: self.number,
                    sensor: SENSORS * module + number,
                    at: [u, v],
                    slope: [tip[0] - u, tip[1] - v],
                });
            }
            if self.ends_in(MODULE_X0 / self.course.direction[2].abs().max(0.05), random) {
                return true;
            }
        }
        false
    }

    /// Passes `x0` radiation lengths of material; returns whether the particle ends there.
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
        let beta = self.course.p / (self.course.p * self.course.p + mass * mass).sqrt();
        // Highland's formula; GeV and rad.
        let angle = 0.0136 / (beta * self.course.p) * x0.sqrt() * (1.0 + 0.038 * libm::log(x0));
        self.course.direction =
            deflected(self.course.direction, angle * random.normal(), angle * random.normal());
        if random.chance(DELTA_RAYS * x0) {
            self.knock_on(random);
        }
        if self.flight.pid.abs() == ELECTRON {
            self.course.p -= ELECTRON_LOSS * x0;
            return self.course.p < MIN_MOMENTUM;
        }
        let interacts = self.flight.is_hadron() && random.chance(INTERACTIONS_PER_X0 * x0);
        if interacts {
            self.interact(random);
        }
        interacts
    }

    /// Converts a photon to an electron and a positron, which share its energy evenly on average.
    fn convert(&mut self, random: &mut Random) {
        let share = random.uniform();
        for (charge, share) in [(-1.0, share), (1.0, 1.0 - share)] {
            let p = self.course.p * share;
            if p > MIN_MOMENTUM {
                let angle = 0.000_511 / p;
                let direction =
                    deflected(self.course.direction, angle * random.normal(), angle * random.normal());
                self.made.push(Flight::new(ELECTRON, charge, scaled(direction, p), self.course.at));
            }
        }
    }

    /// Knocks out an atomic electron: its energy is distributed as 1/E^2 and determines its angle.
    fn knock_on(&mut self, random: &mut Random) {
        let energy = DELTA_ENERGY / (1.0 - random.uniform());
        if energy < 0.5 * self.course.p {
            let mass = 0.000_511;
            let p = (energy * energy + 2.0 * energy * mass).sqrt();
            let tangent = (2.0 * mass / energy).sqrt();
            let phi = azimuth(random);
            let direction =
                deflected(self.course.direction, tangent * libm::cos(phi), tangent * libm::sin(phi));
            self.made.push(Flight::new(ELECTRON, -1.0, scaled(direction, p), self.course.at));
        }
    }

    /// Lets a hadron break up on a nucleus into a few other hadrons.
    fn interact(&mut self, random: &mut Random) {
        for _ in 0..1 + random.poisson(1.0 + libm::log(1.0 + self.course.p)) {
            let p = self.course.p * (0.22 * random.exponential()).min(0.9);
            let (across, along) = (0.2 * random.normal(), 0.2 * random.normal());
            let kind = if random.chance(0.75) { PION } else { PROTON };
            let charge = if kind == PROTON || random.chance(0.5) { 1.0 } else { -1.0 };
            if p > 0.05 {
                let direction = deflected(self.course.direction, across / p, along / p);
                self.made.push(Flight::new(kind, charge, scaled(direction, p), self.course.at));
            }
        }
    }
}

fn radius2(at: Vector) -> f64 {
    at[0] * at[0] + at[1] * at[1]
}
