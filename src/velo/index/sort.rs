//! Sorts the hits of an event by pair of modules and phi bin, and appends them to the index.

use super::{Bins, Index, phi_turn};
use crate::Status;
use crate::event::{Column, VELO_MODULES, VeloEvent};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use crate::velo::config::LimitConfig;
use crate::velo::geometry::PAIRS;

impl Index {
    /// Appends the hits of the first or the second event, in order. If the event cannot be reconstructed, returns the
    /// reason as a status and appends no hits.
    #[inline(always)]
    pub(in crate::velo) fn sort<G: Gang>(
        &mut self,
        g: G,
        number: usize,
        event: &VeloEvent<'_>,
        limits: &LimitConfig,
        scratch: &mut SortScratch,
    ) -> Status {
        let status = check_sizes(event, limits);
        if status != Status::Ok {
            self.no_hits(number);
            return status;
        }
        self.begin_event(number);
        let first = self.hits.len();
        if self.append(g, number, event, limits, scratch) {
            return Status::Ok;
        }
        self.hits.set_len(first);
        self.no_hits(number);
        status_of_bad_hits(event)
    }

    /// Appends an event without hits.
    pub(in crate::velo) fn no_hits(&mut self, number: usize) {
        self.begin_event(number);
        let end = self.hits.len() as u32;
        let row = self.binning.row();
        self.table[number * PAIRS * row..(number + 1) * PAIRS * row].fill(end);
        self.pairs[number * PAIRS..(number + 1) * PAIRS].fill((end, end));
    }

    /// Appends the hits of an event in order; returns whether all hits are where hits can be.
    #[inline(always)]
    fn append<G: Gang>(
        &mut self,
        g: G,
        number: usize,
        event: &VeloEvent<'_>,
        limits: &LimitConfig,
        SortScratch { records, turn: turns, keys, ranks }: &mut SortScratch,
    ) -> bool {
        let reach = F32::splat(g, limits.coordinate);
        let mut sane = Mask::first(g, G::LANES);
        for pair in 0..PAIRS {
            let range = event.module(2 * pair).start..event.module(2 * pair + 1).end;
            let (x, y, z) = (&event.x[range.clone()], &event.y[range.clone()], &event.z[range.clone()]);
            let id = &event.id[range.clone()];
            records.set_len(range.len());
            turns.set_len(range.len());
            keys.set_len(range.len());
            ranks.set_len(range.len());
            let begin = self.hits.len();
            let mut bins = Bins::open(&mut self.table, self.binning, number * PAIRS + pair);
            for at in (0..range.len()).step_by(G::LANES) {
                let lanes = Mask::first(g, range.len() - at);
                let x = F32::load_some(&x[at..], lanes);
                let y = F32::load_some(&y[at..], lanes);
                let z = F32::load_some(&z[at..], lanes);
                sane = sane & x.abs().le(reach) & y.abs().le(reach) & z.abs().le(reach);
                F32::store_records([x, y, z, x], &mut records.padded_mut()[at..]);
                let (turn, _) = phi_turn(g, self.binning.bins, x, y);
                turn.store(&mut turns.padded_mut()[at..]);
                self.binning.bin(g, turn).store(&mut keys.padded_mut()[at..]);
                U32::splat(g, 0).store(&mut self.copy.padded_mut()[begin + at..]);
                U32::splat(g, 0).store(&mut self.used.padded_mut()[begin + at..]);
            }
            for (rank, &key) in ranks.iter_mut().zip(keys.iter()) {
                let count = &mut bins.cells[key as usize];
                *rank = *count;
                *count += 1;
            }
            bins.sum(g, begin as u32, false);
            for at in (0..range.len()).step_by(G::LANES) {
                let first = U32::gather(bins.cells, U32::load(g, &keys.padded()[at..]));
                (first + U32::load(g, &ranks.padded()[at..])).store(&mut keys.padded_mut()[at..]);
            }
            // One index and slices of one length: chained iterators spill here.
            let end = begin + range.len();
            let (hits, source) = (&mut self.hits.padded_mut()[..end], &mut self.source.padded_mut()[..end]);
            let turn = &mut self.turn.padded_mut()[..end];
            let (records, turns, keys) =
                (&records[..range.len()], &turns[..range.len()], &keys[..range.len()]);
            for i in 0..range.len() {
                let place = keys[i] as usize;
                hits[place] = records[i];
                source[place] = id[i];
                turn[place] = turns[i];
            }
            self.close_pair(g, number * PAIRS + pair, range.len());
        }
        sane.all()
    }
}

/// Memory of [`Index::sort`], per hit of a pair: its record, its direction, its bin (replaced by its index later), and
/// its number in the bin.
#[derive(Debug, Default)]
pub(in crate::velo) struct SortScratch {
    records: Column<[f32; 4]>,
    turn: Column<f32>,
    pub(in crate::velo) keys: Column<u32>,
    pub(in crate::velo) ranks: Column<u32>,
}

pub(in crate::velo) fn check_sizes(event: &VeloEvent<'_>, limits: &LimitConfig) -> Status {
    if event.status != Status::Ok {
        event.status
    } else if event.len() > limits.hits as usize {
        Status::TooManyHits
    } else if (0..VELO_MODULES).any(|module| event.module(module).len() > limits.hits_in_module as usize) {
        Status::TooManyHitsInModule
    } else {
        Status::Ok
    }
}

#[cold]
pub(in crate::velo) fn status_of_bad_hits(event: &VeloEvent<'_>) -> Status {
    let finite = |column: &[f32]| column.iter().all(|v| v.is_finite());
    if finite(event.x) && finite(event.y) && finite(event.z) { Status::OutOfRange } else { Status::NotFinite }
}
