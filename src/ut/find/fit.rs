//! Fit: momentum, state and quality of the chosen tracklets; a lane a tracklet.
//!
//! A line through the hits, with an offset of the Velo track in y, which the Velo track meets at the kink, as exactly as
//! its errors and scattering allow. The unknowns are distances from the Velo track.

use super::complete::Tracklet;
use super::output::{Fitted, append};
use super::{Beside, Line, MIDDLE, NONE, Search, UtFindWorkspace};
use crate::event::{UT_PLANES, VeloUtTracks};
use crate::simd::Gang;
use crate::simd::math::ln;
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::ut::config::UtConfig;
use crate::ut::layout::UtLayout;

/// Difference of sines times field integral, in T m, to 1/MeV; negative since the magnet is down.
const PER_FIELD: f32 = -3.3356e-3;
/// A smaller field integral tells no momentum, T m.
const MIN_FIELD: f32 = 1e-8;
/// z of the kink as a polynomial of ty^2, mm.
const KINK: [f32; 3] = [2010.0, 2240.0, 71_330.0];
/// Errors with which a Velo track meets the kink, mm: scattering and resolution, each with its part per 1/MeV.
const SCATTERING: [f32; 2] = [0.14, 1e4];
const RESOLUTION: [f32; 2] = [0.12, 3e3];
/// 1/MeV: tracks are no straighter than that.
const MIN_INVERSE: f32 = 1e-9;
/// Momentum times |q/p|: a little above 1, from simulation.
const MOMENTUM_SCALE: f32 = 1.3;
/// Coefficients of the discriminant: constant, ln p, ln pt, ln chi2; with three hits and with four.
const DISCRIMINANT: [[f32; 4]; 2] = [
    [0.162_880_17, -0.107_081_175, 0.134_153_13, -0.137_764_85],
    [0.235_010_73, -0.093_832_36, 0.110_823_68, -0.170_467_1],
];
/// Tracks that leave through the hole for the beam, mm, or bend out of the detector: slope, and slope per MeV.
const BEAM_HOLE: [f32; 2] = [48.0, 33.0];
const WIDE: [f32; 2] = [0.09, 0.0003];
/// No real track has such a momentum, in MeV, or such a chi2.
const ABSURD: f32 = 1e12;

/// Fits the chosen tracklets of an event and appends those that are good.
#[inline(always)]
pub(super) fn fit<G: Gang>(
    g: G,
    search: &Search<'_>,
    event: usize,
    workspace: &UtFindWorkspace,
    out: &mut VeloUtTracks,
) {
    let UtFindWorkspace { store, tracks, doublets, chosen, .. } = workspace;
    let layout = search.layout;
    let whole = |value: u32| U32::splat(g, value);
    for at in (0..chosen.len()).step_by(G::LANES) {
        let lanes = Mask::first(g, chosen.len() - at);
        let doublet = lanes.select_u(U32::load(g, &chosen.padded()[at..]), whole(0));
        let row = U32::gather(doublets.row.padded(), doublet);
        let back = whole(0).lt(U32::gather(doublets.backward.padded(), doublet));
        let line = Line::gather(g, &tracks.line, row, layout.velo_z);
        let slope = Tracklet::slopes(g, back);
        let hit = doublets.hits.each_ref().map(|hits| U32::gather(hits.padded(), doublet));
        let has = [hit[1], hit[3]].map(|hit| hit.lt(whole(NONE)));
        let tracklet = Tracklet {
            hits: std::array::from_fn(|role| Beside::gather(store, hit[role], &line, slope[role])),
            slope,
            weight: Tracklet::weights(g, store, hit, has),
            has,
        };
        let kick = F32::gather(doublets.kick.padded(), doublet);
        let track = Track::new(g, layout, line);
        let fitted = track.fit(g, &tracklet, kick, layout);
        let good = lanes & is_good(g, search.config, layout, &track, &fitted, has[0] & has[1]);
        append(g, search, event, workspace, &Fitted { at, good, ..fitted }, out);
    }
    out.track_start.push(out.tracks() as u32);
}

/// What a fit needs to know of the Velo tracks.
struct Track<G: Gang> {
    line: Line<G>,
    /// 1 + ty^2.
    one: F32<G>,
    ty2: F32<G>,
    /// Where the kink is, mm, and the same from the middle of the UT, m.
    kink: F32<G>,
    lever: F32<G>,
    /// Difference of sines to q/p in 1/MeV.
    per_kick: F32<G>,
}

