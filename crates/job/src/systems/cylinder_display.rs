//! Pictures of events of the cylinder detector.

use super::track_check::product;
use crate::display::gather::{Gather, Of};
use peloton::cylinder::CylinderSample;
use peloton::event::{CylinderFits, CylinderTracks};
use peloton_plot::Sensor;
use peloton_plot::event::Gathered;

/// Collects events of the cylinder detector to draw: hits, and tracks that were found, or given and fitted.
pub struct GatherCylinder {
    /// Magnetic field along z, T.
    pub field: f64,
}

impl Gather for GatherCylinder {
    fn sensors(&self) -> Vec<Sensor> {
        Sensor::of_cylinder().collect()
    }

    fn event(&mut self, of: &Of<'_>) -> Gathered {
        let Ok(sample) = of.chunk.batch.of::<CylinderSample>() else { return Gathered::default() };
        if let Some(found) = of.results.get::<CylinderTracks>() {
            let state = |track: usize| [0, 1, 2, 3, 4, 5].map(|column| found.state[column][track]);
            let tracks = found.of_event(of.event).map(|track| (found.hits_of(track), state(track)));
            return Gathered::of_cylinder(sample, of.number, tracks, self.field);
        }
        let fits: &CylinderFits = product(of.results);
        let state = |track: usize| {
            let first = fits.hit_start[track] as usize;
            // A track without hits has no state either.
            [0, 1, 2, 3, 4, 5].map(|column| fits.state[column].get(first).copied().unwrap_or(f32::NAN))
        };
        let tracks = fits.of_event(of.event).map(|track| (fits.hits_of(track), state(track)));
        Gathered::of_cylinder(sample, of.number, tracks, self.field)
    }
}
