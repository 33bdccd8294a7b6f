//! Confirm: adds hits of the u and v layers to tracks in x. Rows of bits test all slopes in y at once; then the lines
//! with hits in the most layers are fitted, one line per lane.

use super::bits::{Marks, draw, each, odd_of, two_of, window};
use super::exact::{A, B, C, CHI2, Candidates};
use super::hits::{Four, RowHits, UPPER};
use super::plan::{BEFORE, Plan, REACH, SLOPES, UvRow};
use super::step::step;
use super::table::Table;
use crate::event::Column;
use crate::scifi::config::RowPass;
use crate::scifi::layers::{HALF_LAYERS, HALVES, UV_LAYERS, X_LAYERS};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, for_each, inlined};

/// Words of a window of slopes.
const WORDS: usize = SLOPES / 64;
type Slopes = [u64; WORDS];
/// Longest run of bits that is one line.
const LONGEST: u32 = 12;
/// Margin beyond the tolerance within which hits are searched for, mm: the fitted line differs from the line of the bit.
const MARGIN: f32 = 0.3;
/// Fewest layers that the bits count.
const LEAST: u32 = 4;

/// Columns of [`Confirmed::values`] after the columns of candidates.
pub(super) const Y: usize = CHI2 + 1;
pub(super) const TY: usize = CHI2 + 2;
pub(super) const CHI2_Y: usize = CHI2 + 3;
pub(super) const VALUES: usize = CHI2 + 4;

/// Tracks: places of their hits, 0 for a missing hit, parameters and chi2.
#[derive(Debug, Default)]
pub(super) struct Confirmed {
    pub(super) hits: Table<u32, HALF_LAYERS>,
    pub(super) values: Table<f32, VALUES>,
    pub(super) len: usize,
}

/// Lines in y of candidates.
#[derive(Debug, Default)]
struct Lines {
    /// Number of the candidate, and twice the middle bit of the slope.
    of: Column<u32>,
    twice: Column<u32>,
    len: usize,
    /// Places of hits and number of hits; y at the reference, mm, slope, chi2, mm^2.
    hits: Table<u32, { UV_LAYERS + 1 }>,
    values: Table<f32, 3>,
}

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct UvScratch {
    rows: Column<u64>,
    marks: [Marks; UV_LAYERS],
    /// First bits of the windows of each candidate, and its fewest hits.
    windows: Table<u32, UV_LAYERS>,
    need: Column<u32>,
    /// x of candidates in the layers, mm, followed by the sign of the half and its offset for [`RowHits::four`].
    x: [Column<[f32; 4]>; 2],
    /// Windows with enough layers, and their candidates.
    some: Column<u64>,
    some_of: Column<u32>,
    words: Column<u64>,
    words_of: Column<u32>,
    lines: Lines,
}

/// Returns the bits with most layers, at least four, and the number of these layers; 0 for none.
#[inline(always)]
fn most(windows: &[Slopes; UV_LAYERS]) -> (Slopes, u32) {
    let [a, b, c, d, e, f] = windows;
    let (one, carry) = (odd_of(a, b, c), two_of(a, b, c));
    let (other, more) = (odd_of(d, e, f), two_of(d, e, f));
    let both: Slopes = each(
        #[inline(always)]
        |at| one[at] & other[at],
    );
    let four = two_of(&carry, &more, &both);
    let six: Slopes = each(
        #[inline(always)]
        |at| carry[at] & more[at] & both[at],
    );
    let five: Slopes = each(
        #[inline(always)]
        |at| six[at] | four[at] & (one[at] ^ other[at]),
    );
    let has = inlined!(|bits: &Slopes| {
        let mut any = 0;
        for_each!(at < WORDS => any |= bits[at]);
        any != 0
    });
    let number = u32::from(has(&four)) + u32::from(has(&five)) + u32::from(has(&six));
    let (is_six, is_five) = (u64::from(number == 3).wrapping_neg(), u64::from(number == 2).wrapping_neg());
    let bits = each(
        #[inline(always)]
        |at| six[at] & is_six | five[at] & is_five | four[at] & !(is_six | is_five),
    );
    (bits, if number == 0 { 0 } else { LEAST - 1 + number })
}

