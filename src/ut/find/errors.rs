//! Errors of fitted states and momenta, from the errors of hits and of the Velo track and from scattering.
//!
//! The fit of a track uses a parametrised error for the point where the Velo track meets the line through the hits. The
//! errors of fitted states and momenta combine the effects of all sources:
//! - errors of hits, from the weights of the hits;
//! - the covariance of the Velo track and scattering before the UT: both move the line through the hits, and the fit
//!   suppresses a part of this movement, which depends on the weight of the meeting point;
//! - scattering in the first two planes of the UT, which turns the particle before the last two planes.

use super::MIDDLE;
use super::tracklets::Tracklet;
use crate::event::UT_PLANES;
use crate::simd::varying::F32;
use crate::simd::{Gang, inlined};
use crate::ut::layout::{TWO_PLANES, UtLayout};

/// Constraints on a fit from the Velo track: z where it meets the line of the hits, m behind the middle of the UT;
/// weight of this meeting point, and weight of the track's y, 1/mm^2.
pub(super) struct Before<G: Gang> {
    pub(super) lever: F32<G>,
    pub(super) meeting: F32<G>,
    pub(super) offset: F32<G>,
}

/// Dependence of q/p on the fit: it changes by `change` times (slope behind the magnet - `turn` times the slope before
/// it - `half` times the distance of the lines at the meeting point).
pub(super) struct Measure<G: Gang> {
    pub(super) change: F32<G>,
    pub(super) turn: F32<G>,
    pub(super) half: F32<G>,
    /// Correction of x, mm, and of the slope for the bend between the planes, per unit of the total change of slope.
    pub(super) bends: [F32<G>; 2],
}

/// The normal equations of x, slope and offset, with the offset eliminated.
pub(super) struct Normal<G: Gang> {
    a: F32<G>,
    b: F32<G>,
    c: F32<G>,
    e: F32<G>,
    f: F32<G>,
    eh: F32<G>,
    fh: F32<G>,
    inverse: F32<G>,
    scale: F32<G>,
}

impl<G: Gang> Normal<G> {
    #[inline(always)]
    pub(super) fn new(g: G, tracklet: &Tracklet<G>, before: &Before<G>) -> Self {
        let Tracklet { slope, weight, .. } = tracklet;
        let zero = F32::splat(g, 0.0);
        let reach = before.meeting * before.lever;
        // Matrix [a b e; b c f; e f h].
        let (mut a, mut b, mut c) = (before.meeting, reach, reach * before.lever);
        let (mut e, mut f, mut h) = (zero, zero, before.offset);
        for role in 0..UT_PLANES {
            let (w, dz) = (weight[role], tracklet.depth(g, role));
            let tilt = zero - slope[role];
            let (wz, wt) = (w * dz, w * tilt);
            (a, b, c) = (a + w, b + wz, wz.mul_add(dz, c));
            (e, f, h) = (e + wt, wt.mul_add(dz, f), wt.mul_add(tilt, h));
        }
        // The offset can be eliminated first, since every tracklet has a tilted strip.
        let inverse = F32::splat(g, 1.0) / h;
        let (eh, fh) = (e * inverse, f * inverse);
        let (a, b, c) = (eh.neg_mul_add(e, a), eh.neg_mul_add(f, b), fh.neg_mul_add(f, c));
        let scale = F32::splat(g, 1.0) / b.neg_mul_add(b, a * c);
        Self { a, b, c, e, f, eh, fh, inverse, scale }
    }

    /// Returns x, slope and offset of the line nearest to hits at the distances `d` from the Velo track.
    #[inline(always)]
    pub(super) fn solve(&self, g: G, tracklet: &Tracklet<G>, d: [F32<G>; UT_PLANES]) -> [F32<G>; 3] {
        let Self { a, b, c, e, f, eh, fh, inverse, scale } = self;
        let zero = F32::splat(g, 0.0);
        let (mut r, mut s, mut o) = (zero, zero, zero);
        for (role, d) in d.into_iter().enumerate() {
            let w = tracklet.weight[role];
            let (wz, wt) = (w * tracklet.depth(g, role), w * (zero - tracklet.slope[role]));
            (r, s, o) = (w.mul_add(d, r), wz.mul_add(d, s), wt.mul_add(d, o));
        }
        let (r, s) = (eh.neg_mul_add(o, r), fh.neg_mul_add(o, s));
        let x = b.neg_mul_add(s, *c * r) * *scale;
        let t = b.neg_mul_add(r, *a * s) * *scale;
        [x, t, f.neg_mul_add(t, e.neg_mul_add(x, o)) * *inverse]
    }
}

