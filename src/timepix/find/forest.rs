//! [`Forest`]: sets of numbers that grow together; the smallest number of a set is its root.

use crate::event::Column;
use std::hint::select_unpredictable;

/// Union-find in which a parent is never larger than its child: the time invariant of the paper's section
/// 4.1, when numbers are given in order of time.
#[derive(Debug, Default)]
pub(super) struct Forest {
    parent: Column<u32>,
}

/// Returns the root of a tree, from one of its members, and halves the path to it.
#[inline(always)]
pub(super) fn root(parent: &mut [u32], mut of: u32) -> u32 {
    loop {
        let above = parent[of as usize];
        if above == of {
            return of;
        }
        let next = parent[above as usize];
        parent[of as usize] = next;
        of = next;
    }
}

impl Forest {
    pub fn clear(&mut self) {
        self.parent.clear();
    }

    pub fn len(&self) -> u32 {
        self.parent.len() as u32
    }

    /// Adds a set for each number below `len` that is in no set yet.
    pub fn grow(&mut self, len: u32) {
        let from = self.len();
        self.parent.set_len(len as usize);
        for (parent, own) in self.parent[from as usize..].iter_mut().zip(from..) {
            *parent = own;
        }
    }

    /// Returns the smallest number in the set of `of`, and halves the path to it.
    #[inline(always)]
    pub fn root(&mut self, of: u32) -> u32 {
        root(&mut self.parent, of)
    }

    /// Joins the sets of two numbers; returns the root of the joined set.
    #[inline(always)]
    pub fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
        a.min(b)
    }

    /// Joins the sets of each pair.
    #[inline(never)]
    pub fn join_all(&mut self, pairs: &[[u32; 2]]) {
        let parent = &mut self.parent[..];
        for &[x, y] in pairs {
            // Three steps are nearly always enough, and avoid a branch that depends on the length of the path.
            let above = |of: u32| parent[of as usize];
            let (mut a, mut b) = (above(above(above(x))), above(above(above(y))));
            if (above(a) ^ a) | (above(b) ^ b) != 0 {
                (a, b) = (root(parent, a), root(parent, b));
            }
            if a == b {
                continue;
            }
            parent[x as usize] = a;
            parent[y as usize] = b;
            parent[a.max(b) as usize] = a.min(b);
        }
    }

    /// Numbers the sets in the order of their roots, for [`Forest::number`]. Returns the number of sets. After this
    /// call, sets cannot be joined.
    pub fn number_sets(&mut self) -> u32 {
        let parent = &mut self.parent[..];
        let mut sets = 0;
        for i in 0..parent.len() {
            let above = parent[i] as usize;
            // A parent is smaller than its child, so it already has its number.
            let is_root = above == i;
            parent[i] = select_unpredictable(is_root, sets, parent[above]);
            sets += u32::from(is_root);
        }
        sets
    }

    /// Replaces members by the numbers of their sets.
    pub fn number(&self, members: &mut [u32]) {
        members.iter_mut().for_each(|member| *member = self.parent[*member as usize]);
    }

    /// Returns the number of each member's set.
    pub fn numbers(&self) -> &[u32] {
        &self.parent
    }
}