impl UvScratch {
    /// Confirms candidates, and writes the tracks to `out`, in the order of the candidates. Fits at most `most_lines`
    /// lines. Returns the number of dropped lines.
    #[inline(always)]
    pub(super) fn confirm<G: Gang>(
        &mut self,
        g: G,
        (plan, pass, most_lines): (&Plan, &RowPass, usize),
        hits: &RowHits,
        candidates: &Candidates,
        out: &mut Confirmed,
    ) -> u64 {
        step!(g, self.mark(g, plan, hits));
        step!(g, self.open(g, (plan, pass), hits, candidates));
        step!(g, {
            let kept = self.scan(candidates.len);
            self.list(kept);
        });
        let lost = self.lines.len.saturating_sub(most_lines);
        self.lines.len -= lost;
        step!(g, self.fit(g, (plan, pass), hits));
        step!(g, self.choose(candidates, out));
        lost as u64
    }

    /// Returns the number of fitted lines.
    pub(super) fn lines(&self) -> usize {
        self.lines.len
    }

    /// Marks the rows of both halves.
    #[inline(always)]
    fn mark<G: Gang>(&mut self, g: G, plan: &Plan, hits: &RowHits) {
        self.rows.set_len(HALVES * plan.uv_words);
        self.rows.fill(0);
        let Self { rows, marks, .. } = self;
        for half in 0..HALVES {
            let sign = if half == 0 { -1.0 } else { 1.0 };
            for (layer, (row, marks)) in plan.uv.iter().zip(marks.iter_mut()).enumerate() {
                let layer = hits.layer(half * HALF_LAYERS + X_LAYERS + layer);
                let (inner, of) = (0..layer.len(), [sign * row.scale, row.hit, row.most]);
                let offset = 64 * (half * plan.uv_words + row.words[0]);
                marks.open(g, hits.x_of(layer), inner, of, (row.bits, offset));
            }
            let [a, b, c, d, e, f] = &*marks;
            draw(rows, [a, b, c]);
            draw(rows, [d, e, f]);
        }
    }

    /// Computes x of candidates in the layers, the first bits of their windows, and the number of hits that they need.
    #[inline(always)]
    fn open<G: Gang>(
        &mut self,
        g: G,
        (plan, pass): (&Plan, &RowPass),
        hits: &RowHits,
        candidates: &Candidates,
    ) {
        let value = inlined!(|value: f32| F32::splat(g, value));
        let len = candidates.len;
        self.windows.reserve(len, 0);
        self.need.set_len(len);
        self.x.iter_mut().for_each(|column| column.set_len(len));
        let first_upper = U32::splat(g, hits.layer(HALF_LAYERS).start as u32 - 1);
        let upper_words = U32::splat(g, 64 * plan.uv_words as u32);
        let windows = self.windows.columns_mut();
        for at in (0..len).step_by(G::LANES) {
            let hit = inlined!(|layer| U32::load(g, &candidates.hits.column(layer)[at..]));
            let parameter = inlined!(|column| F32::load(g, &candidates.values.column(column)[at..]));
            // A candidate always has a hit in at least one of the pivots' layers.
            let is_upper = first_upper.lt(hit(2).max(hit(3)));
            let sign = is_upper.select_f(value(1.0), value(-1.0));
            let offset = is_upper.select_u(upper_words, U32::splat(g, 0));
            let (a, b, c) = (parameter(A), parameter(B), parameter(C));
            let x: [F32<G>; UV_LAYERS] = array_of!(layer => {
                let row = &plan.uv[layer];
                c.mul_add(value(row.bend), b.mul_add(value(row.d), a))
            });
            for_each!(layer < UV_LAYERS => {
                let row = &plan.uv[layer];
                let within = x[layer].max(value(-REACH as f32)).min(value(REACH as f32));
                let first = (within * sign).mul_add(value(row.scale), value(row.window));
                let first = first.max(value(1.0)).min(value(row.most)).to_i32().to_bits();
                let first = first + offset + U32::splat(g, 64 * row.words[0] as u32);
                first.store(&mut windows[layer][at..]);
            });
            let in_x = hit(X_LAYERS);
            let rest = U32::splat(g, pass.min_hits) - in_x;
            rest.max(U32::splat(g, pass.min_uv_hits)).store(&mut self.need.padded_mut()[at..]);
            F32::store_records([x[0], x[1], x[2], x[3]], &mut self.x[0].padded_mut()[at..]);
            let upper = is_upper.select_u(U32::splat(g, UPPER), U32::splat(g, 0));
            F32::store_records([x[4], x[5], sign, upper.as_f32()], &mut self.x[1].padded_mut()[at..]);
        }
    }

