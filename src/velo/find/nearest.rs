//! The search shared by seeding and forwarding: finds the best hit of a pair of modules for a line, one line per lane.

use super::tally::Tally;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::{BestConfig, PassConfig};
use crate::velo::geometry::PAIR_HALF_DEPTH;
use crate::velo::index::{Layer, Window};

/// Parameters of the searches of a pass, and their counts.
pub(super) struct Search<'a, G: Gang> {
    /// Parameters of both passes, and of the current pass.
    pub(super) config: &'a BestConfig,
    pub(super) pass: &'a PassConfig,
    pub(super) judge: Judge<G>,
}

/// Parameters for judging hits near lines, and the counts of the searches.
pub(in crate::velo) struct Judge<G: Gang> {
    pub(in crate::velo) tally: Tally<G>,
    /// Twice the variance of a hit, mm^2.
    pub(in crate::velo) two_hit_variances: f32,
    scatter_constant: f32,
    /// Largest number of hits looked at in one window.
    pub(in crate::velo) max_candidates: u32,
}

/// A line per lane: the second hit of a doublet, the slopes, and 1 / (z of the second hit - z of the first).
#[derive(Clone, Copy)]
pub(in crate::velo) struct Line<G: Gang> {
    pub(in crate::velo) x: F32<G>,
    pub(in crate::velo) y: F32<G>,
    pub(in crate::velo) z: F32<G>,
    pub(in crate::velo) tx: F32<G>,
    pub(in crate::velo) ty: F32<G>,
    pub(in crate::velo) inverse: F32<G>,
}

/// Lines as columns, in the order of the fields of [`Line`].
pub(super) type Lines<'a> = [&'a mut [f32]; 6];

/// Splits memory into the columns of lines.
#[inline(always)]
pub(super) fn columns_of_lines(memory: &mut [f32], room: usize) -> Lines<'_> {
    let (x, rest) = memory.split_at_mut(room);
    let (y, rest) = rest.split_at_mut(room);
    let (z, rest) = rest.split_at_mut(room);
    let (tx, rest) = rest.split_at_mut(room);
    let (ty, rest) = rest.split_at_mut(room);
    [x, y, z, tx, ty, &mut rest[..room]]
}

impl<G: Gang> Line<G> {
    /// Loads the lines from index `at` on.
    #[inline(always)]
    pub(super) fn load(g: G, [x, y, z, tx, ty, inverse]: [&[f32]; 6], at: usize) -> Self {
        Self {
            x: F32::load(g, &x[at..]),
            y: F32::load(g, &y[at..]),
            z: F32::load(g, &z[at..]),
            tx: F32::load(g, &tx[at..]),
            ty: F32::load(g, &ty[at..]),
            inverse: F32::load(g, &inverse[at..]),
        }
    }

    /// Left-packs the lines of `lanes` to index `at`.
    #[inline(always)]
    pub(super) fn store_packed(&self, [x, y, z, tx, ty, inverse]: &mut Lines<'_>, at: usize, lanes: Mask<G>) {
        self.x.store_packed(&mut x[at..], lanes);
        self.y.store_packed(&mut y[at..], lanes);
        self.z.store_packed(&mut z[at..], lanes);
        self.tx.store_packed(&mut tx[at..], lanes);
        self.ty.store_packed(&mut ty[at..], lanes);
        self.inverse.store_packed(&mut inverse[at..], lanes);
    }

    /// Selects this line in `lanes`, else the other.
    #[inline(always)]
    pub(super) fn select(self, lanes: Mask<G>, other: &Self) -> Self {
        Self {
            x: lanes.select_f(self.x, other.x),
            y: lanes.select_f(self.y, other.y),
            z: lanes.select_f(self.z, other.z),
            tx: lanes.select_f(self.tx, other.tx),
            ty: lanes.select_f(self.ty, other.ty),
            inverse: lanes.select_f(self.inverse, other.inverse),
        }
    }

    /// Returns the same line in all lanes.
    #[inline(always)]
    pub(super) fn splat(g: G, line: [f32; 6]) -> Self {
        let [x, y, z, tx, ty, inverse] = line.map(|value| F32::splat(g, value));
        Self { x, y, z, tx, ty, inverse }
    }

