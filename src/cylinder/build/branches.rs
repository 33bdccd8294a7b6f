//! The branches of candidates on one layer, as notes, and which of them live on.

use super::search::Visit;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Candidates of a seed at most: `BuildConfig::candidates` is not larger.
pub(super) const MAX_CANDIDATES: usize = 32;

/// Branches as they are found: candidate (a lane of the chunk), hit, chi2 of the candidate with the hit.
#[derive(Debug, Default)]
pub(super) struct Branches {
    pub lane: Column<u32>,
    pub hit: Column<u32>,
    pub chi2: Column<f32>,
    /// Branches of each candidate, side by side: indices in the columns above.
    pub of_lane: Column<u32>,
    /// How many there are of each candidate.
    pub count: Column<u32>,
    max: usize,
}

impl Branches {
    /// Removes everything and reserves memory for so many candidates of at most `max` branches each.
    pub fn start(&mut self, candidates: usize, max: usize) {
        self.lane.clear();
        self.hit.clear();
        self.chi2.clear();
        self.max = max;
        self.of_lane.set_len(candidates * max);
        self.count.set_len(candidates);
        self.count.fill(0);
    }

    /// Puts the branches of each candidate side by side, in the order in which they were found; how many there was no
    /// room for.
    pub fn by_candidate(&mut self) -> u64 {
        let mut lost = 0;
        for (branch, &lane) in self.lane.iter().enumerate() {
            let count = &mut self.count[lane as usize];
            if (*count as usize) < self.max {
                self.of_lane[lane as usize * self.max + *count as usize] = branch as u32;
                *count += 1;
            } else {
                lost += 1;
            }
        }
        lost
    }

    /// The branches of a candidate.
    pub fn of(&self, lane: usize) -> &[u32] {
        &self.of_lane[lane * self.max..][..self.count[lane] as usize]
    }
}

/// Notes what a search finds for the candidates of one gang.
pub(super) struct Note<'a, G: Gang> {
    pub to: &'a mut Branches,
    /// The candidates.
    pub lane: U32<G>,
    /// Their chi2 so far.
    pub chi2: F32<G>,
}

impl<G: Gang> Visit<G> for Note<'_, G> {
    #[inline(always)]
    fn visit(&mut self, _: G, hit: U32<G>, chi2: F32<G>, found: Mask<G>) {
        let at = self.to.lane.len();
        self.to.lane.reserve_total(at + G::LANES);
        self.to.hit.reserve_total(at + G::LANES);
        self.to.chi2.reserve_total(at + G::LANES);
        let count = self.lane.store_packed(&mut self.to.lane.padded_mut()[at..], found);
        hit.store_packed(&mut self.to.hit.padded_mut()[at..], found);
        (self.chi2 + chi2).store_packed(&mut self.to.chi2.padded_mut()[at..], found);
        self.to.lane.set_len(at + count);
        self.to.hit.set_len(at + count);
        self.to.chi2.set_len(at + count);
    }
}

/// How a branch compares with others: the smaller, the better. More hits go first, then the smaller chi2, then the
/// candidate that was the better one, then the hit that was found first. With a penalty, chi2 and penalties go before
/// hits.
#[inline(always)]
pub(super) fn key(missed: u32, chi2: f32, penalty: f32, parent: usize, ordinal: usize) -> u64 {
    let (first, cost) =
        if penalty > 0.0 { (0, penalty.mul_add(missed as f32, chi2)) } else { (missed, chi2) };
    // A sum of squares: its bits are in its order.
    (u64::from(first) << 48) | (u64::from(cost.to_bits()) << 16) | ((parent << 8) | ordinal.min(255)) as u64
}

/// The best branches of a seed, best first.
pub(super) struct Best {
    keys: [u64; MAX_CANDIDATES],
    values: [Survivor; MAX_CANDIDATES],
    len: usize,
    max: usize,
}

/// A branch that lives on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Survivor {
    /// Its candidate, a lane.
    pub lane: u32,
    /// The branch, or the mark of one without a hit.
    pub branch: u32,
}

impl Best {
    pub fn new(max: usize) -> Self {
        Self {
            keys: [0; MAX_CANDIDATES],
            values: [Survivor::default(); MAX_CANDIDATES],
            len: 0,
            max: max.min(MAX_CANDIDATES),
        }
    }

    /// Offers a branch.
    #[inline(always)]
    pub fn offer(&mut self, key: u64, value: Survivor) {
        let mut at = self.len;
        if at == self.max {
            if key >= self.keys[at - 1] {
                return;
            }
            at -= 1;
        } else {
            self.len += 1;
        }
        while at > 0 && key < self.keys[at - 1] {
            (self.keys[at], self.values[at]) = (self.keys[at - 1], self.values[at - 1]);
            at -= 1;
        }
        (self.keys[at], self.values[at]) = (key, value);
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    pub fn survivors(&self) -> &[Survivor] {
        &self.values[..self.len]
    }
}
