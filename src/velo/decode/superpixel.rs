//! Reads superpixels of 2 x 4 pixels. A table gives the clusters of superpixels that the readout marks as isolated; the
//! other superpixels are joined to groups of touching pixels.

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

/// Reads the words of one bank. Returns false when a pixel column does not exist.
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
    let (mut alone, mut grouped) = (Singles::behind(singles), scratch.behind());
    for at in (0..words.count).step_by(G::LANES) {
        let word = U32::load(g, &words.from[at..]);
        let pattern = word & U32::splat(g, 0xFF);
        // A superpixel without pixels makes no cluster.
        let keep = Mask::first(g, words.count - at).and_not(pattern.eq(U32::splat(g, 0)));
        let row = word.shr::<8>() & U32::splat(g, 0x3F);
        let column = word.shr::<14>() & U32::splat(g, 0x1FF);
        bad = bad | keep.and_not(column.lt(U32::splat(g, SUPER_COLUMNS)));
        let neighbours = word.lt(U32::splat(g, 1 << 31));
        grouped.push(g, sensor, Superpixels { column, row, pattern }, keep & neighbours);
        let corner = first | column.shl::<9>() | row.shl::<2>();
        alone.push(g, &words.from[at..], corner, pattern, keep.and_not(neighbours));
    }
    let (end, grouped_end) = (alone.end, grouped.end);
    singles.channel.set_len(end);
    scratch.set_len(grouped_end);
    !bad.any()
}

/// Memory behind the clusters so far, borrowed once a bank: the compiler keeps where it is.
struct Singles<'a> {
    fx: &'a mut [f32],
    fy: &'a mut [f32],
    channel: &'a mut [u32],
    /// Number of clusters.
    end: usize,
}

impl<'a> Singles<'a> {
    #[inline(always)]
    fn behind(clusters: &'a mut Clusters) -> Self {
        let (end, Clusters { fx, fy, channel, .. }) = (clusters.len(), clusters);
        Self { fx: fx.padded_mut(), fy: fy.padded_mut(), channel: channel.padded_mut(), end }
    }

    /// Appends the clusters of the superpixels in the lanes `keep`; lane i has word i of `words`.
    #[inline(always)]
    fn push<G: Gang>(&mut self, g: G, words: &[u32], corner: U32<G>, pattern: U32<G>, keep: Mask<G>) {
        let [fx, fy, pixel, second] = F32::gather_records(&CLUSTER, pattern);
        if keep.and_not(second.to_bits().eq(U32::splat(g, 0))).any() {
            // Some superpixels hold two clusters: push one superpixel after another, so that every gang keeps the order of
            // the words.
            let (bits, mut corners) = (keep.bits(), [0; 64]);
            corner.store(&mut corners);
            for lane in (0..G::LANES).filter(|lane| bits >> lane & 1 == 1) {
                self.push_one(corners[lane], words[lane]);
            }
            return;
        }
        let end = self.end;
        fx.store_packed(&mut self.fx[end..], keep);
        fy.store_packed(&mut self.fy[end..], keep);
        self.end += (corner + pixel.to_bits()).store_packed(&mut self.channel[end..], keep);
    }

    /// Appends the one or two clusters of one superpixel, the lower cluster first.
    #[inline(always)]
    fn push_one(&mut self, corner: u32, word: u32) {
        let mut pattern = word & 0xFF;
        while pattern != 0 {
            let [fx, fy, pixel, second] = CLUSTER[pattern as usize];
            (self.fx[self.end], self.fy[self.end]) = (fx, fy);
            self.channel[self.end] = corner + pixel.to_bits();
            self.end += 1;
            pattern = second.to_bits();
        }
    }
}
