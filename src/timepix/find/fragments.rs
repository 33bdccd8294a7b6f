//! The fast search for the local definition: fragments first, links between fragments afterwards.
//!
//! A hit without a linked neighbour begins a fragment; any other hit joins the fragment of a neighbour. If the
//! neighbours of a hit belong to several fragments, links between these fragments are recorded. This first loop has no
//! branch that depends on the hits (except for three or more pieces, which are rare), so that nothing is mispredicted,
//! and it never waits: the table of last hits holds times, which do not depend on earlier steps. A second loop joins
//! fragments by the links, most of which connect fragments that are already joined.
//!
//! The times of the nine pixels around a hit take nine loads. Three loads, of one row each, were slower: the row with
//! the previous hit cannot be forwarded from the store, and its load waits for the cache.

use super::blobs::Blobs;
use super::forest::Forest;
use super::neighbours::{Pieces, pieces};
use super::parents::Parents;
use super::recent::{Recent, before};
use crate::event::{Column, PixelHits};
use crate::simd::{Level, prefetch};
use std::ops::Range;

/// Number of hits of one block of both loops: few enough that links stay in the first-level cache.
const TURN: usize = 4096;
/// Number of hits of a block when windows have few hits.
const SPARSE_TURN: usize = 1024;
/// Number of hits ahead whose surrounding pixels are prefetched: their rows are in the second-level cache.
const AHEAD: usize = 12;
/// Number of pixels from any corner on: positions of a table of [`Pieces`] are smaller, so that no index is checked. Behind
/// the matrix are unused pixels, just enough that a hit beyond the matrix is detected.
const NEAR: usize = 1 << u16::BITS;
/// Capacity for the links of a block, at most three per hit.
pub(super) const LINKS: usize = 1 << 14;

/// The last hit of a pixel.
#[derive(Clone, Copy, Default)]
struct Last {
    /// Ticks since the base; 0 when no hit matters.
    time: u32,
    fragment: u32,
}

/// The last hit of each pixel, and further memory of the search.
pub(super) struct Fragments {
    stride: usize,
    last: Vec<Last>,
    /// Number of pixels that a hit can be on; they come first.
    used: usize,
    pieces: Box<Pieces>,
    links: Box<[[u32; 2]; LINKS]>,
    /// Time and position of the hits of a block.
    places: Box<[[u32; 2]; TURN + AHEAD]>,
    recent: Recent,
    parents: Parents,
    blobs: Blobs,
    height: usize,
    /// Whether the last block had too many hits in the window; whether the table lacks hits of earlier blocks.
    is_dense: bool,
    is_behind: bool,
    /// Base of the times in the table, which may be before the earliest possible time; and the latest time in the
    /// table, none when it is empty.
    base: i128,
    latest: Option<i64>,
}

/// Returns the largest base for a hit: relative to it, all times in the window before the hit are above 0.
fn base_of(time: i64, window: u32) -> i128 {
    i128::from(time) - i128::from(window) - 1
}

/// Lengths of rows that have loops of their own, in which the distance between rows is a constant. A row includes the
/// frame of one pixel on either side, and its length is no power of two, since rows would share cache lines.
const STRIDES: [usize; 6] = [264, 520, 1032, 2056, 4104, 8200];

/// Columns of some hits.
struct Block<'a> {
    time: &'a [i64],
    x: &'a [u16],
    y: &'a [u16],
}

impl Fragments {
    pub fn new(level: Level, width: usize, height: usize) -> Self {
        let stride = STRIDES.into_iter().find(|stride| *stride >= width + 2).unwrap_or(STRIDES[5]);
        let used = stride * (height + 2) + 2;
        Self {
            stride,
            last: vec![Last::default(); used - (2 * stride + 3) + NEAR],
            used,
            pieces: pieces(stride),
            links: Box::new([[0; 2]; LINKS]),
            places: Box::new([[0; 2]; TURN + AHEAD]),
            recent: Recent::new(level),
            parents: Parents::new(level),
            blobs: Blobs::new(level),
            height,
            is_dense: false,
            is_behind: false,
            base: 0,
            latest: None,
        }
    }