    /// Returns the line from hit `a` to hit `b`.
    #[inline(always)]
    pub(in crate::velo) fn through(g: G, a: [F32<G>; 3], b: [F32<G>; 3]) -> Self {
        let inverse = F32::splat(g, 1.0) / (b[2] - a[2]);
        let (tx, ty) = ((b[0] - a[0]) * inverse, (b[1] - a[1]) * inverse);
        Self { x: b[0], y: b[1], z: b[2], tx, ty, inverse }
    }

    /// Returns tx^2 + ty^2.
    #[inline(always)]
    pub(super) fn slope2(&self) -> F32<G> {
        self.tx.mul_add(self.tx, self.ty * self.ty)
    }
}

/// The best hit per lane: its number in the window, its position, and chi2 = distance2 / variance.
pub(in crate::velo) struct Best<G: Gang> {
    pub(in crate::velo) number: U32<G>,
    pub(in crate::velo) x: F32<G>,
    pub(in crate::velo) y: F32<G>,
    pub(in crate::velo) z: F32<G>,
    pub(in crate::velo) distance2: F32<G>,
    pub(in crate::velo) variance: F32<G>,
}

/// Limits of a search.
#[derive(Clone, Copy)]
pub(in crate::velo) struct Reach<G: Gang> {
    /// Whether used hits are candidates, too.
    pub(in crate::velo) used_too: bool,
    /// Largest chi2 (no unit).
    pub(in crate::velo) chi2: F32<G>,
    /// Scattering variance per tx^2 + ty^2, rad^2.
    pub(in crate::velo) scatter_slope: f32,
    /// Smallest distance of hits from the beam axis, mm.
    pub(in crate::velo) inner_radius: f32,
}

/// The windows of lines in a layer: for each lane, the index of the first hit in the layer, and the number of hits.
#[derive(Clone, Copy)]
pub(in crate::velo) struct Candidates<'a, G: Gang> {
    /// Index of the first hit, one value per lane.
    pub(in crate::velo) first: &'a [u32],
    /// Number of hits.
    pub(in crate::velo) count: U32<G>,
}

impl<'a, G: Gang> Search<'a, G> {
    pub(super) fn new(g: G, config: &'a BestConfig, pass: &'a PassConfig, max_candidates: u32) -> Self {
        let judge = Judge::new(g, config.hit_resolution, config.scatter_constant, max_candidates);
        Self { config, pass, judge }
    }

    /// Returns the window with all hits of a layer whose chi2 is small enough, and the lanes whose line meets the layer
    /// where hits can be. In other lanes the window is empty. `first` are the lanes of the first event.
    #[inline(always)]
    pub(super) fn window(
        &self,
        g: G,
        layer: &Layer<'_, G>,
        first: Mask<G>,
        line: &Line<G>,
        reach: Reach<G>,
    ) -> (Window<G>, Mask<G>) {
        let to_layer = layer.z - line.z;
        let scatter = self.judge.scatter(g, line, reach.scatter_slope);
        let max = (reach.chi2 * self.judge.variance(g, line, scatter, to_layer)).sqrt();
        let x = line.tx.mul_add(to_layer, line.x);
        let y = line.ty.mul_add(to_layer, line.y);
        // The hits of a pair are up to half its depth before and behind its middle.
        let turn = (x * line.ty - y * line.tx).abs() * F32::splat(g, PAIR_HALF_DEPTH);
        let hole = (F32::splat(g, reach.inner_radius) - max).max(F32::splat(g, 0.0));
        let edge = F32::splat(g, self.config.outer_radius) + max;
        let radius2 = x.mul_add(x, y * y);
        let inside = (hole * hole).le(radius2) & radius2.le(edge * edge);
        let Window { first, count } = layer.around(first, [x, y], max, turn);
        (Window { first, count: inside.select_u(count, U32::splat(g, 0)) }, inside)
    }
}

impl<G: Gang> Judge<G> {
    /// Creates a judge from the resolution of hits, mm, and the slope-independent variance of the scattering angle,
    /// rad^2.
    pub(in crate::velo) fn new(g: G, resolution: f32, scatter_constant: f32, max_candidates: u32) -> Self {
        Self {
            tally: Tally::new(g),
            two_hit_variances: 2.0 * (resolution * resolution),
            scatter_constant,
            max_candidates,
        }
    }

