//! The branches of candidates on one layer, as notes, and which of them live on.

use super::search::Visit;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Branches as they are found: candidate (a lane of the chunk), hit, chi2 of the candidate with the hit.
#[derive(Debug, Default)]
pub(super) struct Branches {
    pub lane: Column<u32>,
    pub hit: Column<u32>,
    pub chi2: Column<f32>,
    /// Branches of each candidate, side by side: numbers in the columns above.
    of_lane: Column<u32>,
    /// How many there are of each candidate, and how many there may be.
    count: Column<u32>,
    max: u32,
}

impl Branches {
    /// Removes everything and reserves memory for so many candidates of at most `max` branches each.
    pub fn start(&mut self, candidates: usize, max: u32) {
        self.lane.clear();
        self.hit.clear();
        self.chi2.clear();
        self.max = max;
        self.of_lane.set_len(candidates * max as usize);
        self.count.set_len(candidates);
        self.count.fill(0);
    }

    /// Shows each branch, as candidate, number among those of the candidate and chi2, in the order in which they were found; how
    /// many a candidate has no room for.
    #[inline(always)]
    pub fn visit(&mut self, mut branch: impl FnMut(u32, u32, f32)) -> u64 {
        let mut lost = 0;
        for (number, (&lane, &chi2)) in self.lane.iter().zip(self.chi2.iter()).enumerate() {
            let order = self.count[lane as usize];
            if order == self.max {
                lost += 1;
                continue;
            }
            self.count[lane as usize] = order + 1;
            self.of_lane[(lane * self.max + order) as usize] = number as u32;
            branch(lane, order, chi2);
        }
        lost
    }

    /// The number of a candidate's branch in the columns.
    #[inline(always)]
    pub fn number(&self, lane: u32, order: u32) -> usize {
        self.of_lane[(lane * self.max + order) as usize] as usize
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

/// How a branch compares with others of its seed, and which one it is; the smaller, the better. More hits go first, then the
/// smaller chi2; with a penalty there is one number instead, chi2 and penalties. Of equal cost that of the better candidate goes
/// first, then the one found first; the branch without a hit comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

/// Behind all numbers of a candidate's branches: windows give fewer hits (`CylinderConfig::validate`).
const NO_ORDER: u64 = 0xff;

impl Key {
    /// Worse than any branch.
    const LAST: u64 = u64::MAX;

    /// `candidate` is its place among those of the seed, best first; `order` that of the branch among those of the candidate.
    #[inline(always)]
    pub fn new(missed: u32, chi2: f32, penalty: f32, candidate: u32, order: Option<u32>) -> Self {
        let (first, cost) =
            if penalty > 0.0 { (0, penalty.mul_add(missed as f32, chi2)) } else { (missed, chi2) };
        let order = order.map_or(NO_ORDER, u64::from);
        // A sum of squares: its bits are in its order.
        let cost = u64::from(first) << 48 | u64::from(cost.to_bits()) << 16;
        Self(cost | u64::from(candidate) << 8 | order)
    }

    /// The candidate.
    #[inline(always)]
    pub fn candidate(self) -> usize {
        (self.0 >> 8 & 0xff) as usize
    }

    /// The branch of it, unless it is the one without a hit.
    #[inline(always)]
    pub fn order(self) -> Option<u32> {
        let order = self.0 & NO_ORDER;
        (order != NO_ORDER).then_some(order as u32)
    }
}

/// The best branches of each seed, best first.
#[derive(Debug, Default)]
pub(super) struct Best {
    keys: Column<u64>,
    max: usize,
}

impl Best {
    /// Removes all, and makes room for `max` branches of each seed.
    pub fn start(&mut self, seeds: usize, max: usize) {
        self.max = max;
        self.keys.set_len(seeds * max);
        self.keys.fill(Key::LAST);
    }

    /// Offers a branch. Where it comes to stand is not predictable, so that each place is written.
    #[inline(always)]
    pub fn offer(&mut self, seed: u32, Key(key): Key) {
        let keys = &mut self.keys[seed as usize * self.max..][..self.max];
        if keys.last().is_none_or(|last| *last <= key) {
            return;
        }
        let mut before = 0;
        for place in keys {
            let here = *place;
            *place = here.min(key.max(before));
            before = here;
        }
    }

    /// Those of a seed.
    pub fn of(&self, seed: usize) -> impl Iterator<Item = Key> {
        let keys = self.keys[seed * self.max..][..self.max].iter();
        keys.take_while(|key| **key != Key::LAST).map(|key| Key(*key))
    }
}
