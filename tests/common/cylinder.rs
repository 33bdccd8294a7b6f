//! Events of the cylinder.

use peloton::event::{CylinderBatch, CylinderTruth};
use peloton_sim::CylinderSim;

/// Hits, and the particles that made them.
pub type Sample = (CylinderBatch, CylinderTruth);

/// Returns the simulated events of `sim:cylinder,...`.
pub fn simulated(text: &str) -> Sample {
    let (mut batch, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    let mut sim = CylinderSim::new(text.parse().unwrap(), 0, None);
    while sim.read(8, &mut batch, &mut truth) > 0 {}
    (batch, truth)
}