    /// Adds up the windows of candidates. Returns the number of windows with enough layers.
    #[inline(always)]
    fn scan(&mut self, len: usize) -> usize {
        let Self { rows, windows, need, some, some_of, .. } = self;
        some.reserve_total(WORDS * (len + 1));
        some_of.reserve_total(len + 1);
        let rows = &rows[..];
        let firsts: [&[u32]; UV_LAYERS] = array_of!(layer => &windows.column(layer)[..len]);
        let need = &need.padded()[..len];
        let (some, _) = some.padded_mut().as_chunks_mut::<WORDS>();
        let some_of = some_of.padded_mut();
        let mut kept = 0;
        for at in 0..len {
            let of_layers = array_of!(layer => window::<WORDS, { WORDS + 1 }>(rows, firsts[layer][at]));
            let (bits, number) = most(&of_layers);
            (some[kept], some_of[kept]) = (bits, at as u32);
            kept += usize::from(number > 0 && number >= need[at]);
        }
        kept
    }

    /// Lists the lines, which are runs of bits.
    #[inline(always)]
    fn list(&mut self, windows: usize) {
        let Self { some, some_of, words, words_of, lines, .. } = self;
        words.reserve_total(WORDS * windows + 1);
        words_of.reserve_total(WORDS * windows + 1);
        let (words, words_of) = (words.padded_mut(), words_of.padded_mut());
        let mut kept = 0;
        let (some, _) = some.padded().as_chunks::<WORDS>();
        for (some, &candidate) in some.iter().zip(&some_of.padded()[..windows]) {
            for (number, &word) in some.iter().enumerate() {
                words[kept] = word;
                words_of[kept] = candidate * WORDS as u32 + number as u32;
                kept += usize::from(word != 0);
            }
        }
        lines.len = 0;
        for (&word, &of) in words[..kept].iter().zip(&words_of[..kept]) {
            let mut left = word;
            lines.of.reserve_total(lines.len + u64::BITS as usize);
            lines.twice.reserve_total(lines.len + u64::BITS as usize);
            while left != 0 {
                let begin = left.trailing_zeros();
                let len = (!(left >> begin)).trailing_zeros().min(LONGEST);
                left &= !((u64::MAX >> (u64::BITS - len)) << begin);
                lines.of.padded_mut()[lines.len] = of / WORDS as u32;
                lines.twice.padded_mut()[lines.len] = 2 * (begin + of % WORDS as u32 * u64::BITS) + len;
                lines.len += 1;
            }
        }
    }

    /// Fits the lines.
    #[inline(always)]
    fn fit<G: Gang>(&mut self, g: G, (plan, pass): (&Plan, &RowPass), hits: &RowHits) {
        let value = inlined!(|value: f32| F32::splat(g, value));
        let Self { lines, x, .. } = self;
        lines.hits.reserve(lines.len, 0);
        lines.values.reserve(lines.len, 0);
        let (places, values) = (lines.hits.columns_mut(), lines.values.columns_mut());
        for at in (0..lines.len).step_by(G::LANES) {
            let of = U32::load(g, &lines.of.padded()[at..]);
            let [x0, x1, x2, x3] = F32::gather_records(x[0].padded(), of);
            let [x4, x5, sign, upper] = F32::gather_records(x[1].padded(), of);
            let x = [x0, x1, x2, x3, x4, x5];
            let twice = U32::load(g, &lines.twice.padded()[at..]).as_i32().to_f32();
            let slope = twice.mul_add(value(0.5), value(-(BEFORE as f32))) * (sign * value(plan.slope_step));
            let reach = value(pass.uv_tolerance + MARGIN);
            let upper = upper.to_bits();
            let middle: [F32<G>; UV_LAYERS] =
                array_of!(layer => slope.neg_mul_add(value(plan.uv[layer].per_slope), x[layer]));
            let four: [Four<G>; UV_LAYERS] = array_of!(layer => {
                let [low, high] = [middle[layer] - reach, middle[layer] + reach];
                hits.four(g, X_LAYERS + layer, upper, [low, middle[layer], high])
            });
            let zero = value(0.0);
            let layers = Layers { plan: &plan.uv, x, middle, four };
            let first = layers.line(g, crate::simd::copies(zero), value(pass.uv_tolerance));
            let off = array_of!(layer => {
                let row = &plan.uv[layer];
                let y = first.slope.mul_add(value(row.d), first.y);
                y.neg_mul_add(value(row.slope), x[layer]) - middle[layer]
            });
            let line = layers.line(g, off, value(pass.line_tolerance));
            let mut chi2 = zero;
            for_each!(layer < UV_LAYERS => {
                let row = &plan.uv[layer];
                let left = line.y_of[layer] - line.slope.mul_add(value(row.d), line.y);
                chi2 = line.has[layer].select_f(left.mul_add(left, chi2), chi2);
                line.hits[layer].store(&mut places[layer][at..]);
            });
            line.number.to_i32().to_bits().store(&mut places[UV_LAYERS][at..]);
            line.y.store(&mut values[0][at..]);
            line.slope.store(&mut values[1][at..]);
            chi2.store(&mut values[2][at..]);
        }
    }

