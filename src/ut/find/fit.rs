//! Fit: momentum, state and quality of the chosen tracklets, one tracklet per lane.
//!
//! The fit is a line through the hits that meets the Velo track at the kink, within errors and scattering. The Velo
//! track may have an offset in y. The fitted parameters are relative to the Velo track.

use super::errors::{Before, Errors, Measure, Normal};
use super::output::{Fitted, append};
use super::{Beside, Line, MIDDLE, NONE, Search, Tracklet, UtFindWorkspace};
use crate::event::{UT_PLANES, UtBatch, VeloUtTracks};
use crate::simd::math::ln;
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::ut::config::{LineConfig, UtConfig};
use crate::ut::layout::{FIELD_SLOPES, TWO_PLANES, UtLayout};

/// Factor from a difference of sines divided by a field integral in T m to q/p in 1/MeV; negative since the magnet is
/// down.
const PER_FIELD: f32 = -3.3356e-3;
/// Factor for half of the curvature in the UT, per m and unit of the total change of slope: it is multiplied by the
/// field there and a track's `per_kick`, and cancels the size of `PER_FIELD`.
const HALF_PER_FIELD: f32 = 0.5 / 3.3356e-3;
/// Smallest field integral that gives a momentum, T m.
const MIN_FIELD: f32 = 1e-8;
/// z of the kink as a polynomial of ty^2, mm.
const KINK: [f32; 3] = [2010.0, 2240.0, 71_330.0];
/// Errors of the point where a Velo track meets the kink, mm, from scattering and from resolution: constant, and part
/// per 1/MeV.
const SCATTERING: [f32; 2] = [0.14, 1e4];
const RESOLUTION: [f32; 2] = [0.12, 3e3];
/// Smallest 1/p of a track, 1/MeV.
const MIN_INVERSE: f32 = 1e-9;
/// Factor on momenta before the cuts of the choices `kick` and `compass`, as in LHCb's program.
const KICK_SCALE: f32 = 1.3;
/// Coefficients of the discriminant: constant, ln p, ln pt, ln chi2; with three hits and with four.
const DISCRIMINANT: [[f32; 4]; 2] = [
    [0.162_880_17, -0.107_081_175, 0.134_153_13, -0.137_764_85],
    [0.235_010_73, -0.093_832_36, 0.110_823_68, -0.170_467_1],
];
/// Limits for tracks that leave through the hole for the beam, mm, or bend out of the detector: slope, and slope per
/// MeV.
const BEAM_HOLE: [f32; 2] = [48.0, 33.0];
const WIDE: [f32; 2] = [0.09, 0.0003];
/// Upper limit of a momentum, in MeV, and of a chi2: no real track reaches it.
const ABSURD: f32 = 1e12;

