//! [`Parents`]: fragments from patterns of linked hits just before.

use super::fragments::LINKS;
use super::recent::REACH;
use crate::event::Column;
use crate::simd::varying::{Mask, U32};
use crate::simd::{Gang, Level};
use std::hint::select_unpredictable;

/// Where a link of hit number `of` leads to.
#[inline(always)]
fn nearest(pattern: u32, of: usize, patterns: &[u32]) -> (usize, u32) {
    let pattern = u64::from(pattern);
    let distance = (pattern | 1 << REACH).trailing_zeros();
    let hit = of.saturating_sub(1 + distance as usize);
    (hit, (pattern >> distance >> 1) as u32 & !patterns[hit])
}

/// Follows patterns.
#[derive(Debug)]
pub(super) struct Parents {
    level: Level,
    /// Of each hit of a block the nearest one that it is linked with, or itself.
    parents: Column<u32>,
    /// Hits that are linked with more than one.
    several: Column<u32>,
}

impl Parents {
    pub fn new(level: Level) -> Self {
        Self { level, parents: Column::default(), several: Column::default() }
    }

    /// Labels from number `from` on become fragments. Returns how many fragments there are now, and how many links.
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
            // About a half of all hits begin a fragment where clusters are small: no branch foresees which.
            labels[i] = select_unpredictable(parent == i, next, labels[parent]);
            next += u32::from(parent == i);
        }
        let mut count = 0;
        for &i in &several[..] {
            // What else the hit is linked with, but its parent is not.
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
                // Without a link the first step is one too many.
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