    /// Cuts windows down to the largest size, and counts the hits that are cut off.
    #[inline(always)]
    pub(in crate::velo) fn limit(&mut self, g: G, count: U32<G>, lanes: Mask<G>) -> U32<G> {
        let max = U32::splat(g, self.max_candidates);
        if (max.lt(count) & lanes).any() {
            self.tally.cut_short += u64::from((count - count.min(max)).reduce_add(lanes));
        }
        count.min(max)
    }

    /// Returns the variance of the distance of a hit at `dz` from the line's second hit.
    ///
    /// Both hits of the doublet and the candidate have the resolution s, which contributes s^2 (1 + (1 + r)^2 + r^2),
    /// with r = dz / length of the doublet; scattering in the second hit adds the variance of the angle times dz^2.
    #[inline(always)]
    pub(in crate::velo) fn variance(&self, g: G, line: &Line<G>, scatter: F32<G>, dz: F32<G>) -> F32<G> {
        let r = dz * line.inverse;
        let lever = r.mul_add(r, r) + F32::splat(g, 1.0);
        lever.mul_add(F32::splat(g, self.two_hit_variances), scatter * (dz * dz))
    }

    /// Returns the variance of the scattering angle at the line's second hit, with `scatter_slope` per tx^2 + ty^2,
    /// rad^2.
    #[inline(always)]
    pub(in crate::velo) fn scatter(&self, g: G, line: &Line<G>, scatter_slope: f32) -> F32<G> {
        let per_slope2 = F32::splat(g, scatter_slope);
        line.slope2().mul_add(per_slope2, F32::splat(g, self.scatter_constant))
    }

    /// Returns the squared distance of a hit from the line, mm^2, and its variance.
    #[inline(always)]
    pub(in crate::velo) fn distance(
        &self,
        g: G,
        line: &Line<G>,
        scatter: F32<G>,
        [x, y, z]: [F32<G>; 3],
    ) -> (F32<G>, F32<G>) {
        let dz = z - line.z;
        let dx = line.tx.mul_add(dz, line.x) - x;
        let dy = line.ty.mul_add(dz, line.y) - y;
        (dx.mul_add(dx, dy * dy), self.variance(g, line, scatter, dz))
    }

    /// Returns the candidate with the smallest chi2, and the lanes where this chi2 is below the limit. Of equally good
    /// hits the first in the window wins. Fractions are compared by cross-multiplication.
    #[inline(always)]
    pub(in crate::velo) fn nearest(
        &mut self,
        g: G,
        hits: &[[f32; 4]],
        Candidates { first, count }: Candidates<'_, G>,
        line: &Line<G>,
        reach: Reach<G>,
    ) -> (Best<G>, Mask<G>) {
        let scatter = self.scatter(g, line, reach.scatter_slope);
        let zero = F32::splat(g, 0.0);
        let mut best = Best {
            number: U32::splat(g, 0),
            x: zero,
            y: zero,
            z: zero,
            distance2: reach.chi2,
            variance: F32::splat(g, 1.0),
        };
        let mut any = Mask::first(g, 0);
        let mut steps = 0;
        loop {
            let number = U32::splat(g, steps);
            let on = number.lt(count);
            if !on.any() {
                break;
            }
            let [x, y, z, free_x] = F32::load_records(g, &hits[steps as usize..], first);
            let x = if reach.used_too { x } else { free_x };
            let (distance2, variance) = self.distance(g, line, scatter, [x, y, z]);
            let better = (distance2 * best.variance).lt(best.distance2 * variance) & on;
            best.number = better.select_u(number, best.number);
            best.x = better.select_f(x, best.x);
            best.y = better.select_f(y, best.y);
            best.z = better.select_f(z, best.z);
            best.distance2 = better.select_f(distance2, best.distance2);
            best.variance = better.select_f(variance, best.variance);
            any = any | better;
            steps += 1;
        }
        self.tally.add(count, steps);
        (best, any)
    }
}

/// Returns the distance of closest approach between the beam axis and the line through two hits, mm.
#[inline(always)]
pub(in crate::velo) fn distance_to_beam<G: Gang>(g: G, a: [F32<G>; 3], b: [F32<G>; 3]) -> F32<G> {
    let inverse = F32::splat(g, 1.0) / (b[2] - a[2]);
    let (tx, ty) = ((b[0] - a[0]) * inverse, (b[1] - a[1]) * inverse);
    let slope2 = tx.mul_add(tx, ty.mul_add(ty, F32::splat(g, 1e-9)));
    (a[0] * ty - a[1] * tx).abs() / slope2.sqrt()
}