    /// Finds clusters of time-ordered hits on the matrix: `labels` become members of the forest's sets, which are
    /// numbered in the order of first hits. Returns the number of clusters.
    pub fn run(
        &mut self,
        window: u32,
        hits: &PixelHits,
        forest: &mut Forest,
        labels: &mut Column<u32>,
    ) -> u32 {
        labels.set_len(hits.len());
        forest.clear();
        let (Some(&first), Some(&last)) = (hits.time.first(), hits.time.last()) else { return 0 };
        let begin = base_of(first, window);
        let fits = i128::from(last) - self.base < i128::from(u32::MAX);
        // No entry of the table may be taken for a neighbour, or be later than the first hit.
        let is_past = self.latest.is_none_or(|latest| begin >= i128::from(latest));
        if !is_past || begin < self.base || !fits {
            self.clear(begin);
        }
        self.recent.begin();
        self.is_behind = false;
        let mut start = 0;
        while start < hits.len() {
            let reach = self.base + i128::from(u32::MAX);
            let end = hits.time[start..].partition_point(|time| i128::from(*time) < reach) + start;
            if end == start {
                self.rebase(base_of(hits.time[start], window));
                continue;
            }
            while start < end {
                // One hit with many hits before it makes a block dense: sparse blocks are short.
                let turn = if self.is_dense { TURN } else { SPARSE_TURN };
                let mut range = start..end.min(start + turn);
                let blobs = self.is_dense.then_some(&mut self.blobs);
                let blob = blobs.and_then(|blobs| blobs.first(window, hits, range.clone(), end));
                range.end = blob.as_ref().map_or(range.end, |blob| blob.start);
                start = range.end;
                if !range.is_empty() {
                    let links = self.block(window, hits, range, forest.len(), labels);
                    forest.grow(links.0);
                    forest.join_all(&self.links[..links.1]);
                }
                if let Some(blob) = blob {
                    start = blob.end;
                    labels[blob].fill(forest.len());
                    forest.grow(forest.len() + 1);
                    self.is_dense = true;
                }
            }
        }
        self.latest = Some(last);
        forest.number_sets()
    }

    /// Removes hits of the last [`Fragments::run`], from number `from` on, from the table, so that some of them may
    /// come again.
    pub fn forget(&mut self, hits: &PixelHits, from: usize) {
        for i in from..hits.len() {
            let pixel = self.pixel(hits.x[i], hits.y[i]);
            self.last[pixel].time = 0;
        }
        self.latest = from.checked_sub(1).map(|i| hits.time[i]);
    }

    /// Empties the table and sets the base, so that every hit has a time above 0.
    #[cold]
    fn clear(&mut self, base: i128) {
        self.last[..self.used].fill(Last::default());
        self.base = base;
        self.latest = None;
    }

    /// Moves the base forward; times of hits that no longer matter become 0.
    #[cold]
    fn rebase(&mut self, base: i128) {
        let shift = u32::try_from(base - self.base).unwrap_or(u32::MAX);
        self.last[..self.used].iter_mut().for_each(|last| last.time = last.time.saturating_sub(shift));
        self.base = base;
    }

    fn pixel(&self, x: u16, y: u16) -> usize {
        (usize::from(y) + 1) * self.stride + usize::from(x) + 1
    }

    /// Processes one block, with patterns of recent hits or with the table.
    fn block(
        &mut self,
        window: u32,
        hits: &PixelHits,
        range: Range<usize>,
        next: u32,
        labels: &mut Column<u32>,
    ) -> (u32, usize) {
        // A hit beyond the matrix, which no reader lets pass, is left to the table, which rejects it.
        let top = hits.y[range.clone()].iter().fold(0, |top: u16, y| top.max(*y));
        let is_on_matrix = usize::from(top) < self.height;
        let patterns = if is_on_matrix { self.recent.patterns(window, hits, range.clone()) } else { None };
        self.is_dense = patterns.is_none();
        if let Some(patterns) = patterns {
            self.is_behind = true;
            let first = range.start - before(&range);
            let labels = &mut labels[first..range.end];
            return self.parents.link(patterns, range.start - first, next, labels, &mut self.links);
        }
        if self.is_behind {
            self.catch_up(window, hits, range.start, labels);
        }
        self.turn(window, hits, range, next, labels)
    }

