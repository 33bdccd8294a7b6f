//! Scan: tests all shifts at once for each hit of a pivot's layer. If enough other rows have the bit of a shift, the
//! hit and the shift may belong to a track.

use super::bits::{Marks, WORDS, Window, draw, each, odd_of, places, two_of, window};
use super::hits::RowHits;
use super::plan::{Plan, Rows};
use crate::event::Column;
use crate::scifi::layers::{HALF_LAYERS, X_LAYERS};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of};

/// Longest run of bits that is one candidate.
const LONGEST: u32 = 4;
/// Most runs in a word.
const MOST_RUNS: usize = u64::BITS as usize / 2;
/// Rows of both pivots.
const ROWS: usize = X_LAYERS - 1 + X_LAYERS - 2;

/// Runs of bits: combinations of a pivot and a shift.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Place of the pivot, and its x, mm.
    pub(super) pivot: Column<u32>,
    pub(super) x: Column<f32>,
    /// Twice the middle bit of the run, or of its bits with all layers if there are any.
    pub(super) twice: Column<i32>,
    pub(super) len: usize,
}

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct ScanScratch {
    rows: Column<u64>,
    marks: [Marks; ROWS],
    /// First bits of the pivots' windows.
    places: [Column<u32>; X_LAYERS - 1],
    /// Pivots that are scanned: their places and x.
    pivots: Column<u32>,
    x: Column<f32>,
    /// Windows in which enough rows have bits, their bits in all rows, and their pivots; then the words of these windows
    /// that are not 0, and their numbers.
    some: Column<u64>,
    most: Column<u64>,
    of: Column<u32>,
    words: Column<u64>,
    from: Column<u32>,
}

/// Number of rows of a window that must have a bit.
#[derive(Clone, Copy)]
pub(super) struct Enough<'a> {
    /// Whether two rows may miss where `inner` has bits, and not only one.
    pub(super) two_may_miss: bool,
    pub(super) inner: &'a Window,
}

/// Returns the bits where enough of five rows have a bit, and the bits where all rows have one.
#[inline(always)]
fn of_five([a, b, c, d, e]: [Window; 5], enough: Enough<'_>) -> [Window; 2] {
    let (one, carry) = (odd_of(&a, &b, &c), two_of(&a, &b, &c));
    let (ones, more) = (odd_of(&one, &d, &e), two_of(&one, &d, &e));
    let four: Window = each(
        #[inline(always)]
        |at| carry[at] & more[at],
    );
    let all = each(
        #[inline(always)]
        |at| four[at] & ones[at],
    );
    if !enough.two_may_miss {
        return [four, all];
    }
    let three = two_of(&carry, &more, &ones);
    // Both ends need a hit.
    let some = |at: usize| enough.inner[at] & three[at] & (a[at] | b[at]) & (d[at] | e[at]);
    [
        each(
            #[inline(always)]
            |at| four[at] | some(at),
        ),
        all,
    ]
}

/// Returns the bits where enough of four rows have a bit, and the bits where all rows have one.
#[inline(always)]
fn of_four([a, b, c, d]: [Window; 4], enough: Enough<'_>) -> [Window; 2] {
    let all: Window = each(
        #[inline(always)]
        |at| a[at] & b[at] & c[at] & d[at],
    );
    if !enough.two_may_miss {
        return [all, all];
    }
    let three = |at: usize| a[at] & b[at] & (c[at] | d[at]) | c[at] & d[at] & (a[at] | b[at]);
    [
        each(
            #[inline(always)]
            |at| all[at] | enough.inner[at] & three(at),
        ),
        all,
    ]
}

impl ScanScratch {
    /// Marks the rows of a half.
    #[inline(always)]
    pub(super) fn mark<G: Gang>(&mut self, g: G, plan: &Plan, hits: &RowHits, half: usize) {
        self.rows.set_len(plan.words);
        self.rows.fill(0);
        let of_both = plan.sets.iter().flat_map(|set| &set.rows);
        for (number, (marks, row)) in self.marks.iter_mut().zip(of_both).enumerate() {
            let layer = hits.layer(half * HALF_LAYERS + row.layer);
            // The middle station is near the pivot: tracks do not deviate more in its outer part.
            let inner = if number == 2 { 0..layer.len() } else { hits.inner(half * HALF_LAYERS + row.layer) };
            let of = [row.hit[0], row.hit[1], row.most];
            marks.open(g, hits.x_of(layer), inner, of, (row.bits, 64 * row.words[0]));
        }
        let Self { rows, marks, .. } = self;
        let marks = |set: usize, row: usize| &marks[if set == 0 { row } else { X_LAYERS - 1 + row }];
        draw(rows, [marks(0, 0), marks(1, 0)]);
        draw(rows, [marks(0, 1), marks(1, 1)]);
        draw(rows, [marks(0, 3), marks(1, 2)]);
        draw(rows, [marks(0, 4), marks(1, 3), marks(0, 2)]);
    }

