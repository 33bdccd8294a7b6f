//! [`Gathered::of_cylinder`]: hits, tracks and truth of an event of the cylinder detector, converted from cm to mm.

use super::{Gathered, Hit, Line, Momentum, Part, Particle, Piece, Point, Track, Truth};
use peloton::cylinder::{CylinderSample, Helix};
use peloton::event::{CYLINDER_LAYERS, CylinderEvent, CylinderTruth, NO_HIT};
use peloton_truth::CylinderChecker;

/// mm in a cm.
const MM_PER_CM: f64 = 10.0;
/// Number of straight pieces of a drawn helix.
const STEPS: usize = 24;

impl Gathered {
    /// Gathers the hits, tracks and truth of event `number` of a sample. A track is given by its hits and its state at
    /// the innermost hit: radius (cm) and five parameters. `field` is the magnetic field, T.
    pub fn of_cylinder<'a>(
        sample: &CylinderSample,
        number: usize,
        tracks: impl Iterator<Item = (&'a [u32], [f32; 6])> + Clone,
        field: f64,
    ) -> Self {
        let event = sample.hits.event(number);
        let hits: Vec<Hit> = (0..event.len()).map(|hit| point(&event, hit)).collect();
        let mut checker = CylinderChecker::default();
        checker.event(&sample.hits, &sample.truth, number, tracks.clone().map(|(hits, _)| hits));
        let tracks = tracks.map(|(own, state)| track(own, state, &hits, field)).collect();
        let first = sample.truth.particles.start[number] as usize;
        let end = sample.truth.particles.start[number + 1] as usize;
        let particles = (first..end).map(|at| particle(&sample.truth, at, at - first, &hits)).collect();
        Self { hits, tracks, truth: Some(Truth { particles, matches: checker.last_event().clone() }) }
    }
}

/// Makes a track from its hits and the state at the innermost hit: radius and parameters.
fn track(own: &[u32], state: [f32; 6], hits: &[Hit], field: f64) -> Track {
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
        pieces: helix(Helix::new(start, field), radius, end),
        momentum: p.is_finite().then_some(Momentum { p, pt, qop: qpt.signum() / p }),
        ..Track::default()
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
