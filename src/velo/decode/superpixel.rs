//! Superpixels: 2 x 4 pixels each. A table gives the clusters of superpixels that the readout marks as isolated; the
//! other superpixels are grouped.

use super::groups::{self, GroupScratch, Superpixels};
use super::patterns::CLUSTER;
use super::{Clusters, SENSOR_SHIFT, Words};
use crate::Status;
use crate::event::{RawBank, RawEvent};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::geometry::{COLUMNS, SENSORS};
use crate::velo::sensors::ALL_SENSORS;

/// Columns of superpixels in a sensor.
const SUPER_COLUMNS: u32 = COLUMNS / 2;

/// Reads all banks: clusters of single superpixels into `singles`, all others into `joined`.
#[inline(never)]
pub(super) fn read_room<G: Gang>(
    g: G,
    event: &RawEvent<'_>,
    banks: &[RawBank],
    singles: &mut Clusters,
    joined: &mut Clusters,
    scratch: &mut GroupScratch,
) -> Status {
    let read = g.vectorize(
        #[inline(always)]
        || read(g, event, banks, singles, scratch),
    );
    match read {
        Ok(()) => groups::join_room(g, scratch, joined),
        Err(status) => status,
    }
}

#[inline(always)]
fn read<G: Gang>(
    g: G,
    event: &RawEvent<'_>,
    banks: &[RawBank],
    singles: &mut Clusters,
    scratch: &mut GroupScratch,
) -> Result<(), Status> {
    scratch.clear(banks.iter().map(|bank| bank.bytes as usize / 4).sum());
    for bank in banks {
        let sensor = usize::from(bank.source);
        if sensor >= ALL_SENSORS || bank.version != 2 {
            return Err(Status::BadBank);
        }
        let before = singles.len();
        if !read_bank(g, Words::counted(event, bank)?, sensor as u32, singles, scratch) {
            return Err(Status::BadBank);
        }
        singles.count[sensor / SENSORS] += (singles.len() - before) as u32;
    }
    Ok(())
}

/// Reads the words of one bank. Returns false when a column does not exist.
#[inline(always)]
fn read_bank<G: Gang>(
    g: G,
    words: Words<'_>,
    sensor: u32,
    singles: &mut Clusters,
    scratch: &mut GroupScratch,
) -> bool {
    let first = U32::splat(g, sensor << SENSOR_SHIFT);
    let mut bad = Mask::first(g, 0);
    for at in (0..words.count).step_by(G::LANES) {
        let word = U32::load(g, &words.from[at..]);
        let pattern = word & U32::splat(g, 0xFF);
        // A superpixel without pixels makes no cluster.
        let keep = Mask::first(g, words.count - at).and_not(pattern.eq(U32::splat(g, 0)));
        let row = word.shr::<8>() & U32::splat(g, 0x3F);
        let column = word.shr::<14>() & U32::splat(g, 0x1FF);
        bad = bad | keep.and_not(column.lt(U32::splat(g, SUPER_COLUMNS)));
        let neighbours = word.lt(U32::splat(g, 1 << 31));
        scratch.push(g, sensor, Superpixels { column, row, pattern }, keep & neighbours);
        let corner = first | column.shl::<9>() | row.shl::<2>();
        push(g, &words.from[at..], corner, pattern, keep.and_not(neighbours), singles);
    }
    !bad.any()
}

/// Appends the clusters of the superpixels in the lanes `keep`; lane i has word i of `words`.
#[inline(always)]
fn push<G: Gang>(g: G, words: &[u32], corner: U32<G>, pattern: U32<G>, keep: Mask<G>, out: &mut Clusters) {
    let [fx, fy, pixel, second] = F32::gather_records(&CLUSTER, pattern);
    if keep.and_not(second.to_bits().eq(U32::splat(g, 0))).any() {
        // Some superpixels hold two clusters: push one superpixel after another, so that every gang keeps the order of
        // the words.
        let (bits, mut corners) = (keep.bits(), [0; 64]);
        corner.store(&mut corners);
        for lane in (0..G::LANES).filter(|lane| bits >> lane & 1 == 1) {
            push_one(corners[lane], words[lane], out);
        }
        return;
    }
    let end = out.len();
    fx.store_packed(&mut out.fx.padded_mut()[end..], keep);
    fy.store_packed(&mut out.fy.padded_mut()[end..], keep);
    let kept = (corner + pixel.to_bits()).store_packed(&mut out.channel.padded_mut()[end..], keep);
    out.channel.set_len(end + kept);
}

/// Appends the one or two clusters of one superpixel, the lower cluster first.
#[inline(always)]
fn push_one(corner: u32, word: u32, out: &mut Clusters) {
    let mut pattern = word & 0xFF;
    while pattern != 0 {
        let [fx, fy, pixel, second] = CLUSTER[pattern as usize];
        let end = out.len();
        out.fx.padded_mut()[end] = fx;
        out.fy.padded_mut()[end] = fy;
        out.channel.push(corner + pixel.to_bits());
        pattern = second.to_bits();
    }
}
