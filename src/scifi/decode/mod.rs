//! Decode: converts raw banks of an event to hits sorted by zone (layer and half) and x.
//!
//! ```text
//! banks of version 5 -> stream: a quarter's words, in the order of channels
//!                    -> edges: pairs of words that are the ends of one wide cluster     (in lanes)
//! other versions     -> words: one after another, sorted by zone
//!       both         -> codes: channel, width, half of the channel; by zone and x, nearly always
//!                    -> place: x, z, y of the fibre's end, LHCbID; is x in order?       (in lanes)
//!                    -> settle: sorts the zones that are not in order
//! ```
//! The hits of a zone can be out of order because neighbouring mats overlap and boards may have links in any order.

mod arrange;
mod edges;
#[cfg(feature = "reference")]
mod reference;
mod settle;
mod words;

#[cfg(feature = "reference")]
pub use reference::{position_f64, reference, reference_with};

use super::geometry::{Boards, LINKS, SciFiGeometry};
use crate::Status;
use crate::event::{
    BankKind, Column, Outcome, RawBank, RawEvent, RawEvents, Results, SCIFI_ZONES, SciFiBatch, StageClock,
};
use crate::lhcb::banks::Salvage;
use crate::lhcb::decode::{Order, decode_each};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, Level};
use arrange::Quarter;
use std::ops::Range;

/// Most words of an event, and most hits: a wide cluster is several hits.
const MAX_WORDS: usize = 1 << 16;
const MAX_HITS: usize = 1 << 17;
/// Layout of a code: half of the channel in 1 bit, width in 4 bits, channel in 20 bits.
const WIDTH_SHIFT: u32 = 1;
const CHANNEL_SHIFT: u32 = 5;
const CHANNEL: u32 = (1 << 20) - 1;
/// Stored width of a cluster of one word, and of a part of a wide cluster.
const USUAL: u32 = 4;
const PART: u32 = 0;

/// Memory of the decoder that one thread reuses from event to event.
#[derive(Debug)]
pub struct SciFiScratch {
    /// Words of a quarter, or codes in the order of banks.
    stream: Column<u32>,
    /// Codes of a quarter, before they are put into the order of x.
    quarter: Quarter,
    codes: Column<u32>,
    /// First code of each zone, and the number of all codes.
    zones: [u32; SCIFI_ZONES + 1],
    order: Order,
    /// Events without their damaged banks.
    pub(crate) salvage: Salvage,
}

impl Default for SciFiScratch {
    fn default() -> Self {
        Self {
            stream: Column::default(),
            quarter: Quarter::default(),
            codes: Column::default(),
            zones: [0; SCIFI_ZONES + 1],
            order: Order::default(),
            salvage: Salvage::default(),
        }
    }
}

/// Decodes the events of `range` and appends them to `out`, in order. An event that cannot be decoded has no hits, and
/// its [`Status`] gives the reason. The counters of the first stage count words read and hits written.
///
/// Output bytes do not depend on `level`. Memory is allocated only until `scratch` and `out` are large enough.
///
/// # Panics
/// Panics if `range` is not within the events.
pub fn decode(
    level: Level,
    geometry: &SciFiGeometry,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut SciFiScratch,
    out: &mut Outcome<SciFiBatch>,
) {
    let mut clock = StageClock::start();
    crate::simd::kernels!(dispatch_wide!(level, g => run(g, geometry, events, range, scratch, out)));
    clock.lap(&mut out.counters.stages[0]);
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    geometry: &SciFiGeometry,
    events: RawEvents<'_>,
    range: Range<usize>,
    scratch: &mut SciFiScratch,
    out: &mut Outcome<SciFiBatch>,
) {
    let mut salvage = std::mem::take(&mut scratch.salvage);
    decode_each(events, range, (BankKind::SciFi, &mut salvage), out, |event, out| {
        let words = |bank: &RawBank| u64::from(bank.bytes / 2);
        out.counters.stages[0].items_in += event.banks(BankKind::SciFi).iter().map(words).sum::<u64>();
        match codes_room(g, geometry, event, scratch) {
            Status::Ok => place_room(g, geometry, scratch, &mut out.results),
            status => status,
        }
    });
    scratch.salvage = salvage;
}

/// Converts the clusters of all banks to codes, by zone and, nearly always, by x.
#[inline(never)]
fn codes_room<G: Gang>(
    g: G,
    geometry: &SciFiGeometry,
    event: &RawEvent<'_>,
    scratch: &mut SciFiScratch,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || {
            let banks = event.banks(BankKind::SciFi);
            if banks.is_empty() {
                return Status::MissingBanks;
            }
            let status = check_banks(geometry, banks);
            if status != Status::Ok {
                return status;
            }
            match &geometry.board_quarter {
                Some(quarters) if banks.iter().all(|bank| bank.version == 5) => {
                    edges::by_quarter(g, geometry, quarters, event, banks, scratch)
                }
                _ => words::one_by_one(geometry, event, banks, scratch),
            }
        },
    )
}

