//! [`Waiting`]: waiting hits, in blocks with known ranges of time.
//!
//! ```text
//! blocks | all leave | some leave | all stay | all stay | ...
//!                                  ^ not touched, however many wait
//! ```

use super::intake::take_room;
use super::ordered::{Reached, first_from_room};
use super::packed::{Extent, Packing, extent_room, pack_room, unpack_room};
use crate::event::{Column, PixelHits};
use crate::simd::Level;
use std::collections::VecDeque;
use std::ops::Range;

/// Number of hits of a full block; smaller blocks receive the next hits.
const BLOCK_HITS: usize = 1 << 15;
/// Number of hits per sampled hit, when a limit in time is chosen.
const SAMPLED: usize = 16;

/// Hits, either as words or as columns.
#[derive(Debug, Default)]
pub(super) struct Lot {
    pub words: Column<u64>,
    pub hits: PixelHits,
}

impl Lot {
    pub fn len(&self) -> usize {
        self.words.len() + self.hits.len()
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.hits.clear();
    }

    fn append(&mut self, other: &mut Self) {
        if self.len() == 0 {
            std::mem::swap(self, other);
        } else {
            self.words.extend_from_slice(&other.words);
            self.hits.extend_from(&other.hits, 0..other.hits.len(), 0);
        }
        other.clear();
    }
}

/// Hits in order of arrival: words as long as all hits fit, otherwise columns until no hit is left.
#[derive(Debug)]
pub(super) struct Waiting {
    blocks: VecDeque<Block>,
    /// Memory of blocks that have left.
    spare: Vec<Lot>,
    len: usize,
    packing: Option<Packing>,
    /// Union of the bits of all x and y so far.
    pixels: Extent,
}

impl Default for Waiting {
    fn default() -> Self {
        let (blocks, spare, packing) = Default::default();
        Self { blocks, spare, len: 0, packing, pixels: Extent::NOTHING }
    }
}

#[derive(Debug, Default)]
struct Block {
    hits: Lot,
    /// Lower and upper limit of the times of the hits.
    times: [i64; 2],
}

impl Waiting {
    /// Returns the number of waiting hits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the packing of hits that wait or have just left; none when they are in columns.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// Adds the hits `part` of `hits`.
    pub fn push(&mut self, level: Level, hits: &PixelHits, part: Range<usize>) {
        if part.is_empty() {
            return;
        }
        let extent = crate::dispatch_isa!(level, g => extent_room(g, hits, part.clone()));
        self.make_fit(level, extent);
        let (count, packing) = (part.len(), self.packing);
        let block = self.open_block(count);
        match packing {
            Some(packing) => {
                crate::dispatch_isa!(level, g => pack_room(g, packing, hits, part, &mut block.hits.words))
            }
            None => block.hits.hits.extend_from(hits, part, 0),
        }
        self.extend_last(count, extent);
    }

    /// Adds hits and updates `reached`, if they fit the packing of the waiting hits and none is late by `bounds` (see
    /// [`take_room`]). Returns whether the hits were added.
    pub fn push_as_before(
        &mut self,
        level: Level,
        (hits, part): (&PixelHits, Range<usize>),
        (reached, bounds): (&mut Reached, [i64; 2]),
    ) -> bool {
        let Some(packing) = self.packing.filter(|_| self.len > 0 && !part.is_empty()) else { return false };
        let (count, pixels) = (part.len(), self.pixels);
        let words = &mut self.open_block(count).hits.words;
        let (before, mut latest) = (words.len(), *reached);
        let looked = (&mut latest, bounds);
        let extent = crate::dispatch_isa!(level, g => take_room(g, packing, hits, part, looked, words));
        let Some(extent) = extent.filter(|extent| packing.holds(extent.with(pixels))) else {
            words.set_len(before);
            return false;
        };
        *reached = latest;
        self.extend_last(count, extent);
        true
    }

