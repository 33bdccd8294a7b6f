//! Simulation of the cylinder detector (`docs/algorithms.md`, "Cylinder: detector and events"): helices through ten
//! cylinders, with smeared hits; optionally with inefficiency, noise and scattering.

use super::cylinder_shuffle::cylinder_shuffle;
use super::random::Random;
use super::threads::{in_order, take_events};
use peloton::cylinder::Helix;
use peloton::cylinder::geometry::RADII;
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, NO_HIT};
use peloton::{Error, Result, Status};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Errors of hits along r, r-phi and z, cm.
const SIGMA: [f64; 3] = [0.001, 0.01, 0.1];
/// Largest distance of a hit beyond the radius of its layer, cm.
const DEPTH: f64 = 0.0019;
/// Smallest number of particles and noise hits per layer of an event, summed, for which several threads are used.
const WORTH_A_THREAD: u64 = 1000;
/// Largest |eta| of particles.
const ETA: f64 = 1.0;

/// Specification of a simulated sample, which determines the events on every machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CylinderSpec {
    /// Number of events; key `events`.
    pub events: u64,
    /// Number of particles of each event; key `tracks`.
    pub tracks: u64,
    /// Seed; key `seed`.
    pub seed: u64,
    /// Probability that a layer does not detect a particle; key `inefficiency`.
    pub inefficiency: f64,
    /// Number of noise hits on each layer of each event; key `noise`.
    pub noise: u64,
    /// Thickness of a layer in radiation lengths; key `material`.
    pub material: f64,
    /// Magnetic field along z, T; key `field`.
    pub field: f64,
}

impl Default for CylinderSpec {
    fn default() -> Self {
        Self { events: 3, tracks: 10_000, seed: 1, inefficiency: 0.0, noise: 0, material: 0.0, field: 3.8112 }
    }
}

impl FromStr for CylinderSpec {
    type Err = Error;

    /// Parses `sim:cylinder` and any number of `,key=value`; keys that are not given keep their defaults.
    ///
    /// # Errors
    /// [`Error::Config`] that names the part that is not understood, and the valid choices.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: String| Error::Config(format!("simulation `{text}`: {what}"));
        let mut parts = text.split(',');
        if parts.next() != Some("sim:cylinder") {
            return Err(wrong("must begin with `sim:cylinder`".into()));
        }
        let mut spec = Self::default();
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is not key=value")))?;
            let whole = |max: u64| {
                let found = value.parse().ok().filter(|found: &u64| *found <= max);
                found.ok_or_else(|| wrong(format!("{key}: `{value}` is not a whole number up to {max}")))
            };
            let within = |low: f64, high: f64| {
                let found = value.parse().ok().filter(|found: &f64| (low..=high).contains(found));
                found.ok_or_else(|| wrong(format!("{key}: `{value}` is not a number from {low} to {high}")))
            };
            match key {
                "events" => spec.events = whole(u64::MAX)?,
                "tracks" => spec.tracks = whole(1_000_000)?,
                "seed" => spec.seed = whole(u64::MAX)?,
                "inefficiency" => spec.inefficiency = within(0.0, 1.0)?,
                "noise" => spec.noise = whole(1_000_000)?,
                "material" => spec.material = within(0.0, 1.0)?,
                "field" => spec.field = within(0.01, 20.0)?,
                _ => {
                    let known = "events, tracks, seed, inefficiency, noise, material, field";
                    return Err(wrong(format!("unknown key `{key}`; there are: {known}")));
                }
            }
        }
        Ok(spec)
    }
}

impl fmt::Display for CylinderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, tracks, seed, inefficiency, noise, material, field } = self;
        write!(f, "sim:cylinder,events={events},tracks={tracks},seed={seed},inefficiency={inefficiency},")?;
        write!(f, "noise={noise},material={material},field={field}")
    }
}

/// A reader of simulated events, with the interface of readers of files.
#[derive(Debug, Clone)]
pub struct CylinderSim {
    spec: CylinderSpec,
    events: Range<u64>,
}