/// Fits the chosen tracklets of an event with the choices `kick` and `compass`, and appends the good tracks.
#[inline(always)]
pub(super) fn fit<G: Gang>(
    g: G,
    search: &Search<'_>,
    (batch, event): (&UtBatch, usize),
    workspace: &UtFindWorkspace,
    out: &mut VeloUtTracks,
) {
    let UtFindWorkspace { store, tracks, doublets, chosen, .. } = workspace;
    let Search { config, layout, .. } = search;
    let whole = inlined!(|value: u32| U32::splat(g, value));
    let first_hit = batch.of_event(event).start;
    let mut ids = inlined!(|at: usize, out: &mut [u32]| {
        let mut count = 0;
        for role in &doublets.hits {
            let hit = role.padded()[chosen[at] as usize];
            if hit != NONE {
                out[count] = batch.id[first_hit + store.number[hit as usize] as usize];
                count += 1;
            }
        }
        count
    });
    for at in (0..chosen.len()).step_by(G::LANES) {
        let lanes = Mask::first(g, chosen.len() - at);
        let doublet = lanes.select_u(U32::load(g, &chosen.padded()[at..]), whole(0));
        let row = U32::gather(doublets.row.padded(), doublet);
        let back = whole(0).lt(U32::gather(doublets.backward.padded(), doublet));
        let line = Line::gather(g, tracks.line.padded(), row, layout.velo_z);
        let slope = Tracklet::slopes(g, back);
        let mut hit = [doublet; UT_PLANES];
        let none = F32::splat(g, 0.0);
        let mut hits = [Beside { d: none, z: none }; UT_PLANES];
        for role in 0..UT_PLANES {
            hit[role] = U32::gather(doublets.hits[role].padded(), doublet);
            hits[role] = Beside::gather(store.hits.padded(), hit[role], &line, slope[role]);
        }
        let has = [hit[1].lt(whole(NONE)), hit[3].lt(whole(NONE))];
        let (weight, four) = (Tracklet::weights(g, &store.weight, hit, has), has[0] & has[1]);
        let tracklet = Tracklet { hits, slope, weight, four };
        let kick = F32::gather(doublets.kick.padded(), doublet);
        let track = Track::new(g, layout, line);
        let fitted = track.fit_kick(g, layout, &tracklet, kick);
        let good = is_good(g, config, layout, &track, &fitted, four) & lanes;
        let number = U32::gather(&tracks.number, row);
        let fitted = Fitted { at, number, good, ..fitted };
        append(g, search, event, &fitted, &mut ids, out);
    }
    out.track_start.push(out.tracks() as u32);
}

/// Values of the Velo tracks for a fit.
pub(super) struct Track<G: Gang> {
    line: Line<G>,
    /// 1 + ty^2.
    one: F32<G>,
    ty2: F32<G>,
    /// Factor from a difference of sines to q/p in 1/MeV.
    pub(super) per_kick: F32<G>,
}

/// A line through hits, as distances from the Velo track: x in the middle of the UT in mm, slope per m, offset of the
/// track in y; and the equations of the line.
struct Solution<G: Gang> {
    x: F32<G>,
    t: F32<G>,
    offset: F32<G>,
    normal: Normal<G>,
}

impl<G: Gang> Solution<G> {
    #[inline(always)]
    fn new(g: G, tracklet: &Tracklet<G>, before: &Before<G>) -> Self {
        let normal = Normal::new(g, tracklet, before);
        let mut d = [F32::splat(g, 0.0); UT_PLANES];
        for (d, hit) in d.iter_mut().zip(&tracklet.hits) {
            *d = hit.d;
        }
        let [x, t, offset] = normal.solve(g, tracklet, d);
        Self { x, t, offset, normal }
    }

    /// Returns chi2 of the hits, with weights multiplied by `shrink`, plus `first`.
    #[inline(always)]
    fn chi2(&self, g: G, tracklet: &Tracklet<G>, shrink: F32<G>, first: F32<G>) -> F32<G> {
        let mut chi2 = first;
        for role in 0..UT_PLANES {
            let line = self.t.mul_add(tracklet.depth(g, role), self.x);
            let rest = self.offset.mul_add(tracklet.slope[role], tracklet.hits[role].d - line);
            chi2 = (tracklet.weight[role] * shrink * rest).mul_add(rest, chi2);
        }
        chi2
    }
}

impl<G: Gang> Track<G> {
    #[inline(always)]
    pub(super) fn new(g: G, layout: &UtLayout, line: Line<G>) -> Self {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let field = field_integral(g, layout, &line);
        let none = field.abs().lt(real(MIN_FIELD));
        Self::with(g, line, none.select_f(real(0.0), real(PER_FIELD) / field))
    }

    /// Creates the values with a known `per_kick`.
    #[inline(always)]
    pub(super) fn with(g: G, line: Line<G>, per_kick: F32<G>) -> Self {
        let ty2 = line.ty * line.ty;
        Self { line, one: ty2 + F32::splat(g, 1.0), ty2, per_kick }
    }

