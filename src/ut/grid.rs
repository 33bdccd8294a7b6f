//! The hits of an event, sorted by plane, row of sectors and x for the kernels, and constants of the detector that are
//! compiled into the kernels. The GPU kernels of `src/gpu/lanes` include this file, too.
//!
//! The strips of a plane are 97 mm long, or half as long, and form 14 rows one above another. Rows overlap slightly in
//! y, because staves are tilted and sectors overlap.

use crate::event::UT_PLANES;
use crate::simd::varying::{F32, I32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Slope dx/dy of the strips in each plane.
pub const STRIP_SLOPE: [f32; UT_PLANES] = [0.0, 0.087_488_67, -0.087_488_6, 0.0];
/// Middle of the UT, where states are given, mm.
pub(super) const MIDDLE: f32 = 2484.6;

/// Rows of whole sectors, where the lowest begins and how far they are apart, mm.
pub(super) const ROWS: usize = 14;
pub(super) const LOWEST: f32 = -673.16;
pub(super) const ROW_STEP: f32 = 96.08;
/// Buckets along x, where the first begins and how wide they are, mm. The first and the last have all beyond them.
pub(super) const BUCKETS: usize = 1 << BUCKET_BITS;
pub(super) const BUCKET_BITS: u32 = 7;
pub(super) const LEFT: f32 = -896.0;
pub(super) const BUCKET_WIDTH: f32 = 14.0;

/// Buckets of a plane, and of all.
pub(super) const PLANE_CELLS: usize = ROWS * BUCKETS;
pub(crate) const CELLS: usize = UT_PLANES * PLANE_CELLS;

/// The sorted hits of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    /// x and z at y = 0, lower and upper end of each hit, mm.
    pub(crate) hits: &'a [[f32; 4]],
    /// One over the variance of x, 1/mm^2.
    pub(crate) weight: &'a [f32],
    /// Its number in the event.
    pub(crate) number: &'a [u32],
    /// Its group of sectors.
    pub(crate) group: &'a [u32],
    /// First hit of each bucket, and the number of all.
    pub(crate) table: &'a [u32],
    /// How far strips reach below and above their row, mm.
    pub(crate) below: f32,
    pub(crate) above: f32,
}

/// The hits of a row between two buckets, lane by lane.
struct Span<G: Gang> {
    first: U32<G>,
    end: U32<G>,
}

/// What hits may be near in a plane, lane by lane: x at y = 0 and y, each between two values, mm.
pub(super) struct Near<G: Gang> {
    pub(super) plane: usize,
    pub(super) x: [F32<G>; 2],
    pub(super) y: [F32<G>; 2],
}

/// Bucket of an x at y = 0.
#[inline(always)]
pub(super) fn bucket_of<G: Gang>(g: G, x: F32<G>) -> U32<G> {
    let bucket = ((x - F32::splat(g, LEFT)) * F32::splat(g, 1.0 / BUCKET_WIDTH)).to_i32();
    bucket.max(I32::splat(g, 0)).min(I32::splat(g, BUCKETS as i32 - 1)).to_bits()
}

/// Row of a y.
#[inline(always)]
pub(super) fn row_of<G: Gang>(g: G, y: F32<G>) -> U32<G> {
    let row = ((y - F32::splat(g, LOWEST)) * F32::splat(g, 1.0 / ROW_STEP)).to_i32();
    row.max(I32::splat(g, 0)).min(I32::splat(g, ROWS as i32 - 1)).to_bits()
}

impl Stored<'_> {
    /// Calls `see` with the hits of all cells that can have hits within `near`, row by row, one hit per lane, and with
    /// the mask of the lanes that have a hit.
    #[inline(always)]
    pub(super) fn visit<G: Gang>(
        &self,
        g: G,
        near: &Near<G>,
        lanes: Mask<G>,
        mut see: impl FnMut(U32<G>, Mask<G>),
    ) {
        let whole = inlined!(|value: u32| U32::splat(g, value));
        let [left, right] = near.x;
        let buckets = [bucket_of(g, left), bucket_of(g, right) + whole(1)];
        let [low, high] = near.y;
        let mut row = row_of(g, low - F32::splat(g, self.above));
        let last_row = row_of(g, high + F32::splat(g, self.below));
        let mut searching = lanes;
        // Two rows at once; in a real detector there are no more.
        while searching.any() {
            let one = self.span(g, near.plane, row, buckets);
            let two = self.span(g, near.plane, row + whole(1), buckets);
            let of_one = one.end - one.first;
            let of_two = row.lt(last_row).select_u(two.end - two.first, whole(0));
            let total = searching.select_u(of_one + of_two, whole(0));
            let gap = two.first - one.end;
            let mut number = whole(0);
            loop {
                let on = number.lt(total);
                if !on.any() {
                    break;
                }
                see(one.first + number + number.lt(of_one).select_u(whole(0), gap), on);
                number = number + whole(1);
            }
            row = row + whole(2);
            searching = searching & row.lt(last_row + whole(1));
        }
    }

    /// The hits of a plane's row between two buckets, the second of them excluded.
    #[inline(always)]
    fn span<G: Gang>(&self, g: G, plane: usize, row: U32<G>, buckets: [U32<G>; 2]) -> Span<G> {
        let begin = row.shl::<BUCKET_BITS>() + U32::splat(g, (plane * PLANE_CELLS) as u32);
        let first = U32::gather(self.table, begin + buckets[0]);
        Span { first, end: U32::gather(self.table, begin + buckets[1]) }
    }
}
