//! The naive twin of the fit of given tracks: fits one track at a time, hit by hit outwards and back.

use super::layers::Layers;
use super::{Fault, field};
use crate::cylinder::config::CylinderConfig;
use crate::event::{CYLINDER_LAYERS, CylinderEvent, CylinderSeeds, NO_HIT};
use crate::kalman::FitStatus;
use crate::kalman::reference::single::{
    Filtered, Hit, State, carry_back, from_three_hits, judge, noise, smooth, step, update, within_turn,
    written,
};

/// A track with its states.
#[derive(Debug, Clone)]
pub struct FittedTrack {
    /// Numbers of the hits, innermost hit first, counted from the event's first hit.
    pub hits: Vec<u32>,
    /// The smoothed state at each hit, in its output form.
    pub states: Vec<State>,
    /// chi2 of each hit in the filter, and with the smoothed state.
    pub chi2: Vec<[f32; 2]>,
    /// Sum of the filter's chi2.
    pub sum: f32,
    /// Status of the fit.
    pub fit: FitStatus,
}

/// Fits the tracks with the numbers `range` of `tracks`, which belong to an event with status `Ok`.
pub fn fit_tracks(
    fault: Fault,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    tracks: &CylinderSeeds,
    range: std::ops::Range<usize>,
) -> Vec<FittedTrack> {
    let layers = Layers::new(&config.bins, event);
    let fit = |track: usize| {
        let given: [u32; CYLINDER_LAYERS] = std::array::from_fn(|layer| tracks.hits[layer][track]);
        let list: Vec<u32> = given.into_iter().filter(|hit| *hit != NO_HIT).collect();
        let hits: Vec<Hit> = list.iter().map(|hit| layers.hits[*hit as usize]).collect();
        if hits.is_empty() {
            let fit = FitStatus::NotReached;
            return FittedTrack { hits: list, states: Vec::new(), chi2: Vec::new(), sum: 0.0, fit };
        }
        let mut out = fit_hits(fault, config, &hits);
        out.hits = list;
        out
    };
    range.map(fit).collect()
}

/// Fits outwards and smooths back.
fn fit_hits(fault: Fault, config: &CylinderConfig, hits: &[Hit]) -> FittedTrack {
    let last = hits.len() - 1;
    let end = |at: usize| [hits[at].position[0], hits[at].position[1], hits[at].radius];
    let prior = config.fit.prior.map(|sigma| sigma * sigma);
    let mut state = from_three_hits([0, last / 2, last].map(end), field(config), prior);
    let (mut reached, mut measured, mut sum) = (true, true, 0.0);
    let (mut notes, mut chi2) = (Vec::<Filtered>::new(), Vec::new());
    for hit in hits {
        if let Some(before) = notes.last_mut() {
            let (there, f, gets_there) = step(&state, field(config), hit.radius);
            (before.f, before.predicted) = (f, there.p);
            state = there;
            reached &= gets_there;
        }
        let (filtered, sane) = update(&mut state, Some(hit));
        measured &= sane && is_usable(hit);
        sum += filtered;
        chi2.push([filtered, 0.0]);
        let mut note = Filtered { state, noise: [[0.0; 5]; 5], f: [[None; 5]; 5], predicted: [0.0; 5] };
        if config.material > 0.0 {
            note.noise = noise(&state, config.material);
            for (i, j) in [(2, 2), (3, 3), (4, 2), (4, 4)] {
                state.c[i][j] += note.noise[i][j];
            }
        }
        notes.push(note);
    }
    let (mut states, mut fit) = (Vec::new(), FitStatus::Ok);
    let mut next: Option<State> = None;
    for (note, (hit, chi2)) in notes.iter().zip(hits.iter().zip(&mut chi2)).rev() {
        let state = match &next {
            Some(_) if fault == Fault::FilteredOnly => note.state,
            Some(next) if config.material > 0.0 => {
                let (smoothed, sane) = smooth(note, next);
                measured &= sane;
                smoothed
            }
            Some(next) => carry_back(note, next),
            None => note.state,
        };
        chi2[1] = chi2_of_rest(&state, hit);
        let shown = written(&state);
        if fit == FitStatus::Ok {
            fit = judge(&shown, reached, measured);
        }
        states.push(shown);
        next = Some(state);
    }
    states.reverse();
    if fit == FitStatus::Ok && !(-1.0 < sum && sum < f32::INFINITY) {
        fit = FitStatus::NotFinite;
    }
    FittedTrack { hits: Vec::new(), states, chi2, sum, fit }
}

/// Returns whether a hit is off the axis, with errors, and with finite values.
fn is_usable(hit: &Hit) -> bool {
    let is_positive = |value: f32| 0.0 < value && value < f32::INFINITY;
    is_positive(hit.radius) && hit.position[1].is_finite() && hit.variance.into_iter().all(is_positive)
}

/// Returns chi2 of a hit with a state that includes the hit.
fn chi2_of_rest(State { p, c, .. }: &State, hit: &Hit) -> f32 {
    let residual = [within_turn(hit.position[0] - p[0]), hit.position[1] - p[1]];
    let (a, b, d) = (hit.variance[0] - c[0][0], -c[1][0], hit.variance[1] - c[1][1]);
    let determinant = (-b).mul_add(b, a * d);
    if !(0.0 < determinant && 0.0 < a) {
        return f32::NAN;
    }
    let first = (-residual[1]).mul_add(b, residual[0] * d);
    let second = (-residual[0]).mul_add(b, residual[1] * a);
    residual[1].mul_add(second, residual[0] * first) / determinant
}
