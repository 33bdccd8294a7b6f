//! Reads clusters that the readout found: one word per cluster, with a fixed-point position in fractions of a pixel.

use super::{Clusters, SENSOR_SHIFT, Words};
use crate::Status;
use crate::event::{RawBank, RawEvent};
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};
use crate::velo::geometry::{COLUMNS, SENSORS};
use crate::velo::sensors::ALL_SENSORS;

/// Bits of an LHCbID that report a fraction of a row, and a fraction of a column.
const FRACTION_Y: u32 = 1 << 26;
const FRACTION_X: u32 = 1 << 27;
/// Version 4: lower bits of a source, the number of its pair of sensors.
const PAIR: u16 = 0x1FF;
/// Version 4: bit of a word that selects the sensor of the pair.
const SECOND_SENSOR: u32 = 22;

/// Reads all banks into `out`.
#[inline(never)]
pub(super) fn read_room<G: Gang>(
    g: G,
    event: &RawEvent<'_>,
    banks: &[RawBank],
    out: &mut Clusters,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || read(g, event, banks, out).err().unwrap_or(Status::Ok),
    )
}

#[inline(always)]
fn read<G: Gang>(g: G, event: &RawEvent<'_>, banks: &[RawBank], out: &mut Clusters) -> Result<(), Status> {
    for bank in banks {
        let before = out.len();
        // The versions order banks differently: by sensor, or by pair of sensors.
        if bank.version != banks[0].version {
            return Err(Status::BadBank);
        }
        let sensor = match bank.version {
            4 => 2 * usize::from(bank.source & PAIR),
            _ => usize::from(bank.source),
        };
        // The second sensor of a pair exists when the first sensor does.
        if sensor >= ALL_SENSORS {
            return Err(Status::BadBank);
        }
        let good = match bank.version {
            2 => read_bank::<G, 3, 11, 14, false>(g, Words::counted(event, bank)?, sensor, false, out),
            3 => read_bank::<G, 2, 10, 12, true>(g, Words::counted(event, bank)?, sensor, false, out),
            4 if bank.bytes % 4 != 0 => return Err(Status::TruncatedBank),
            4 => read_bank::<G, 2, 10, 12, true>(g, Words::all(event, bank), sensor, true, out),
            _ => return Err(Status::BadBank),
        };
        if !good {
            return Err(Status::BadBank);
        }
        out.count[sensor / SENSORS] += (out.len() - before) as u32;
    }
    Ok(())
}

/// Reads the words of one bank: FRACTION bits of the row's fraction, then 8 bits of the row, FRACTION bits of the
/// column's fraction from bit X on, and 10 bits of the column from bit COLUMN on. With TELLS, bits of the LHCbIDs mark
/// fractions that are not 0. Words of 0 are padding. Returns false when a column does not exist.
#[inline(always)]
fn read_bank<G: Gang, const FRACTION: u32, const X: u32, const COLUMN: u32, const TELLS: bool>(
    g: G,
    words: Words<'_>,
    sensor: usize,
    pair: bool,
    out: &mut Clusters,
) -> bool {
    let zero = U32::splat(g, 0);
    let fraction = U32::splat(g, (1 << FRACTION) - 1);
    let unit = crate::simd::varying::F32::splat(g, 1.0 / (1 << FRACTION) as f32);
    let first = U32::splat(g, (sensor as u32) << SENSOR_SHIFT);
    let mut bad = Mask::first(g, 0);
    for at in (0..words.count).step_by(G::LANES) {
        let word = U32::load(g, &words.from[at..]);
        let keep = Mask::first(g, words.count - at).and_not(word.eq(zero));
        let row = word.shr::<FRACTION>() & U32::splat(g, 0xFF);
        let column = word.shr::<COLUMN>() & U32::splat(g, 0x3FF);
        let (fy, fx) = (word & fraction, word.shr::<X>() & fraction);
        bad = bad | keep.and_not(column.lt(U32::splat(g, COLUMNS)));
        let mut channel = first | column.shl::<8>() | row;
        if pair {
            let second = word.shr::<SECOND_SENSOR>() & U32::splat(g, 1);
            channel = channel | second.shl::<SENSOR_SHIFT>();
        }
        if TELLS {
            channel = channel | fy.eq(zero).select_u(zero, U32::splat(g, FRACTION_Y));
            channel = channel | fx.eq(zero).select_u(zero, U32::splat(g, FRACTION_X));
        }
        let end = out.len();
        (fx.as_i32().to_f32() * unit).store_packed(&mut out.fx.padded_mut()[end..], keep);
        (fy.as_i32().to_f32() * unit).store_packed(&mut out.fy.padded_mut()[end..], keep);
        let kept = channel.store_packed(&mut out.channel.padded_mut()[end..], keep);
        out.channel.set_len(end + kept);
    }
    !bad.any()
}
