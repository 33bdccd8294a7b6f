//! [`TimeSorter`]: puts the hits of a nearly time-ordered stream in order of time, with a bounded buffer.
//!
//! A stream is nearly time-ordered (t-ordered) when no hit is older than the latest hit before it by more than a fixed
//! time (the paper, section 3.1). Here the latest time is the latest time that two successive hits have reached, so
//! that one hit with a wrong time makes no other hits late. Hits wait until no earlier hit can come any more, and leave
//! in the order (time, x, y, input). A hit that comes later is counted and dropped; whether a hit is late depends only
//! on the stream, and not on its division into blocks.

mod buckets;
mod intake;
mod ordered;
mod packed;
mod pivots;
mod radix;
mod ranks;
mod shape;
mod waiting;

use crate::event::{Column, PixelHits};
use crate::simd::{Gang, Level};
use buckets::{Buckets, Limits};
pub(crate) use ordered::{Reached, first_from_room, is_in_time_room};
use ordered::{is_ordered_room, look_room};
#[cfg(feature = "cuda")]
pub(crate) use packed::Extent;
use packed::TOT_BITS;
pub(crate) use packed::extent_room;
pub(super) use packed::{Packing, pack_room, unpack_room};
use radix::{Radix, insert_few};
pub use shape::SortShape;
pub(super) use shape::{DIGIT_BITS, PART_HITS};
use std::ops::Range;
use waiting::{Lot, Waiting};

/// Fewest lanes of a gang for which ranks take less time than digits.
const LANES: usize = 8;

/// Number of hits that are checked and packed at once: 14 bytes each.
const TAKEN: usize = 1 << 10;

/// Number of hits that leave at once at the end of a stream that is nearly in order.
const LEAVING: usize = 1 << 14;

/// Sorts a stream of hits by time.
#[derive(Debug)]
pub struct TimeSorter {
    /// Largest allowed age of a hit relative to the latest hit before it, ticks.
    disorder: i64,
    /// Largest number of waiting hits.
    capacity: usize,
    waiting: Waiting,
    /// Latest time so far.
    latest: Reached,
    /// Time before which all hits have left.
    floor: i64,
    late: u64,
    forced: u64,
    level: Level,
    /// Packed hits, or their times and indices.
    words: Column<u64>,
    /// Indices in order.
    order: Column<u64>,
    radix: Radix,
    buckets: Buckets,
    /// Memory for leaving hits, taken while they are sorted.
    leaving: Option<Lot>,
    /// Hits of a block without the late ones.
    in_time: PixelHits,
    /// Times of some waiting hits.
    times: Vec<i64>,
}

impl TimeSorter {
    /// Creates a sorter for streams with at most `disorder` ticks of disorder, in which at most `capacity` hits wait.
    pub fn new(level: Level, disorder: i64, capacity: usize) -> Self {
        Self {
            disorder: disorder.max(0),
            capacity: capacity.max(1),
            waiting: Waiting::default(),
            latest: Reached::NOTHING,
            floor: i64::MIN,
            late: 0,
            forced: 0,
            level,
            words: Column::default(),
            order: Column::default(),
            radix: Radix::new(SortShape::of_this_cpu()),
            buckets: Buckets::default(),
            leaving: None,
            in_time: PixelHits::default(),
            times: Vec::new(),
        }
    }

    /// Sets the sizes of digits and parts of the sort.
    pub fn with_shape(mut self, shape: SortShape) -> Self {
        self.radix = Radix::new(shape);
        self
    }

    /// Adds hits, and counts late hits.
    pub fn push(&mut self, hits: &PixelHits) {
        self.push_part(hits, 0..hits.len());
    }

    /// Adds some of the hits, in pieces that stay in the first-level cache.
    pub(super) fn push_part(&mut self, hits: &PixelHits, part: Range<usize>) {
        for start in part.clone().step_by(TAKEN) {
            self.push_few(hits, start..part.end.min(start + TAKEN));
        }
    }

