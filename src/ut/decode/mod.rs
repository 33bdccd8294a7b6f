//! Decode: converts raw banks of an event to hits sorted by plane, group of sectors, and y.
//!
//! The steps follow the Compass paper (Fernandez Declara et al., section IV), but sort by sector instead of group of
//! sectors. This sort is nearly free, because the hits of a sector are already in order.
//!
//! ```text
//! banks -> gather:  one word a hit, with its board                  (eight words at a time)
//!       -> sector:  number of the sector in the order of hits       (pre-decode; in lanes)
//!       -> count:   hits of each sector, rank of each hit among them
//!       -> sum:     first index of each sector                      (prefix sum)
//!       -> place:   sector and strip of each hit at its place       (permutation)
//!       -> decode:  x, z, ends in y, weight, LHCbID in order        (in lanes)
//! ```
//! At the end the order is checked. Hits that are not in order, because of their banks or the geometry, are sorted.
//!
//! The search by pairs reads hits by plane, row of sectors and x. For this search, `by_cell` runs the same steps with
//! quarters of sectors, without the check, since the hits of a quarter keep the order of their bank.

mod banks;
mod by_cell;
#[cfg(feature = "reference")]
mod reference;
mod settle;

#[cfg(feature = "reference")]
pub use reference::{position_f64, reference, reference_by_cell, reference_with};

pub use by_cell::decode_by_cell;

use super::geometry::{NO_SECTOR, SECTORS, STRIPS, UtGeometry};
use crate::Status;
use crate::event::{BankKind, Column, Counters, Outcome, RawEvent, RawEvents, Results, StageClock, UtBatch};
use crate::lhcb::banks::Salvage;
use crate::lhcb::decode::{Order, decode_each};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, Level};
use std::ops::Range;

/// Largest number of hits of one event.
const MAX_HITS: usize = 1 << 16;
/// Bits of a hit before its sector is known: strip and quarter of a strip, lane, board; the highest bit is set for
/// banks of version 4, in which sensors may be flipped.
const LANE_SHIFT: u32 = 11;
const BOARD_SHIFT: u32 = 14;
const FLIPS: u32 = 1 << 31;
/// Bits of a hit with its sector: strip and quarter of a strip, then the sector.
const SECTOR_SHIFT: u32 = 11;
const WITHIN_SECTOR: u32 = (1 << SECTOR_SHIFT) - 1;

/// Memory of the decoder that one thread reuses from event to event.
#[derive(Debug)]
pub struct UtScratch {
    /// Hits in the order of banks.
    raw: Column<u32>,
    sector: Column<u32>,
    rank: Column<u32>,
    /// Hits in the order of the output.
    placed: Column<u32>,
    /// Per sector: number of hits, later the index of the first hit.
    start: [u32; SECTORS + 1],
    order: Order,
    /// Events without their damaged banks.
    pub(crate) salvage: Salvage,
}

impl Default for UtScratch {
    fn default() -> Self {
        Self {
            raw: Column::default(),
            sector: Column::default(),
            rank: Column::default(),
            placed: Column::default(),
            start: [0; SECTORS + 1],
            order: Order::default(),
            salvage: Salvage::default(),
        }
    }
}

/// Decodes the events of `range` and appends them to `out`, in order. An event that cannot be decoded has no hits, and
/// its [`Status`] gives the reason. Words read, hits written and hits dropped are counted.
///
/// Output bytes do not depend on `level`. Memory is allocated only until `scratch` and `out` are large enough.
///
/// # Panics
/// Panics if `range` is not within the events.
pub fn decode(
    level: Level,
    geometry: &UtGeometry,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut UtScratch,
    out: &mut Outcome<UtBatch>,
) {
    let mut clock = StageClock::start();
    crate::simd::kernels!(dispatch_gathers!(level, g => run(g, geometry, events, range, scratch, out)));
    clock.lap(&mut out.counters.stages[0]);
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    geometry: &UtGeometry,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut UtScratch,
    out: &mut Outcome<UtBatch>,
) {
    let mut salvage = std::mem::take(&mut scratch.salvage);
    decode_each(events, range, (BankKind::Ut, &mut salvage), out, |event, out| {
        decode_room(g, geometry, event, scratch, out)
    });
    scratch.salvage = salvage;
}

#[inline(never)]
fn decode_room<G: Gang>(
    g: G,
    geometry: &UtGeometry,
    event: &RawEvent<'_>,
    scratch: &mut UtScratch,
    out: &mut Outcome<UtBatch>,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || {
            let Outcome { results: out, counters } = out;
            if let Err(status) = gather(g, geometry, event, scratch, counters) {
                return status;
            }
            let flips = scratch.raw.first().is_some_and(|hit| hit & FLIPS != 0);
            count(scratch);
            sum(geometry, scratch, out);
            place(geometry, flips, scratch);
            let start = out.hits();
            out.set_items(1, start + scratch.placed.len());
            let UtBatch { x, z, y_begin, y_end, weight, id, .. } = &mut *out;
            decode_in_order(g, geometry, &scratch.placed, start, ([x, z, y_begin, y_end, weight], id));
            if !settle::is_settled(g, geometry, &scratch.placed, start, out) {
                settle::settle(&mut scratch.order, out);
            }
            Status::Ok
        },
    )
}

