//! The decoder for the search by pairs: converts raw banks to hits sorted by cell (a quarter of a sector).

use super::{FLIPS, HitColumns, SECTOR_SHIFT, UtScratch, WITHIN_SECTOR, decode_in_order, gather};
use crate::Status;
use crate::event::{BankKind, Outcome, RawEvent, RawEvents, Results, StageClock, UT_CELLS, UtCellHits};
use crate::lhcb::decode::decode_each;
use crate::simd::varying::U32;
use crate::simd::{Gang, Level};
use crate::ut::geometry::UtGeometry;
use crate::ut::layout::UtLayout;
use std::ops::Range;

/// Bits of the number of a quarter-strip in a quarter of a sector.
const PART_SHIFT: u32 = SECTOR_SHIFT - 2;

/// Decodes the events of `range` and appends them to `out`, in order, like [`decode`](super::decode), but with hits in
/// the order of cells. `layout` must be made from `geometry`.
///
/// Output bytes do not depend on `level`. Memory is allocated only until `scratch` and `out` are large enough.
///
/// # Panics
/// Panics if `range` is not within the events.
pub fn decode_by_cell(
    level: Level,
    (geometry, layout): (&UtGeometry, &UtLayout),
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut UtScratch,
    out: &mut Outcome<UtCellHits>,
) {
    let mut clock = StageClock::start();
    let detector = (geometry, layout);
    crate::simd::kernels!(dispatch_gathers!(level, g => run(g, detector, events, range, scratch, out)));
    clock.lap(&mut out.counters.stages[0]);
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    detector: (&UtGeometry, &UtLayout),
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut UtScratch,
    out: &mut Outcome<UtCellHits>,
) {
    let mut salvage = std::mem::take(&mut scratch.salvage);
    decode_each(events, range, (BankKind::Ut, &mut salvage), out, |event, out| {
        decode_room(g, detector, event, scratch, out)
    });
    scratch.salvage = salvage;
}

#[inline(never)]
fn decode_room<G: Gang>(
    g: G,
    (geometry, layout): (&UtGeometry, &UtLayout),
    event: &RawEvent<'_>,
    scratch: &mut UtScratch,
    out: &mut Outcome<UtCellHits>,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || {
            let Outcome { results: out, counters } = out;
            if let Err(status) = gather(g, geometry, event, scratch, counters) {
                return status;
            }
            let start = out.hits();
            place(g, layout.cells.rank(), scratch, out);
            out.set_items(1, start + scratch.placed.len());
            let UtCellHits { x, z, y_begin, y_end, weight, id, .. } = out;
            let columns: HitColumns<'_> = ([x, z, y_begin, y_end, weight], id);
            decode_in_order(g, geometry, &scratch.placed, start, columns);
            Status::Ok
        },
    )
}

/// Computes the first hits of the cells, and places each hit: a counting sort.
#[inline(always)]
fn place<G: Gang>(g: G, cell_of: &[u32], scratch: &mut UtScratch, out: &mut UtCellHits) {
    let UtScratch { raw, sector: sectors, rank: cells, placed, .. } = scratch;
    let first = out.hits() as u32;
    let before = out.cell_start.len() - 1;
    out.cell_start.set_len(before + UT_CELLS + 1);
    // The end of a cell is the start of the next.
    let ends = &mut out.cell_start.padded_mut()[before + 1..];
    ends[..UT_CELLS].fill(0);
    cells.set_len(raw.len());
    for at in (0..raw.len()).step_by(G::LANES) {
        let hit = U32::load(g, &raw.padded()[at..]);
        let part = (hit & U32::splat(g, WITHIN_SECTOR)).shr::<PART_SHIFT>();
        let quarter = U32::load(g, &sectors.padded()[at..]).shl::<2>() + part;
        let flipped = hit.shr::<31>() * U32::splat(g, UT_CELLS as u32);
        U32::gather(cell_of, quarter + flipped).store(&mut cells.padded_mut()[at..]);
    }
    for &cell in cells.iter() {
        // Cells are below UT_CELLS; the minimum catches impossible values.
        ends[(cell as usize).min(UT_CELLS - 1)] += 1;
    }
    let mut sum = first;
    for at in (0..UT_CELLS).step_by(G::LANES) {
        let counts = U32::load(g, &ends[at..]);
        let (sums, all) = counts.prefix_sum();
        (sums - counts + U32::splat(g, sum)).store(&mut ends[at..]);
        sum += all;
    }
    // Now `ends` has the begins of the cells; each hit increments the entry of its cell.
    placed.set_len(raw.len());
    for ((&hit, &sector), &cell) in raw.iter().zip(&sectors[..]).zip(&cells[..]) {
        let place = &mut ends[(cell as usize).min(UT_CELLS - 1)];
        placed[(*place - first) as usize] = hit & (FLIPS | WITHIN_SECTOR) | sector << SECTOR_SHIFT;
        *place += 1;
    }
}