    fn push_few(&mut self, hits: &PixelHits, part: Range<usize>) {
        let time = &hits.time[part.clone()];
        let mut latest = self.latest;
        let (level, disorder, floor) = (self.level, self.disorder, self.floor);
        let looked = (&mut self.latest, [disorder, floor]);
        if self.waiting.push_as_before(level, (hits, part.clone()), looked) {
            return;
        }
        let is_in_time =
            crate::dispatch_isa!(level, g => is_in_time_room(g, time, &mut latest, [disorder, floor]));
        if is_in_time {
            self.waiting.push(level, hits, part);
        } else {
            let mut reached = self.latest;
            self.in_time.clear();
            for (time, x, y, tot) in part.map(|i| hits.get(i)) {
                if time < reached.time.saturating_sub(disorder).max(floor) {
                    self.late += 1;
                } else {
                    self.in_time.push(time, x, y, tot);
                }
                reached.take(time);
            }
            self.waiting.push(level, &self.in_time, 0..self.in_time.len());
        }
        self.latest = latest;
    }

    /// Appends to `out`, in order, all hits before which no other hit can come any more.
    pub fn take(&mut self, out: &mut PixelHits) {
        self.take_those(false, out);
    }

    /// Appends all waiting hits to `out`, in order, and prepares for another stream.
    pub fn finish(&mut self, out: &mut PixelHits) {
        while self.finish_some(out) {}
    }

    /// Appends some of the waiting hits to `out`, in order, at the end of a stream. Returns whether others remain.
    pub(super) fn finish_some(&mut self, out: &mut PixelHits) -> bool {
        self.take_those(true, out);
        self.waiting.len() > 0
    }

    /// Takes the leaving hits and sorts them. Leaving and staying hits are separated before the sort, since staying hits
    /// are sorted with earlier ones later.
    fn take_those(&mut self, end: bool, out: &mut PixelHits) {
        let mut leaving = self.leaving.take().unwrap_or_default();
        leaving.clear();
        let (_, packing) = self.take_lot(end, &mut leaving);
        match packing {
            Some(packing) => self.append_words(packing, &mut leaving.words, out),
            None => self.append_sorted(&leaving.hits, out),
        }
        self.leaving = Some(leaving);
    }

    /// Takes hits like [`TimeSorter::take`], but replaces the content of `out` by the hits in their order of arrival; the
    /// caller sorts them. Returns the range of their times: hits that left earlier are before the first time, later hits
    /// are not before the second.
    ///
    /// With `end` the stream is at its end, and calls must be repeated as long as hits wait: many hits leave in several
    /// parts, so that the memory of one part is used again for the next.
    pub(super) fn take_unsorted(&mut self, end: bool, out: &mut PixelHits) -> [i64; 2] {
        let mut leaving = self.leaving.take().unwrap_or_default();
        std::mem::swap(&mut leaving.hits, out);
        leaving.clear();
        let (between, packing) = self.take_lot(end, &mut leaving);
        std::mem::swap(&mut leaving.hits, out);
        if let Some(packing) = packing {
            let level = self.level;
            crate::dispatch_isa!(level, g => unpack_room(g, packing, &leaving.words, out));
        }
        self.leaving = Some(leaving);
        between
    }

    /// Moves leaving hits to `out`, which must be empty. Returns the range of their times, and their packing.
    fn take_lot(&mut self, end: bool, out: &mut Lot) -> ([i64; 2], Option<Packing>) {
        let from = self.floor;
        if end {
            match self.waiting.limit_of_some(LEAVING, &mut self.times) {
                Some(limit) => self.split(limit, out),
                None => self.waiting.take_all(out),
            }
            let packing = self.waiting.packing();
            if self.waiting.len() > 0 {
                return ([from, self.floor], packing);
            }
            (self.latest, self.floor) = (Reached::NOTHING, i64::MIN);
            return ([from, i64::MAX], packing);
        }
        if self.latest.time != i64::MIN {
            let limit = self.latest.time.saturating_sub(self.disorder);
            self.split(limit, out);
            // When too many hits wait, the older half has to leave, although earlier hits may still come.
            if self.waiting.len() > self.capacity {
                self.forced += 1;
                let limit = self.waiting.middle(&mut self.times).saturating_add(1);
                self.split(limit, out);
            }
        }
        ([from, self.floor], self.waiting.packing())
    }

