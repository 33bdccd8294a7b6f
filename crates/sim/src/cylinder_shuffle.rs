//! Puts hits into a random order: in files, hits are in the order of their particles, unlike in a real detector.

use super::random::Random;
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, NO_HIT};

/// Puts the hits of each layer of the given events into a random order, and adapts the truth. The seed and the numbers
/// of hits determine the order.
pub fn cylinder_shuffle(
    batch: &mut CylinderBatch,
    truth: &mut CylinderTruth,
    events: std::ops::Range<usize>,
    seed: u64,
) {
    for event in events {
        let mut random = Random::new(seed, starts_of(batch, event));
        let starts = batch.layer_start[event * CYLINDER_LAYERS..][..CYLINDER_LAYERS + 1].to_vec();
        let first = starts[0];
        let hits = (starts[CYLINDER_LAYERS] - first) as usize;
        let mut order: Vec<u32> = (0..hits as u32).collect();
        for layer in starts.windows(2) {
            let order = &mut order[(layer[0] - first) as usize..(layer[1] - first) as usize];
            for i in (1..order.len()).rev() {
                order.swap(i, ((i + 1) as f64 * random.uniform()) as usize);
            }
        }
        batch.permute(event, &order);
        let owners = truth.particle_of[first as usize..][..hits].to_vec();
        let mut place = vec![0; hits];
        for (to, &from) in order.iter().enumerate() {
            truth.particle_of[first as usize + to] = owners[from as usize];
            place[from as usize] = to as u32;
        }
        let particles = truth.particles.start[event] as usize..truth.particles.start[event + 1] as usize;
        for column in &mut truth.particles.hits {
            for hit in column[particles.clone()].iter_mut().filter(|hit| **hit != NO_HIT) {
                *hit = place[*hit as usize];
            }
        }
    }
}

/// A number of the event that does not depend on other events.
fn starts_of(batch: &CylinderBatch, event: usize) -> u64 {
    let starts = &batch.layer_start[event * CYLINDER_LAYERS..][..CYLINDER_LAYERS + 1];
    u64::from(starts[CYLINDER_LAYERS] - starts[0])
}
