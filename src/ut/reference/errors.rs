//! Naive reference of `find/errors.rs`: errors of fitted states and momenta.

use super::line::{Beside, MIDDLE, SLOPE};
use crate::ut::layout::UtLayout;

/// z at which the first two planes of the UT scatter as one, mm.
const TWO_PLANES: f32 = 2350.0;

/// The normal equations of x, slope and offset, with the offset eliminated.
pub(super) struct Normal {
    matrix: [f32; 3],
    with_offset: [f32; 2],
    per_offset: [f32; 2],
    inverse: f32,
    scale: f32,
}

impl Normal {
    pub(super) fn new(hits: &[Beside], [lever, meeting, offset]: [f32; 3]) -> Self {
        let reach = meeting * lever;
        let (mut a, mut b, mut c) = (meeting, reach, reach * lever);
        let (mut e, mut f, mut h) = (0.0f32, 0.0f32, offset);
        for hit in hits {
            let (w, dz, tilt) = (hit.weight, (hit.z - MIDDLE) * 0.001, 0.0 - SLOPE[hit.plane]);
            let (wz, wt) = (w * dz, w * tilt);
            (a, b, c) = (a + w, b + wz, wz.mul_add(dz, c));
            (e, f, h) = (e + wt, wt.mul_add(dz, f), wt.mul_add(tilt, h));
        }
        let inverse = 1.0 / h;
        let (eh, fh) = (e * inverse, f * inverse);
        let (a, b, c) = (eh.mul_add(-e, a), eh.mul_add(-f, b), fh.mul_add(-f, c));
        let scale = 1.0 / b.mul_add(-b, a * c);
        Self { matrix: [a, b, c], with_offset: [e, f], per_offset: [eh, fh], inverse, scale }
    }

    /// Returns x, slope and offset of the line nearest to hits with the distances `distance`.
    pub(super) fn solve(&self, hits: &[Beside], distance: impl Fn(&Beside) -> f32) -> [f32; 3] {
        let Self { matrix: [a, b, c], with_offset: [e, f], per_offset: [eh, fh], inverse, scale } = *self;
        let (mut r, mut s, mut o) = (0.0f32, 0.0f32, 0.0f32);
        for hit in hits {
            let (w, d) = (hit.weight, distance(hit));
            let (wz, wt) = (w * ((hit.z - MIDDLE) * 0.001), w * (0.0 - SLOPE[hit.plane]));
            (r, s, o) = (w.mul_add(d, r), wz.mul_add(d, s), wt.mul_add(d, o));
        }
        let (r, s) = (eh.mul_add(-o, r), fh.mul_add(-o, s));
        let x = b.mul_add(-s, c * r) * scale;
        let t = b.mul_add(-r, a * s) * scale;
        [x, t, f.mul_add(-t, e.mul_add(-x, o)) * inverse]
    }
}

/// Contributions to the errors of a fit, except for the Velo track.
pub(super) struct Errors {
    hits: [f32; 3],
    angle: f32,
    meets: f32,
    follows: [f32; 2],
    holds: f32,
    turn: f32,
    bends: [f32; 2],
    plane: [f32; 3],
    pub(super) change: f32,
}