    /// Adds hits before number `end` to the table, if they may be neighbours of later hits.
    fn catch_up(&mut self, window: u32, hits: &PixelHits, end: usize, labels: &[u32]) {
        let reach = hits.time[end].saturating_sub(i64::from(window));
        let first = hits.time[..end].partition_point(|time| *time < reach);
        for (i, &fragment) in labels[..end].iter().enumerate().skip(first) {
            let pixel = self.pixel(hits.x[i], hits.y[i]);
            let time = (hits.time[i] as u32).wrapping_sub(self.base as u32);
            self.last[pixel] = Last { time, fragment };
        }
        self.is_behind = false;
    }

    /// Processes one block with the table: labels become fragments. Returns the new number of fragments, and the
    /// number of links.
    fn turn(
        &mut self,
        window: u32,
        hits: &PixelHits,
        range: Range<usize>,
        next: u32,
        labels: &mut Column<u32>,
    ) -> (u32, usize) {
        let labels = &mut labels[range.clone()];
        let block = Block { time: &hits.time[range.clone()], x: &hits.x[range.clone()], y: &hits.y[range] };
        match self.stride {
            264 => self.turn_of::<264>(window, block, next, labels),
            520 => self.turn_of::<520>(window, block, next, labels),
            1032 => self.turn_of::<1032>(window, block, next, labels),
            2056 => self.turn_of::<2056>(window, block, next, labels),
            4104 => self.turn_of::<4104>(window, block, next, labels),
            _ => self.turn_of::<8200>(window, block, next, labels),
        }
    }

    #[inline(never)]
    fn turn_of<const STRIDE: usize>(
        &mut self,
        window: u32,
        block: Block<'_>,
        mut next: u32,
        labels: &mut [u32],
    ) -> (u32, usize) {
        let Self { last, pieces, links, base, places, .. } = self;
        let (last, pieces, links) = (&mut last[..], &**pieces, &mut **links);
        let n = labels.len();
        place_all::<STRIDE>(block, *base as u32, &mut places[..n + AHEAD]);
        let places = &places[..n + AHEAD];
        let mut count = 0;
        for i in 0..n {
            let [now, corner] = places[i];
            let ahead = places[i + AHEAD][1];
            for row in 0..3 {
                prefetch(last, ahead + row * STRIDE as u32);
            }
            // Hits later than this are linked; the difference cannot overflow, since times begin one window after the base.
            let limit = now.wrapping_sub(window + 1);
            let corner = corner as usize;
            let near = last[corner..].first_chunk_mut::<NEAR>().expect("pixels behind the matrix");
            // Added up in a way that the compiler does not vectorise, see above.
            let mut pattern = 0;
            let mut look = |place: usize| pattern = pattern + pattern + u32::from(limit < near[place].time);
            look(2 * STRIDE + 2);
            look(2 * STRIDE + 1);
            look(2 * STRIDE);
            look(STRIDE + 2);
            look(STRIDE + 1);
            look(STRIDE);
            look(2);
            look(1);
            look(0);
            let [a, b, c, d] = pieces[pattern as usize & 511].map(usize::from);
            let (first, second) = (near[a].fragment, near[b].fragment);
            let fragment = if pattern == 0 { next } else { first };
            next += u32::from(pattern == 0);
            links[count & (LINKS - 1)] = [first, second];
            count += usize::from(first != second);
            if b != c {
                for place in [c, d] {
                    let other = near[place].fragment;
                    links[count & (LINKS - 1)] = [first, other];
                    count += usize::from(first != other);
                }
            }
            near[STRIDE + 1] = Last { time: now, fragment };
            labels[i] = fragment;
        }
        (next, count)
    }
}

/// Computes the time of each hit since the base, and the position of the corner of the pixels around it.
fn place_all<const STRIDE: usize>(Block { time, x, y }: Block<'_>, base: u32, to: &mut [[u32; 2]]) {
    for (((&time, &x), &y), to) in time.iter().zip(x).zip(y).zip(to) {
        *to = [(time as u32).wrapping_sub(base), u32::from(y) * STRIDE as u32 + u32::from(x)];
    }
}
