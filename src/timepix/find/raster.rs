//! The local definition with a time difference of 0: clusters of frames.
//!
//! Hits of one time are a frame; in order of x and y they are a raster. So only four neighbours can precede a hit: one
//! below it in its column, and three in the previous column. The middle one of these three is a neighbour of the other
//! three. So preceding neighbours are one piece, with one exception: if the middle pixel is not hit, but the upper
//! pixel and another one are, a link is recorded. A pixel stores the frame of its last hit, so nothing is cleared.

use super::forest::Forest;
use crate::event::{Column, PixelHits};
use crate::simd::{Gang, Level};
use std::hint::select_unpredictable;

/// Number of hits after which links are processed: few enough that links stay in the first-level cache.
const TURN: usize = 4096;

/// The last hit of a pixel.
#[derive(Clone, Copy, Default)]
struct Last {
    /// Number of the frame; 0 for none.
    frame: u32,
    fragment: u32,
}

/// The last hit of each pixel, column by column.
pub(super) struct Raster {
    level: Level,
    width: usize,
    height: usize,
    last: Vec<Last>,
    /// Number of the last frame.
    frame: u32,
    /// For each pattern of preceding neighbours, the offset of one neighbour of each piece, relative to the lower corner of
    /// the previous column.
    pieces: [[u16; 2]; 32],
    /// At most one link per hit, and room for one entry that is not a link.
    links: Box<[[u32; 2]; TURN + 1]>,
}

impl Raster {
    pub fn new(level: Level, width: usize, height: usize) -> Self {
        Self {
            level,
            width,
            height,
            last: vec![Last::default(); (width + 1) * (height + 2)],
            frame: 0,
            pieces: pieces(height + 2),
            links: Box::new([[0; 2]; TURN + 1]),
        }
    }

    /// Finds clusters like `Fragments::run`; none if hits are not in order of time, x and y, or not on the matrix.
    pub fn run(&mut self, hits: &PixelHits, forest: &mut Forest, labels: &mut Column<u32>) -> Option<u32> {
        let (level, sides) = (self.level, [self.width, self.height]);
        if !crate::dispatch_isa!(level, g => is_raster_room(g, hits, sides)) {
            return None;
        }
        labels.set_len(hits.len());
        forest.clear();
        if hits.len() as u64 >= u64::from(u32::MAX - self.frame) {
            self.last.fill(Last::default());
            self.frame = 0;
        }
        let mut time = hits.time.first().map(|first| first.wrapping_sub(1));
        for start in (0..hits.len()).step_by(TURN) {
            let end = hits.len().min(start + TURN);
            let links = self.turn(hits, start..end, &mut time, forest, labels);
            for &[a, b] in &self.links[..links] {
                forest.join(a, b);
            }
        }
        Some(forest.number_sets())
    }

    /// Finds the fragments of some hits. Returns the number of links between them.
    #[inline(never)]
    fn turn(
        &mut self,
        hits: &PixelHits,
        range: std::ops::Range<usize>,
        last_time: &mut Option<i64>,
        forest: &mut Forest,
        labels: &mut [u32],
    ) -> usize {
        let stride = self.height + 2;
        let (table, pieces, labels) = (&mut self.last[..], &self.pieces, &mut labels[range.clone()]);
        let n = labels.len();
        let (time, x, y) = (&hits.time[range.clone()][..n], &hits.x[range.clone()][..n], &hits.y[range][..n]);
        let (mut frame, mut before) = (self.frame, last_time.unwrap_or_default());
        let (mut next, mut links) = (forest.len(), 0);
        for i in 0..n {
            frame += u32::from(time[i] != before);
            before = time[i];
            let corner = usize::from(x[i]) * stride + usize::from(y[i]);
            let near = &mut table[corner..corner + stride + 2];
            // Added up in a way that the compiler does not vectorise: the load of a row with a very recent hit would wait
            // for its store.
            let mut pattern = 0;
            let mut look = |place: usize| pattern = pattern + pattern + u32::from(near[place].frame == frame);
            look(stride + 1);
            look(stride);
            look(2);
            look(1);
            look(0);
            let [first, second] = pieces[pattern as usize & 31].map(usize::from);
            let (first, second) = (near[first].fragment, near[second].fragment);
            let fragment = select_unpredictable(pattern == 0, next, first);
            next += u32::from(pattern == 0);
            self.links[links] = [first, second];
            links += usize::from(first != second);
            labels[i] = fragment;
            near[stride + 1] = Last { frame, fragment };
        }
        (self.frame, *last_time) = (frame, Some(before));
        forest.grow(next);
        links
    }
}

/// Computes the pieces of each pattern. Bits, from the lowest: lower corner, middle and upper corner of the previous
/// column; below; the pixel itself.
fn pieces(stride: usize) -> [[u16; 2]; 32] {
    let places = [0, 1, 2, stride, stride + 1].map(|place| place as u16);
    std::array::from_fn(|pattern: usize| {
        let is_there = |bit: &usize| pattern >> bit & 1 == 1;
        // The pixel itself and the middle are neighbours of all others.
        let first = [4, 1, 3, 0, 2].into_iter().find(is_there).unwrap_or(4);
        let second = if matches!(first, 0 | 3) && is_there(&2) { 2 } else { first };
        [places[first], places[second]]
    })
}

/// Returns whether hits are on a matrix with these sides, in order of time, x and y; a function of its own, which enters
/// the feature context.
#[inline(never)]
fn is_raster_room<G: Gang>(g: G, hits: &PixelHits, sides: [usize; 2]) -> bool {
    g.vectorize(
        #[inline(always)]
        || is_raster(hits, sides),
    )
}

#[inline(always)]
fn is_raster(hits: &PixelHits, [width, height]: [usize; 2]) -> bool {
    let largest = |column: &[u16]| usize::from(column.iter().fold(0, |most: u16, value| most.max(*value)));
    let Some(n) = hits.len().checked_sub(1) else { return true };
    if largest(&hits.x) >= width || largest(&hits.y) >= height {
        return false;
    }
    let (time, x, y) = (&hits.time[..], &hits.x[..], &hits.y[..]);
    let (times, xs, ys) = (&time[1..][..n], &x[1..][..n], &y[1..][..n]);
    let mut wrong = 0u8;
    for i in 0..n {
        let pixel = |x: u16, y: u16| u32::from(x) << 16 | u32::from(y);
        let is_later = times[i] > time[i];
        let is_next = (times[i] == time[i]) & (pixel(xs[i], ys[i]) >= pixel(x[i], y[i]));
        wrong |= u8::from(!(is_later | is_next));
    }
    wrong == 0
}