    /// Appends hits older than `time` to `out`, in order of arrival.
    fn split(&mut self, time: i64, out: &mut Lot) {
        self.floor = self.floor.max(time);
        self.waiting.split(self.level, time, out);
    }

    /// Sorts all of these hits into `out`.
    pub(super) fn sort(&mut self, hits: &PixelHits, out: &mut PixelHits) {
        out.clear();
        self.append_sorted(hits, out);
    }

    /// Returns the number of dropped late hits.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Returns the number of times that the buffer was full and hits had to leave early.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// Returns the number of waiting hits.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Appends hits to `out`, in order.
    fn append_sorted(&mut self, hits: &PixelHits, out: &mut PixelHits) {
        let level = self.level;
        crate::dispatch_isa!(level, g => {
            if is_ordered_room(g, hits) {
                out.extend_from(hits, 0..hits.len(), 0);
            } else if let Some(packing) = Packing::of(extent_room(g, hits, 0..hits.len())) {
                let Self { words, radix, buckets, .. } = self;
                words.clear();
                pack_room(g, packing, hits, 0..hits.len(), words);
                sort_words(g, (radix, buckets), packing, words, out);
            } else {
                self.sort_indexed(g, hits, out);
            }
        });
    }

    /// Appends packed hits to `out`, in order.
    fn append_words(&mut self, packing: Packing, words: &mut Column<u64>, out: &mut PixelHits) {
        let Self { level, radix, buckets, .. } = self;
        crate::dispatch_isa!(*level, g => sort_words(g, (radix, buckets), packing, words, out));
    }

    /// Appends hits to `out`, in order, through an index, for hits that span much time on a large sensor.
    #[inline(never)]
    fn sort_indexed<G: Gang>(&mut self, g: G, hits: &PixelHits, out: &mut PixelHits) {
        let Self { words, order, radix, .. } = self;
        let (first, last) = hits.time.iter().fold((i64::MAX, i64::MIN), |(a, b), &t| (a.min(t), b.max(t)));
        let bits = |value: u64| u64::BITS - value.leading_zeros();
        let (time_bits, place_bits) = (bits(last.abs_diff(first)), bits(hits.len() as u64));
        let key = |i: u64| (hits.time[i as usize], hits.x[i as usize], hits.y[i as usize], i);
        words.clear();
        order.clear();
        if time_bits + place_bits <= u64::BITS {
            let word = |i: usize| (hits.time[i].abs_diff(first)) << place_bits | i as u64;
            (0..hits.len()).for_each(|i| words.push(word(i)));
            if insert_few(place_bits, words) {
                order.extend_from_slice(words);
            } else {
                radix.sort(g, place_bits, words, |part| order.extend_from_slice(part));
            }
            order.iter_mut().for_each(|word| *word &= (1 << place_bits) - 1);
            let ties = order.chunk_by_mut(|a, b| hits.time[*a as usize] == hits.time[*b as usize]);
            ties.filter(|ties| ties.len() > 1).for_each(|ties| ties.sort_unstable_by_key(|i| key(*i)));
        } else {
            (0..hits.len() as u64).for_each(|i| order.push(i));
            order.sort_unstable_by_key(|i| key(*i));
        }
        for &i in &order[..] {
            let (time, x, y, tot) = hits.get(i as usize);
            out.push(time, x, y, tot);
        }
    }
}

