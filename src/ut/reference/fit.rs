//! Naive reference of `find/fit.rs`: fits the best tracklet of a track, and accepts or rejects the track.

use super::errors::{Errors, Normal};
use super::line::{Beside, Line, MIDDLE, SLOPE};
use super::tracklets::Tracklet;
use crate::ut::config::{LineConfig, UtChoice, UtConfig};
use crate::ut::layout::UtLayout;

/// A fitted tracklet: state in the middle of the UT; MeV, mm.
pub(super) struct Fitted {
    pub(super) hits: Vec<Beside>,
    pub(super) qop: f32,
    pub(super) chi2: f32,
    /// Ratio of the true momentum to the fitted momentum.
    pub(super) scale: f32,
    pub(super) per_kick: f32,
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) offset: f32,
    pub(super) tx: f32,
    pub(super) ty: f32,
    pub(super) errors: Errors,
}

/// A line through hits: x, slope per m, offset in y.
struct Solution {
    x: f32,
    t: f32,
    offset: f32,
    normal: Normal,
}

/// Returns the line through hits. `before`: where it meets the Velo track, m behind the middle of the UT, and weights
/// of this point and of the track's y.
fn solve(hits: &[Beside], before: [f32; 3]) -> Solution {
    let normal = Normal::new(hits, before);
    let [x, t, offset] = normal.solve(hits, |hit| hit.d);
    Solution { x, t, offset, normal }
}

impl Solution {
    fn chi2(&self, hits: &[Beside], shrink: f32, first: f32) -> f32 {
        hits.iter().fold(first, |chi2, hit| {
            let dz = (hit.z - MIDDLE) * 0.001;
            let rest = self.offset.mul_add(SLOPE[hit.plane], hit.d - self.t.mul_add(dz, self.x));
            (hit.weight * shrink * rest).mul_add(rest, chi2)
        })
    }
}

/// Returns the factor from a difference of sines to q/p in 1/MeV.
pub(super) fn per_kick(layout: &UtLayout, line: &Line) -> f32 {
    let field = integral(layout, line);
    if field.abs() < 1e-8 { 0.0 } else { -3.3356e-3 / field }
}

/// Returns the distance of the point where lines meet the Velo track, m behind the middle of the UT, and its weights;
/// `inverse_p` in 1/GeV.
fn meeting(of: &LineConfig, line: &Line, inverse_p: f32) -> [f32; 3] {
    let weight = |[constant, part]: [f32; 2]| {
        let error = inverse_p * part;
        1.0 / error.mul_add(error, constant * constant)
    };
    let distance = (line.ty * line.ty).mul_add(of.kink[2], line.ty.abs().mul_add(of.kink[1], of.kink[0]));
    [distance * -0.001, weight(of.kink_error), weight(of.offset_error)]
}

/// Returns the cost of a tracklet, and the slope per m of the line through its hits alone.
pub(super) fn cost(config: &UtConfig, layout: &UtLayout, line: &Line, hits: &[Beside]) -> (f32, f32) {
    let of = &config.line;
    let solution = solve(hits, [0.0; 3]);
    let inverse_p = (solution.t * per_kick(layout, line)).abs();
    let [lever, meeting, offset] = meeting(of, line, inverse_p);
    let apart = solution.t.mul_add(lever, solution.x);
    let first = (meeting * apart).mul_add(apart, offset * solution.offset * solution.offset);
    let chi2 = solution.chi2(hits, 1.0, first);
    let worth = if hits.len() == 4 { of.fourth_hit } else { 0.0 };
    let straight = ln(inverse_p.max(1.0 / of.max_momentum));
    let angle = line.tx.mul_add(line.tx, line.ty * line.ty).sqrt();
    let (p, pt) = (config.final_momentum * 0.001, config.final_pt * 0.001);
    let is_enough = inverse_p * p <= 1.0 && inverse_p * pt <= angle;
    (if is_enough { straight.mul_add(of.momentum, chi2 - worth) } else { 1e12 }, solution.t)
}

