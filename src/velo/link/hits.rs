//! Sort: sorts hits by pair of modules, phi bin and input order, and writes them as columns and as records.
//!
//! The table has a word per bin, with the first hit of the bin and the end of the next bin, counted within the pair, so
//! that a window of two bins needs one look-up. Its words for even bins come first, because hits are counted in words
//! of two bins. Copies of the first hits of a pair follow its last hits, because windows may continue past phi = 2 pi.

use crate::Status;
use crate::event::{Column, PAD, VeloEvent};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use crate::velo::config::{LimitConfig, MOST_HITS};
use crate::velo::geometry::PAIRS;
use crate::velo::index::{check_sizes, phi_turn, status_of_bad_hits};
use bytemuck::cast_slice_mut;
use std::ops::Range;

/// Number of bins of a turn.
pub(super) const BINS: u32 = 512;
/// Number of words of two bins each.
const WORDS: usize = BINS as usize / 2;
/// Number of words of a pair in the table.
pub(super) const ROW: usize = BINS as usize;
/// Low half of a word.
const LOW: u32 = 0xffff;

/// 0, 1, 2, ...: indices of consecutive records.
static IN_ORDER: [u32; PAD] = {
    let mut order = [0; PAD];
    let mut i = 0;
    while i < PAD {
        order[i] = i as u32;
        i += 1;
    }
    order
};

/// The hits of a pair: index of the first hit, and number of hits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) begin: usize,
    pub(super) len: usize,
}

impl Span {
    /// Returns the start of the next pair's hits, with `free` free places in between.
    pub(super) fn next(self, free: usize) -> usize {
        (self.begin + self.len + free).next_multiple_of(16)
    }
}

/// The sorted hits of an event.
#[derive(Debug, Default)]
pub(in crate::velo) struct LinkHits {
    pub(super) x: Column<f32>,
    pub(super) y: Column<f32>,
    pub(super) z: Column<f32>,
    /// Direction in bins.
    pub(super) turn: Column<f32>,
    /// x, y, z and direction of the hits; not set for copies.
    pub(in crate::velo) records: Column<[f32; 4]>,
    /// Ids of the hits; not set for copies.
    pub(in crate::velo) source: Column<u32>,
    pub(super) spans: [Span; PAIRS],
    /// Begins and numbers of hits, for look-ups.
    pub(super) begins: [u32; PAIRS],
    pub(super) lens: [u32; PAIRS],
    table: Column<u32>,
    /// Records and bins of the hits before sorting.
    unsorted: Column<[f32; 4]>,
    keys: Column<u32>,
    /// Numbers of hits, two bins in each word, with one word before and one behind.
    counts: Column<u32>,
}

/// A window per lane: number of the first hit in its pair, and number of hits.
#[derive(Clone, Copy)]
pub(super) struct Window<G: Gang> {
    pub(super) first: U32<G>,
    pub(super) count: U32<G>,
}

/// Returns the index of a bin's word in a row of the table.
#[inline(always)]
pub(super) fn cell<G: Gang>(g: G, bin: U32<G>) -> U32<G> {
    bin.shr::<1>() + (bin & U32::splat(g, 1)).shl::<{ WORDS.trailing_zeros() }>()
}

/// Returns the bin of a direction, which must not be negative.
#[inline(always)]
pub(super) fn bin<G: Gang>(g: G, turn: F32<G>) -> U32<G> {
    turn.to_i32().to_bits() & U32::splat(g, BINS - 1)
}

/// Repeats the values of a span behind it until two more gangs are filled.
#[inline(always)]
pub(super) fn repeat<G: Gang>(g: G, column: &mut [f32], Span { begin, len }: Span) {
    let more = 2 * G::LANES;
    let copy = inlined!(|column: &mut [f32], from: usize, to: usize| {
        F32::load(g, &column[from..]).store(&mut column[to..]);
    });
    let mut there = len;
    if len >= more {
        // Most spans are long.
        copy(column, begin, begin + len);
        copy(column, begin + G::LANES, begin + len + G::LANES);
        return;
    }
    while 0 < there && there < len + more {
        for at in (0..there.min(len + more - there)).step_by(G::LANES) {
            copy(column, begin + at, begin + there + at);
        }
        there *= 2;
    }
}

impl LinkHits {
    /// Returns the number of indices of hits and copies.
    pub(super) fn len(&self) -> usize {
        self.source.len()
    }

    /// Returns the table of a pair.
    #[inline(always)]
    pub(super) fn row(&self, pair: usize) -> &[u32] {
        &self.table[pair * ROW..(pair + 1) * ROW]
    }

    /// Returns the table of all pairs.
    #[inline(always)]
    pub(super) fn table(&self) -> &[u32] {
        &self.table
    }

    /// Returns the window of a bin's word: this bin and the next.
    #[inline(always)]
    pub(super) fn window<G: Gang>(g: G, word: U32<G>) -> Window<G> {
        let low = U32::splat(g, LOW);
        let first = word & low;
        Window { first, count: (word.shr::<16>() - first) & low }
    }

    /// Returns the first hit of a bin, given the bin's word.
    #[inline(always)]
    pub(super) fn first<G: Gang>(g: G, word: U32<G>) -> U32<G> {
        word & U32::splat(g, LOW)
    }

