//! Pictures of events of the cylinder detector, whose files are in cm.

use super::track_check::product;
use crate::display::{Gather, Of};
use peloton::cylinder::{CylinderSample, Helix};
use peloton::event::{CYLINDER_LAYERS, CylinderEvent, CylinderFits, CylinderTracks, CylinderTruth, NO_HIT};
use peloton_plot::Sensor;
use peloton_plot::event::{Gathered, Hit, Line, Momentum, Part, Particle, Piece, Point, Track, Truth};
use peloton_truth::CylinderChecker;

/// mm in a cm.
const MM_PER_CM: f64 = 10.0;
/// Number of straight pieces of a drawn helix.
const STEPS: usize = 24;

/// Collects events of the cylinder detector for pictures.
pub struct GatherCylinder {
    /// Field along z, T.
    field: f64,
    /// Collects an event with its tracks from the results.
    tracks: fn(&Self, &Of<'_>) -> Gathered,
}

impl GatherCylinder {
    /// Draws found tracks; `field` is the magnetic field, T.
    pub fn of_tracks(field: f64) -> Self {
        Self { field, tracks: found_tracks }
    }

    /// Draws given tracks after their fit; `field` is the magnetic field, T.
    pub fn of_fits(field: f64) -> Self {
        Self { field, tracks: fitted_tracks }
    }

    /// Makes a track from its hits and the state at the innermost hit: radius and parameters.
    fn track(&self, own: &[u32], state: [f32; 6], hits: &[Hit]) -> Track {
        let own: Vec<_> = own.iter().map(|&hit| hit as usize).collect();
        let points: Vec<Point> = own.iter().filter_map(|&hit| hits.get(hit)).map(Hit::middle).collect();
        let [radius, azimuth, z, qpt, phi, theta] = state.map(f64::from);
        let start = [radius * azimuth.cos(), radius * azimuth.sin(), z, qpt, phi, theta];
        let end = points.iter().map(|p| p[0].hypot(p[1]) / MM_PER_CM).fold(radius, f64::max);
        let pt = 1.0 / qpt.abs();
        let p = pt / theta.sin();
        Track {
            named: own.len(),
            hits: own.into_iter().filter(|hit| *hit < hits.len()).collect(),
            points,
            pieces: helix(Helix::new(start, self.field), radius, end),
            momentum: p.is_finite().then_some(Momentum { p, pt, qop: qpt.signum() / p }),
            ..Track::default()
        }
    }

    /// Collects an event with its tracks, each given by its hits and its state.
    fn gathered<'a>(
        &self,
        of: &Of<'_>,
        tracks: impl Iterator<Item = (&'a [u32], [f32; 6])> + Clone,
    ) -> Gathered {
        let Ok(batch) = of.chunk.batch.of::<CylinderSample>() else { return Gathered::default() };
        let number = of.number;
        let event = batch.hits.event(number);
        let hits: Vec<Hit> = (0..event.len()).map(|hit| point(&event, hit)).collect();
        let mut checker = CylinderChecker::default();
        checker.event(&batch.hits, &batch.truth, number, tracks.clone().map(|(hits, _)| hits));
        let tracks = tracks.map(|(own, state)| self.track(own, state, &hits)).collect();
        let first = batch.truth.particles.start[number] as usize;
        let end = batch.truth.particles.start[number + 1] as usize;
        let particles = (first..end).map(|at| particle(&batch.truth, at, at - first, &hits)).collect();
        Gathered { hits, tracks, truth: Some(Truth { particles, matches: checker.last_event().clone() }) }
    }
}

/// The helix of a state from one radius to another, cm.
fn helix(state: Helix, from: f64, to: f64) -> Vec<Piece> {
    let radius = |step: usize| from + (to - from) * step as f64 / STEPS as f64;
    let points: Vec<Point> = (0..=STEPS)
        .map_while(|step| state.at_radius(radius(step)))
        .map(|at| at.position.map(|value| MM_PER_CM * value))
        .take_while(|point| point.iter().all(|value| value.is_finite()))
        .collect();
    if points.len() < 2 { Vec::new() } else { vec![Piece { line: Line::State, points }] }
}

impl Gather for GatherCylinder {
    fn sensors(&self) -> Vec<Sensor> {
        Sensor::of_cylinder().collect()
    }

    fn event(&mut self, of: &Of<'_>) -> Gathered {
        (self.tracks)(self, of)
    }
}

fn found_tracks(gather: &GatherCylinder, of: &Of<'_>) -> Gathered {
    let found: &CylinderTracks = product(of.results);
    let state = |track: usize| [0, 1, 2, 3, 4, 5].map(|column| found.state[column][track]);
    let tracks = found.of_event(of.event).map(|track| (found.hits_of(track), state(track)));
    gather.gathered(of, tracks)
}

fn fitted_tracks(gather: &GatherCylinder, of: &Of<'_>) -> Gathered {
    let found: &CylinderFits = product(of.results);
    let state = |track: usize| {
        let first = found.hit_start[track] as usize;
        // A track without hits has no state either.
        [0, 1, 2, 3, 4, 5].map(|column| found.state[column].get(first).copied().unwrap_or(f32::NAN))
    };
    let tracks = found.of_event(of.event).map(|track| (found.hits_of(track), state(track)));
    gather.gathered(of, tracks)
}

fn point(event: &CylinderEvent<'_>, hit: usize) -> Hit {
    let at = [event.x[hit], event.y[hit], event.z[hit]].map(|cm| MM_PER_CM * f64::from(cm));
    Hit::point(Part::Cylinder, hit as u32, at)
}

/// Makes a particle; `at` is its number in the batch, and `number` its number in the event.
fn particle(truth: &CylinderTruth, at: usize, number: usize, hits: &[Hit]) -> Particle {
    let [.., qpt, _, theta] = truth.particles.vertex.each_ref().map(|column| f64::from(column[at]));
    let on_layers = (0..CYLINDER_LAYERS).map(|layer| truth.particles.hits[layer][at]);
    let own: Vec<_> = on_layers.filter(|hit| *hit != NO_HIT).map(|hit| hit as usize).collect();
    let own: Vec<_> = own.into_iter().filter(|hit| *hit < hits.len()).collect();
    let pt = 1.0 / qpt.abs();
    Particle {
        name: format!("particle {number}"),
        p: pt / theta.sin(),
        pt,
        eta: -(0.5 * theta).tan().ln(),
        points: own.iter().map(|&hit| hits[hit].middle()).collect(),
        hits: own,
    }
}
