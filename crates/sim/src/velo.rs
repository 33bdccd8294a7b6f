//! Simulates one Velo event.

use super::SimSpec;
use super::collisions::collide;
use super::few::Few;
use super::flight::{ELECTRON, Flight, angles, norm};
use super::pixels::{Cluster, Ignition, merge_touching, position};
use super::random::Random;
use super::transport::{Crossing, Exit, transport};
use peloton::event::{Particle, TrueState, TrueStates, TruthEvent, VELO_MODULES, VeloBatch};
use peloton::units::MEV_PER_GEV;
use peloton::velo::geometry::{COLUMNS, MODULE, MODULE_Z, ROWS, SENSORS, side};

/// Smallest number of modules with hits of a reconstructible particle.
const MIN_MODULES: usize = 3;

/// Simulates event `number` of the sample and appends it to `batch`.
///
/// The truth contains only particles with hits in three or more modules, as in files of LHCb's simulation. Hits of
/// other particles thus belong to no particle in the truth.
pub fn simulate_velo(spec: &SimSpec, number: u64, batch: &mut VeloBatch) -> TruthEvent {
    let mut random = Random::new(spec.seed, number);
    let (mut flights, _) = collide(spec, &mut random);
    let (crossings, exits) = transport(&mut flights, &mut random);
    let clusters = digitise(spec, &crossings, &mut random);
    let mut columns = Columns::default();
    let mut hits = HitsOf::new(flights.len(), &clusters);
    for (sensor, clusters) in clusters.iter().enumerate() {
        for cluster in clusters {
            for &flight in cluster.flights.iter() {
                hits.push(flight, columns.x.len() as u32, sensor / SENSORS);
            }
            columns.push(sensor, cluster);
        }
        columns.end_sensor(sensor);
    }
    batch.push_event(number, &columns.x, &columns.y, &columns.z, &columns.module_start);
    let mut truth = TruthEvent::default();
    for (key, (flight, exit)) in flights.iter().zip(&exits).enumerate() {
        let hits = hits.of(key);
        let modules = hits.chunk_by(|a, b| a.1 == b.1).count();
        if modules >= MIN_MODULES {
            let hits = hits.iter().map(|(hit, _)| *hit).collect();
            truth.particles.push(describe(key, flight, exit.as_ref(), hits, &mut random));
        }
    }
    truth
}

/// Hits and their modules, particle by particle.
struct HitsOf {
    /// Index of the next hit of each particle; after all hits were added, the end of the particle's hits.
    next: Vec<usize>,
    hits: Vec<(u32, usize)>,
}

impl HitsOf {
    /// Reserves memory for the hits of `flights` particles.
    fn new(flights: usize, clusters: &[Vec<Cluster>]) -> Self {
        let mut next = vec![0; flights + 1];
        for &flight in clusters.iter().flatten().flat_map(|cluster| cluster.flights.iter()) {
            next[flight + 1] += 1;
        }
        let mut count = 0;
        for next in &mut next {
            count += *next;
            *next = count;
        }
        Self { next, hits: vec![(0, 0); count] }
    }

    fn push(&mut self, flight: usize, hit: u32, module: usize) {
        self.hits[self.next[flight]] = (hit, module);
        self.next[flight] += 1;
    }

    /// The hits of a particle, after all hits were added.
    fn of(&self, flight: usize) -> &[(u32, usize)] {
        let first = flight.checked_sub(1).map_or(0, |before| self.next[before]);
        &self.hits[first..self.next[flight]]
    }
}

/// Clusters of every sensor: clusters of detected particles, then noise.
pub(super) fn digitise(spec: &SimSpec, crossings: &[Crossing], random: &mut Random) -> Vec<Vec<Cluster>> {
    let mut counts = [0; SENSORS * VELO_MODULES];
    crossings.iter().for_each(|crossing| counts[crossing.sensor] += 1);
    let mut sensors: Vec<Vec<Cluster>> = counts.iter().map(|count| Vec::with_capacity(*count)).collect();
    let mut ignition = Ignition::default();
    for crossing in crossings {
        if random.chance(spec.efficiency) {
            sensors[crossing.sensor].push(ignition.ignite(crossing, random));
        }
    }
    for _ in 0..random.poisson(spec.noise) {
        let sensor = (random.uniform() * sensors.len() as f64) as usize;
        let column = random.uniform() * f64::from(COLUMNS);
        let row = random.uniform() * f64::from(ROWS);
        let pixels = Few::one((column as u32, row as u32));
        sensors[sensor].push(Cluster { pixels, flights: Few::default() });
    }
    for clusters in &mut sensors {
        merge_touching(clusters);
        // A merged cluster may contain two clusters of one particle: keeps the particle once.
        for cluster in clusters {
            cluster.flights.sort_and_dedup();
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

/// Rounds to three decimals, as in files.
fn micrometres(value: f64) -> f32 {
    rounded(value, 1e3) as f32
}

fn rounded(value: f64, scale: f64) -> f64 {
    (value * scale).round() / scale
}

fn logistic(value: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-value))
}

/// The state of a particle that leaves the Velo towards larger z.
pub(super) fn leaves(exit: &Exit) -> Option<TrueState> {
    let ([x, y, z], [dx, dy, dz]) = (exit.at, exit.direction);
    (dz > 0.0).then_some(TrueState { x, y, z, tx: dx / dz, ty: dy / dz })
}

/// The truth of one particle. Draws whether the later trackers would detect it, from probabilities of the full
/// simulation for its momentum and angle.
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
    // Rounds to 1 eV, as files in MeV contain it.
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
        states: TrueStates { velo: exit.and_then(leaves), ..TrueStates::default() },
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Compares positions of clusters with the crossings of their particles: the distance is as the Velo's fit assumes, 12
    /// um, since its weight is 7000 /mm^2.
    #[test]
    fn clusters_are_as_far_off_as_the_fit_takes_them_to_be() {
        let spec: SimSpec = "sim:velo,seed=9".parse().unwrap();
        let sigma = 1.0 / 7000f64.sqrt();
        let mut pulls: [Vec<f64>; 2] = Default::default();
        for number in 0..10 {
            let mut random = Random::new(spec.seed, number);
            let (mut flights, _) = collide(&spec, &mut random);
            let (crossings, _) = transport(&mut flights, &mut random);
            let places: HashMap<_, _> =
                crossings.iter().map(|crossing| ((crossing.sensor, crossing.flight), crossing.at)).collect();
            for (sensor, clusters) in digitise(&spec, &crossings, &mut random).iter().enumerate() {
                // Skips clusters of several particles, which are at the position of none of them.
                for cluster in clusters.iter().filter(|cluster| cluster.flights.len() == 1) {
                    let (found, truth) = (position(&cluster.pixels), places[&(sensor, cluster.flights[0])]);
                    (0..2).for_each(|i| pulls[i].push((found[i] - truth[i]) / sigma));
                }
            }
        }
        for pulls in pulls {
            let near: Vec<f64> = pulls.iter().copied().filter(|pull| pull.abs() < 5.0).collect();
            let mean = near.iter().sum::<f64>() / near.len() as f64;
            let width = (near.iter().map(|pull| pull * pull).sum::<f64>() / near.len() as f64).sqrt();
            println!("{} hits: mean {mean:+.3}, width {width:.3}, {}", near.len(), pulls.len() - near.len());
            assert!(near.len() > 10_000 && near.len() * 1000 > pulls.len() * 995);
            assert!(mean.abs() < 0.05 && (0.9..1.1).contains(&width), "{mean} {width}");
        }
    }
}
