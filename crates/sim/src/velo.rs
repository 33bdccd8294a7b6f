//! One simulated Velo event, put together.

use super::SimSpec;
use super::collisions::collide;
use super::flight::{ELECTRON, Flight, angles, norm};
use super::pixels::{Cluster, ignite, merge_touching, position};
use super::random::Random;
use super::transport::{Crossing, Exit, transport};
use peloton::event::{Particle, TrueState, TruthEvent, VELO_MODULES, VeloBatch};
use peloton::units::MEV_PER_GEV;
use peloton::velo::geometry::{COLUMNS, MODULE, MODULE_Z, ROWS, SENSORS, side};

/// Modules with hits that make a particle reconstructible.
const MIN_MODULES: usize = 3;

/// Simulates event `number` of the sample and appends it to `batch`.
///
/// The truth has the particles with hits in three modules or more; hits of others belong to no particle,
/// as in the files of real simulated events.
pub fn simulate_velo(spec: &SimSpec, number: u64, batch: &mut VeloBatch) -> TruthEvent {
    let mut random = Random::new(spec.seed, number);
    let (mut flights, _) = collide(spec, &mut random);
    let (crossings, exits) = transport(&mut flights, &mut random);
    let clusters = digitise(spec, &crossings, &mut random);
    let mut columns = Columns::default();
    let mut hits = vec![Vec::new(); flights.len()];
    for (sensor, clusters) in clusters.iter().enumerate() {
        for cluster in clusters {
            for &flight in &cluster.flights {
                hits[flight].push((columns.x.len() as u32, sensor / SENSORS));
            }
            columns.push(sensor, cluster);
        }
        columns.end_sensor(sensor);
    }
    batch.push_event(number, &columns.x, &columns.y, &columns.z, &columns.module_start);
    let mut truth = TruthEvent::default();
    for (key, ((flight, exit), hits)) in flights.iter().zip(&exits).zip(&hits).enumerate() {
        let modules = hits.chunk_by(|a, b| a.1 == b.1).count();
        if modules >= MIN_MODULES {
            let hits = hits.iter().map(|(hit, _)| *hit).collect();
            truth.particles.push(describe(key, flight, exit.as_ref(), hits, &mut random));
        }
    }
    truth
}

/// Clusters of every sensor: of particles where they were seen, then noise.
pub(super) fn digitise(spec: &SimSpec, crossings: &[Crossing], random: &mut Random) -> Vec<Vec<Cluster>> {
    let mut sensors = vec![Vec::new(); SENSORS * VELO_MODULES];
    for crossing in crossings {
        if random.chance(spec.efficiency) {
            sensors[crossing.sensor].push(ignite(crossing, random));
        }
    }
    for _ in 0..random.poisson(spec.noise) {
        let sensor = (random.uniform() * sensors.len() as f64) as usize;
        let column = random.uniform() * f64::from(COLUMNS);
        let row = random.uniform() * f64::from(ROWS);
        sensors[sensor].push(Cluster { pixels: vec![(column as u32, row as u32)], flights: Vec::new() });
    }
    for clusters in &mut sensors {
        merge_touching(clusters);
        // A particle that left two clusters which others joined is there once.
        for cluster in clusters {
            cluster.flights.sort_unstable();
            cluster.flights.dedup();
        }
    }
    sensors
}

/// The columns of one event.
struct Columns {
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    module_start: Vec<u32>,
}

impl Default for Columns {
    fn default() -> Self {
        Self { x: Vec::new(), y: Vec::new(), z: Vec::new(), module_start: vec![0] }
    }
}

impl Columns {
    fn push(&mut self, sensor: usize, cluster: &Cluster) {
        let (module, place) = (sensor / SENSORS, MODULE[sensor % SENSORS]);
        let [u, v] = position(&cluster.pixels);
        let [x, y] = place.global(u, v);
        self.x.push(micrometres(side(module) * x));
        self.y.push(micrometres(side(module) * y));
        self.z.push(micrometres(MODULE_Z[module] + place.z));
    }

    fn end_sensor(&mut self, sensor: usize) {
        if sensor % SENSORS == SENSORS - 1 {
            self.module_start.push(self.x.len() as u32);
        }
    }
}

/// Rounded to three decimals, as files have it.
fn micrometres(value: f64) -> f32 {
    rounded(value, 1e3) as f32
}

fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-value))
}

/// The state of a particle where it leaves.
fn leaves(exit: &Exit) -> TrueState {
    let ([x, y, z], [dx, dy, dz]) = (exit.at, exit.direction);
    TrueState { x, y, z, tx: dx / dz, ty: dy / dz }
}

/// The truth of one particle. Whether trackers further down would see it is drawn from what full
/// simulation says of its momentum and angle.
fn describe(
    key: usize,
    flight: &Flight,
    exit: Option<&Exit>,
    hits: Vec<u32>,
    random: &mut Random,
) -> Particle {
    let p = norm(flight.momentum);
    let [x, y, _] = flight.momentum;
    let (eta, phi) = angles(flight.momentum);
    let threshold = if flight.pid.abs() == ELECTRON { 2.5 } else { 2.05 };
    let bends_little = logistic(libm::log(p / threshold) / 0.22);
    let in_scifi = logistic((eta - 2.02) / 0.14) * logistic((5.0 - eta) / 0.18);
    let in_ut = logistic((eta - 1.88) / 0.08) * logistic((4.95 - eta) / 0.04);
    let is_long = random.chance(0.84 * bends_little * in_scifi);
    let has_ut = random.chance(if is_long { 0.98 } else { 0.88 } * in_ut);
    // To 1 eV, exactly as files in MeV hold it.
    let momentum = |gev: f64| rounded(gev * MEV_PER_GEV, 1e3) / MEV_PER_GEV;
    Particle {
        key: key as i64,
        pid: flight.pid,
        p: momentum(p),
        pt: momentum((x * x + y * y).sqrt()),
        eta: rounded(eta, 1e6),
        phi: rounded(phi, 1e6),
        charge: flight.charge,
        origin: Some(flight.origin.map(micrometres)),
        exit: exit.filter(|exit| exit.direction[2] > 0.0).map(leaves),
        mother: None,
        is_long,
        is_down: is_long && has_ut,
        has_velo: true,
        has_ut,
        has_scifi: is_long,
        from_beauty: flight.from_beauty,
        from_charm: flight.from_charm,
        from_strange: flight.from_strange,
        from_signal: false,
        hits,
    }
}
