//! Links to the few most recent hits, for blocks with few hits in the window: no table of pixels, and no waiting for memory.
//!
//! If at most [`REACH`] hits are in the window before a hit, all linked earlier hits are among them. Each hit is
//! compared with the previous hit, then with the hit before that, and so on: columns with shifted columns, a register
//! at a time. The result is a pattern for each hit: bit `k` shows whether the hit is linked with the hit `k + 1`
//! positions before. If two of them are linked (their patterns show this), they are already in one fragment.

use crate::event::{Column, PixelHits};
use crate::simd::{Gang, Level};
use std::ops::Range;

/// Number of previous hits with which a hit is compared: the bits of a pattern.
pub(super) const REACH: usize = u32::BITS as usize;
/// Number of hits before a block that are read.
const BEFORE: usize = REACH + 1;
/// Longest window: the times of a hit and of the hits before it fit 16 bits when pauses are shortened.
const MAX_WINDOW: u32 = (1 << 16) / (REACH as u32 + 2) - 2;
/// Number of hits whose patterns are computed at once.
const CHUNK: usize = 64;
/// Number of distances that are compared before a test whether any hit has more hits in its window.
const GROUP: usize = 8;
/// Bits of half a pattern.
const HALF: usize = REACH / 2;

/// Patterns of a block of hits and of the hits before it.
#[derive(Debug)]
pub(super) struct Recent {
    level: Level,
    /// Time, modulo 2^16; where there are long pauses, every pause longer than the window is shortened to one tick more
    /// than the window.
    clock: Column<u16>,
    patterns: Column<u32>,
    /// End of the last block.
    end: usize,
}

impl Recent {
    pub fn new(level: Level) -> Self {
        Self { level, clock: Column::default(), patterns: Column::default(), end: 0 }
    }

    /// Discards the last block, because other hits follow.
    pub fn begin(&mut self) {
        self.end = 0;
    }

    /// Computes the patterns of a block; returns none for long windows, and when hits may have neighbours more than
    /// [`REACH`] hits back. The patterns also cover the hits that [`before`] counts before the block.
    pub fn patterns(&mut self, window: u32, hits: &PixelHits, block: Range<usize>) -> Option<&Column<u32>> {
        if window > MAX_WINDOW {
            return None;
        }
        let before = before(&block);
        let all = block.start - before..block.end;
        let level = self.level;
        let [least, most] = crate::dispatch_isa!(level, g => reach_room(g, &hits.time[all.clone()]));
        if least <= u64::from(window) {
            self.end = 0;
            return None;
        }
        let Self { clock, patterns, .. } = self;
        // Without the patterns of hits before the block, superfluous links are recorded, but none is missing.
        let known = if self.end == block.start { patterns.len() } else { 0 };
        let kept = known.min(before);
        if kept > 0 {
            patterns.copy_within(known - kept..known, before - kept);
        }
        patterns.set_len(all.len());
        patterns[..before - kept].fill(0);
        clock.set_len(all.len());
        if most <= u64::from(u16::MAX) {
            crate::dispatch_isa!(level, g => shorten_room(g, &hits.time[all.clone()], clock));
        } else {
            cut_pauses(window, &hits.time[all.clone()], clock);
        }
        let look = Look {
            window: window as u16,
            x: &hits.x.padded()[all.start..],
            y: &hits.y.padded()[all.start..],
        };
        crate::dispatch_isa!(level, g => look.run(g, clock, before, patterns));
        self.end = block.end;
        Some(&self.patterns)
    }
}

/// Returns the number of hits before a block that are read.
pub(super) fn before(block: &Range<usize>) -> usize {
    block.start.min(BEFORE)
}

/// Computes the clock of hits without long pauses.
#[inline(never)]
fn shorten_room<G: Gang>(g: G, time: &[i64], clock: &mut [u16]) {
    g.vectorize(
        #[inline(always)]
        || time.iter().zip(clock).for_each(|(time, clock)| *clock = *time as u16),
    );
}