/// Contributions to the errors of a fit. The angle is the weighted difference of slopes in [`Measure`], from which q/p
/// follows.
pub(super) struct Errors<G: Gang> {
    /// Contributions of the hits: variance of x, mm^2, covariance of x and tx, mm, variance of tx; variance of the
    /// angle.
    hits: [F32<G>; 3],
    angle: F32<G>,
    /// z where the Velo track meets the line of the hits, mm.
    meets: F32<G>,
    /// Changes of x and tx when the Velo track is displaced by 1 mm at `meets`.
    follows: [F32<G>; 2],
    /// Change of the angle for this displacement, 1/mm.
    holds: F32<G>,
    /// Change of the angle per change of the Velo track's slope.
    turn: F32<G>,
    /// Errors of x, mm, and tx for a turn of 1 rad by scattering before the UT: the correction for the bend between the
    /// planes takes this turn for the magnet's.
    bends: [F32<G>; 2],
    /// Errors of x, mm, tx and the angle for a turn of 1 rad by scattering in the first two planes.
    plane: [F32<G>; 3],
    /// Derivative of the sine with respect to the slope: q/p is its product with the angle and a factor of the field.
    pub(super) change: F32<G>,
}

/// Covariances of a state in x and in y (variance of the position, covariance of position and slope, variance of the
/// slope), and the variance of the angle from which q/p follows.
pub(super) struct Covariance<G: Gang> {
    pub(super) x: [F32<G>; 3],
    pub(super) y: [F32<G>; 3],
    pub(super) angle: F32<G>,
}

impl<G: Gang> Errors<G> {
    /// Computes the contributions. `behind` are the changes of a fit's x, mm, slope, mm per m, and offset when the
    /// first two planes of the UT turn a particle by 1 mrad and so displace its hits in the last two.
    #[inline(always)]
    pub(super) fn new(
        g: G,
        normal: &Normal<G>,
        before: &Before<G>,
        measure: &Measure<G>,
        behind: [F32<G>; 3],
    ) -> Self {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let (milli, zero) = (real(0.001), real(0.0));
        let Before { lever, meeting, .. } = before;
        let Measure { change, turn, half, bends: [bend_x, bend_t] } = measure;
        let rest = real(1.0) - *bend_t;
        let (xx, xt) = (normal.c * normal.scale, zero - normal.b * normal.scale);
        let tt = normal.a * normal.scale;
        let per_x = *meeting * lever.mul_add(xt, xx);
        let per_t = *meeting * lever.mul_add(tt, xt);
        // Removes the part of the fit's covariance that comes from the parametrised error of the meeting point.
        let error = real(1.0) / *meeting;
        let (xx, xt) = ((per_x * error).neg_mul_add(per_x, xx), (per_x * error).neg_mul_add(per_t, xt));
        let tt = (per_t * error).neg_mul_add(per_t, tt);
        let hits = [xx.max(zero), xt * milli, tt.max(zero) * (milli * milli)];
        // The angle is tx minus `half` times the distance of the lines at the meeting point.
        let (of_x, of_t) = (*half, (*half * *lever).neg_mul_add(real(1000.0), real(1.0)));
        let angle = of_x * of_x * hits[0] + of_t * of_t * hits[2] - (of_x + of_x) * of_t * hits[1];
        let moved = lever.mul_add(per_t, per_x);
        let follows_t = per_t * milli;
        let holds = half.mul_add(real(1.0) - moved, follows_t);
        let (x, t) = (behind[0] * real(1000.0), behind[1]);
        let tells = half.neg_mul_add((*lever * real(1000.0)).mul_add(t, x), t);
        let depth = real(MIDDLE - TWO_PLANES);
        let plane = [bend_x.neg_mul_add(t, x) - depth, rest.mul_add(t, real(-1.0)), tells];
        // The correction for the bend, proportional to the slope, changes the errors.
        let follows = [bend_x.neg_mul_add(follows_t, per_x), rest * follows_t];
        let [xx, xt, tt] = hits;
        let x_of_t = bend_x.neg_mul_add(tt, xt);
        let hits = [
            bend_x.neg_mul_add(x_of_t, bend_x.neg_mul_add(xt, xx)).max(zero),
            rest * x_of_t,
            rest * rest * tt,
        ];
        let meets = lever.mul_add(real(1000.0), real(MIDDLE));
        let (angle, bends) = (angle.max(zero), [*bend_x, *bend_t]);
        Self { hits, angle, meets, follows, holds, turn: *turn, bends, plane, change: *change }
    }

