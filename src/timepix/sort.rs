//! [`TimeSorter`]: puts the hits of a t-ordered stream in order of time, with a bounded buffer.
//!
//! A stream is t-ordered when no hit is older than the latest one before it by more than a fixed time
//! (the paper, section 3.1). Hits wait until nothing can come before them any more, and leave in the order
//! (time, x, y, input). A hit that comes later than promised is counted and dropped; whether it does depends
//! on the stream alone and not on how it is cut into blocks.

use crate::event::{Column, PixelHits};
use crate::simd::sort::sort_segment;
use crate::simd::{Gang, Level};

/// Bits of one pass of the radix sort: its counters stay in the fastest cache.
const DIGIT: u32 = 11;

/// Sorts a stream of hits by time.
#[derive(Debug)]
pub struct TimeSorter {
    /// How much older than the latest hit before it a hit may be, ticks.
    disorder: i64,
    /// Hits that wait at most.
    capacity: usize,
    waiting: PixelHits,
    /// Latest time so far; none before the first hit.
    latest: Option<i64>,
    /// Hits before this time have left.
    floor: i64,
    late: u64,
    forced: u64,
    level: Level,
    ties: Ties,
    keys: Column<u64>,
    other_keys: Column<u64>,
    left: PixelHits,
}

impl TimeSorter {
    /// A sorter for streams with at most `disorder` ticks of disorder that holds at most `capacity` hits.
    pub fn new(level: Level, disorder: i64, capacity: usize) -> Self {
        Self {
            disorder: disorder.max(0),
            capacity: capacity.max(1),
            waiting: PixelHits::default(),
            latest: None,
            floor: i64::MIN,
            late: 0,
            forced: 0,
            level,
            ties: Ties::default(),
            keys: Column::default(),
            other_keys: Column::default(),
            left: PixelHits::default(),
        }
    }

    /// Takes hits in; those that come too late are counted.
    pub fn push(&mut self, hits: &PixelHits) {
        let first = self.waiting.len();
        self.waiting.extend_from(hits, 0..hits.len(), 0);
        let Some(&start) = hits.time.first() else { return };
        let mut latest = self.latest.unwrap_or(start);
        let mut is_late = false;
        for &time in &hits.time[..] {
            is_late |= time < latest.saturating_sub(self.disorder).max(self.floor);
            latest = latest.max(time);
        }
        if is_late {
            self.drop_late(first);
        }
        self.latest = Some(latest);
    }

    /// Removes the late hits from number `first` on.
    #[cold]
    fn drop_late(&mut self, first: usize) {
        let mut kept = first;
        let mut latest = self.latest.unwrap_or(self.waiting.time[first]);
        for i in first..self.waiting.len() {
            let (time, x, y, tot) = self.waiting.get(i);
            if time < latest.saturating_sub(self.disorder).max(self.floor) {
                self.late += 1;
                continue;
            }
            latest = latest.max(time);
            self.waiting.time[kept] = time;
            self.waiting.x[kept] = x;
            self.waiting.y[kept] = y;
            self.waiting.tot[kept] = tot;
            kept += 1;
        }
        self.waiting.set_len(kept);
    }

    /// Appends to `out`, in order, all hits that nothing can come before any more.
    pub fn take(&mut self, out: &mut PixelHits) {
        if let Some(latest) = self.latest {
            self.take_before(Some(latest.saturating_sub(self.disorder)), out);
        }
        if self.waiting.len() > self.capacity {
            // The older half goes, at the risk of hits that come before it.
            let time = self.waiting.time[self.waiting.len() / 2].saturating_add(1);
            self.forced += 1;
            self.take_before(Some(time), out);
        }
    }

    /// Appends everything to `out`, in order, and is ready for another stream.
    pub fn finish(&mut self, out: &mut PixelHits) {
        self.take_before(None, out);
        (self.latest, self.floor) = (None, i64::MIN);
    }

    /// Hits that came too late, dropped.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How often the buffer was full and hits had to leave early.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// Hits that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Sorts what waits and appends what is older than `time`, or everything, to `out`.
    fn take_before(&mut self, time: Option<i64>, out: &mut PixelHits) {
        self.floor = self.floor.max(time.unwrap_or(i64::MIN));
        if self.waiting.is_empty() {
            return;
        }
        let (first, last) = span(&self.waiting.time);
        if last.abs_diff(first) >> 32 == 0 {
            self.sort_narrow(first, last.abs_diff(first) as u32);
        } else {
            self.sort_wide();
        }
        let (keys, hits) = (&self.keys, &self.waiting);
        let is_before = |key: &u64| time.is_none_or(|time| hits.time[*key as u32 as usize] < time);
        let (leaving, staying) = keys.split_at(keys.partition_point(is_before));
        gather(leaving, hits, out);
        self.left.clear();
        gather(staying, hits, &mut self.left);
        std::mem::swap(&mut self.waiting, &mut self.left);
    }

    /// Radix sort of (time, place) in one word each.
    fn sort_narrow(&mut self, first: i64, width: u32) {
        let hits = &self.waiting;
        self.keys.set_len(hits.len());
        self.other_keys.set_len(hits.len());
        for (i, (key, time)) in self.keys.iter_mut().zip(&hits.time[..]).enumerate() {
            *key = (time.wrapping_sub(first) as u64) << 32 | i as u64;
        }
        let bits = u32::BITS - width.leading_zeros();
        let passes = bits.div_ceil(DIGIT);
        let digit = bits.div_ceil(passes.max(1));
        for pass in 0..passes {
            radix_pass(&self.keys, &mut self.other_keys, 32 + pass * digit, digit);
            std::mem::swap(&mut self.keys, &mut self.other_keys);
        }
        let (level, keys, ties) = (self.level, &mut self.keys[..], &mut self.ties);
        crate::dispatch!(level, g => order_ties(g, keys, |key| key >> 32, hits, ties));
    }