impl<G: Gang> Track<G> {
    #[inline(always)]
    fn new(g: G, layout: &UtLayout, line: Line<G>) -> Self {
        let real = |value: f32| F32::splat(g, value);
        let field = field_integral(g, layout, &line);
        let none = field.abs().lt(real(MIN_FIELD));
        let ty2 = line.ty * line.ty;
        let kink = ty2.mul_add(ty2.mul_add(real(KINK[2]), real(KINK[1])), real(KINK[0]));
        Self {
            line,
            one: ty2 + real(1.0),
            ty2,
            kink,
            lever: (kink - real(MIDDLE)) * real(0.001),
            per_kick: none.select_f(real(0.0), real(PER_FIELD) / field),
        }
    }

    /// Sine of the angle in x of a direction, and by how much it changes with the slope.
    #[inline(always)]
    fn sine(&self, t: F32<G>) -> (F32<G>, F32<G>) {
        let root = t.mul_add(t, self.one).sqrt();
        (t * root, root + t * t / root)
    }

    #[inline(always)]
    fn fit(&self, g: G, tracklet: &Tracklet<G>, kick: F32<G>, layout: &UtLayout) -> Fitted<G> {
        let real = |value: f32| F32::splat(g, value);
        let Self { line, one, kink, lever, per_kick, .. } = self;
        let Tracklet { hits, slope, weight, .. } = tracklet;
        let inverse_p = (kick * *per_kick).abs().max(real(MIN_INVERSE)) * one.sqrt();
        let error = |[constant, part]: [f32; 2]| inverse_p.mul_add(real(part), real(constant));
        let (scattering, resolution) = (error(SCATTERING), error(RESOLUTION));
        let velo = real(1.0) / scattering.mul_add(scattering, resolution * resolution);
        let reach = velo * *lever;
        // Normal equations of x, slope per m and offset in y: matrix [a b e; b c f; e f h], right side [r, s, o].
        let (mut a, mut b, mut c) = (velo, reach, reach * *lever);
        let zero = real(0.0);
        let (mut e, mut f, mut h) = (zero, zero, zero);
        let (mut r, mut s, mut o) = (zero, zero, zero);
        let dz = hits.map(|hit| (hit.z - real(MIDDLE)) * real(0.001));
        for role in 0..UT_PLANES {
            let (w, d, dz) = (weight[role], hits[role].d, dz[role]);
            let tilt = zero - slope[role];
            let (wz, wt) = (w * dz, w * tilt);
            (a, b, c) = (a + w, b + wz, wz.mul_add(dz, c));
            (e, f, h) = (e + wt, wt.mul_add(dz, f), wt.mul_add(tilt, h));
            (r, s, o) = (w.mul_add(d, r), wz.mul_add(d, s), wt.mul_add(d, o));
        }
        // The offset goes first: every tracklet has a tilted strip.
        let inverse = real(1.0) / h;
        let (eh, fh) = (e * inverse, f * inverse);
        let (a, b, c) = (eh.neg_mul_add(e, a), eh.neg_mul_add(f, b), fh.neg_mul_add(f, c));
        let (r, s) = (eh.neg_mul_add(o, r), fh.neg_mul_add(o, s));
        let scale = real(1.0) / b.neg_mul_add(b, a * c);
        let x = b.neg_mul_add(s, c * r) * scale;
        let t = b.neg_mul_add(r, a * s) * scale;
        let offset = f.neg_mul_add(t, e.neg_mul_add(x, o)) * inverse;
        let cov = [c * scale, (zero - b) * scale, a * scale];

        let apart = t.mul_add(*lever, x);
        let behind = t.mul_add(real(0.001), line.tx);
        let shrink = real(1.0) / behind.mul_add(behind, real(1.0));
        let mut chi2 = velo * (apart * apart).mul_add(shrink, offset * offset / *one);
        for role in 0..UT_PLANES {
            let rest = offset.mul_add(slope[role], hits[role].d - t.mul_add(dz[role], x));
            chi2 = (weight[role] * shrink * rest).mul_add(rest, chi2);
        }
        // Halfway between the Velo track and the hits' line, which is what LHCb's program found best.
        let per_mm = real(1.0) / (*kink - line.z);
        let before = (real(0.5) * apart).mul_add(per_mm, line.tx);
        let ((sine_before, change_before), (sine_behind, change_behind)) =
            (self.sine(before), self.sine(behind));
        let by_x = change_before * real(0.5) * per_mm;
        let by_t = by_x.mul_add(*lever, zero - change_behind * real(0.001));
        let both = by_x * by_t;
        let variance = (by_x * by_x).mul_add(cov[0], (both + both).mul_add(cov[1], by_t * by_t * cov[2]));
        let [line_x, line_y] = line.at(real(MIDDLE));
        let per_angle = scattering / (*kink - real(layout.velo_z));
        Fitted {
            at: 0,
            good: Mask::first(g, 0),
            qop: (sine_before - sine_behind) * *per_kick,
            var_qop: variance * *per_kick * *per_kick,
            chi2,
            x: line_x + x,
            y: line_y,
            offset,
            tx: behind,
            ty: line.ty,
            cov_x: [cov[0], cov[1] * real(0.001), cov[2] * real(1e-6)],
            scattering: per_angle * per_angle,
        }
    }
}