impl Errors {
    pub(super) fn new(
        hits: &[Beside],
        normal: &Normal,
        [lever, meeting, _]: [f32; 3],
        ([change, turn, half], [bend_x, bend_t]): ([f32; 3], [f32; 2]),
    ) -> Self {
        let rest = 1.0 - bend_t;
        let behind = normal.solve(hits, |hit| {
            let dz = (hit.z - MIDDLE) * 0.001;
            if 0.0 < dz { dz - (TWO_PLANES - MIDDLE) * 0.001 } else { 0.0 }
        });
        let [a, b, c] = normal.matrix;
        let (xx, xt, tt) = (c * normal.scale, 0.0 - b * normal.scale, a * normal.scale);
        let (per_x, per_t) = (meeting * lever.mul_add(xt, xx), meeting * lever.mul_add(tt, xt));
        let error = 1.0 / meeting;
        let xx = (per_x * error).mul_add(-per_x, xx);
        let xt = (per_x * error).mul_add(-per_t, xt);
        let tt = (per_t * error).mul_add(-per_t, tt);
        let of_hits = [xx.max(0.0), xt * 0.001, tt.max(0.0) * (0.001f32 * 0.001)];
        let (of_x, of_t) = (half, (half * lever).mul_add(-1000.0, 1.0));
        let angle = of_x * of_x * of_hits[0] + of_t * of_t * of_hits[2] - (of_x + of_x) * of_t * of_hits[1];
        let follows_t = per_t * 0.001;
        let follows = [bend_x.mul_add(-follows_t, per_x), rest * follows_t];
        let moved = lever.mul_add(per_t, per_x);
        let (x, t) = (behind[0] * 1000.0, behind[1]);
        let tells = half.mul_add(-(lever * 1000.0).mul_add(t, x), t);
        let [xx, xt, tt] = of_hits;
        let x_of_t = bend_x.mul_add(-tt, xt);
        let var_x = bend_x.mul_add(-x_of_t, bend_x.mul_add(-xt, xx));
        Self {
            hits: [var_x.max(0.0), rest * x_of_t, rest * rest * tt],
            angle: angle.max(0.0),
            meets: lever.mul_add(1000.0, MIDDLE),
            follows,
            holds: half.mul_add(1.0 - moved, follows_t),
            turn,
            bends: [bend_x, bend_t],
            plane: [bend_x.mul_add(-t, x) - (MIDDLE - TWO_PLANES), rest.mul_add(t, -1.0), tells],
            change,
        }
    }

    /// Returns the covariances in x and y, and the variance of the angle from which q/p follows; `qop` in c/GeV.
    pub(super) fn with(&self, layout: &UtLayout, [xx, xt, tt]: [f32; 3], qop: f32) -> ([[f32; 3]; 2], f32) {
        let qop2 = qop * qop;
        let (far, at_ut) = (self.meets - layout.velo_z, MIDDLE - layout.velo_z);
        let slope = self.holds.mul_add(-far, self.turn);
        let held = self.holds * self.holds * xx - (self.holds + self.holds) * slope * xt;
        let mut angle = slope.mul_add(slope * tt, held) + self.angle;
        let mut meeting = far.mul_add(far.mul_add(tt, xt + xt), xx);
        let mut cross = far.mul_add(tt, xt);
        let (mut ss, mut ys) = (tt, at_ut.mul_add(tt, xt));
        let mut yy = at_ut.mul_add(xt + ys, xx);
        for [z, angle2] in layout.scatterers {
            let (turned, way) = (qop2 * angle2, self.meets - z);
            let kept = self.holds.mul_add(-way, 1.0);
            angle = (kept * kept).mul_add(turned, angle);
            meeting = (way * way).mul_add(turned, meeting);
            cross = way.mul_add(turned, cross);
            let way = MIDDLE - z;
            (ss, ys, yy) = (ss + turned, way.mul_add(turned, ys), (way * way).mul_add(turned, yy));
        }
        let upstream = ss;
        let (turned, way) = (qop2 * layout.two_planes, MIDDLE - TWO_PLANES);
        (ss, ys, yy) = (ss + turned, way.mul_add(turned, ys), (way * way).mul_add(turned, yy));
        let [x, t, tells] = self.plane;
        angle = (tells * tells).mul_add(turned, angle);
        let ([follows_x, follows_t], [bend_x, bend_t]) = (self.follows, self.bends);
        let follows = [follows_x * follows_x, follows_x * follows_t, follows_t * follows_t];
        let both = [follows_x * bend_x, follows_x * bend_t, follows_t * bend_t];
        let both = [both[0] + both[0], follows_t.mul_add(bend_x, both[1]), both[2] + both[2]];
        let bends = [bend_x * bend_x, bend_x * bend_t, bend_t * bend_t];
        let plane = [x * x, x * t, t * t];
        let part = |at: usize| {
            let by_plane = plane[at].mul_add(turned, self.hits[at]);
            let by_angle = bends[at].mul_add(upstream, by_plane);
            follows[at].mul_add(meeting, both[at].mul_add(cross, by_angle))
        };
        ([[part(0), part(1), part(2)], [yy, ys, ss]], angle)
    }
}