    /// Returns the last block, or a new one if it is full; `more` hits will be added.
    fn open_block(&mut self, more: usize) -> &mut Block {
        if self.blocks.back().is_none_or(|last| last.hits.len() >= BLOCK_HITS) {
            let mut hits = self.spare.pop().unwrap_or_default();
            if !self.blocks.is_empty() {
                // Many hits wait: this block will become full, too.
                match self.packing {
                    Some(_) => hits.words.reserve_total(BLOCK_HITS + more),
                    None => hits.hits.set_len(BLOCK_HITS + more),
                }
                hits.clear();
            }
            self.blocks.push_back(Block { hits, times: Extent::NOTHING.times });
        }
        self.blocks.back_mut().expect("there is one")
    }

    /// Updates counts and limits after hits were added to the last block.
    fn extend_last(&mut self, count: usize, extent: Extent) {
        self.pixels = self.pixels.with(Extent { times: Extent::NOTHING.times, ..extent });
        let Some(Block { times, .. }) = self.blocks.back_mut() else { return };
        *times = [times[0].min(extent.times[0]), times[1].max(extent.times[1])];
        self.len += count;
    }

    /// Repacks waiting hits when hits of this extent do not fit with them; unpacks all when no packing fits.
    fn make_fit(&mut self, level: Level, extent: Extent) {
        self.pixels = Extent { times: Extent::NOTHING.times, ..self.pixels.with(extent) };
        let all = extent.with(self.pixels);
        if self.len == 0 {
            self.packing = Packing::around(all);
        }
        let Some(old) = self.packing.filter(|packing| !packing.holds(all)) else { return };
        let times = self.blocks.iter().map(|block| Extent { times: block.times, ..Extent::NOTHING });
        self.packing = Packing::around(times.fold(all, Extent::with));
        for Block { hits: Lot { words, hits }, .. } in &mut self.blocks {
            if let Some(packing) = &self.packing {
                packing.take_over(&old, words);
            } else {
                crate::dispatch_isa!(level, g => unpack_room(g, old, words, hits));
                words.clear();
            }
        }
    }

    /// Moves all hits to `out`, which must be empty.
    pub fn take_all(&mut self, out: &mut Lot) {
        self.take_before(None, out);
    }

    /// Appends the hits older than `time` to `out`, in order of arrival.
    pub fn split(&mut self, level: Level, time: i64, out: &mut Lot) {
        self.take_before(Some((level, time)), out);
    }

    fn take_before(&mut self, limit: Option<(Level, i64)>, out: &mut Lot) {
        let packing = self.packing;
        let leaves = |time: i64| limit.is_none_or(|(_, limit)| time < limit);
        for Block { hits, times } in &mut self.blocks {
            match limit {
                _ if !leaves(times[0]) => continue,
                Some((level, limit)) if !leaves(times[1]) => {
                    match packing {
                        Some(packing) => {
                            part_words(level, packing.limit(limit), &mut hits.words, &mut out.words)
                        }
                        None => part(level, limit, &mut hits.hits, &mut out.hits),
                    }
                    times[0] = limit;
                }
                _ => out.append(hits),
            }
        }
        let mut at = 0;
        while let Some(block) = self.blocks.get(at) {
            // Long-waiting hits would each keep the memory of a block; so blocks are joined, except the last one, which grows.
            let is_last = at + 1 == self.blocks.len();
            let before = at.checked_sub(1).filter(|_| !is_last).and_then(|before| self.blocks.get(before));
            let joins = before.is_some_and(|before| before.hits.len() + block.hits.len() <= BLOCK_HITS);
            if block.hits.len() > 0 && !joins {
                at += 1;
                continue;
            }
            let Some(mut block) = self.blocks.remove(at) else { break };
            if let Some(before) = at.checked_sub(1).and_then(|before| self.blocks.get_mut(before))
                && joins
            {
                before.hits.append(&mut block.hits);
                before.times = [before.times[0].min(block.times[0]), before.times[1].max(block.times[1])];
            }
            self.spare.push(block.hits);
        }
        self.len = self.blocks.iter().map(|block| block.hits.len()).sum();
    }