    /// Scans the hits of a pivot's layer that are not in `taken`, which is per place.
    #[inline(always)]
    pub(super) fn scan<G: Gang>(
        &mut self,
        g: G,
        (set, enough): (&Rows, Enough<'_>),
        (hits, half): (&RowHits, usize),
        taken: Option<&[u32]>,
        runs: &mut Runs,
    ) {
        let layer = hits.layer(half * HALF_LAYERS + set.pivot);
        self.pivots.reserve_total(layer.len());
        self.x.reserve_total(layer.len());
        let mut len = 0;
        for at in layer.clone().step_by(G::LANES) {
            let here = Mask::first(g, layer.end - at);
            let free = taken.map_or(here, |taken| U32::load(g, &taken[at..]).eq(U32::splat(g, 0)) & here);
            F32::load(g, &hits.x()[at..]).store_packed(&mut self.x.padded_mut()[len..], free);
            let place = U32::splat(g, at as u32) + U32::iota(g);
            len += place.store_packed(&mut self.pivots.padded_mut()[len..], free);
        }
        for (places_of, row) in self.places.iter_mut().zip(&set.rows) {
            let of = [row.window[0], row.window[1], row.most];
            places(g, self.x.padded(), len, of, 64 * row.words[0], places_of);
        }
        for column in [&mut self.some, &mut self.most] {
            column.reserve_total(WORDS * (len + 1));
        }
        self.of.reserve_total(len + 1);
        let kept = match set.rows.len() {
            5 => self.add(
                len,
                #[inline(always)]
                |windows| of_five(windows, enough),
            ),
            _ => self.add(
                len,
                #[inline(always)]
                |windows| of_four(windows, enough),
            ),
        };
        let words = self.pack(kept);
        self.list(words, hits.x(), runs);
    }

    /// Adds up the windows of pivots. Returns the number of windows with bits.
    #[inline(always)]
    fn add<const N: usize>(&mut self, len: usize, sum: impl Fn([Window; N]) -> [Window; 2]) -> usize {
        let Self { rows, places, pivots, some, most, of, .. } = self;
        let (rows, pivots) = (&rows[..], &pivots.padded()[..len]);
        let places: [&[u32]; N] = array_of!(row => &places[row].padded()[..len]);
        let (some, _) = some.padded_mut().as_chunks_mut::<WORDS>();
        let (most, _) = most.padded_mut().as_chunks_mut::<WORDS>();
        let of = of.padded_mut();
        let mut kept = 0;
        for at in 0..len {
            let windows = array_of!(row => window::<WORDS, { WORDS + 1 }>(rows, places[row][at]));
            let [found, all] = sum(windows);
            (some[kept], most[kept], of[kept]) = (found, all, pivots[at]);
            kept += usize::from(found[0] | found[1] | found[2] | found[3] != 0);
        }
        kept
    }

    /// Keeps the words that have bits, with their numbers. Returns their number. There is no branch, because it would be
    /// unpredictable.
    #[inline(always)]
    fn pack(&mut self, windows: usize) -> usize {
        let Self { some, words, from, .. } = self;
        words.reserve_total(WORDS * windows + 1);
        from.reserve_total(WORDS * windows + 1);
        let (words, from) = (words.padded_mut(), from.padded_mut());
        let mut kept = 0;
        for (number, &word) in some.padded()[..WORDS * windows].iter().enumerate() {
            (words[kept], from[kept]) = (word, number as u32);
            kept += usize::from(word != 0);
        }
        kept
    }

    /// Lists the runs of bits of words.
    #[inline(always)]
    fn list(&self, words: usize, x: &[f32], runs: &mut Runs) {
        let (most, of) = (self.most.padded(), self.of.padded());
        runs.reserve(MOST_RUNS * words);
        let Runs { pivot: pivots, x: xs, twice, len } = runs;
        let (pivots, xs, twice) = (pivots.padded_mut(), xs.padded_mut(), twice.padded_mut());
        let mut to = *len;
        for (&word, &from) in self.words.padded()[..words].iter().zip(self.from.padded()) {
            let from = from as usize;
            let (mut left, best, pivot) = (word, most[from], of[from / WORDS]);
            let x = x[pivot as usize];
            let first = (from % WORDS) as u32 * (2 * u64::BITS);
            while left != 0 {
                let begin = left.trailing_zeros();
                let len = (!(left >> begin)).trailing_zeros().min(LONGEST);
                let run = (u64::MAX >> (u64::BITS - len)) << begin;
                left &= !run;
                let most = best & run;
                let ends = if most == 0 {
                    2 * begin + len - 1
                } else {
                    most.trailing_zeros() + u64::BITS - 1 - most.leading_zeros()
                };
                (pivots[to], xs[to], twice[to]) = (pivot, x, (first + ends) as i32);
                to += 1;
            }
        }
        *len = to;
    }
}

impl Runs {
    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        self.pivot.reserve_total(self.len + more);
        self.x.reserve_total(self.len + more);
        self.twice.reserve_total(self.len + more);
    }

    /// Truncates the list to `most` elements. Returns the number of dropped elements.
    #[inline(always)]
    pub(super) fn cut(&mut self, most: usize) -> u64 {
        let lost = self.len.saturating_sub(most);
        self.len -= lost;
        lost as u64
    }
}
