//! [`Parents`]: fragments from the patterns of linked recent hits.

use super::fragments::LINKS;
use super::recent::REACH;
use crate::event::Column;
use crate::simd::varying::{Mask, U32};
use crate::simd::{Gang, Level};
use std::hint::select_unpredictable;

/// Returns the nearest hit linked with hit `of`, and the bits of further linked hits that are not linked with the nearest one.
#[inline(always)]
fn nearest(pattern: u32, of: usize, patterns: &[u32]) -> (usize, u32) {
    let pattern = u64::from(pattern);
    let distance = (pattern | 1 << REACH).trailing_zeros();
    let hit = of.saturating_sub(1 + distance as usize);
    (hit, (pattern >> distance >> 1) as u32 & !patterns[hit])
}

/// Finds fragments by following patterns.
#[derive(Debug)]
pub(super) struct Parents {
    level: Level,
    /// Nearest hit that each hit of a block is linked with, or the hit itself.
    parents: Column<u32>,
    /// Hits that are linked with more than one hit.
    several: Column<u32>,
}

impl Parents {
    pub fn new(level: Level) -> Self {
        Self { level, parents: Column::default(), several: Column::default() }
    }

    /// Labels hits from number `from` on with their fragments. Returns the numbers of fragments and of links.
    #[inline(never)]
    pub fn link(
        &mut self,
        patterns: &Column<u32>,
        from: usize,
        mut next: u32,
        labels: &mut [u32],
        links: &mut [[u32; 2]; LINKS],
    ) -> (u32, usize) {
        let Self { level, parents, several } = self;
        crate::dispatch_isa!(*level, g => find_room(g, patterns, from, parents, several));
        let (patterns, parents) = (&patterns[..labels.len()], &parents[..labels.len()]);
        for i in from..labels.len() {
            let parent = parents[i] as usize;
            // About half of all hits begin a fragment when clusters are small: a branch would not be predictable.
            labels[i] = select_unpredictable(parent == i, next, labels[parent]);
            next += u32::from(parent == i);
        }
        let mut count = 0;
        for &i in &several[..] {
            // Hits that this hit is linked with, but its parent is not.
            let (parent, rest) = nearest(patterns[i as usize], i as usize, patterns);
            let (mut hit, mut more) = nearest(rest, parent, patterns);
            let fragment = labels[i as usize];
            links[count & (LINKS - 1)] = [fragment, labels[hit]];
            count += usize::from((rest != 0) & (fragment != labels[hit]));
            while more != 0 {
                (hit, more) = nearest(more, hit, patterns);
                links[count & (LINKS - 1)] = [fragment, labels[hit]];
                count += 1;
            }
        }
        (next, count)
    }
}

#[inline(never)]
fn find_room<G: Gang>(
    g: G,
    patterns: &Column<u32>,
    from: usize,
    parents: &mut Column<u32>,
    several: &mut Column<u32>,
) {
    let n = patterns.len();
    parents.set_len(n);
    several.set_len(n - from);
    let mut count = 0;
    g.vectorize(
        #[inline(always)]
        || {
            let of = patterns[from..].iter().zip(&mut parents[from..]);
            for (i, (&pattern, parent)) in (from as u32..).zip(of) {
                // A hit without a link is its own parent.
                *parent = if pattern == 0 { i } else { i - 1 - pattern.trailing_zeros() };
            }
            let (one, none) = (U32::splat(g, 1), U32::splat(g, 0));
            for start in (from..n).step_by(G::LANES) {
                let pattern = U32::load(g, &patterns.padded()[start..]);
                let is_there = Mask::first(g, n - start);
                let is_one = (pattern & (pattern - one)).eq(none);
                let hit = U32::iota(g) + U32::splat(g, start as u32);
                count += hit.store_packed(&mut several.padded_mut()[count..], is_there.and_not(is_one));
            }
        },
    );
    several.set_len(count);
}
