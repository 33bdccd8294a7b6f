//! Exact: finds the hits of the other layers for each run of bits, and fits the candidate; one run per lane.

use super::hits::{Four, RowHits, UPPER};
use super::plan::{Plan, Rows};
use super::scan::Runs;
use super::table::Table;
use crate::scifi::config::RowPass;
use crate::scifi::layers::{HALF_LAYERS, X_LAYERS};
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, array_of, copies, for_each, inlined};

/// Penalty of the sum of squared distances, hits per mm^2.
const PER_HIT: f32 = 0.3;
/// Constants of the published search: factor on the chi2 of a candidate with fewer than six hits, further penalty with four
/// hits, mm^2, and weight of the chi2 relative to the bend.
const FEWER_HITS: f32 = 10.0;
const FOUR_HITS: f32 = 2.0;
const CHI2_WEIGHT: f32 = 1_000.0;
/// Largest chi2 of a candidate, mm^2.
const MAX_CHI2: f32 = 1.0;

/// Ends of the parabolas: one of the first two rows, and one of the last two.
const ENDS: [(usize, usize); 4] = [(0, 3), (1, 2), (0, 2), (1, 3)];

/// Columns of [`Candidates::values`].
pub(super) const A: usize = 0;
pub(super) const B: usize = 1;
pub(super) const C: usize = 2;
pub(super) const CHI2: usize = 3;
pub(super) const VALUE: usize = 4;
pub(super) const VALUES: usize = 5;

/// Tracks in x.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Places of the hits, layer by layer, 0 for a missing hit, and then the number of hits.
    pub(super) hits: Table<u32, { X_LAYERS + 1 }>,
    /// The three parameters; the chi2, mm^2; the value, where smaller is better.
    pub(super) values: Table<f32, VALUES>,
    pub(super) len: usize,
}

impl Candidates {
    #[inline(always)]
    pub(super) fn reserve(&mut self, more: usize) {
        self.hits.reserve(self.len + more, self.len);
        self.values.reserve(self.len + more, self.len);
    }

    /// Truncates the list to `most` elements. Returns the number of dropped elements.
    #[inline(always)]
    pub(super) fn cut(&mut self, most: usize) -> u64 {
        let lost = self.len.saturating_sub(most);
        self.len -= lost;
        lost as u64
    }
}

/// The best hits of runs: places, 0 for a missing hit, and distances from the line from the origin.
struct Chosen<G: Gang, const N: usize> {
    hits: [U32<G>; N],
    off: [F32<G>; N],
    has: [Mask<G>; N],
    /// Lanes in which a parabola is accepted.
    any: Mask<G>,
}

/// Finds candidates for the runs of a pivot with `N` rows, by the first `Q` parabolas.
#[inline(always)]
pub(super) fn exact<G: Gang, const N: usize, const Q: usize>(
    g: G,
    (plan, set, pass): (&Plan, &Rows, &RowPass),
    hits: &RowHits,
    runs: &Runs,
    out: &mut Candidates,
) {
    out.reserve(runs.len);
    for at in (0..runs.len).step_by(G::LANES) {
        let here = Mask::first(g, runs.len - at);
        let pivot = U32::load(g, &runs.pivot.padded()[at..]);
        let x = F32::load(g, &runs.x.padded()[at..]);
        let twice = I32::load(g, &runs.twice.padded()[at..]);
        let shift = twice.to_f32().mul_add(F32::splat(g, 0.5 * plan.step), F32::splat(g, plan.first_shift));
        let chosen = choose::<G, N, Q>(g, (plan, set, pass), hits, [x, shift], pivot);
        fit::<G, N>(g, (set, pass), chosen, (pivot, x, here), out);
    }
}

/// Returns the hits on the best parabola.
#[inline(always)]
fn choose<G: Gang, const N: usize, const Q: usize>(
    g: G,
    (plan, set, pass): (&Plan, &Rows, &RowPass),
    hits: &RowHits,
    [x, shift]: [F32<G>; 2],
    pivot: U32<G>,
) -> Chosen<G, N> {
    let value = inlined!(|value: f32| F32::splat(g, value));
    let upper_begin = U32::splat(g, hits.layer(HALF_LAYERS).start as u32 - 1);
    let upper = upper_begin.lt(pivot).select_u(U32::splat(g, UPPER), U32::splat(g, 0));
    let is_outer = value(plan.outer).lt(x.abs());
    let rows: &[_; N] = set.rows.first_chunk().expect("the set has N rows");
    let reach: [F32<G>; N] =
        array_of!(row => is_outer.select_f(value(rows[row].tolerance[1]), value(rows[row].tolerance[0])));
    let off: [F32<G>; N] = array_of!(row => value(rows[row].k) * shift);
    let four: [Four<G>; N] = array_of!(row => {
        let middle = x.mul_add(value(rows[row].ratio), off[row]);
        hits.four(g, rows[row].layer, upper, [middle - reach[row], middle, middle + reach[row]])
    });
    // In T1 and T3, the hits nearest to the middle of a row define the parabolas.
    let zero = value(0.0);
    let ends = [0, 1, N - 2, N - 1];
    let nearest: [F32<G>; 4] = array_of!(end => four[ends[end]].nearest(g, zero));
    let named: [(U32<G>, F32<G>); 4] = array_of!(end => four[ends[end]].named(g, nearest[end]));
    let is_near: [Mask<G>; 4] = array_of!(end => nearest[end].lt(reach[ends[end]]));
    let mut best = value(-1.0);
    let mut picked: [F32<G>; N] = copies(value(-1.0));
    let tolerance = value(pass.x_tolerance);
    for_each!(number < Q => {
        let (a, b) = ENDS[number];
        let factors = &set.parabolas[number];
        let (mut count, mut sum) = (value(3.0), zero);
        let hit: [F32<G>; N] = array_of!(row => {
            if row == ends[a] {
                nearest[a]
            } else if row == ends[b] {
                nearest[b]
            } else {
                let at = named[a].1.mul_add(value(factors[row][0]), named[b].1 * value(factors[row][1]));
                let distance = four[row].nearest(g, at);
                let is_in = distance.lt(tolerance);
                count = is_in.select_f(count + value(1.0), count);
                sum = is_in.select_f(distance.mul_add(distance, sum), sum);
                is_in.select_f(distance, value(-1.0))
            }
        });
        let quality = sum.neg_mul_add(value(PER_HIT), count);
        let is_better = best.lt(quality) & is_near[a] & is_near[b];
        best = is_better.select_f(quality, best);
        picked = array_of!(row => is_better.select_f(hit[row], picked[row]));
    });
    let none = U32::splat(g, 0);
    let has: [Mask<G>; N] = array_of!(row => zero.le(picked[row]));
    let of: [(U32<G>, F32<G>); N] = array_of!(row => four[row].named(g, picked[row]));
    Chosen {
        hits: array_of!(row => has[row].select_u(of[row].0, none)),
        off: array_of!(row => off[row] + of[row].1),
        has,
        any: zero.lt(best),
    }
}