    /// Chooses for each candidate the line with most hits, then with the smallest chi2. Candidates without enough hits are
    /// dropped.
    #[inline(always)]
    fn choose(&self, candidates: &Candidates, out: &mut Confirmed) {
        let Self { lines, need, .. } = self;
        out.len = 0;
        out.hits.reserve(candidates.len, 0);
        out.values.reserve(candidates.len, 0);
        let of = &lines.of.padded()[..lines.len];
        let len = of.len();
        let places: [&[u32]; UV_LAYERS + 1] = array_of!(column => &lines.hits.column(column)[..len]);
        let values: [&[f32]; 3] = array_of!(column => &lines.values.column(column)[..len]);
        let (number, chi2) = (places[UV_LAYERS], values[2]);
        let (in_x, of_x) = (candidates.hits.columns(), candidates.values.columns());
        let (to_hits, to_values) = (out.hits.columns_mut(), out.values.columns_mut());
        let (mut at, mut to) = (0, 0);
        while at < len {
            let (candidate, mut best) = (of[at], at);
            at += 1;
            while at < len && of[at] == candidate {
                let is_better =
                    number[at] > number[best] || number[at] == number[best] && chi2[at] < chi2[best];
                best = if is_better { at } else { best };
                at += 1;
            }
            let candidate = candidate as usize;
            for_each!(layer < X_LAYERS => to_hits[layer][to] = in_x[layer][candidate]);
            for_each!(layer < UV_LAYERS => to_hits[X_LAYERS + layer][to] = places[layer][best]);
            for_each!(column < Y => to_values[column][to] = of_x[column][candidate]);
            for_each!(column < 3 => to_values[Y + column][to] = values[column][best]);
            to += usize::from(number[best] >= need[candidate]);
        }
        out.len = to;
    }
}

/// The layers of lines: x of the track in x, x of the line of the slope's bit, and the hits around it.
struct Layers<'a, G: Gang> {
    plan: &'a [UvRow; UV_LAYERS],
    x: [F32<G>; UV_LAYERS],
    middle: [F32<G>; UV_LAYERS],
    four: [Four<G>; UV_LAYERS],
}

/// A line in y through hits.
struct Line<G: Gang> {
    y: F32<G>,
    slope: F32<G>,
    number: F32<G>,
    has: [Mask<G>; UV_LAYERS],
    hits: [U32<G>; UV_LAYERS],
    y_of: [F32<G>; UV_LAYERS],
}

impl<G: Gang> Layers<'_, G> {
    /// Fits a line to the hits nearest to the places `middle + off`, within a tolerance.
    #[inline(always)]
    fn line(&self, g: G, off: [F32<G>; UV_LAYERS], tolerance: F32<G>) -> Line<G> {
        let value = inlined!(|value: f32| F32::splat(g, value));
        let nearest: [F32<G>; UV_LAYERS] = array_of!(layer => self.four[layer].nearest(g, off[layer]));
        let has: [Mask<G>; UV_LAYERS] = array_of!(layer => nearest[layer].lt(tolerance));
        let named: [(U32<G>, F32<G>); UV_LAYERS] =
            array_of!(layer => self.four[layer].named(g, nearest[layer]));
        let y_of: [F32<G>; UV_LAYERS] = array_of!(layer => {
            (self.x[layer] - (named[layer].1 + self.middle[layer])) * value(self.plan[layer].to_y)
        });
        let zero = value(0.0);
        let (mut n, mut d, mut dd, mut y, mut dy) = (zero, zero, zero, zero, zero);
        for_each!(layer < UV_LAYERS => {
            let (has, of, at) = (has[layer], y_of[layer], self.plan[layer].d);
            n = has.select_f(n + value(1.0), n);
            d = has.select_f(d + value(at), d);
            dd = has.select_f(dd + value(at * at), dd);
            y = has.select_f(y + of, y);
            dy = has.select_f(of.mul_add(value(at), dy), dy);
        });
        let slope = n.mul_add(dy, -(d * y)) / n.mul_add(dd, -(d * d));
        let none = U32::splat(g, 0);
        Line {
            y: slope.neg_mul_add(d, y) / n,
            slope,
            number: n,
            has,
            hits: array_of!(layer => has[layer].select_u(named[layer].0, none)),
            y_of,
        }
    }
}
