//! Adds hits of the u and v layers to tracks in x.

use super::layers::{UV_SLOPE, UV_Z, bend, distance};
use super::track::Place;
use super::x::{CandidateX, nearest};
use crate::scifi::config::SeedPass;

/// Hits in u and v layers, and the line in y.
#[derive(Debug, Clone)]
pub(super) struct Confirmed {
    pub(super) hits: [Place; 6],
    pub(super) y: [f32; 2],
    pub(super) chi2: f32,
}

/// Returns the best hits for a track, if they are enough: searches from each hit of the first layer, then from each hit of
/// the second layer.
pub(super) fn confirm(
    pass: &SeedPass,
    is_upper: bool,
    layers: &[&[(f32, usize)]; 6],
    track: &CandidateX,
) -> Option<Confirmed> {
    let [a, b, c] = track.parameters;
    let at = |layer: usize| {
        let z = UV_Z[layer];
        (bend(z) as f32).mul_add(c, (distance(z) as f32).mul_add(b, a))
    };
    let x: [f32; 6] = std::array::from_fn(at);
    let y_of = |layer: usize, hit: f32| (x[layer] - hit) * (1.0 / UV_SLOPE[layer]) as f32;
    let (low, high) = if is_upper { (-2.0f32, 2700.0f32) } else { (-2700.0, 2.0) };
    // The range includes one hit beyond its end.
    let range = |layer: usize| {
        let end = |y: f32| (-y).mul_add(UV_SLOPE[layer] as f32, x[layer]);
        let (from, to) = (end(low).min(end(high)), end(low).max(end(high)));
        let begin = layers[layer].iter().filter(|(hit, _)| *hit < from).count();
        let end = layers[layer].iter().filter(|(hit, _)| *hit < to).count() + 1;
        begin..end.min(layers[layer].len()).max(begin)
    };
    let need = (pass.min_hits as usize).saturating_sub(track.hits.iter().flatten().count());
    let need = need.max(pass.min_uv_hits as usize);
    let mut best: Option<Confirmed> = None;
    for first in 0..2 {
        for start in range(first) {
            let (mut hits, mut y): ([Place; 6], [f32; 6]) = ([None; 6], [0.0; 6]);
            hits[first] = Some(start);
            y[first] = y_of(first, layers[first][start].0);
            let mut slope = y[first] * (1.0 / UV_Z[first]) as f32;
            for layer in first + 1..6 {
                let expected = (-(slope * UV_Z[layer] as f32)).mul_add(UV_SLOPE[layer] as f32, x[layer]);
                let range = range(layer);
                if let Some((place, away)) = nearest(&layers[layer][range.clone()], expected)
                    && away < pass.uv_tolerance
                {
                    let place = range.start + place;
                    hits[layer] = Some(place);
                    y[layer] = y_of(layer, layers[layer][place].0);
                    slope = y[layer].mul_add((1.0 / UV_Z[layer]) as f32, slope) * 0.5;
                }
            }
            let count = hits.iter().flatten().count();
            if count < need {
                continue;
            }
            let line = fit(hits, y);
            let is_better = |best: &Confirmed| {
                let most = best.hits.iter().flatten().count();
                count > most || count == most && line.chi2 < best.chi2
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(line);
            }
        }
    }
    best
}

/// Fits a line to the y of hits.
fn fit(hits: [Place; 6], y: [f32; 6]) -> Confirmed {
    let (mut n, mut sum_d, mut sum_dd, mut sum_y, mut sum_dy) = (0.0f32, 0.0f32, 0.0f32, 0.0f32, 0.0f32);
    for layer in (0..6).filter(|layer| hits[*layer].is_some()) {
        let d = distance(UV_Z[layer]) as f32;
        n += 1.0;
        sum_d += d;
        sum_dd = d.mul_add(d, sum_dd);
        sum_y += y[layer];
        sum_dy = d.mul_add(y[layer], sum_dy);
    }
    let determinant = n.mul_add(sum_dd, -(sum_d * sum_d));
    let slope = n.mul_add(sum_dy, -(sum_d * sum_y)) / determinant;
    let at = (-slope).mul_add(sum_d, sum_y) / n;
    let mut chi2 = 0.0f32;
    for layer in (0..6).filter(|layer| hits[*layer].is_some()) {
        let left = y[layer] - slope.mul_add(distance(UV_Z[layer]) as f32, at);
        chi2 = left.mul_add(left, chi2);
    }
    Confirmed { hits, y: [at, slope], chi2 }
}
