//! Decoded hits of UT and SciFi against where simulated particles passed: residuals are centred, and as wide as what the
//! simulation smears by and what the readout rounds to.

mod common;

use common::geometry::Detector;
use peloton::event::{Outcome, RawBatch, SciFiBatch, TrueState, UT_GROUPS, UtBatch};
use peloton::scifi::{self, SciFiScratch};
use peloton::simd::Level;
use peloton::ut::{self, UtScratch};
use peloton_sim::LhcbReader;
use std::collections::HashMap;

/// Events that nothing was tuned on.
const SPEC: &str = "sim:lhcb,events=12,seed=5001";
/// dx/dy of tilted strips and fibres: the tangent of 5 degrees; how far layers of the SciFi lean, dz/dy.
const TILT: f64 = 0.087_488_66;
const LEAN: f64 = 0.0036;

/// Hits of one event that one particle alone left: where it passed, by the name of the hit.
type TrueHits = HashMap<u32, TrueState>;

struct Sample {
    raw: RawBatch,
    truth: Vec<TrueHits>,
}

fn simulated(detector: &Detector) -> Sample {
    let mut sample = Sample { raw: RawBatch::default(), truth: Vec::new() };
    let mut reader = LhcbReader::new(SPEC.parse().unwrap(), 0, None);
    while let Some(event) = reader.next(&detector.to_fly_through()) {
        event.push(&mut sample.raw);
        let mut hits: HashMap<u32, Vec<TrueState>> = HashMap::new();
        event.true_hits().iter().for_each(|hit| hits.entry(hit.id).or_default().push(hit.at));
        let alone = hits.into_iter().filter(|(_, all)| all.len() == 1);
        sample.truth.push(alone.map(|(id, all)| (id, all[0])).collect());
    }
    sample
}

/// Mean, and half of the central 68 %.
fn centre_and_width(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    [values.iter().sum::<f64>() / values.len() as f64, 0.5 * (quantile(0.84) - quantile(0.16))]
}

/// The distance in x of a strip or fibre from where a particle passed: x at y = 0 and its slope, z at y = 0 and its slope.
fn residual([x, slope_x]: [f64; 2], [z, slope_z]: [f64; 2], truth: TrueState) -> f64 {
    // A line meets a plane that leans a little: the second step is exact to a micrometre.
    let at = truth.at(z + slope_z * truth.y);
    let at = truth.at(z + slope_z * at.y);
    x + slope_x * at.y - at.x
}

#[test]
fn hits_of_the_scifi_are_where_particles_passed() {
    let detector = Detector::nominal();
    let Sample { raw, truth } = simulated(&detector);
    let mut hits = Outcome::<SciFiBatch>::default();
    let level = Level::choose(None, None).unwrap();
    scifi::decode(level, &detector.scifi, raw.view(), 0..raw.len(), &mut SciFiScratch::default(), &mut hits);
    let hits = hits.results;
    let mut off: [Vec<f64>; 4] = Default::default();
    let mut steep = Vec::new();
    for (event, truth) in truth.iter().enumerate() {
        for hit in hits.of_event(event) {
            let Some(&passed) = truth.get(&hits.id[hit]) else { continue };
            let layer = (hits.id[hit] >> 16 & 3) as usize;
            let slope = [0.0, TILT, -TILT, 0.0][layer];
            let [x, z] = [hits.x[hit], hits.z[hit]].map(f64::from);
            let residual = residual([x, slope], [z, LEAN], passed);
            off[layer].push(residual);
            if passed.tx.abs() > 0.2 {
                steep.push(residual * passed.tx.signum());
            }
        }
    }
    for (layer, off) in off.into_iter().chain([steep]).enumerate() {
        let (number, [mean, width]) = (off.len(), centre_and_width(off));
        println!("layer {layer}: {number} hits, mean {:+.1} um, width {:.1} um", 1e3 * mean, 1e3 * width);
    }
}

#[test]
fn hits_of_the_ut_are_where_particles_passed() {
    let detector = Detector::nominal();
    let Sample { raw, truth } = simulated(&detector);
    let mut hits = Outcome::<UtBatch>::default();
    let level = Level::choose(None, None).unwrap();
    ut::decode(level, &detector.ut, raw.view(), 0..raw.len(), &mut UtScratch::default(), &mut hits);
    let hits = hits.results;
    let mut off: [Vec<f64>; 4] = Default::default();
    for (event, truth) in truth.iter().enumerate() {
        for group in 0..UT_GROUPS {
            let at = UT_GROUPS * event + group;
            for hit in hits.group_start[at] as usize..hits.group_start[at + 1] as usize {
                let Some(&passed) = truth.get(&hits.id[hit]) else { continue };
                let plane = [20, 40, 62, 84].iter().position(|end| group < *end).unwrap();
                let slope = [0.0, TILT, -TILT, 0.0][plane];
                let [x, z] = [hits.x[hit], hits.z[hit]].map(f64::from);
                off[plane].push(residual([x, slope], [z, 0.0], passed));
            }
        }
    }
    for (plane, off) in off.into_iter().enumerate() {
        let (number, [mean, width]) = (off.len(), centre_and_width(off));
        println!("plane {plane}: {number} hits, mean {:+.1} um, width {:.1} um", 1e3 * mean, 1e3 * width);
    }
}