    /// Returns the distance from the kink, where lines of hits meet the Velo track, to the middle of the UT, mm.
    #[inline(always)]
    pub(super) fn kink(&self, g: G, [constant, part, square]: [f32; 3]) -> F32<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let part = self.line.ty.abs().mul_add(real(part), real(constant));
        self.ty2.mul_add(real(square), part)
    }

    /// Returns the angle to the beam.
    #[inline(always)]
    pub(super) fn angle(&self) -> F32<G> {
        self.line.tx.mul_add(self.line.tx, self.ty2).sqrt()
    }

    /// Returns the sine of the angle in x of a direction, and its derivative with respect to the slope.
    #[inline(always)]
    pub(super) fn sine(&self, t: F32<G>) -> (F32<G>, F32<G>) {
        let root = t.mul_add(t, self.one).sqrt();
        (t * root, root + t * t / root)
    }

    /// Fits as LHCb's program does: its kink is far behind the point where the lines meet, and its error covers this.
    #[inline(always)]
    fn fit_kick(&self, g: G, layout: &UtLayout, tracklet: &Tracklet<G>, kick: F32<G>) -> Fitted<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let Self { line, one, ty2, per_kick } = self;
        let zero = real(0.0);
        let kink = ty2.mul_add(ty2.mul_add(real(KINK[2]), real(KINK[1])), real(KINK[0]));
        let lever = (kink - real(MIDDLE)) * real(0.001);
        let inverse_p = (kick * *per_kick).abs().max(real(MIN_INVERSE)) * one.sqrt();
        let error = inlined!(|[constant, part]: [f32; 2]| inverse_p.mul_add(real(part), real(constant)));
        let (scattering, resolution) = (error(SCATTERING), error(RESOLUTION));
        let meeting = real(1.0) / scattering.mul_add(scattering, resolution * resolution);
        let solution = Solution::new(g, tracklet, &Before { lever, meeting, offset: zero });
        let Solution { x, t, offset, .. } = solution;
        let apart = t.mul_add(lever, x);
        let behind = t.mul_add(real(0.001), line.tx);
        let shrink = real(1.0) / behind.mul_add(behind, real(1.0));
        let first = meeting * (apart * apart).mul_add(shrink, offset * offset / *one);
        // The slope halfway between the Velo track and the line of the hits, which was best in LHCb's program.
        let per_mm = real(1.0) / (kink - line.z);
        let before = (real(0.5) * apart).mul_add(per_mm, line.tx);
        let ((sine_before, change_before), (sine_behind, change_behind)) =
            (self.sine(before), self.sine(behind));
        let turn = change_before / change_behind;
        let (half, bends) = (real(0.5) * per_mm * turn, [zero; 2]);
        let measure = Measure { change: change_behind, turn, half, bends };
        self.fitted(
            g,
            layout,
            tracklet,
            &Fit {
                solution: &solution,
                before: &Before { lever, meeting, offset: zero },
                measure,
                qop: (sine_before - sine_behind) * *per_kick,
                chi2: solution.chi2(g, tracklet, shrink, first),
                scale: 1.0,
            },
        )
    }

    /// Returns the constraints on a fit from the Velo track; `inverse_p` in 1/GeV.
    #[inline(always)]
    fn meeting(&self, g: G, of: &LineConfig, inverse_p: F32<G>) -> Before<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let weight = inlined!(|[constant, part]: [f32; 2]| {
            let error = inverse_p * real(part);
            real(1.0) / error.mul_add(error, real(constant * constant))
        });
        Before {
            lever: self.kink(g, of.kink) * real(-0.001),
            meeting: weight(of.kink_error),
            offset: weight(of.offset_error),
        }
    }

    /// Returns the cost of a tracklet, and the slope per m of the line through its hits alone.
    #[inline(always)]
    pub(super) fn cost(&self, g: G, config: &UtConfig, tracklet: &Tracklet<G>) -> [F32<G>; 2] {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let of = &config.line;
        let none = real(0.0);
        let solution = Solution::new(g, tracklet, &Before { lever: none, meeting: none, offset: none });
        let Solution { x, t, offset, .. } = solution;
        let inverse_p = (t * self.per_kick).abs();
        let before = self.meeting(g, of, inverse_p);
        let apart = t.mul_add(before.lever, x);
        let first = (before.meeting * apart).mul_add(apart, before.offset * offset * offset);
        let chi2 = solution.chi2(g, tracklet, real(1.0), first);
        let straight = ln(inverse_p.max(real(1.0 / of.max_momentum)));
        let worth = tracklet.four.select_f(real(of.fourth_hit), none);
        let cost = straight.mul_add(real(of.momentum), chi2 - worth);
        let (p, pt) = (real(config.final_momentum * 0.001), real(config.final_pt * 0.001));
        let enough = (inverse_p * p).le(real(1.0)) & (inverse_p * pt).le(self.angle());
        [enough.select_f(cost, real(ABSURD)), t]
    }

    /// Fits with the constraints from the Velo track; `slope` is from the line through the hits alone.
    #[inline(always)]
    pub(super) fn fit_line(
        &self,
        g: G,
        search: &Search<'_>,
        tracklet: &Tracklet<G>,
        slope: F32<G>,
    ) -> Fitted<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let Search { config, layout, .. } = search;
        let before = self.meeting(g, &config.line, (slope * self.per_kick).abs());
        let solution = Solution::new(g, tracklet, &before);
        let Solution { x, t, offset, .. } = solution;
        let apart = t.mul_add(before.lever, x);
        let first = (before.meeting * apart).mul_add(apart, before.offset * offset * offset);
        let behind = t.mul_add(real(0.001), self.line.tx);
        let ((sine_before, change_before), (sine_behind, change)) =
            (self.sine(self.line.tx), self.sine(behind));
        self.fitted(
            g,
            layout,
            tracklet,
            &Fit {
                solution: &solution,
                before: &before,
                measure: Measure {
                    change,
                    turn: change_before / change,
                    half: real(0.0),
                    bends: [real(0.0); 2],
                },
                qop: (sine_before - sine_behind) * self.per_kick,
                chi2: solution.chi2(g, tracklet, real(1.0), first),
                scale: config.line.scale,
            },
        )
    }

    /// Returns the state in the middle of the UT. Hits lie on a parabola, since the magnet bends between them, too: the
    /// state is corrected for the effect of this on the line.
    #[inline(always)]
    fn fitted(&self, g: G, layout: &UtLayout, tracklet: &Tracklet<G>, fit: &Fit<'_, G>) -> Fitted<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let Fit { solution: Solution { x, t, offset, normal }, before, measure, qop, chi2, scale } = fit;
        let [line_x, line_y] = self.line.at(real(MIDDLE));
        let (zero, plane) = (real(0.0), real((TWO_PLANES - MIDDLE) * 0.001));
        let (mut bent, mut behind) = ([zero; UT_PLANES], [zero; UT_PLANES]);
        for role in 0..UT_PLANES {
            // Distances due to a unit of half the curvature, and due to a turn of 1 mrad in the first planes, mm.
            let dz = tracklet.depth(g, role);
            bent[role] = dz * dz;
            behind[role] = zero.lt(dz).select_f(dz - plane, zero);
        }
        // Half of the curvature, per m and unit of slope: the share of the total change of slope per metre in the UT is
        // the field there divided by the field integral.
        let of_bend = self.per_kick.abs() * real(layout.field * HALF_PER_FIELD);
        let bend = *t * of_bend;
        let [bent_x, bent_t, _] = normal.solve(g, tracklet, bent);
        let behind = normal.solve(g, tracklet, behind);
        let bends = [of_bend * real(1000.0) * bent_x, of_bend * bent_t];
        let errors = Errors::new(g, normal, before, &Measure { bends, ..*measure }, behind);
        Fitted {
            at: 0,
            number: U32::splat(g, 0),
            good: Mask::first(g, 0),
            qop: *qop,
            chi2: *chi2,
            scale: *scale,
            per_kick: self.per_kick,
            x: bend.neg_mul_add(bent_x, line_x + *x),
            y: line_y,
            offset: *offset,
            tx: bend.neg_mul_add(bent_t, *t).mul_add(real(0.001), self.line.tx),
            ty: self.line.ty,
            errors,
        }
    }
}

