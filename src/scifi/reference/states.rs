//! Computes the states of tracks, with covariances in f64.

use super::choice::features;
use super::fit_f64::Fit;
use super::layers::{UV_SLOPE, UV_Z, X_Z, bend, distance};
use super::track::{Found, ReferenceTrack};
use crate::lhcb::Bending;
use crate::lhcb::magnet::MidPlane;
use crate::scifi::config::SciFiConfig;

/// z of the states, mm.
const STATE_Z: f64 = 9410.0;

/// Returns the state in the model of the search: x, y, and their slopes.
fn searched(found: &Found) -> [f32; 4] {
    let ([a, b, c], [y, ty]) = (found.x, found.y);
    let d = distance(STATE_Z);
    let turn = 2.0 * d - 3.0 * 0.00028 * d * d;
    let x = c.mul_add(bend(STATE_Z) as f32, b.mul_add(d as f32, a));
    [x, ty.mul_add(d as f32, y), c.mul_add(turn as f32, b), ty]
}

/// Returns the state of a track.
pub(super) fn state(found: &Found, config: &SciFiConfig, bending: &Bending) -> ReferenceTrack {
    let [x, y, tx, ty] = searched(found);
    let x0 = (-tx).mul_add(STATE_Z as f32, x);
    let before = [(5290.0 - STATE_Z as f32).mul_add(tx, x) / 5290.0, ty];
    let per_x0 = qop_of_unit(x0, [tx, ty], bending.polarity) * by_magnet(before, tx, bending);
    let qop = x0 * per_x0;
    let there = |hits: [Option<usize>; 6], z: [f64; 6]| -> Vec<f64> {
        hits.into_iter().zip(z).filter_map(|(hit, z)| hit.map(|_| z)).collect()
    };
    let tilted = found.uv_hits.iter().zip(UV_Z).zip(UV_SLOPE).filter(|((hit, _), _)| hit.is_some());
    let tilted: Vec<_> = tilted.map(|((_, z), slope)| [z, slope.signum() * 0.087_488_66]).collect();
    let fit = Fit::new(&there(found.x_hits, X_Z), &tilted);
    // The resolution averages over all hits, not only the narrowest ones.
    let resolution = 1.2f64.sqrt() * f64::from(config.resolution);
    let of_x0 = fit.variance_of_origin(resolution, qop.into());
    let var_qop = variance([x, tx], [qop, per_x0], of_x0, config);
    let tilt = (0.086 / 0.087_488_66) as f32;
    let (y, ty) = (y * tilt, ty * tilt);
    let [dx, dtx, dy, dty] = by_field(found, tilt, &fit);
    let (x, tx, y, ty) = (x + dx, tx + dtx, y + dy, ty + dty);
    let off = 0.0036f32 * y;
    let shrink = (-0.0036f32).mul_add(ty, 1.0);
    ReferenceTrack {
        hits: Vec::new(),
        position: [(-off).mul_add(tx, x), (-off).mul_add(ty, y)],
        slope: [tx * shrink, ty * shrink],
        searched: searched(found),
        qop,
        var_qop,
        chi2: [found.chi2_x, found.chi2],
        features: features(found),
        covariance: fit
            .covariance(config.resolution.into(), f64::from(qop) * f64::from(config.scattering).sqrt()),
    }
}

/// Returns charge over momentum over x0 of a track that meets z = 0 at x0 with these slopes.
fn qop_of_unit(x0: f32, [tx, ty]: [f32; 2], polarity: f32) -> f32 {
    let [lost, field, of_tx, of_ty, of_x0] = [34.538136, 6.520863, 4.3997498, 9.906894, -3.953126e-8];
    let field =
        f32::mul_add(of_x0, x0 * x0, f32::mul_add(of_ty, ty * ty, f32::mul_add(of_tx, tx * tx, field)));
    let field = if field > 1.0 { field } else { 1.0 };
    (1000.0 / polarity) / f32::mul_add(lost, x0.abs(), 1e6 * field)
}

/// Returns the factor on charge over momentum relative to the nominal magnet, by the slopes before and behind the magnet.
fn by_magnet(before: [f32; 2], behind: f32, bending: &Bending) -> f32 {
    let factor = bending.qop(before, behind) / Bending::nominal(bending.polarity).qop(before, behind);
    let factor = if factor > 0.9 { factor } else { 0.9 };
    if factor < 1.1 { factor } else { 1.1 }
}

/// Returns the variance of charge over momentum in f64; `line` is x and its slope, `qop` charge over momentum, and
/// charge over momentum over x0.
fn variance(line: [f32; 2], qop: [f32; 2], of_x0: f64, config: &SciFiConfig) -> f64 {
    let ([x, tx], [qop, per_x0]) = (line.map(f64::from), qop.map(f64::from));
    let before = (x + tx * (5290.0 - STATE_Z)) / 5290.0;
    let origin = f64::from(config.origin_z) * before;
    per_x0 * per_x0 * (of_x0 + origin * origin) + (f64::from(config.momentum_error) * qop).powi(2)
}

/// Returns the corrections for the field at the track, where the search assumes one shape for all tracks.
fn by_field(found: &Found, tilt: f32, fit: &Fit) -> [f32; 4] {
    let [b0, b1, slope0, second0, slope1] = MidPlane::new(8520.0).terms().map(|term| term as f32);
    let ([x, tx, c], [y, ty]) = (found.x, found.y.map(|value| value * tilt));
    let (x, y) = (x.clamp(-3000.0, 3000.0), y.clamp(-2500.0, 2500.0));
    let (w1, w2) = (x * x - y * y, -0.5 * (y * y));
    let of = |shapes: [f64; 3]| {
        let [zero, one, two] = shapes.map(|shape| shape as f32);
        w2.mul_add(two, w1.mul_add(one, zero))
    };
    let shapes = fit.shapes();
    let weakest = (1.0f32 / 3.0) * shapes.bend[0] as f32;
    let bend = of(shapes.bend);
    let bend = if bend > weakest { bend } else { weakest };
    let unit = if bend > 0.0 { c / bend } else { 0.0 };
    let along_y = w2.mul_add(second0, w1.mul_add(b1, b0));
    let along_z = y * slope1.mul_add(x * x, slope0);
    let force = tx.mul_add(ty.mul_add(along_y, along_z), -(ty.mul_add(ty, 1.0) * (2.0 * b1 * x * y)));
    let unit_y = unit * force / b0;
    let [left_y, left_ty] = shapes.in_y.map(|left| left as f32);
    [unit * of(shapes.value), unit * of(shapes.slope), unit_y * left_y, unit_y * left_ty]
}
