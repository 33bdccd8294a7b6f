//! Removes clones among tracks in x: of candidates that share hits, only the best remains (if equally good, the first).

use super::exact::{Candidates, VALUE, VALUES};
use crate::event::Column;
use crate::scifi::config::RowPass;
use crate::scifi::layers::X_LAYERS;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, array_of, for_each};

/// Bits of a candidate's number, and of its value, which is not negative.
const NUMBER_BITS: u32 = 16;
const VALUE_BITS: u32 = 31;
/// Most candidates that can be numbered.
pub(super) const MOST: usize = 1 << NUMBER_BITS;
/// Number of calls after which the words are cleared.
const EPOCHS: u64 = 1 << (u64::BITS - NUMBER_BITS - VALUE_BITS);
/// The half of a word that contains the number.
const LOW: u32 = if cfg!(target_endian = "little") { 0 } else { 1 };

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct CloneScratch {
    /// Smallest word of epoch, value and number, per place. The epoch falls with each call, so that old words need not be
    /// cleared.
    least: Column<u64>,
    epoch: u64,
}

impl CloneScratch {
    /// Keeps the candidates that are the best for enough of their hits, in their order; `places` is the number of places.
    #[inline(always)]
    pub(super) fn keep_best<G: Gang>(
        &mut self,
        g: G,
        pass: &RowPass,
        places: usize,
        candidates: &mut Candidates,
    ) {
        if self.epoch == 0 || self.least.len() < places {
            self.least.set_len(places.max(self.least.len()));
            self.least.fill(u64::MAX);
            self.epoch = EPOCHS - 1;
        }
        self.epoch -= 1;
        let top = self.epoch << (VALUE_BITS + NUMBER_BITS);
        let len = candidates.len;
        let hits: [&[u32]; X_LAYERS] = array_of!(layer => &candidates.hits.column(layer)[..len]);
        let words = &mut self.least[..places];
        for (number, value) in candidates.values.column(VALUE)[..len].iter().enumerate() {
            let word = top | u64::from(value.to_bits()) << NUMBER_BITS | number as u64;
            for_each!(layer < X_LAYERS => {
                let least = &mut words[hits[layer][number] as usize];
                *least = word.min(*least);
            });
        }
        let least: &[u32] = bytemuck::cast_slice(&self.least);
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let number_mask = U32::splat(g, (1 << NUMBER_BITS) - 1);
        let mut kept = 0;
        let (hits, values) = (candidates.hits.columns_mut(), candidates.values.columns_mut());
        for at in (0..len).step_by(G::LANES) {
            let number = U32::splat(g, at as u32) + U32::iota(g);
            let mut own = zero;
            let places: [U32<G>; X_LAYERS + 1] = array_of!(column => U32::load(g, &hits[column][at..]));
            for_each!(layer < X_LAYERS => {
                let hit = places[layer];
                let word = U32::gather(least, hit + hit + U32::splat(g, LOW));
                let is_own = ((word ^ number) & number_mask).eq(zero);
                own = own.count(is_own.and_not(hit.eq(zero)));
            });
            let has_all = places[X_LAYERS].eq(U32::splat(g, X_LAYERS as u32));
            let enough =
                has_all.select_u(U32::splat(g, pass.min_own_of_six), U32::splat(g, pass.min_own_hits));
            let best = enough.lt(own + one) & Mask::first(g, len - at);
            for_each!(column < X_LAYERS + 1 => {
                places[column].store_packed(&mut hits[column][kept..], best);
            });
            for_each!(column < VALUES => {
                F32::load(g, &values[column][at..]).store_packed(&mut values[column][kept..], best);
            });
            kept += best.count();
        }
        candidates.len = kept;
    }
}