/// Checks the versions, sources and lengths of the banks.
#[inline(always)]
fn check_banks(geometry: &SciFiGeometry, banks: &[RawBank]) -> Status {
    let mut words = 0;
    for bank in banks {
        let known = match (&geometry.boards, bank.version) {
            (Boards::Consecutive(first), 4..=6) => usize::from(bank.source) < first.len(),
            (Boards::Mapped(boards), 7 | 8) => find_board(boards, bank.source).is_some(),
            _ => false,
        };
        if !known {
            return Status::BadBank;
        }
        if bank.bytes < 4 {
            return Status::TruncatedBank;
        }
        words += usize::from(bank.bytes) / 2;
    }
    if words > MAX_WORDS { Status::OversizedBank } else { Status::Ok }
}

/// Finds the SiPMs of the links of a source.
#[inline(always)]
fn find_board(boards: &[(u32, [u32; LINKS])], source: u16) -> Option<&[u32; LINKS]> {
    let at = boards.binary_search_by_key(&u32::from(source), |board| board.0).ok()?;
    Some(&boards[at].1)
}

/// Returns the words of a bank after its header, without the 0 that may fill up the last 32-bit word.
#[inline(always)]
fn words_of<'a>(event: &RawEvent<'a>, bank: &RawBank) -> &'a [u16] {
    let words = &bytemuck::cast_slice::<u32, u16>(event.words(bank))[2..usize::from(bank.bytes) / 2];
    match words {
        [before @ .., 0] => before,
        all => all,
    }
}

/// Builds a code from its parts.
#[inline(always)]
const fn code(channel: u32, width: u32, half: u32) -> u32 {
    (channel & CHANNEL) << CHANNEL_SHIFT | width << WIDTH_SHIFT | half
}

#[inline(never)]
fn place_room<G: Gang>(
    g: G,
    geometry: &SciFiGeometry,
    scratch: &mut SciFiScratch,
    out: &mut SciFiBatch,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || {
            let SciFiScratch { codes, zones, order, .. } = scratch;
            let start = out.hits();
            out.set_items(1, start + codes.len());
            if !place(g, geometry, codes, start, out) {
                return Status::BadBank;
            }
            for zone in 0..SCIFI_ZONES {
                let range = start + zones[zone] as usize..start + zones[zone + 1] as usize;
                if !settle::is_settled(g, out, range.clone()) {
                    settle::settle(order, out, range.clone());
                }
                out.zone_start.push(range.end as u32);
            }
            Status::Ok
        },
    )
}

/// Turns codes into hits from index `start` on. Returns false when a code is on no mat.
#[inline(always)]
fn place<G: Gang>(
    g: G,
    geometry: &SciFiGeometry,
    codes: &Column<u32>,
    start: usize,
    out: &mut SciFiBatch,
) -> bool {
    let mut good = true;
    for at in (0..codes.len()).step_by(G::LANES) {
        let code = U32::load(g, &codes.padded()[at..]);
        let channel = code.shr::<CHANNEL_SHIFT>();
        let mat = channel.shr::<9>();
        let [x, x_step, y, y_step] = F32::gather_records(&geometry.across, mat);
        let [z, z_step, slope_x, slope_z] = F32::gather_records(&geometry.along, mat);
        // Middle of the hit in half channels from the start of its SiPM; the SiPM; whether the hit is beyond the SiPM's gap.
        let halves =
            (channel & U32::splat(g, 0x7F)).shl::<1>() + U32::splat(g, 1) + (code & U32::splat(g, 1));
        let sipm = channel.shr::<7>() & U32::splat(g, 3);
        let gap = (channel & U32::splat(g, 0x40))
            .eq(U32::splat(g, 0))
            .select_f(F32::splat(g, 0.0), F32::splat(g, geometry.die_gap));
        let base =
            sipm.as_i32().to_f32().mul_add(F32::splat(g, geometry.sipm_pitch), F32::splat(g, geometry.begin));
        let u = halves.as_i32().to_f32().mul_add(F32::splat(g, geometry.half_pitch), base) + gap;
        let end_y = y_step.mul_add(u, y);
        let hit_x = end_y.neg_mul_add(slope_x, x_step.mul_add(u, x));
        let hit_z = end_y.neg_mul_add(slope_z, z_step.mul_add(u, z));
        let here = Mask::first(g, codes.len() - at);
        // The slope of a missing mat is NaN.
        good &= !here.and_not(hit_z.eq(hit_z)).any();
        let to = start + at;
        hit_x.store(&mut out.x.padded_mut()[to..]);
        hit_z.store(&mut out.z.padded_mut()[to..]);
        end_y.store(&mut out.y_end.padded_mut()[to..]);
        (channel | U32::splat(g, geometry.detector)).store(&mut out.id.padded_mut()[to..]);
        (code & U32::splat(g, (1 << CHANNEL_SHIFT) - 1)).store(&mut out.width.padded_mut()[to..]);
    }
    good
}