    /// Returns a time that is later than about `some` hits, and at least one, of the block with the earliest time; none
    /// when few hits wait.
    pub fn limit_of_some(&self, some: usize, times: &mut Vec<i64>) -> Option<i64> {
        if self.len <= 2 * some {
            return None;
        }
        let block = self.blocks.iter().min_by_key(|block| block.times[0])?;
        if block.hits.len() <= 2 * some {
            return block.times[1].checked_add(1);
        }
        times.clear();
        self.add_times(block, SAMPLED, times);
        times.select_nth_unstable(some / SAMPLED).1.checked_add(1)
    }

    /// Returns the median time of the hits; `times` is scratch memory, whose contents are overwritten.
    pub fn middle(&self, times: &mut Vec<i64>) -> i64 {
        times.clear();
        self.blocks.iter().for_each(|block| self.add_times(block, 1, times));
        let middle = times.len() / 2;
        *times.select_nth_unstable(middle).1
    }

    /// Appends the time of every `step`-th hit of a block.
    fn add_times(&self, block: &Block, step: usize, times: &mut Vec<i64>) {
        match self.packing {
            Some(packing) => {
                times.extend(block.hits.words.iter().step_by(step).map(|word| packing.time(*word)))
            }
            None => times.extend(block.hits.hits.time.iter().step_by(step)),
        }
    }

    /// Returns the number of blocks.
    #[cfg(test)]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// Moves words less than `limit` to `out`, like [`part`].
fn part_words(level: Level, limit: u64, words: &mut Column<u64>, out: &mut Column<u64>) {
    let first = crate::dispatch_isa!(level, g => first_from_room(g, &words[..], limit));
    let end = words.iter().rposition(|word| *word < limit).map_or(first, |last| first.max(last + 1));
    if !out.is_empty() {
        let leaving = out.len() + first;
        out.extend_from_slice(&words[..first]);
        out.set_len(leaving + end - first + 1);
        let (mut kept, mut leaving) = (0, leaving);
        for i in first..end {
            let word = words[i];
            (words[kept], out[leaving]) = (word, word);
            kept += usize::from(word >= limit);
            leaving += usize::from(word < limit);
        }
        out.set_len(leaving);
        let len = words.len();
        words.copy_within(end..len, kept);
        words.set_len(kept + len - end);
        return;
    }
    // Nearly all words leave, so their memory goes with them.
    std::mem::swap(words, out);
    words.set_len(end - first + 1);
    let (mut kept, mut staying) = (first, 0);
    for i in first..end {
        let word = out[i];
        // Written to both sides, since a branch would not be predictable.
        (out[kept], words[staying]) = (word, word);
        kept += usize::from(word < limit);
        staying += usize::from(word >= limit);
    }
    words.set_len(staying);
    words.extend_from_slice(&out[end..]);
    out.set_len(kept);
}

/// Appends the hits of a block that are older than `time` to `out`; the other hits stay.
fn part(level: Level, time: i64, hits: &mut PixelHits, out: &mut PixelHits) {
    // Only hits between the first one that stays and the last one that leaves need a test.
    let first = crate::dispatch_isa!(level, g => first_from_room(g, &hits.time[..], time));
    let end = hits.time.iter().rposition(|hit| *hit < time).map_or(first, |last| first.max(last + 1));
    if out.is_empty() {
        // Nearly all hits leave, so their memory goes with them.
        std::mem::swap(hits, out);
        hits.clear();
        hits.set_len(end - first + 1);
        let (mut kept, mut staying) = (first, 0);
        let (time_out, x, y, tot) = (&mut out.time[..], &mut out.x[..], &mut out.y[..], &mut out.tot[..]);
        let to = (&mut hits.time[..], &mut hits.x[..], &mut hits.y[..], &mut hits.tot[..]);
        for i in first..end {
            let hit = (time_out[i], x[i], y[i], tot[i]);
            // Written to both sides, since a branch would not be predictable.
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