/// Whether tracks are to be kept.
#[inline(always)]
fn is_good<G: Gang>(
    g: G,
    config: &UtConfig,
    layout: &UtLayout,
    track: &Track<G>,
    fitted: &Fitted<G>,
    four: Mask<G>,
) -> Mask<G> {
    let real = |value: f32| F32::splat(g, value);
    let zero = real(0.0);
    let p = real(MOMENTUM_SCALE) / fitted.qop.abs();
    let pt = p * track.line.tx.mul_add(track.line.tx, track.ty2).sqrt();
    // Comparisons with NaN are false.
    let sane = real(config.final_momentum).le(p)
        & real(config.final_pt).le(pt)
        & p.lt(real(ABSURD))
        & fitted.chi2.lt(real(ABSURD));
    let [hole_x, hole_y] = BEAM_HOLE.map(real);
    let side = real(layout.polarity) * fitted.qop;
    let in_beam = (fitted.y + fitted.offset).abs().lt(hole_y);
    let wide = pt.mul_add(real(WIDE[1]), real(WIDE[0]));
    let (x, tx) = (fitted.x, fitted.tx);
    let left = side.lt(zero) & (in_beam & (zero - hole_x).lt(x) & x.lt(zero) | wide.lt(tx));
    let right = zero.lt(side) & (in_beam & zero.lt(x) & x.lt(hole_x) | tx.lt(zero - wide));
    let [three, all] = DISCRIMINANT;
    let k = |of: usize| four.select_f(real(all[of]), real(three[of]));
    let value = k(3).mul_add(ln(fitted.chi2), k(2).mul_add(ln(pt), k(1).mul_add(ln(p), k(0))));
    (sane & real(config.discriminant).le(value)).and_not(left | right)
}

/// Integral of the field that tracks see up to the UT, T m: from the table, linear in each of its variables.
#[inline(always)]
fn field_integral<G: Gang>(g: G, layout: &UtLayout, line: &Line<G>) -> F32<G> {
    let real = |value: f32| F32::splat(g, value);
    let last = [30, 10, 10];
    let steep = real(0.001).lt(line.ty.abs());
    let (x, t) = (steep.select_f(line.y, line.x), steep.select_f(line.ty, line.tx));
    let origin = line.z - x / t;
    let at = [(line.ty + real(0.3)) * real(50.0), (origin + real(250.0)) * real(0.02), line.z * real(0.0125)];
    let zero = real(0.0);
    let node: [I32<G>; 3] =
        std::array::from_fn(|axis| at[axis].max(zero).min(real(last[axis] as f32)).to_i32());
    let value = |node: [I32<G>; 3]| {
        let [i, j, k] = [0, 1, 2].map(|axis| node[axis].min(I32::splat(g, last[axis])));
        let cell = (k * I32::splat(g, 11) + j) * I32::splat(g, 31) + i;
        F32::gather(&layout.tables.field_integral, cell.to_bits())
    };
    let base = value(node);
    let mut sum = base;
    for axis in 0..3 {
        let mut next = node;
        next[axis] = next[axis] + I32::splat(g, 1);
        let part = at[axis] - node[axis].to_f32();
        let inside = zero.le(at[axis]) & at[axis].le(real(last[axis] as f32));
        sum = inside.select_f(part.mul_add(value(next) - base, sum), sum);
    }
    sum
}