/// Fits a chosen tracklet.
pub(super) fn fit(config: &UtConfig, layout: &UtLayout, line: &Line, tracklet: Tracklet) -> Fitted {
    let Tracklet { hits, kick, .. } = tracklet;
    match config.choice {
        UtChoice::Kick | UtChoice::Compass => fit_kick(layout, line, hits, kick),
        UtChoice::Line => fit_line(config, layout, line, hits, kick),
    }
}

fn fit_line(config: &UtConfig, layout: &UtLayout, line: &Line, hits: Vec<Beside>, slope: f32) -> Fitted {
    let per_kick = per_kick(layout, line);
    let before = meeting(&config.line, line, (slope * per_kick).abs());
    let solution = solve(&hits, before);
    let [lever, meeting, offset] = before;
    let apart = solution.t.mul_add(lever, solution.x);
    let first = (meeting * apart).mul_add(apart, offset * solution.offset * solution.offset);
    let one = line.ty * line.ty + 1.0;
    let behind = solution.t.mul_add(0.001, line.tx);
    let ((before_sine, change_before), (behind, change)) = (sine(line.tx, one), sine(behind, one));
    Fitted {
        chi2: solution.chi2(&hits, 1.0, first),
        qop: (before_sine - behind) * per_kick,
        scale: config.line.scale,
        ..fitted(layout, line, hits, &solution, (before, per_kick, [change, change_before / change, 0.0]))
    }
}

fn fit_kick(layout: &UtLayout, line: &Line, hits: Vec<Beside>, kick: f32) -> Fitted {
    let per_kick = per_kick(layout, line);
    let ty2 = line.ty * line.ty;
    let kink: f32 = ty2.mul_add(ty2.mul_add(71_330.0, 2240.0), 2010.0);
    let lever = (kink - MIDDLE) * 0.001;
    let one = ty2 + 1.0;
    let inverse_p = (kick * per_kick).abs().max(1e-9) * one.sqrt();
    let (scattering, resolution) = (inverse_p.mul_add(1e4, 0.14), inverse_p.mul_add(3e3, 0.12));
    let meeting = 1.0 / scattering.mul_add(scattering, resolution * resolution);
    let solution = solve(&hits, [lever, meeting, 0.0]);
    let Solution { x, t, offset, .. } = solution;
    let apart = t.mul_add(lever, x);
    let behind = t.mul_add(0.001, line.tx);
    let shrink = 1.0 / behind.mul_add(behind, 1.0);
    let first = meeting * (apart * apart).mul_add(shrink, offset * offset / one);
    let per_mm = 1.0 / (kink - line.z);
    let before = (0.5 * apart).mul_add(per_mm, line.tx);
    let ((sine_before, change_before), (sine_behind, change)) = (sine(before, one), sine(behind, one));
    let turn = change_before / change;
    let measure = [change, turn, 0.5 * per_mm * turn];
    Fitted {
        chi2: solution.chi2(&hits, shrink, first),
        qop: (sine_before - sine_behind) * per_kick,
        ..fitted(layout, line, hits, &solution, ([lever, meeting, 0.0], per_kick, measure))
    }
}

/// Returns the sine of an angle in x, given its tangent and 1 + ty^2, and the derivative with respect to the tangent.
pub(super) fn sine(t: f32, one: f32) -> (f32, f32) {
    let root = t.mul_add(t, one).sqrt();
    (t * root, root + t * t / root)
}