impl CylinderSim {
    /// Creates a reader of at most `count` events from number `first` on.
    pub fn new(spec: CylinderSpec, first: u64, count: Option<u64>) -> Self {
        let end = first.saturating_add(count.unwrap_or(u64::MAX)).min(spec.events);
        Self { spec, events: first.min(end)..end }
    }

    /// Returns the number of events that are not yet read.
    pub fn left(&self) -> u64 {
        self.events.end - self.events.start
    }

    /// Appends up to `max_events` events and their truth; returns their number. Hits of a layer are in random order.
    pub fn read(&mut self, max_events: usize, batch: &mut CylinderBatch, truth: &mut CylinderTruth) -> usize {
        let before = batch.len();
        for number in self.events.by_ref().take(max_events) {
            simulate(&self.spec, number, batch, truth);
        }
        cylinder_shuffle(batch, truth, before..batch.len(), self.spec.seed);
        batch.len() - before
    }

    /// Appends events as [`read`](Self::read) does, on several threads.
    ///
    /// # Errors
    /// Errors of [`in_order`].
    pub fn read_on(
        &mut self,
        threads: usize,
        max_events: usize,
        batch: &mut CylinderBatch,
        truth: &mut CylinderTruth,
    ) -> Result<usize> {
        let spec = self.spec;
        // Small events take less time than the start of a thread.
        if spec.tracks + spec.noise < WORTH_A_THREAD {
            return Ok(self.read(max_events, batch, truth));
        }
        let before = batch.len();
        let make = |(): &mut (), number| {
            let mut made = (CylinderBatch::default(), CylinderTruth::default());
            simulate(&spec, number, &mut made.0, &mut made.1);
            cylinder_shuffle(&mut made.0, &mut made.1, 0..1, spec.seed);
            made
        };
        in_order(take_events(&mut self.events, max_events), threads, make, |made| {
            append(batch, truth, &made);
            true
        })?;
        Ok(batch.len() - before)
    }
}

/// Appends `more` events and their truth.
fn append(batch: &mut CylinderBatch, truth: &mut CylinderTruth, more: &(CylinderBatch, CylinderTruth)) {
    let (hits, particles) = (batch.x.len() as u32, truth.particles.len() as u32);
    let (more, more_truth) = more;
    let columns = [&more.x, &more.y, &more.z, &more.var_r, &more.var_rphi, &more.var_z];
    batch.columns_mut().into_iter().zip(columns).for_each(|(column, more)| column.extend_from_slice(more));
    more.layer_start[1..].iter().for_each(|start| batch.layer_start.push(hits + start));
    batch.status.extend_from_slice(&more.status);
    let (all, more) = (&mut truth.particles, &more_truth.particles);
    truth.particle_of.extend_from_slice(&more_truth.particle_of);
    all.vertex.iter_mut().zip(&more.vertex).for_each(|(column, more)| column.extend_from_slice(more));
    all.hits.iter_mut().zip(&more.hits).for_each(|(column, more)| column.extend_from_slice(more));
    more.start[1..].iter().for_each(|start| all.start.push(particles + start));
}

/// A simulated hit before its index in the batch is known.
struct SimulatedHit {
    position: [f32; 3],
    variance: [f32; 3],
    particle: u32,
}