/// Gathers the hits of an event in the order of banks, and finds their sectors.
#[inline(always)]
fn gather<G: Gang>(
    g: G,
    geometry: &UtGeometry,
    event: &RawEvent<'_>,
    scratch: &mut UtScratch,
    counters: &mut Counters,
) -> Result<(), Status> {
    let banks = event.banks(BankKind::Ut);
    if banks.is_empty() {
        return Err(Status::MissingBanks);
    }
    banks::gather(geometry, event, banks, &mut scratch.raw, counters)?;
    counters.stages[0].items_in += scratch.raw.len() as u64;
    if find_sectors(g, geometry, scratch) { Ok(()) } else { Err(Status::BadBank) }
}

/// Finds the number of each hit's sector in the order of hits; returns false when a hit has no sector.
#[inline(always)]
fn find_sectors<G: Gang>(g: G, geometry: &UtGeometry, scratch: &mut UtScratch) -> bool {
    let UtScratch { raw, sector, .. } = scratch;
    sector.set_len(raw.len());
    let mut bad = Mask::first(g, 0);
    for at in (0..raw.len()).step_by(G::LANES) {
        let hit = U32::load(g, &raw.padded()[at..]) & U32::splat(g, FLIPS - 1);
        let found = U32::gather(&geometry.sector, hit.shr::<LANE_SHIFT>());
        bad = bad | (found.eq(U32::splat(g, NO_SECTOR)) & Mask::first(g, raw.len() - at));
        found.store(&mut sector.padded_mut()[at..]);
    }
    !bad.any()
}

/// Counts the hits of each sector, and for each hit the hits before it in its sector.
#[inline(always)]
fn count(scratch: &mut UtScratch) {
    let UtScratch { sector, rank, start, .. } = scratch;
    rank.set_len(sector.len());
    start.fill(0);
    for (&sector, rank) in sector.iter().zip(&mut rank[..]) {
        // Sectors were checked to be below SECTORS; the last entry catches impossible values.
        let count = &mut start[(sector as usize).min(SECTORS)];
        *rank = *count;
        *count += 1;
    }
}

/// Computes the first index of each sector, and of each group.
#[inline(always)]
fn sum(geometry: &UtGeometry, scratch: &mut UtScratch, out: &mut UtBatch) {
    let first = out.hits() as u32;
    let mut place = 0;
    let mut group = 0;
    for (start, &of) in scratch.start.iter_mut().zip(&geometry.group) {
        // Every group has a sector, so the previous group ends here.
        if of != group {
            out.group_start.push(first + place);
            group = of;
        }
        (*start, place) = (place, place + *start);
    }
    scratch.start[SECTORS] = place;
    out.group_start.push(first + place);
}

/// Puts each hit in its place. In sectors where y (or x) falls with the strip number, places are counted from the end.
#[inline(always)]
fn place(geometry: &UtGeometry, flips: bool, scratch: &mut UtScratch) {
    let UtScratch { raw, sector, rank, placed, start, .. } = scratch;
    placed.set_len(raw.len());
    let falls = &geometry.falls[usize::from(flips)];
    let hits = raw.iter().zip(&sector[..]).zip(&rank[..]);
    for ((&hit, &sector), &rank) in hits {
        let at = (sector as usize).min(SECTORS - 1);
        let place = if falls[at] { start[at + 1] - 1 - rank } else { start[at] + rank };
        placed[place as usize] = hit & (FLIPS | WITHIN_SECTOR) | sector << SECTOR_SHIFT;
    }
}

/// x, z, lower and upper end in y, weight, and LHCbID.
type HitColumns<'a> = ([&'a mut Column<f32>; 5], &'a mut Column<u32>);

/// Decodes the hits and writes them from index `start` on.
#[inline(always)]
fn decode_in_order<G: Gang>(
    g: G,
    geometry: &UtGeometry,
    placed: &Column<u32>,
    start: usize,
    ([out_x, out_z, y_begins, y_ends, weights], ids): HitColumns<'_>,
) {
    let number = U32::splat(g, geometry.first_number);
    for at in (0..placed.len()).step_by(G::LANES) {
        let hit = U32::load(g, &placed.padded()[at..]);
        let flips = !hit.lt(U32::splat(g, FLIPS));
        let sector = (hit & U32::splat(g, FLIPS - 1)).shr::<SECTOR_SHIFT>();
        let [y, y_step, x, x_step] = F32::gather_records(&geometry.across, sector);
        let [z, z_step, length, weight] = F32::gather_records(&geometry.along, sector);
        let strip = hit & U32::splat(g, WITHIN_SECTOR);
        let s = strip.as_i32().to_f32() * F32::splat(g, 0.25);
        let from_end = F32::splat(g, (STRIPS - 1) as f32) - s;
        let s = (flips & z.lt(F32::splat(g, 0.0))).select_f(from_end, s);
        let to = start + at;
        let y_begin = s.mul_add(y_step, y);
        y_begin.store(&mut y_begins.padded_mut()[to..]);
        (y_begin + length).store(&mut y_ends.padded_mut()[to..]);
        s.mul_add(x_step, x).store(&mut out_x.padded_mut()[to..]);
        s.mul_add(z_step, z.abs()).store(&mut out_z.padded_mut()[to..]);
        weight.store(&mut weights.padded_mut()[to..]);
        let id = U32::gather(&geometry.sector_channel, sector) + strip.shr::<2>();
        flips.select_u(id, id + number).store(&mut ids.padded_mut()[to..]);
    }
}