/// Appends the hits of words to `out`, in order.
#[inline(always)]
fn sort_words<G: Gang>(
    g: G,
    (radix, buckets): (&mut Radix, &mut Buckets),
    packing: Packing,
    words: &mut Column<u64>,
    out: &mut PixelHits,
) {
    let look = look_room(g, TOT_BITS, words);
    if look.ordered || insert_few(TOT_BITS, words) {
        return unpack_room(g, packing, words, out);
    }
    let limits = Limits {
        low: TOT_BITS,
        least: look.least,
        most: look.most,
        most_crowded: radix.shape().most_crowded,
    };
    let sorted = if G::LANES >= LANES { buckets.sort(g, limits, words) } else { None };
    match sorted {
        Some(sorted) => unpack_room(g, packing, sorted, out),
        None => radix.sort(g, TOT_BITS, words, |part| unpack_room(g, packing, part, out)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(rows: &[(i64, u16, u16)]) -> PixelHits {
        let mut hits = PixelHits::default();
        rows.iter().enumerate().for_each(|(i, &(time, x, y))| hits.push(time, x, y, i as u16));
        hits
    }

    /// Sorts the stream in pieces of `piece` hits.
    fn sorted(hits: &PixelHits, disorder: i64, capacity: usize, piece: usize) -> (PixelHits, TimeSorter) {
        // All levels are used in turn.
        let level = Level::supported()[piece % Level::supported().len()];
        let (mut sorter, mut out) = (TimeSorter::new(level, disorder, capacity), PixelHits::default());
        for start in (0..hits.len()).step_by(piece) {
            let mut part = PixelHits::default();
            part.extend_from(hits, start..hits.len().min(start + piece), 0);
            sorter.push(&part);
            sorter.take(&mut out);
        }
        sorter.finish(&mut out);
        (out, sorter)
    }

    /// Returns the expected result: late hits found one by one, the other hits sorted by the standard library.
    fn expected(hits: &PixelHits, disorder: i64) -> (Vec<(i64, u16, u16, u16)>, u64) {
        let (mut latest, mut last, mut late, mut rows) = (i64::MIN, i64::MIN, 0, Vec::new());
        for i in 0..hits.len() {
            let row = hits.get(i);
            if row.0 < latest.saturating_sub(disorder) {
                late += 1
            } else {
                rows.push(row)
            }
            latest = latest.max(last.min(row.0));
            last = row.0;
        }
        rows.sort_by_key(|row| (row.0, row.1, row.2));
        (rows, late)
    }

    proptest! {
        #[test]
        fn any_stream_in_any_pieces(
            rows in prop::collection::vec((0i64..2000, 0u16..3, 0u16..3), 0..400),
            scale in prop::sample::select(vec![1, 1000, 1 << 30, 1 << 42, 1 << 50]),
            disorder in 0i64..3000,
            piece in 1usize..100,
        ) {
            let rows: Vec<_> = rows.iter().map(|(t, x, y)| ((t - 1000) * scale, *x, *y)).collect();
            let hits = table(&rows);
            let disorder = disorder * scale;
            let (out, sorter) = sorted(&hits, disorder, usize::MAX, piece);
            let (rows, late) = expected(&hits, disorder);
            prop_assert_eq!((0..out.len()).map(|i| out.get(i)).collect::<Vec<_>>(), rows);
            prop_assert_eq!((sorter.late(), sorter.forced(), sorter.waiting()), (late, 0, 0));
        }
    }

    #[test]
    fn large_clusters_are_sorted_alike_by_buckets_and_by_digits() {
        // 150 hits within 60 ticks, then a pause.
        let row = |i: i64| (i / 150 * 3000 + i * 7919 % 60, (i * 31 % 17) as u16, (i * 7 % 200) as u16);
        let hits = table(&(0..30_000).map(row).collect::<Vec<_>>());
        let expected = expected(&hits, 100).0;
        for level in Level::supported() {
            for shape in [SortShape::FEW_PASSES, SortShape::SMALL_DIGITS] {
                let (mut sorter, mut out) =
                    (TimeSorter::new(level, 100, usize::MAX).with_shape(shape), PixelHits::default());
                sorter.push(&hits);
                sorter.finish(&mut out);
                assert!(
                    (0..out.len()).map(|i| out.get(i)).eq(expected.iter().copied()),
                    "{level}, {shape:?}"
                );
            }
        }
    }

    #[test]
    fn hits_that_wait_are_packed_anew_as_time_goes_on_and_unpacked_where_they_do_not_fit() {
        // Blocks fit into words, the stream does not; pixels use more and more bits. At the end one hit is far ahead.
        let row = |i: i64| (((i ^ 5) << 18) + i * 7919 % 4096, (i / 1000) as u16, (i * 31 % 60_000) as u16);
        let mut rows: Vec<_> = (0..20_000).map(row).collect();
        rows[15_000].0 += 1 << 44;
        let hits = table(&rows);
        for piece in [100, 101, 102, 103, 1000] {
            let (out, sorter) = sorted(&hits, 10 << 18, usize::MAX, piece);
            assert!((0..out.len()).map(|i| out.get(i)).eq(expected(&hits, 10 << 18).0), "{piece}");
            assert_eq!(sorter.late(), 0);
        }
    }

    #[test]
    fn memory_with_other_hits_in_it_may_be_lent() {
        let hits = |times: &[i64]| {
            let mut hits = PixelHits::default();
            times.iter().for_each(|time| hits.push(*time, 1, 2, 3));
            hits
        };
        let level = Level::choose(None, None).unwrap();
        let mut sorter = TimeSorter::new(level, 10, 100);
        let mut out = hits(&[7, 8, 9]);
        sorter.take_unsorted(false, &mut out);
        assert!(out.is_empty());
        for _ in 0..2 {
            // The second stream must not contain hits of the first one, or of the memory passed in.
            sorter.push(&hits(&[5, 25, 17]));
            let mut out = hits(&[1, 2]);
            sorter.take_unsorted(false, &mut out);
            assert_eq!(out.time[..], [5]);
            let mut out = hits(&[3, 4]);
            sorter.take_unsorted(true, &mut out);
            assert_eq!(out.time[..], [25, 17]);
        }
    }

    #[test]
    fn long_runs_of_equal_times_are_ordered_by_pixel() {
        let rows: Vec<_> =
            (0..5000i64).map(|i| (i / 100, (i * 7 % 13) as u16, (i * 5 % 11) as u16)).collect();
        let hits = table(&rows);
        let (out, _) = sorted(&hits, 10, usize::MAX, 512);
        assert_eq!((0..out.len()).map(|i| out.get(i)).collect::<Vec<_>>(), expected(&hits, 10).0);
    }

    #[test]
    fn a_full_buffer_lets_the_oldest_go_and_loses_nothing_in_silence() {
        let rows: Vec<_> = (0..1000i64).map(|i| (i * 7919 % 1000, 0, 0)).collect();
        let (out, sorter) = sorted(&table(&rows), 1 << 40, 100, 50);
        assert!(sorter.forced() > 0 && sorter.late() > 0);
        assert_eq!(out.len() as u64 + sorter.late(), 1000);
        assert!(out.time.is_sorted());
    }

    #[test]
    fn many_hits_that_wait_for_long_take_few_blocks_and_leave_in_order() {
        // One hit in 500 has a time far ahead, and stays until the end.
        let row =
            |i: i64| (if i % 500 == 7 { (1 << 40) | (i * 7919 % 4000) } else { i ^ 5 }, (i % 13) as u16, 0);
        let hits = table(&(0..300_000).map(row).collect::<Vec<_>>());
        let level = Level::choose(None, None).unwrap();
        let (mut sorter, mut out) = (TimeSorter::new(level, 100, usize::MAX), PixelHits::default());
        for start in (0..hits.len()).step_by(10_000) {
            let mut part = PixelHits::default();
            part.extend_from(&hits, start..hits.len().min(start + 10_000), 0);
            sorter.push(&part);
            sorter.take(&mut out);
        }
        // 600 of these hits and the newest hits are in one block.
        assert_eq!((sorter.waiting() / 100, sorter.waiting.blocks()), (7, 1));
        sorter.finish(&mut out);
        let rows: Vec<_> = (0..out.len()).map(|i| out.get(i)).collect();
        assert!(rows == expected(&hits, 100).0);
        // All hits wait until the end, and leave in parts.
        let (out, sorter) = sorted(&hits, 1 << 50, usize::MAX, 70_000);
        assert!((0..out.len()).map(|i| out.get(i)).eq(expected(&hits, 1 << 50).0) && sorter.waiting() == 0);
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let rows = [(i64::MAX, 0, 0), (i64::MIN, 0, 0), (i64::MAX, 1, 0), (0, 0, 0)];
        let (out, sorter) = sorted(&table(&rows), i64::MAX, usize::MAX, 1);
        assert_eq!((out.len() as u64 + sorter.late(), out.time.is_sorted()), (4, true));
    }
}