    /// Returns the errors with the covariance of the Velo track (of x, of x and slope, of the slope) and scattering at
    /// this q/p, c/GeV.
    #[inline(always)]
    pub(super) fn with(&self, g: G, layout: &UtLayout, velo: [F32<G>; 3], qop: F32<G>) -> Covariance<G> {
        let real = inlined!(|value: f32| F32::splat(g, value));
        let [xx, xt, tt] = velo;
        let qop2 = qop * qop;
        let far = self.meets - real(layout.velo_z);
        let at_ut = real(MIDDLE - layout.velo_z);
        let slope = self.holds.neg_mul_add(far, self.turn);
        let held = self.holds * self.holds * xx - (self.holds + self.holds) * slope * xt;
        let mut angle = slope.mul_add(slope * tt, held) + self.angle;
        // The distance between the Velo track and the line of the hits at the meeting point, and y in the UT.
        let mut meeting = far.mul_add(far.mul_add(tt, xt + xt), xx);
        let mut cross = far.mul_add(tt, xt);
        let (mut ss, mut ys) = (tt, at_ut.mul_add(tt, xt));
        let mut yy = at_ut.mul_add(xt + ys, xx);
        for [z, angle2] in layout.scatterers {
            let (turned, way) = (qop2 * real(angle2), self.meets - real(z));
            let kept = self.holds.neg_mul_add(way, real(1.0));
            angle = (kept * kept).mul_add(turned, angle);
            meeting = (way * way).mul_add(turned, meeting);
            cross = way.mul_add(turned, cross);
            let way = MIDDLE - z;
            (ss, ys, yy) = (ss + turned, real(way).mul_add(turned, ys), real(way * way).mul_add(turned, yy));
        }
        let upstream = ss;
        let (turned, way) = (qop2 * real(layout.two_planes), MIDDLE - TWO_PLANES);
        (ss, ys, yy) = (ss + turned, real(way).mul_add(turned, ys), real(way * way).mul_add(turned, yy));
        let [x, t, tells] = self.plane;
        angle = (tells * tells).mul_add(turned, angle);
        let ([follows_x, follows_t], [bend_x, bend_t]) = (self.follows, self.bends);
        let follows = [follows_x * follows_x, follows_x * follows_t, follows_t * follows_t];
        let both = [follows_x * bend_x, follows_x * bend_t, follows_t * bend_t];
        let both = [both[0] + both[0], follows_t.mul_add(bend_x, both[1]), both[2] + both[2]];
        let bends = [bend_x * bend_x, bend_x * bend_t, bend_t * bend_t];
        let plane = [x * x, x * t, t * t];
        let mut in_x = self.hits;
        for part in 0..3 {
            let by_plane = plane[part].mul_add(turned, in_x[part]);
            let by_angle = bends[part].mul_add(upstream, by_plane);
            in_x[part] = follows[part].mul_add(meeting, both[part].mul_add(cross, by_angle));
        }
        Covariance { x: in_x, y: [yy, ys, ss], angle }
    }
}
