//! Checks of many hits at once: whether they are in order, whether any is late.

use crate::event::PixelHits;
use crate::simd::Gang;

/// Number of hits that are checked before a decision; smaller where a suspicious hit makes all hits of the chunk be checked
/// one by one.
const CHUNK: usize = 512;
pub(super) const SMALL_CHUNK: usize = 64;

/// Returns whether hits are in the order (time, x, y).
#[inline(never)]
pub(super) fn is_ordered_room<G: Gang>(g: G, hits: &PixelHits) -> bool {
    g.vectorize(
        #[inline(always)]
        || is_ordered(hits),
    )
}

#[inline(always)]
fn is_ordered(hits: &PixelHits) -> bool {
    for start in (1..hits.len()).step_by(CHUNK) {
        let end = hits.len().min(start + CHUNK);
        let (now, before) = (start..end, start - 1..end - 1);
        let n = end - start;
        let (time, time_before) = (&hits.time[now.clone()][..n], &hits.time[before.clone()][..n]);
        let (x, x_before) = (&hits.x[now.clone()][..n], &hits.x[before.clone()][..n]);
        let (y, y_before) = (&hits.y[now][..n], &hits.y[before][..n]);
        let mut wrong = 0;
        for i in 0..n {
            let pixel = |x: u16, y: u16| u32::from(x) << 16 | u32::from(y);
            let is_smaller = pixel(x[i], y[i]) < pixel(x_before[i], y_before[i]);
            let (is_earlier, is_tie) = (time[i] < time_before[i], time[i] == time_before[i]);
            wrong |= u32::from(is_earlier | is_tie & is_smaller);
        }
        if wrong != 0 {
            return false;
        }
    }
    true
}

/// Returns whether no hit is older than `disorder` before the time that two successive hits have reached so far, or older
/// than the floor. Updates `reached`.
#[inline(never)]
pub(crate) fn is_in_time_room<G: Gang>(g: G, time: &[i64], reached: &mut Reached, bounds: [i64; 2]) -> bool {
    g.vectorize(
        #[inline(always)]
        || is_in_time(time, reached, bounds),
    )
}

#[inline(always)]
fn is_in_time(time: &[i64], reached: &mut Reached, [disorder, floor]: [i64; 2]) -> bool {
    let mut is_late = false;
    let mut start = 0;
    for chunk in time.chunks(SMALL_CHUNK) {
        let before = if start == 0 { reached.last } else { time[start - 1] };
        let (first, mut last) = (chunk[0], reached.time.max(before.min(chunk[0])));
        let mut least = first;
        for (now, before) in chunk[1..].iter().zip(chunk) {
            least = least.min(*now);
            last = last.max(*now.min(before));
        }
        if least < last.saturating_sub(disorder).max(floor) {
            // Some hit may be late: check one by one.
            for &time in chunk {
                is_late |= time < reached.time.saturating_sub(disorder).max(floor);
                reached.take(time);
            }
        }
        *reached = Reached { time: last, last: chunk[chunk.len() - 1] };
        start += chunk.len();
    }
    !is_late
}

/// The latest time that two hits in a row have reached: thus one hit with a wrong time makes no other hits late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Latest time that two hits in a row have reached or passed; `i64::MIN` until the second hit arrives.
    pub time: i64,
    /// Time of the last hit.
    pub last: i64,
}

impl Reached {
    /// State before the first hit.
    pub const NOTHING: Self = Self { time: i64::MIN, last: i64::MIN };

    /// Adds the next hit.
    #[inline(always)]
    pub fn take(&mut self, time: i64) {
        self.time = self.time.max(self.last.min(time));
        self.last = time;
    }
}

/// Properties of words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Whether the words are in order by their bits from the lowest sorted bit on.
    pub ordered: bool,
    pub least: u64,
    pub most: u64,
}

/// Computes the properties of words; order is by the bits from `low` on.
#[inline(never)]
pub(super) fn look_room<G: Gang>(g: G, low: u32, words: &[u64]) -> Look {
    g.vectorize(
        #[inline(always)]
        || {
            let (mut least, mut most) = words.iter().fold((u64::MAX, 0), |(a, b), &w| (w.min(a), w.max(b)));
            if words.is_empty() {
                (least, most) = (0, 0);
            }
            let is_wrong = |start: usize| {
                let now = &words[start..words.len().min(start + CHUNK)];
                let before = &words[start - 1..][..now.len()];
                now.iter().zip(before).fold(false, |wrong, (a, b)| wrong | (a >> low < b >> low))
            };
            Look { ordered: !(1..words.len()).step_by(CHUNK).any(is_wrong), least, most }
        },
    )
}

/// Returns the index of the first value that is not below `limit`.
#[inline(never)]
pub(crate) fn first_from_room<G: Gang, T: Copy + PartialOrd>(g: G, values: &[T], limit: T) -> usize {
    g.vectorize(
        #[inline(always)]
        || {
            let has_one = |chunk: &[T]| chunk.iter().fold(false, |any, value| any | (*value >= limit));
            let chunk = values.chunks(SMALL_CHUNK).take_while(|chunk| !has_one(chunk)).count();
            let start = values.len().min(chunk * SMALL_CHUNK);
            let rest = values[start..].iter().position(|value| *value >= limit);
            start + rest.unwrap_or(values.len() - start)
        },
    )
}