/// Appends one event.
fn simulate(spec: &CylinderSpec, number: u64, batch: &mut CylinderBatch, truth: &mut CylinderTruth) {
    let mut random = Random::new(spec.seed, number);
    let mut layers: [Vec<SimulatedHit>; CYLINDER_LAYERS] = Default::default();
    let mut particles = Vec::new();
    for particle in 0..spec.tracks as u32 {
        let vertex = vertex(&mut random);
        // The particle starts at the vertex that the truth stores, in f32.
        let vertex = vertex.map(|value| value as f32);
        let mut hits = [NO_HIT; CYLINDER_LAYERS];
        let mut at = Some(Helix::new(vertex.map(f64::from), spec.field));
        for layer in 0..CYLINDER_LAYERS {
            let radius = f64::from(RADII[layer]) + random.between(0.0, DEPTH);
            at = at.and_then(|at| at.at_radius(radius));
            let Some(here) = &mut at else { break };
            let missed = spec.inefficiency > 0.0 && random.chance(spec.inefficiency);
            if !missed {
                hits[layer] = layers[layer].len() as u32;
                layers[layer].push(smeared(&mut random, here.position, particle));
            }
            if spec.material > 0.0 {
                scatter(&mut random, here, spec.material);
            }
        }
        particles.push((vertex, hits));
    }
    for (layer, hits) in layers.iter_mut().enumerate() {
        for _ in 0..spec.noise {
            let radius = f64::from(RADII[layer]);
            let phi = random.between(-std::f64::consts::PI, std::f64::consts::PI);
            let reach = radius * libm::sinh(ETA) + 3.0;
            let z = random.between(-reach, reach);
            let position = [radius * libm::cos(phi), radius * libm::sin(phi), z];
            hits.push(smeared(&mut random, position, NO_HIT));
        }
    }
    let mut starts = [0; CYLINDER_LAYERS];
    let mut count = 0;
    for (start, hits) in starts.iter_mut().zip(&layers) {
        *start = count;
        count += hits.len() as u32;
        for hit in hits {
            batch.push(hit.position, hit.variance);
            truth.particle_of.push(hit.particle);
        }
        batch.end_layer();
    }
    batch.end_event(Status::Ok);
    for (vertex, hits) in particles {
        let place = |layer: usize| if hits[layer] == NO_HIT { NO_HIT } else { starts[layer] + hits[layer] };
        truth.particles.push(vertex, std::array::from_fn(place));
    }
    truth.particles.end_event();
}

/// Draws x, y, z, charge / pT, phi, theta of a particle.
fn vertex(random: &mut Random) -> [f64; 6] {
    let pt = random.between(0.5, 10.0);
    let phi = random.between(-std::f64::consts::PI, std::f64::consts::PI);
    let eta = random.between(-ETA, ETA);
    let charge = if random.chance(0.5) { 1.0 } else { -1.0 };
    let [x, y, z] = [0.1, 0.1, 1.0].map(|sigma| sigma * random.normal());
    [x, y, z, charge / pt, phi, 2.0 * libm::atan(libm::exp(-eta))]
}

fn smeared(random: &mut Random, [x, y, z]: [f64; 3], particle: u32) -> SimulatedHit {
    let radius = libm::hypot(x, y);
    let phi = libm::atan2(y, x) + SIGMA[1] / radius * random.normal();
    let radius = radius + SIGMA[0] * random.normal();
    let z = z + SIGMA[2] * random.normal();
    let (sin, cos) = libm::sincos(phi);
    let position = [radius * cos, radius * sin, z].map(|value| value as f32);
    SimulatedHit { position, variance: SIGMA.map(|sigma| (sigma * sigma) as f32), particle }
}