/// A fit before the correction for the bend.
struct Fit<'a, G: Gang> {
    solution: &'a Solution<G>,
    before: &'a Before<G>,
    measure: Measure<G>,
    qop: F32<G>,
    chi2: F32<G>,
    scale: f32,
}

/// Returns whether the results of fits are usable; comparisons with NaN are false.
#[inline(always)]
pub(super) fn is_sane<G: Gang>(g: G, fitted: &Fitted<G>) -> Mask<G> {
    let limit = F32::splat(g, ABSURD);
    fitted.chi2.lt(limit) & (F32::splat(g, 1.0) / fitted.qop.abs()).lt(limit)
}

/// Returns whether the choices `kick` and `compass` keep the tracks.
#[inline(always)]
fn is_good<G: Gang>(
    g: G,
    config: &UtConfig,
    layout: &UtLayout,
    track: &Track<G>,
    fitted: &Fitted<G>,
    four: Mask<G>,
) -> Mask<G> {
    let real = inlined!(|value: f32| F32::splat(g, value));
    let zero = real(0.0);
    let p = real(KICK_SCALE) / fitted.qop.abs();
    let pt = p * track.line.tx.mul_add(track.line.tx, track.ty2).sqrt();
    let enough = real(config.final_momentum).le(p) & real(config.final_pt).le(pt) & is_sane(g, fitted);
    let (hole_x, hole_y) = (real(BEAM_HOLE[0]), real(BEAM_HOLE[1]));
    let side = real(layout.polarity) * fitted.qop;
    let in_beam = (fitted.y + fitted.offset).abs().lt(hole_y);
    let wide = pt.mul_add(real(WIDE[1]), real(WIDE[0]));
    let (x, tx) = (fitted.x, fitted.tx);
    let left = side.lt(zero) & (in_beam & (zero - hole_x).lt(x) & x.lt(zero) | wide.lt(tx));
    let right = zero.lt(side) & (in_beam & zero.lt(x) & x.lt(hole_x) | tx.lt(zero - wide));
    let [three, all] = DISCRIMINANT;
    let k = inlined!(|of: usize| four.select_f(real(all[of]), real(three[of])));
    let value = k(3).mul_add(ln(fitted.chi2), k(2).mul_add(ln(pt), k(1).mul_add(ln(p), k(0))));
    let good = enough & real(config.discriminant).le(value);
    if config.fiducial { good.and_not(left | right) } else { good }
}