    /// Sorts the hits of an event. Returns a status other than `Ok` when the event cannot be reconstructed.
    #[inline(always)]
    pub(super) fn sort<G: Gang>(&mut self, g: G, event: &VeloEvent<'_>, limits: &LimitConfig) -> Status {
        let status = check_sizes(event, limits);
        if status != Status::Ok {
            return status;
        }
        if event.len() > MOST_HITS as usize {
            return Status::TooManyHits;
        }
        // Each pair is followed by copies for two gangs, and by space for a whole gang to read or write.
        let room = event.len() + (PAIRS + 1) * (2 * PAD + 16);
        for column in [&mut self.x, &mut self.y, &mut self.z, &mut self.turn] {
            column.set_len(room);
        }
        self.records.set_len(room);
        self.source.set_len(room);
        self.table.set_len(PAIRS * ROW);
        self.counts.set_len(WORDS + 2);
        let reach = F32::splat(g, limits.coordinate);
        let mut sane = Mask::first(g, G::LANES);
        let mut begin = 0;
        for pair in 0..PAIRS {
            let range = event.module(2 * pair).start..event.module(2 * pair + 1).end;
            let span = Span { begin, len: range.len() };
            self.spans[pair] = span;
            (self.begins[pair], self.lens[pair]) = (begin as u32, span.len as u32);
            sane = sane & self.read(g, event, range.clone(), reach);
            self.place(g, pair, &event.id[range]);
            self.spread(g, span);
            begin = span.next(2 * G::LANES);
        }
        self.source.set_len(begin);
        if sane.all() { Status::Ok } else { status_of_bad_hits(event) }
    }

    /// Reads the hits of a pair; returns the lanes where all hits are within the limits.
    #[inline(always)]
    fn read<G: Gang>(&mut self, g: G, event: &VeloEvent<'_>, range: Range<usize>, reach: F32<G>) -> Mask<G> {
        let (x, y, z) = (&event.x[range.clone()], &event.y[range.clone()], &event.z[range.clone()]);
        self.unsorted.set_len(range.len());
        self.keys.set_len(range.len());
        let (records, keys) = (self.unsorted.padded_mut(), self.keys.padded_mut());
        let mut sane = Mask::first(g, G::LANES);
        for at in (0..range.len()).step_by(G::LANES) {
            let lanes = Mask::first(g, range.len() - at);
            let x = F32::load_some(&x[at..], lanes);
            let y = F32::load_some(&y[at..], lanes);
            let z = F32::load_some(&z[at..], lanes);
            sane = sane & x.abs().le(reach) & y.abs().le(reach) & z.abs().le(reach);
            let (turn, _) = phi_turn(g, BINS, x, y);
            F32::store_records([x, y, z, turn], &mut records[at..]);
            bin(g, turn).store(&mut keys[at..]);
        }
        sane
    }

    /// Counts the hits of a pair by their bins, sorts them, and makes the table.
    #[inline(always)]
    fn place<G: Gang>(&mut self, g: G, pair: usize, ids: &[u32]) {
        let Span { begin, len } = self.spans[pair];
        let words = self.counts.padded_mut();
        for at in (0..WORDS + 2).step_by(G::LANES) {
            U32::splat(g, 0).store(&mut words[at..]);
        }
        let (keys, unsorted) = (&self.keys[..len], &self.unsorted[..len]);
        let counts: &mut [u16] = cast_slice_mut(&mut words[1..=WORDS]);
        let counts: &mut [u16; 2 * WORDS] = counts.try_into().expect("two counts per word");
        for &key in keys {
            counts[key as usize % (2 * WORDS)] += 1;
        }
        // Turn the counts into the begins of bins.
        let (low, mut sum) = (U32::splat(g, LOW), 0);
        for words in words[1..=WORDS].chunks_exact_mut(G::LANES) {
            let counts = U32::load(g, words);
            let both = (counts & low) + counts.shr::<16>();
            let (sums, all) = both.prefix_sum();
            let first = sums - both + U32::splat(g, sum);
            (first | (first + (counts & low)).shl::<16>()).store(words);
            sum += all;
        }
        let counts: &mut [u16] = cast_slice_mut(&mut words[1..=WORDS]);
        let counts: &mut [u16; 2 * WORDS] = counts.try_into().expect("two counts per word");
        let records = &mut self.records.padded_mut()[begin..begin + len];
        let source = &mut self.source.padded_mut()[begin..begin + len];
        for ((&key, record), &id) in keys.iter().zip(unsorted).zip(ids) {
            let next = &mut counts[key as usize % (2 * WORDS)];
            let to = *next as usize;
            *next += 1;
            records[to] = *record;
            source[to] = id;
        }
        // Now the words hold the ends of bins, which are the begins of the next bins.
        words[WORDS + 1] = (words[1] & LOW).wrapping_add(len as u32);
        let (even, odd) = self.table[pair * ROW..(pair + 1) * ROW].split_at_mut(WORDS);
        for at in (0..WORDS).step_by(G::LANES) {
            let before = U32::load(g, &words[at..]);
            let here = U32::load(g, &words[at + 1..]);
            let behind = U32::load(g, &words[at + 2..]);
            (before.shr::<16>() | (here & U32::splat(g, !LOW))).store(&mut even[at..]);
            ((here & low) | behind.shl::<16>()).store(&mut odd[at..]);
        }
    }

    /// Makes columns from the records of a pair, and the copies behind them.
    #[inline(always)]
    fn spread<G: Gang>(&mut self, g: G, span: Span) {
        for at in (span.begin..span.begin + span.len).step_by(G::LANES) {
            let [x, y, z, turn] = F32::load_records(g, &self.records.padded()[at..], &IN_ORDER);
            x.store(&mut self.x[at..]);
            y.store(&mut self.y[at..]);
            z.store(&mut self.z[at..]);
            turn.store(&mut self.turn[at..]);
        }
        for column in [&mut self.x, &mut self.y, &mut self.z] {
            repeat(g, column.padded_mut(), span);
        }
    }
}
