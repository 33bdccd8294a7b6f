//! Decoded hits of UT and SciFi against the positions of simulated particles: residuals are centred, and as wide as the
//! simulated resolution and the rounding of the readout.

use crate::common::geometry::Detector;
use peloton::event::{Outcome, RawBatch, SciFiBatch, TrueState, UT_GROUPS, UtBatch};
use peloton::scifi::{self, SciFiConfig, SciFiScratch};
use peloton::simd::Level;
use peloton::ut::{self, UtScratch};
use peloton_sim::LhcbReader;
use std::collections::HashMap;

/// Events that were not used for tuning.
const SPEC: &str = "sim:lhcb,events=60,seed=5001";
/// dx/dy of tilted strips and fibres: the tangent of 5 degrees; the lean of the layers of the SciFi, dz/dy.
const TILT: f64 = 0.087_488_66;
const LEAN: f64 = 0.0036;

/// By the id of a hit: the position of the particle. Only hits that come from a single particle are included.
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

/// Fails unless pulls are centred and 1 wide (half of the central 68 %); prints their number.
fn assert_normal(name: &str, mut pulls: Vec<f64>) {
    pulls.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| pulls[((pulls.len() - 1) as f64 * share).round() as usize];
    let (median, width) = (quantile(0.5), 0.5 * (quantile(0.8413) - quantile(0.1587)));
    println!("{name}: {} hits, median {median:+.3}, width {width:.3}", pulls.len());
    assert!(pulls.len() > 1500, "{name}");
    assert!(median.abs() < 0.08 && (0.94..1.06).contains(&width), "{name}: {median} {width}");
}

/// The distance in x of a strip or fibre from a particle; a strip has x at y = 0 and its slope, z at y = 0 and its slope.
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
    let resolution = f64::from(SciFiConfig::default().resolution);
    let (mut pulls, mut steep, mut fallen): ([Vec<f64>; 4], Vec<f64>, Vec<f64>) = Default::default();
    for (event, truth) in truth.iter().enumerate() {
        for hit in hits.of_event(event) {
            let Some(&passed) = truth.get(&hits.id[hit]) else { continue };
            let layer = (hits.id[hit] >> 16 & 3) as usize;
            let slope = [0.0, TILT, -TILT, 0.0][layer];
            let [x, z] = [hits.x[hit], hits.z[hit]].map(f64::from);
            let pull = |lean: f64| residual([x, slope], [z, lean], passed) / resolution;
            pulls[layer].push(pull(LEAN));
            // Particles for which upright layers would make the largest error.
            if (passed.tx * passed.y).abs() > 100.0 {
                steep.push(pull(LEAN) * (passed.tx * passed.y).signum());
                fallen.push(pull(0.0) * (passed.tx * passed.y).signum());
            }
        }
    }
    for (layer, pulls) in pulls.into_iter().enumerate() {
        assert_normal(&format!("layer {layer} of the stations"), pulls);
    }
    assert_normal("steep tracks", steep);
    let forwards = fallen.iter().filter(|pull| **pull > 1.0).count();
    assert!(10 * forwards > 9 * fallen.len(), "layers lean: {forwards} of {}", fallen.len());
}

#[test]
fn hits_of_the_ut_are_where_particles_passed() {
    let detector = Detector::nominal();
    let Sample { raw, truth } = simulated(&detector);
    let mut hits = Outcome::<UtBatch>::default();
    let level = Level::choose(None, None).unwrap();
    ut::decode(level, &detector.ut, raw.view(), 0..raw.len(), &mut UtScratch::default(), &mut hits);
    let hits = hits.results;
    let mut pulls: [[Vec<f64>; 2]; 4] = Default::default();
    for (event, truth) in truth.iter().enumerate() {
        for group in 0..UT_GROUPS {
            let at = UT_GROUPS * event + group;
            for hit in hits.group_start[at] as usize..hits.group_start[at + 1] as usize {
                let Some(&passed) = truth.get(&hits.id[hit]) else { continue };
                let plane = [20, 40, 62, 84].iter().position(|end| group < *end).unwrap();
                let slope = [0.0, TILT, -TILT, 0.0][plane];
                let [x, z, weight] = [hits.x[hit], hits.z[hit], hits.weight[hit]].map(f64::from);
                let pull = residual([x, slope], [z, 0.0], passed) * weight.sqrt();
                pulls[plane][usize::from(weight > 500.0)].push(pull);
            }
        }
    }
    for (plane, [wide, narrow]) in pulls.into_iter().enumerate() {
        assert_normal(&format!("plane {plane}, wide strips"), wide);
        assert_normal(&format!("plane {plane}, narrow strips"), narrow);
    }
}
