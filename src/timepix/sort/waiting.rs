//! [`Waiting`]: waiting hits, in blocks with known ranges of time.
//!
//! ```text
//! blocks | all leave | some leave | all stay | all stay | ...
//!                                  ^ not touched, however many wait
//! ```

use super::ordered::{first_from_room, span_room};
use crate::event::PixelHits;
use crate::simd::Level;
use std::collections::VecDeque;
use std::ops::Range;

/// A block with fewer hits takes those that come next.
const BLOCK_HITS: usize = 1 << 15;
/// Of so many hits one is looked at to find a time between hits.
const SAMPLED: usize = 16;

/// Hits in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    blocks: VecDeque<Block>,
    /// Memory of blocks that have left.
    spare: Vec<PixelHits>,
    len: usize,
}

#[derive(Debug, Default)]
struct Block {
    hits: PixelHits,
    /// No hit is before the first of these, or behind the second.
    times: [i64; 2],
}

impl Waiting {
    /// Number of waiting hits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds these hits except the ones that `is_late` rejects; it is called with each, in order, if any is late at all.
    pub fn push(
        &mut self,
        level: Level,
        hits: &PixelHits,
        part: Range<usize>,
        is_late: Option<&mut dyn FnMut(i64) -> bool>,
    ) {
        if part.is_empty() {
            return;
        }
        if self.blocks.back().is_none_or(|last| last.hits.len() >= BLOCK_HITS) {
            let mut hits = self.spare.pop().unwrap_or_default();
            if !self.blocks.is_empty() {
                // Many hits wait: the block will be full, too.
                hits.set_len(BLOCK_HITS + part.len());
                hits.clear();
            }
            self.blocks.push_back(Block { hits, times: [i64::MAX, i64::MIN] });
        }
        let Some(Block { hits: block, times }) = self.blocks.back_mut() else { return };
        let [first, last] = crate::dispatch_isa!(level, g => span_room(g, &hits.time[part.clone()]));
        *times = [times[0].min(first), times[1].max(last)];
        let before = block.len();
        match is_late {
            None => block.extend_from(hits, part, 0),
            Some(is_late) => {
                for (time, x, y, tot) in part.map(|i| hits.get(i)) {
                    if !is_late(time) {
                        block.push(time, x, y, tot);
                    }
                }
            }
        }
        self.len += block.len() - before;
    }

    /// Moves all hits to `out`, which is empty.
    pub fn take_all(&mut self, out: &mut PixelHits) {
        self.take_before(None, out);
    }

    /// Moves the hits older than `time` to the empty `out`, in order of arrival.
    pub fn split(&mut self, level: Level, time: i64, out: &mut PixelHits) {
        self.take_before(Some((level, time)), out);
    }

    fn take_before(&mut self, limit: Option<(Level, i64)>, out: &mut PixelHits) {
        let leaves = |time: i64| limit.is_none_or(|(_, limit)| time < limit);
        for Block { hits, times } in &mut self.blocks {
            match limit {
                _ if !leaves(times[0]) => continue,
                Some((level, limit)) if !leaves(times[1]) => {
                    part(level, limit, hits, out);
                    times[0] = limit;
                }
                _ if out.is_empty() => std::mem::swap(hits, out),
                _ => {
                    out.extend_from(hits, 0..hits.len(), 0);
                    hits.clear();
                }
            }
        }
        let mut at = 0;
        while let Some(block) = self.blocks.get(at) {
            // Hits that stay longest would each keep the memory of a block, but for the last one, which grows.
            let is_last = at + 1 == self.blocks.len();
            let before = at.checked_sub(1).filter(|_| !is_last).and_then(|before| self.blocks.get(before));
            let joins = before.is_some_and(|before| before.hits.len() + block.hits.len() <= BLOCK_HITS);
            if !block.hits.is_empty() && !joins {
                at += 1;
                continue;
            }
            let Some(mut block) = self.blocks.remove(at) else { break };
            if let Some(before) = at.checked_sub(1).and_then(|before| self.blocks.get_mut(before))
                && joins
            {
                before.hits.extend_from(&block.hits, 0..block.hits.len(), 0);
                before.times = [before.times[0].min(block.times[0]), before.times[1].max(block.times[1])];
                block.hits.clear();
            }
            self.spare.push(block.hits);
        }
        self.len = self.blocks.iter().map(|block| block.hits.len()).sum();
    }

    /// A time before which there are about `some` hits of each block in question, and at least one; none where all
    /// hits are few.
    pub fn limit_of_some(&self, some: usize, times: &mut Vec<i64>) -> Option<i64> {
        if self.len <= 2 * some {
            return None;
        }
        let Block { hits, times: [_, last] } = self.blocks.iter().min_by_key(|block| block.times[0])?;
        if hits.len() <= 2 * some {
            return last.checked_add(1);
        }
        times.clear();
        times.extend(hits.time.iter().step_by(SAMPLED));
        times.select_nth_unstable(some / SAMPLED).1.checked_add(1)
    }

    /// The times of all hits.
    pub fn times(&self) -> impl Iterator<Item = &[i64]> {
        self.blocks.iter().map(|block| &block.hits.time[..])
    }
}

/// Appends the hits of a block that are older than `time` to `out`; the others stay.
fn part(level: Level, time: i64, hits: &mut PixelHits, out: &mut PixelHits) {
    // Only hits between the first that stays and the last that leaves are in question.
    let first = crate::dispatch_isa!(level, g => first_from_room(g, &hits.time, time));
    let end = hits.time.iter().rposition(|hit| *hit < time).map_or(first, |last| first.max(last + 1));
    if out.is_empty() {
        // As nearly all leave, their memory goes with them.
        std::mem::swap(hits, out);
        hits.clear();
        hits.set_len(end - first + 1);
        let (mut kept, mut staying) = (first, 0);
        let (time_out, x, y, tot) = (&mut out.time[..], &mut out.x[..], &mut out.y[..], &mut out.tot[..]);
        let to = (&mut hits.time[..], &mut hits.x[..], &mut hits.y[..], &mut hits.tot[..]);
        for i in first..end {
            let hit = (time_out[i], x[i], y[i], tot[i]);
            // Written to both sides: which one it belongs to is hard to foresee.
            (time_out[kept], x[kept], y[kept], tot[kept]) = hit;
            (to.0[staying], to.1[staying], to.2[staying], to.3[staying]) = hit;
            kept += usize::from(hit.0 < time);
            staying += usize::from(hit.0 >= time);
        }
        hits.set_len(staying);
        hits.extend_from(out, end..out.len(), 0);
        out.set_len(kept);
        return;
    }
    let mut leaving = out.len() + first;
    out.extend_from(hits, 0..first, 0);
    out.set_len(leaving + end - first + 1);
    let mut kept = 0;
    let (time_in, x, y, tot) = (&mut hits.time[..], &mut hits.x[..], &mut hits.y[..], &mut hits.tot[..]);
    let to = (&mut out.time[..], &mut out.x[..], &mut out.y[..], &mut out.tot[..]);
    for i in first..end {
        let hit = (time_in[i], x[i], y[i], tot[i]);
        (time_in[kept], x[kept], y[kept], tot[kept]) = hit;
        (to.0[leaving], to.1[leaving], to.2[leaving], to.3[leaving]) = hit;
        kept += usize::from(hit.0 >= time);
        leaving += usize::from(hit.0 < time);
    }
    out.set_len(leaving);
    let length = time_in.len();
    time_in.copy_within(end..length, kept);
    x.copy_within(end..length, kept);
    y.copy_within(end..length, kept);
    tot.copy_within(end..length, kept);
    hits.set_len(kept + length - end);
}