/// Applies multiple scattering in a layer of `material` radiation lengths, by Highland's formula without its logarithm.
fn scatter(random: &mut Random, at: &mut Helix, material: f64) {
    let [x, y, _] = at.position;
    let steep = (1.0 + at.slope * at.slope).sqrt();
    let outwards = (x * libm::cos(at.phi) + y * libm::sin(at.phi)) / libm::hypot(x, y);
    let momentum = steep / libm::fabs(at.charge_over_pt);
    let angle = 0.0136 / momentum * (material * steep / outwards.max(0.02)).sqrt();
    let theta = libm::atan2(1.0, at.slope);
    let turned = theta + angle * random.normal();
    at.phi += angle * random.normal() / libm::sin(theta);
    at.slope = libm::cos(turned) / libm::sin(turned);
    // Keeps the momentum unchanged.
    at.charge_over_pt *= libm::sin(theta) / libm::sin(turned);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> (CylinderBatch, CylinderTruth) {
        let spec: CylinderSpec = text.parse().unwrap();
        assert_eq!(spec.to_string().parse::<CylinderSpec>().unwrap(), spec);
        let (mut batch, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
        let mut sim = CylinderSim::new(spec, 0, None);
        while sim.read(2, &mut batch, &mut truth) > 0 {}
        (batch, truth)
    }

    #[test]
    fn hits_are_where_their_particles_were() {
        let (batch, truth) = sample("sim:cylinder,events=3,tracks=200,seed=4");
        assert_eq!((batch.len(), batch.x.len(), truth.particles.len()), (3, 6000, 600));
        let (mut sum, mut n) = ([0.0; 2], 0.0);
        for event in 0..3 {
            let first = batch.layer_start[event * CYLINDER_LAYERS] as usize;
            for particle in truth.particles.start[event]..truth.particles.start[event + 1] {
                let vertex = truth.particles.vertex.each_ref().map(|v| f64::from(v[particle as usize]));
                let mut at = Helix::new(vertex, 3.8112);
                for (layer, hits) in truth.particles.hits.iter().enumerate() {
                    let hit = first + hits[particle as usize] as usize;
                    assert_eq!(truth.particle_of[hit], particle - truth.particles.start[event]);
                    let (x, y) = (f64::from(batch.x[hit]), f64::from(batch.y[hit]));
                    let r = x.hypot(y);
                    assert!((r - f64::from(RADII[layer])).abs() < 0.01, "{r}");
                    at = at.at_radius(r).unwrap();
                    let across = (x * at.position[1] - y * at.position[0]) / r / SIGMA[1];
                    let along = (f64::from(batch.z[hit]) - at.position[2]) / SIGMA[2];
                    sum = [sum[0] + across * across, sum[1] + along * along];
                    n += 1.0;
                }
            }
        }
        for sum in sum {
            assert!((sum / n - 1.0).abs() < 5.0 * (2.0f64 / n).sqrt(), "{}", sum / n);
        }
    }

    #[test]
    fn options_do_what_they_say_and_events_do_not_depend_on_each_other() {
        let (batch, truth) = sample("sim:cylinder,events=2,tracks=1000,seed=4,inefficiency=0.1,noise=300");
        let noise = truth.particle_of.iter().filter(|owner| **owner == NO_HIT).count();
        assert_eq!(noise, 2 * 10 * 300);
        let share = (batch.x.len() - noise) as f64 / 20_000.0;
        assert!((share - 0.9).abs() < 0.01, "{share}");
        let spec = "sim:cylinder,events=2,tracks=1000,seed=4,inefficiency=0.1,noise=300".parse().unwrap();
        let (mut second, mut others) = (CylinderBatch::default(), CylinderTruth::default());
        assert_eq!(CylinderSim::new(spec, 1, None).read(9, &mut second, &mut others), 1);
        assert_eq!(second.x[..], batch.x[batch.layer_start[CYLINDER_LAYERS] as usize..]);
        for (text, words) in [
            ("sim:velo", "must begin"),
            ("sim:cylinder,tracks", "is not key=value"),
            ("sim:cylinder,tracks=1e9", "whole number"),
            ("sim:cylinder,material=NaN", "from 0 to 1"),
            ("sim:cylinder,colour=1", "unknown key"),
        ] {
            let error = text.parse::<CylinderSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn scattering_bends() {
        let chi2 = |text: &str| {
            let (batch, truth) = sample(text);
            let mut sum = 0.0;
            for particle in 0..truth.particles.len() {
                let vertex = truth.particles.vertex.each_ref().map(|v| f64::from(v[particle]));
                let hit = truth.particles.hits[9][particle] as usize;
                let Some(at) = Helix::new(vertex, 3.8112).at_radius(40.0) else { continue };
                let (x, y) = (f64::from(batch.x[hit]), f64::from(batch.y[hit]));
                sum += ((x * at.position[1] - y * at.position[0]) / 40.0 / SIGMA[1]).powi(2);
            }
            sum / truth.particles.len() as f64
        };
        assert!(chi2("sim:cylinder,events=1,tracks=500,seed=2") < 1.5);
        assert!(chi2("sim:cylinder,events=1,tracks=500,seed=2,material=0.01") > 5.0);
    }
}
