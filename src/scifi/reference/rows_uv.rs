//! Adds hits of the u and v layers to tracks in x by rows of bits: finds the slopes in y with hits in the most layers.

use super::layers::{UV_SLOPE, UV_Z, bend, distance};
use super::rows::{CandidateX, Four, Layer, most, place, runs};
use super::uv::Confirmed;
use crate::scifi::config::RowPass;

/// Change of the slope in y from bit to bit.
const STEP: f64 = 2_750.0 / 8520.0 / 512.0;

/// Returns the slopes for which a layer has a hit.
fn slopes(pass: &RowPass, layer: usize, hits: Layer<'_>, x: f32, sign: f32) -> [bool; 512] {
    let width = UV_SLOPE[layer].abs() * UV_Z[layer] * STEP;
    let bits = (2.0 * 0.8 * f64::from(pass.uv_tolerance) / width + 0.5).ceil().min(60.0);
    let middle = (3_300.0 + 400.0) / width + 1_024.0;
    let (scale, last) = ((-UV_SLOPE[layer].signum() / width) as f32, most(2.0 * middle));
    let within = x.clamp(-3_300.0, 3_300.0);
    let window = place(within * sign, scale, (middle + 0.5 - 8.0) as f32, last);
    let mut has = [false; 512];
    for (hit, _) in hits {
        let first = place(*hit, sign * scale, (middle - 0.5 * (bits - 1.0)) as f32, last);
        for bit in first..first + bits as i32 {
            if let Some(has) = has.get_mut((bit - window) as usize) {
                *has = true;
            }
        }
    }
    has
}

/// Fits a line to the y of the hits nearest to the places `middle + off`, within a tolerance.
fn line(
    tolerance: f32,
    x: [f32; 6],
    middle: [f32; 6],
    four: &[Four; 6],
    off: [f32; 6],
) -> (Confirmed, usize) {
    let near: [Option<f32>; 6] = std::array::from_fn(|layer| {
        Some(four[layer].nearest(off[layer])).filter(|nearest| *nearest < tolerance)
    });
    let y = |layer: usize, near: f32| {
        (x[layer] - (four[layer].away(near) + middle[layer])) * (1.0 / UV_SLOPE[layer]) as f32
    };
    let there: Vec<_> =
        (0..6).filter_map(|layer| Some((distance(UV_Z[layer]) as f32, y(layer, near[layer]?)))).collect();
    let (mut n, mut d, mut dd, mut sum, mut dy) = (0.0f32, 0.0f32, 0.0f32, 0.0f32, 0.0f32);
    for &(at, y) in &there {
        (n, d, dd, sum, dy) = (n + 1.0, d + at, dd + at * at, sum + y, y.mul_add(at, dy));
    }
    let slope = n.mul_add(dy, -(d * sum)) / n.mul_add(dd, -(d * d));
    let at = (-slope).mul_add(d, sum) / n;
    let mut chi2 = 0.0f32;
    for &(z, y) in &there {
        let left = y - slope.mul_add(z, at);
        chi2 = left.mul_add(left, chi2);
    }
    let hits = std::array::from_fn(|layer| near[layer].and_then(|near| four[layer].place(near)));
    (Confirmed { hits, y: [at, slope], chi2 }, there.len())
}

/// Returns the best line for a track, if it has enough hits.
pub(super) fn confirm(pass: &RowPass, layers: &[Layer<'_>; 6], track: &CandidateX) -> Option<Confirmed> {
    let [a, b, c] = track.parameters;
    let sign = if track.half == 1 { 1.0 } else { -1.0 };
    let x: [f32; 6] = UV_Z.map(|z| (bend(z) as f32).mul_add(c, b.mul_add(distance(z) as f32, a)));
    let has: [_; 6] = std::array::from_fn(|layer| slopes(pass, layer, layers[layer], x[layer], sign));
    let need = (pass.min_hits as usize).saturating_sub(track.hits.iter().flatten().count());
    let need = need.max(pass.min_uv_hits as usize);
    let count = |bit: usize| has.iter().filter(|layer| layer[bit]).count();
    let level = (0..512).map(count).max().filter(|level| *level >= need.max(4))?;
    let mut best: Option<(Confirmed, usize)> = None;
    for (begin, end) in runs(512, 12, |bit| count(bit) >= level) {
        let slope = ((begin + end) as f32).mul_add(0.5, -8.0) * (sign * STEP as f32);
        let middle: [f32; 6] =
            std::array::from_fn(|layer| (-slope).mul_add((UV_SLOPE[layer] * UV_Z[layer]) as f32, x[layer]));
        let reach = pass.uv_tolerance + 0.3;
        let four: [Four; 6] = std::array::from_fn(|layer| {
            Four::new(layers[layer], [middle[layer] - reach, middle[layer], middle[layer] + reach])
        });
        let (first, _) = line(pass.uv_tolerance, x, middle, &four, [0.0; 6]);
        let [at, slope] = first.y;
        let off = std::array::from_fn(|layer| {
            let y = slope.mul_add(distance(UV_Z[layer]) as f32, at);
            (-y).mul_add(UV_SLOPE[layer] as f32, x[layer]) - middle[layer]
        });
        let found = line(pass.line_tolerance, x, middle, &four, off);
        let is_better =
            |best: &(Confirmed, usize)| found.1 > best.1 || found.1 == best.1 && found.0.chi2 < best.0.chi2;
        if best.as_ref().is_none_or(is_better) {
            best = Some(found);
        }
    }
    best.filter(|(_, count)| *count >= need).map(|(line, _)| line)
}