/// Fits candidates by least squares in closed form, and keeps those that are good enough.
#[inline(always)]
fn fit<G: Gang, const N: usize>(
    g: G,
    (set, pass): (&Rows, &RowPass),
    chosen: Chosen<G, N>,
    (pivot, x, here): (U32<G>, F32<G>, Mask<G>),
    out: &mut Candidates,
) {
    let value = inlined!(|value: f32| F32::splat(g, value));
    let (pu, pv) = (set.u, set.v);
    let Chosen { hits, off, has, any } = chosen;
    let rows: &[_; N] = set.rows.first_chunk().expect("the set has N rows");
    let (mut n, mut u, mut v) = (value(1.0), value(pu), value(pv));
    let (mut uu, mut uv, mut vv) = (value(pu * pu), value(pu * pv), value(pv * pv));
    let (mut t0, mut t1, mut t2) = (value(0.0), value(0.0), value(0.0));
    for_each!(row < N => {
        let (ru, rv, has, off) = (rows[row].u, rows[row].v, has[row], off[row]);
        n = has.select_f(n + value(1.0), n);
        u = has.select_f(u + value(ru), u);
        v = has.select_f(v + value(rv), v);
        uu = has.select_f(uu + value(ru * ru), uu);
        uv = has.select_f(uv + value(ru * rv), uv);
        vv = has.select_f(vv + value(rv * rv), vv);
        t0 = has.select_f(t0 + off, t0);
        t1 = has.select_f(off.mul_add(value(ru), t1), t1);
        t2 = has.select_f(off.mul_add(value(rv), t2), t2);
    });
    let alive = here & any & value(pass.min_x_hits as f32 - 0.5).lt(n);
    if !alive.any() {
        return;
    }
    // a b - c d
    let minor = inlined!(|a: F32<G>, b: F32<G>, c: F32<G>, d: F32<G>| a.mul_add(b, -(c * d)));
    let m00 = minor(uu, vv, uv, uv);
    let m01 = minor(uv, v, u, vv);
    let m02 = minor(u, uv, uu, v);
    let m11 = minor(n, vv, v, v);
    let m12 = minor(u, v, n, uv);
    let m22 = minor(n, uu, u, u);
    let scale = value(1.0) / n.mul_add(m00, u.mul_add(m01, v * m02));
    let dot = inlined!(|a: F32<G>, b: F32<G>, c: F32<G>| scale * a.mul_add(t0, b.mul_add(t1, c * t2)));
    let (fa, fb, fc) = (dot(m00, m01, m02), dot(m01, m11, m12), dot(m02, m12, m22));
    let left = fb.mul_add(value(pu), fc.mul_add(value(pv), fa));
    let mut chi2 = left * left;
    for_each!(row < N => {
        let fitted = fb.mul_add(value(rows[row].u), fc.mul_add(value(rows[row].v), fa));
        let left = off[row] - fitted;
        chi2 = has[row].select_f(left.mul_add(left, chi2), chi2);
    });
    let alive = alive & chi2.lt(value(MAX_CHI2));
    let score = n.lt(value(5.5)).select_f(chi2 * value(FEWER_HITS), chi2);
    let score = n.lt(value(4.5)).select_f(score + value(FOUR_HITS), score);
    let bend = fc * value(1e-6);
    let to = out.len;
    let places = out.hits.columns_mut();
    // The number of the layer that is neither the pivot nor a row, if there is one.
    let mut absent = X_LAYERS * (X_LAYERS - 1) / 2 - set.pivot;
    for_each!(row < N => {
        absent -= rows[row].layer;
        hits[row].store_packed(&mut places[rows[row].layer][to..], alive);
    });
    if N < X_LAYERS - 1 {
        U32::splat(g, 0).store(&mut places[absent][to..]);
    }
    pivot.store_packed(&mut places[set.pivot][to..], alive);
    n.to_i32().to_bits().store_packed(&mut places[X_LAYERS][to..], alive);
    let values = out.values.columns_mut();
    x.mul_add(value(set.to_reference), fa).store_packed(&mut values[A][to..], alive);
    x.mul_add(value(set.to_slope), fb * value(1e-3)).store_packed(&mut values[B][to..], alive);
    bend.store_packed(&mut values[C][to..], alive);
    chi2.store_packed(&mut values[CHI2][to..], alive);
    score.mul_add(value(CHI2_WEIGHT), bend.abs()).store_packed(&mut values[VALUE][to..], alive);
    out.len += alive.count();
}