/// Returns the state in the middle of the UT, given the constraints `before` of the fit and the dependence of q/p on
/// the fit.
fn fitted(
    layout: &UtLayout,
    line: &Line,
    hits: Vec<Beside>,
    Solution { x, t, offset, normal }: &Solution,
    (before, per_kick, measure): ([f32; 3], f32, [f32; 3]),
) -> Fitted {
    let [line_x, line_y] = line.at(MIDDLE);
    let depth = |hit: &Beside| (hit.z - MIDDLE) * 0.001;
    let [bent_x, bent_t, _] = normal.solve(&hits, |hit| depth(hit) * depth(hit));
    let of_bend = per_kick.abs() * (layout.field * (0.5 / 3.3356e-3));
    let bend = t * of_bend;
    let bends = [of_bend * 1000.0 * bent_x, of_bend * bent_t];
    Fitted {
        qop: 0.0,
        chi2: 0.0,
        scale: 1.0,
        per_kick,
        x: (-bend).mul_add(bent_x, line_x + x),
        y: line_y,
        offset: *offset,
        tx: (-bend).mul_add(bent_t, *t).mul_add(0.001, line.tx),
        ty: line.ty,
        errors: Errors::new(&hits, normal, before, (measure, bends)),
        hits,
    }
}

/// Returns whether a track is kept.
pub(super) fn is_good(config: &UtConfig, layout: &UtLayout, line: &Line, fitted: &Fitted) -> bool {
    let Fitted { qop, chi2, x, y, offset, tx, .. } = *fitted;
    let is_sane = chi2 < 1e12 && 1.0 / qop.abs() < 1e12;
    if config.choice == UtChoice::Line {
        return is_sane;
    }
    let p = 1.3 / qop.abs();
    let pt = p * line.tx.mul_add(line.tx, line.ty * line.ty).sqrt();
    let side = layout.polarity * qop;
    let in_beam = (y + offset).abs() < 33.0;
    let wide = pt.mul_add(0.0003, 0.09);
    let left = side < 0.0 && (in_beam && -48.0 < x && x < 0.0 || wide < tx);
    let right = 0.0 < side && (in_beam && 0.0 < x && x < 48.0 || tx < -wide);
    let k: [f32; 4] = match fitted.hits.len() {
        3 => [0.162_880_17, -0.107_081_175, 0.134_153_13, -0.137_764_85],
        _ => [0.235_010_73, -0.093_832_36, 0.110_823_68, -0.170_467_1],
    };
    let value = k[3].mul_add(ln(chi2), k[2].mul_add(ln(pt), k[1].mul_add(ln(p), k[0])));
    let is_enough = p >= config.final_momentum && pt >= config.final_pt;
    let is_outside = config.fiducial && (left || right);
    is_sane && is_enough && !is_outside && config.discriminant <= value
}

/// Returns the field integral along a track up to the UT, T m.
pub(super) fn integral(layout: &UtLayout, line: &Line) -> f32 {
    let origin = if line.ty.abs() > 0.001 { line.z - line.y / line.ty } else { line.z - line.x / line.tx };
    let at = [(line.ty + 0.3) * 50.0, (origin + 250.0) * 0.02, line.z * 0.0125];
    let last = [30, 10, 10];
    let node: [i32; 3] = std::array::from_fn(|axis| at[axis].max(0.0).min(last[axis] as f32) as i32);
    let value = |node: [i32; 3]| {
        let [i, j, k] = [0, 1, 2].map(|axis| node[axis].min(last[axis]));
        layout.tables.field_integral[((k * 11 + j) * 31 + i) as usize]
    };
    let base = value(node);
    let mut sum = base;
    for axis in 0..3 {
        let mut next = node;
        next[axis] += 1;
        if 0.0 <= at[axis] && at[axis] <= last[axis] as f32 {
            sum = (at[axis] - node[axis] as f32).mul_add(value(next) - base, sum);
        }
    }
    sum
}

/// Returns the natural logarithm.
pub(crate) fn ln(x: f32) -> f32 {
    const ROOT: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(ROOT);
    let exponent = (bits as i32 >> 23) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff) + ROOT);
    let s = (m - 1.0) / (m + 1.0);
    let square: f32 = s * s;
    let tail = square.mul_add(square.mul_add(square.mul_add(1.0 / 9.0, 1.0 / 7.0), 0.2), 1.0 / 3.0);
    let twice = s + s;
    exponent.mul_add(std::f32::consts::LN_2, (twice * square).mul_add(tail, twice))
}