/// Computes the clock of some hits, which begins at 0 and shortens long pauses.
fn cut_pauses(window: u32, time: &[i64], clock: &mut [u16]) {
    let (mut now, mut last) = (0u16, time.first().copied().unwrap_or_default());
    for (&time, clock) in time.iter().zip(clock) {
        now = now.wrapping_add(time.abs_diff(last).min(u64::from(window) + 1) as u16);
        (*clock, last) = (now, time);
    }
}

/// Columns of the hits, padded.
struct Look<'a> {
    window: u16,
    x: &'a [u16],
    y: &'a [u16],
}

impl Look<'_> {
    /// Computes patterns from number `from` on.
    #[inline(never)]
    fn run<G: Gang>(&self, g: G, clock: &Column<u16>, from: usize, patterns: &mut Column<u32>) {
        g.vectorize(
            #[inline(always)]
            || {
                let (len, clock) = (clock.len(), clock.padded());
                let aligned = from.max(REACH).min(len);
                for i in from..aligned {
                    let linked = (1..=i).filter(|d| self.is_linked(clock, i, *d));
                    patterns[i] = linked.fold(0, |pattern, d| pattern | 1 << (d - 1));
                }
                for start in (aligned..len).step_by(CHUNK) {
                    self.chunk(clock, start, patterns.padded_mut());
                }
            },
        )
    }

    #[inline(always)]
    fn is_linked(&self, clock: &[u16], i: usize, distance: usize) -> bool {
        let j = i - distance;
        is_near(self.x[i], self.x[j])
            & is_near(self.y[i], self.y[j])
            & (clock[i].wrapping_sub(clock[j]) <= self.window)
    }

    #[inline(always)]
    fn chunk(&self, clock: &[u16], start: usize, patterns: &mut [u32]) {
        let of = |column: &[u16], start: usize| -> [u16; CHUNK] {
            let column = &column[start..start + CHUNK];
            std::array::from_fn(|i| column[i])
        };
        let (x, y, now) = (of(self.x, start), of(self.y, start), of(clock, start));
        let mut found = [[0u16; CHUNK]; 2];
        for group in 0..REACH / GROUP {
            let nearest = &clock[start - 1 - group * GROUP..][..CHUNK];
            let some = (0..CHUNK)
                .fold(0, |some, i| some | u16::from(now[i].wrapping_sub(nearest[i]) <= self.window));
            if some == 0 {
                break;
            }
            let found = &mut found[group * GROUP / HALF];
            for k in 0..GROUP {
                let from = start - 1 - group * GROUP - k;
                let (x_before, y_before) = (&self.x[from..from + CHUNK], &self.y[from..from + CHUNK]);
                let before = &clock[from..from + CHUNK];
                let bit = 1u16 << ((group * GROUP + k) % HALF);
                for i in 0..CHUNK {
                    let linked = is_near(x[i], x_before[i])
                        & is_near(y[i], y_before[i])
                        & (now[i].wrapping_sub(before[i]) <= self.window);
                    found[i] |= if linked { bit } else { 0 };
                }
            }
        }
        let [low, high] = found;
        for (i, pattern) in patterns[start..start + CHUNK].iter_mut().enumerate() {
            *pattern = u32::from(low[i]) | u32::from(high[i]) << HALF;
        }
    }
}

/// Returns the shortest and the longest time from the hit [`BEFORE`] places before to a hit. The first hits count only for
/// the longest time.
#[inline(never)]
fn reach_room<G: Gang>(g: G, time: &[i64]) -> [u64; 2] {
    g.vectorize(
        #[inline(always)]
        || {
            let (now, before) = (time.get(BEFORE..).unwrap_or_default(), time);
            let times = now.iter().zip(before).map(|(now, before)| now.wrapping_sub(*before) as u64);
            let first = time.get(REACH).or(time.last()).zip(time.first());
            let first = first.map_or(0, |(now, before)| now.wrapping_sub(*before) as u64);
            times.fold([u64::MAX, first], |[least, most], time| [time.min(least), time.max(most)])
        },
    )
}

/// Returns whether two places are equal or adjacent; no sensor is so wide that the ends of the range meet.
#[inline(always)]
fn is_near(a: u16, b: u16) -> bool {
    a.wrapping_sub(b).wrapping_add(1) <= 2
}
