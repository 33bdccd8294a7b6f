//! The branches of candidates on one layer, stored as candidate, hit and chi2, and the choice of the best branches.

use super::search::Visit;
use crate::event::Column;
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Branches in the order of the search: candidate (a lane of the chunk), hit, chi2 of the candidate with the hit.
#[derive(Debug, Default)]
pub(super) struct Branches {
    pub lane: Column<u32>,
    pub hit: Column<u32>,
    pub chi2: Column<f32>,
    /// Number of branches dropped because their candidate already had the largest number of branches.
    pub lost: u64,
}

impl Branches {
    /// Removes everything.
    pub fn start(&mut self) {
        self.lane.clear();
        self.hit.clear();
        self.chi2.clear();
        self.lost = 0;
    }
}

/// Stores the hits that a search finds for the candidates of one gang.
pub(super) struct Note<'a, G: Gang> {
    to: &'a mut Branches,
    /// The candidates.
    lane: U32<G>,
    /// chi2 of the candidates so far.
    chi2: F32<G>,
    /// Number of further branches that each candidate may have.
    room: U32<G>,
}

impl<'a, G: Gang> Note<'a, G> {
    /// Prepares to store at most `max` branches for each of the candidates `lane`, whose chi2 so far is `chi2`.
    #[inline(always)]
    pub fn new(to: &'a mut Branches, lane: U32<G>, chi2: F32<G>, max: u32) -> Self {
        Self { to, lane, chi2, room: U32::splat(lane.g, max) }
    }
}

impl<G: Gang> Visit<G> for Note<'_, G> {
    #[inline(always)]
    fn visit(&mut self, g: G, hit: U32<G>, chi2: F32<G>, found: Mask<G>) {
        let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
        let fits = found & zero.lt(self.room);
        self.to.lost += (found.count() - fits.count()) as u64;
        self.room = self.room - fits.select_u(one, zero);
        let at = self.to.lane.len();
        self.to.lane.reserve_total(at + G::LANES);
        self.to.hit.reserve_total(at + G::LANES);
        self.to.chi2.reserve_total(at + G::LANES);
        let count = self.lane.store_packed(&mut self.to.lane.padded_mut()[at..], fits);
        hit.store_packed(&mut self.to.hit.padded_mut()[at..], fits);
        (self.chi2 + chi2).store_packed(&mut self.to.chi2.padded_mut()[at..], fits);
        self.to.lane.set_len(at + count);
        self.to.hit.set_len(at + count);
        self.to.chi2.set_len(at + count);
    }
}

/// Rank of a branch among the branches of its seed, and its number; smaller is better. More hits come first, then the
/// smaller chi2; with a penalty, the sum of chi2 and penalties replaces both. Branches of equal cost are ordered by the
/// rank of their candidate, then in the order of the search; the branch without a hit comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u64);

/// Bits of a branch's number: 64 seeds of 32 candidates have at most 64 hits each in their windows
/// (`CylinderConfig::validate`).
pub(super) const BRANCH_BITS: u32 = 18;
/// The number of the branch without a hit.
pub(super) const NO_BRANCH: u32 = (1 << BRANCH_BITS) - 1;
/// Number of bits of a candidate's rank among the candidates of its seed.
const RANK_BITS: u32 = 6;

impl Key {
    /// Key that comes after the keys of all branches.
    pub const LAST: Self = Self(u64::MAX);

    /// Creates the key of a branch. `rank` is the candidate's rank among the candidates of the seed, best first;
    /// `branch` is the number of the branch.
    #[inline(always)]
    pub fn new(missed: u32, chi2: f32, penalty: f32, rank: u32, branch: u32) -> Self {
        let (first, cost) =
            if penalty > 0.0 { (0, penalty.mul_add(missed as f32, chi2)) } else { (missed, chi2) };
        // A sum of squares is not negative, so that its bits have the order of its values.
        let cost = u64::from(first) << 32 | u64::from(cost.to_bits());
        Self((cost << RANK_BITS | u64::from(rank)) << BRANCH_BITS | u64::from(branch))
    }

    /// Returns the rank of the candidate among the candidates of the seed.
    #[inline(always)]
    pub fn candidate(self) -> usize {
        (self.0 >> BRANCH_BITS) as usize & ((1 << RANK_BITS) - 1)
    }

    /// Returns the number of the branch, or [`NO_BRANCH`].
    #[inline(always)]
    pub fn branch(self) -> u32 {
        self.0 as u32 & NO_BRANCH
    }
}

/// The best branches of each seed, best first.
#[derive(Debug, Default)]
pub(super) struct Best {
    keys: Column<u64>,
    max: usize,
}

impl Best {
    /// Removes all branches, and reserves memory for `max` branches of each seed.
    pub fn start(&mut self, seeds: usize, max: usize) {
        self.max = max;
        self.keys.set_len(seeds * max);
        self.keys.fill(Key::LAST.0);
    }

    /// Inserts a branch of a seed. All positions are rewritten, as the CPU cannot predict the final position.
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

    /// Returns the keys of the best branches of a seed, and [`Key::LAST`] in unused positions.
    #[inline(always)]
    pub fn of(&self, seed: usize) -> impl Iterator<Item = Key> {
        self.keys[seed * self.max..][..self.max].iter().map(|key| Key(*key))
    }
}