    /// The same for hits that span more than 32 bits of time, which are few in any buffer.
    #[cold]
    fn sort_wide(&mut self) {
        let hits = &self.waiting;
        self.keys.clear();
        (0..hits.len() as u64).for_each(|i| self.keys.push(i));
        self.keys.sort_unstable_by_key(|&i| {
            let place = i as usize;
            (hits.time[place], hits.x[place], hits.y[place], i)
        });
    }
}

/// Smallest and largest value; there is one.
fn span(times: &[i64]) -> (i64, i64) {
    times.iter().fold((i64::MAX, i64::MIN), |(low, high), &time| (low.min(time), high.max(time)))
}

/// One stable pass over the digit of `bits` bits at `shift`.
fn radix_pass(from: &[u64], to: &mut [u64], shift: u32, bits: u32) {
    let mut places = [0u32; 1 << DIGIT];
    let mask = (1usize << bits.min(DIGIT)) - 1;
    let digit = |key: u64| (key >> shift) as usize & mask & ((1 << DIGIT) - 1);
    for &key in from {
        places[digit(key)] += 1;
    }
    let mut sum = 0;
    for place in &mut places[..=mask] {
        (*place, sum) = (sum, sum + *place);
    }
    for &key in from {
        let place = &mut places[digit(key)];
        to[*place as usize] = key;
        *place += 1;
    }
}

/// Scratch of [`order_ties`]: the pixels of a run of equal times, their order, the keys in that order.
#[derive(Debug, Default)]
struct Ties {
    pixels: Column<u32>,
    order: Column<u32>,
    keys: Column<u64>,
}

/// Orders hits of equal time by x, then y, then input.
#[inline(always)]
fn order_ties<G: Gang>(g: G, keys: &mut [u64], time: impl Fn(u64) -> u64, hits: &PixelHits, ties: &mut Ties) {
    let pixel = |key: u64| {
        let place = key as u32 as usize;
        u32::from(hits.x[place]) << 16 | u32::from(hits.y[place])
    };
    let Ties { pixels, order, keys: ordered } = ties;
    let mut start = 0;
    while start < keys.len() {
        let own = time(keys[start]);
        let length = 1 + keys[start + 1..].iter().take_while(|key| time(**key) == own).count();
        let run = &mut keys[start..start + length];
        start += length;
        if let [a, b] = run {
            if pixel(*a) > pixel(*b) {
                std::mem::swap(a, b);
            }
        } else if length > 2 {
            pixels.set_len(length);
            order.set_len(length);
            ordered.set_len(length);
            pixels.iter_mut().zip(&*run).for_each(|(to, key)| *to = pixel(*key));
            sort_segment(g, pixels, order);
            ordered.iter_mut().zip(&order[..]).for_each(|(to, from)| *to = run[*from as usize]);
            run.copy_from_slice(ordered);
        }
    }
}

/// Appends the hits at the places in the low halves of `keys`, in that order.
fn gather(keys: &[u64], from: &PixelHits, to: &mut PixelHits) {
    let first = to.len();
    to.set_len(first + keys.len());
    column(keys, &from.time, &mut to.time[first..]);
    column(keys, &from.x, &mut to.x[first..]);
    column(keys, &from.y, &mut to.y[first..]);
    column(keys, &from.tot, &mut to.tot[first..]);
}

fn column<T: Copy>(keys: &[u64], from: &[T], to: &mut [T]) {
    to.iter_mut().zip(keys).for_each(|(to, key)| *to = from[*key as u32 as usize]);
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

    /// The stream cut into pieces of `piece` hits.
    fn sorted(hits: &PixelHits, disorder: i64, capacity: usize, piece: usize) -> (PixelHits, TimeSorter) {
        // Every level in turn.
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

    /// What must come out: late hits found one by one, the others sorted by the standard library.
    fn expected(hits: &PixelHits, disorder: i64) -> (Vec<(i64, u16, u16, u16)>, u64) {
        let (mut latest, mut late, mut rows) = (i64::MIN, 0, Vec::new());
        for i in 0..hits.len() {
            let row = hits.get(i);
            if row.0 < latest.saturating_sub(disorder) {
                late += 1
            } else {
                rows.push(row)
            }
            latest = latest.max(row.0);
        }
        rows.sort_by_key(|row| (row.0, row.1, row.2));
        (rows, late)
    }

    proptest! {
        #[test]
        fn any_stream_in_any_pieces(
            rows in prop::collection::vec((0i64..2000, 0u16..3, 0u16..3), 0..400),
            scale in prop::sample::select(vec![1, 1000, 1 << 30]),
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
    fn extreme_times_do_not_overflow() {
        let rows = [(i64::MAX, 0, 0), (i64::MIN, 0, 0), (i64::MAX, 1, 0), (0, 0, 0)];
        let (out, sorter) = sorted(&table(&rows), i64::MAX, usize::MAX, 1);
        assert_eq!((out.len() as u64 + sorter.late(), out.time.is_sorted()), (4, true));
    }
}