/// Returns the field integral along tracks up to the UT, T m, interpolated linearly in each variable of the table.
#[inline(always)]
pub(super) fn field_integral<G: Gang>(g: G, layout: &UtLayout, line: &Line<G>) -> F32<G> {
    let real = inlined!(|value: f32| F32::splat(g, value));
    let [last_i, last_j] = [30.0, 10.0];
    let zero = real(0.0);
    let steep = real(0.001).lt(line.ty.abs());
    let (x, t) = (steep.select_f(line.y, line.x), steep.select_f(line.ty, line.tx));
    let origin = line.z - x / t;
    let (at_i, at_j) = ((line.ty + real(0.3)) * real(50.0), (origin + real(250.0)) * real(0.02));
    let i = at_i.max(zero).min(real(last_i)).to_i32();
    let j = at_j.max(zero).min(real(last_j)).to_i32();
    let node = (j * I32::splat(g, FIELD_SLOPES as i32) + i).to_bits();
    let [base, next_i, next_j, next_k] = F32::gather_records(&layout.field_nodes, node);
    let mut sum = base;
    for (at, node, last, next) in [(at_i, i, last_i, next_i), (at_j, j, last_j, next_j)] {
        let inside = zero.le(at) & at.le(real(last));
        sum = inside.select_f((at - node.to_f32()).mul_add(next - base, sum), sum);
    }
    // The third variable, z of the state, is the same for all tracks.
    match layout.field_part {
        Some(part) => real(part).mul_add(next_k - base, sum),
        None => sum,
    }
}
