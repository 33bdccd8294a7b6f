//! Finds groups of touching pixels that extend over several superpixels, exactly for any shape.
//!
//! The superpixels of an event are one list, sorted by sensor, column and row. Each superpixel is split into one or two
//! groups of touching pixels, the *nodes*. Four of a node's neighbours are shortly before the node in the list, and
//! their keys differ from the node's by fixed numbers. Two nodes touch if their pixels along the common edge touch:
//!
//! ```text
//!   row + 1 | 127 |            key = ((sensor + 1) * 1024 + column) * 128 + row
//!   row     | 128 | x           the numbers: key of x minus key of its neighbour
//!   row - 1 | 129 | 1           a gang holds LANES nodes x and looks back 1, 2, ... places
//! ```
//! A union-find joins touching nodes, with the first node as the root, in time O(nodes * rows within reach).

use super::patterns::{GROUPS, SUMS};
use super::{COLUMN_SHIFT, Clusters, MODULE_SHIFT, SENSOR_SHIFT};
use crate::Status;
use crate::event::{Column, PAD};
use crate::simd::Gang;
use crate::simd::varying::{F32, I32, Mask, U32};

/// Bits of a row in a key: one bit more than a row needs, so that rows of different columns are never neighbours.
const ROW_BITS: u32 = 7;
const KEY_SENSOR: u32 = ROW_BITS + 10;
/// Number of entries before the first node, far from all nodes: a gang looks back beyond the front of the list.
const FRONT: usize = PAD;
/// Differences of keys: above, to the left, left above, left below.
const BELOW: u32 = 1;
const LEFT: u32 = 1 << ROW_BITS;

/// Reused memory.
#[derive(Debug, Default)]
pub(super) struct GroupScratch {
    /// Superpixels with neighbours: keys and patterns.
    key: Column<u32>,
    pattern: Column<u32>,
    /// Nodes, from index [`FRONT`] on.
    node_key: Column<u32>,
    node: Column<u32>,
    /// Pairs of touching nodes.
    edges: [Column<u32>; 2],
    /// Per node: its root or a node nearer to the root; for a root, sums over its pixels.
    parent: Column<u32>,
    pixels: Column<u32>,
    columns: Column<u32>,
    rows: Column<u32>,
    order: Vec<u64>,
}

/// A gang of superpixels.
#[derive(Clone, Copy)]
pub(super) struct Superpixels<G: Gang> {
    pub(super) column: U32<G>,
    pub(super) row: U32<G>,
    pub(super) pattern: U32<G>,
}

impl GroupScratch {
    /// Removes everything and reserves memory for `words` superpixels.
    #[inline(always)]
    pub(super) fn clear(&mut self, words: usize) {
        self.key.clear();
        self.key.reserve_total(words);
        self.pattern.reserve_total(words);
    }

    /// Memory behind the superpixels so far.
    #[inline(always)]
    pub(super) fn behind(&mut self) -> Grouped<'_> {
        let end = self.key.len();
        Grouped { key: self.key.padded_mut(), pattern: self.pattern.padded_mut(), end }
    }

    /// Sets the number of superpixels, after [`Grouped::push`].
    #[inline(always)]
    pub(super) fn set_len(&mut self, superpixels: usize) {
        self.key.set_len(superpixels);
    }
}

/// Memory behind the superpixels so far, borrowed once a bank: the compiler keeps where it is.
pub(super) struct Grouped<'a> {
    key: &'a mut [u32],
    pattern: &'a mut [u32],
    /// Number of superpixels.
    pub(super) end: usize,
}

impl Grouped<'_> {
    /// Appends the superpixels of a sensor that are in `keep`.
    #[inline(always)]
    pub(super) fn push<G: Gang>(
        &mut self,
        g: G,
        sensor: u32,
        Superpixels { column, row, pattern }: Superpixels<G>,
        keep: Mask<G>,
    ) {
        let key = U32::splat(g, (sensor + 1) << KEY_SENSOR) | column.shl::<ROW_BITS>() | row;
        pattern.store_packed(&mut self.pattern[self.end..], keep);
        self.end += key.store_packed(&mut self.key[self.end..], keep);
    }
}

/// Groups all superpixels and appends the clusters to `out`, in the order of their first nodes.
#[inline(never)]
pub(super) fn join_room<G: Gang>(g: G, scratch: &mut GroupScratch, out: &mut Clusters) -> Status {
    g.vectorize(
        #[inline(always)]
        || {
            if !is_sorted(g, &scratch.key) && !sort(scratch) {
                // A superpixel occurs twice.
                return Status::BadBank;
            }
            split(g, scratch);
            find_edges(g, scratch);
            sum(g, scratch);
            unite(scratch);
            collect(g, scratch, out);
            Status::Ok
        },
    )
}

/// Returns whether the keys strictly increase.
#[inline(always)]
fn is_sorted<G: Gang>(g: G, keys: &Column<u32>) -> bool {
    let mut fall = Mask::first(g, 0);
    for at in (0..keys.len().saturating_sub(1)).step_by(G::LANES) {
        let (one, next) = (U32::load(g, &keys.padded()[at..]), U32::load(g, &keys.padded()[at + 1..]));
        fall = fall | Mask::first(g, keys.len() - 1 - at).and_not(one.lt(next));
    }
    !fall.any()
}

/// Sorts by key; returns false when a key occurs twice.
#[inline(never)]
fn sort(scratch: &mut GroupScratch) -> bool {
    let GroupScratch { key, pattern, order, .. } = scratch;
    order.clear();
    order.extend(key.iter().zip(pattern.padded()).map(|(&key, &p)| u64::from(key) << 8 | u64::from(p)));
    order.sort_unstable();
    for ((key, pattern), &both) in key.iter_mut().zip(pattern.padded_mut()).zip(&*order) {
        (*key, *pattern) = ((both >> 8) as u32, both as u32 & 0xFF);
    }
    key.windows(2).all(|pair| pair[0] < pair[1])
}

/// Makes the nodes: the groups of pixels of each superpixel, the lower group first.
#[inline(always)]
fn split<G: Gang>(g: G, scratch: &mut GroupScratch) {
    let GroupScratch { key, pattern, node_key, node, .. } = scratch;
    let room = FRONT + 2 * key.len() + PAD;
    node_key.set_len(room);
    node.set_len(room);
    node_key[..FRONT].fill(0);
    let mut end = FRONT;
    let (superpixels, key, pattern) = (key.len(), key.padded(), pattern.padded());
    let (keys, nodes) = (node_key.padded_mut(), node.padded_mut());
    for at in (0..superpixels).step_by(G::LANES) {
        let count = G::LANES.min(superpixels - at);
        let groups = U32::gather(&GROUPS, U32::load(g, &pattern[at..]));
        let two = U32::splat(g, 0xFF).lt(groups) & Mask::first(g, count);
        if two.any() {
            for (&key, &pattern) in key[at..at + count].iter().zip(&pattern[at..]) {
                let groups = GROUPS[pattern as usize & 0xFF];
                for group in [groups & 0xFF, groups >> 8] {
                    (keys[end], nodes[end]) = (key, group);
                    end += usize::from(group != 0);
                }
            }
        } else {
            U32::load(g, &key[at..]).store(&mut keys[end..]);
            groups.store(&mut nodes[end..]);
            end += count;
        }
    }
    node_key.set_len(end);
    node.set_len(end);
}

/// Finds all pairs of touching nodes.
#[inline(always)]
fn find_edges<G: Gang>(g: G, scratch: &mut GroupScratch) {
    let GroupScratch { node_key, node, edges: [later, earlier], .. } = scratch;
    let (keys, nodes) = (node_key.padded(), node.padded());
    let zero = U32::splat(g, 0);
    later.clear();
    earlier.clear();
    for at in (FRONT..node_key.len()).step_by(G::LANES) {
        let here = Mask::first(g, node_key.len() - at);
        let (key, group) = (U32::load(g, &keys[at..]), U32::load(g, &nodes[at..]));
        // The lower row, the left column, and its two corners.
        let (bottom, left) = (group & U32::splat(g, 0x11), group & U32::splat(g, 0x0F));
        let (corner, upper) = (group & U32::splat(g, 0x01), (group & U32::splat(g, 0x08)).shl::<1>());
        for back in 1.. {
            let distance = key - U32::load(g, &keys[at - back..]);
            let near = here & distance.lt(U32::splat(g, LEFT + 2));
            if !near.any() {
                break;
            }
            let other = U32::load(g, &nodes[at - back..]);
            // The neighbour's upper row beside our lower row; its right column beside our left column, shifted by one
            // row up and down.
            let top = (other & U32::splat(g, 0x88)).shr::<3>();
            let top = top | top.shl::<4>() | top.shr::<4>();
            let right = other.shr::<4>();
            let right = right | right.shl::<1>() | right.shr::<1>();
            let contact = distance.eq(U32::splat(g, BELOW)).select_u(top & bottom, zero)
                | distance.eq(U32::splat(g, LEFT)).select_u(right & left, zero)
                | distance.eq(U32::splat(g, LEFT + 1)).select_u(other.shr::<7>() & corner, zero)
                | distance.eq(U32::splat(g, LEFT - 1)).select_u(other & upper, zero);
            let touch = near.and_not(contact.eq(zero));
            if touch.any() {
                let index = U32::iota(g) + U32::splat(g, (at - FRONT) as u32);
                let end = later.len();
                later.reserve_total(end + G::LANES);
                earlier.reserve_total(end + G::LANES);
                let count = index.store_packed(&mut later.padded_mut()[end..], touch);
                let before = index - U32::splat(g, back as u32);
                before.store_packed(&mut earlier.padded_mut()[end..], touch);
                later.set_len(end + count);
            }
        }
    }
}

/// Counts the pixels of each node and sums their columns and rows; each node begins as its own root.
#[inline(always)]
fn sum<G: Gang>(g: G, scratch: &mut GroupScratch) {
    let GroupScratch { node_key, node, parent, pixels, columns, rows, .. } = scratch;
    let count = node.len() - FRONT;
    [&mut *parent, pixels, columns, rows].into_iter().for_each(|column| column.set_len(count));
    let (node_key, node) = (&node_key.padded()[FRONT..], &node.padded()[FRONT..]);
    let (parent, pixels) = (parent.padded_mut(), pixels.padded_mut());
    let (columns, rows) = (columns.padded_mut(), rows.padded_mut());
    let byte = U32::splat(g, 0xFF);
    for at in (0..count).step_by(G::LANES) {
        let key = U32::load(g, &node_key[at..]);
        let sums = U32::gather(&SUMS, U32::load(g, &node[at..]));
        let column = key.shr::<ROW_BITS>() & U32::splat(g, 0x3FF);
        let row = key & U32::splat(g, (1 << ROW_BITS) - 1);
        let n = sums & byte;
        (n * column.shl::<1>() + (sums.shr::<8>() & byte)).store(&mut columns[at..]);
        (n * row.shl::<2>() + sums.shr::<16>()).store(&mut rows[at..]);
        n.store(&mut pixels[at..]);
        (U32::iota(g) + U32::splat(g, at as u32)).store(&mut parent[at..]);
    }
}

/// Joins touching nodes; the first node gets the sums of its group.
#[inline(always)]
fn unite(scratch: &mut GroupScratch) {
    let GroupScratch { edges: [later, earlier], parent, pixels, columns, rows, .. } = scratch;
    for (&a, &b) in later.iter().zip(earlier.padded()) {
        let (a, b) = (root(parent, a), root(parent, b));
        // The smaller node stays a root, for any order of the pairs.
        parent[a.max(b) as usize] = a.min(b);
    }
    for node in 0..parent.len() {
        let to = root(parent, node as u32) as usize;
        if to != node {
            pixels[to] += pixels[node];
            columns[to] += columns[node];
            rows[to] += rows[node];
        }
    }
}

/// Returns the root of a node and shortens the path to it.
#[inline(always)]
fn root(parent: &mut Column<u32>, node: u32) -> u32 {
    let mut at = node;
    while parent[at as usize] != at {
        let above = parent[parent[at as usize] as usize];
        parent[at as usize] = above;
        at = above;
    }
    at
}

/// Turns the roots into clusters.
#[inline(always)]
fn collect<G: Gang>(g: G, scratch: &GroupScratch, out: &mut Clusters) {
    let GroupScratch { node_key, parent, pixels, columns, rows, .. } = scratch;
    let nodes = parent.len();
    let (parent, node_key) = (parent.padded(), &node_key.padded()[FRONT..]);
    let (pixels, columns, rows) = (pixels.padded(), columns.padded(), rows.padded());
    for at in (0..nodes).step_by(G::LANES) {
        let index = U32::iota(g) + U32::splat(g, at as u32);
        let is_root = U32::load(g, &parent[at..]).eq(index) & Mask::first(g, nodes - at);
        let sensor = U32::load(g, &node_key[at..]).shr::<KEY_SENSOR>() - U32::splat(g, 1);
        let n = U32::load(g, &pixels[at..]).as_i32();
        let (column, fx) = divide(g, U32::load(g, &columns[at..]).as_i32(), n);
        let (row, fy) = divide(g, U32::load(g, &rows[at..]).as_i32(), n);
        let channel = sensor.shl::<SENSOR_SHIFT>() | column.shl::<COLUMN_SHIFT>() | row;
        let end = out.len();
        fx.store_packed(&mut out.fx.padded_mut()[end..], is_root);
        fy.store_packed(&mut out.fy.padded_mut()[end..], is_root);
        let kept = channel.store_packed(&mut out.channel.padded_mut()[end..], is_root);
        out.channel.set_len(end + kept);
    }
    for channel in &out.channel[..] {
        out.count[(channel >> MODULE_SHIFT) as usize] += 1;
    }
}

/// Returns the integer quotient and the fraction. The quotient is below 1024, so the float quotient is off by one at
/// most.
#[inline(always)]
fn divide<G: Gang>(g: G, sum: I32<G>, n: I32<G>) -> (U32<G>, F32<G>) {
    let (zero, one) = (I32::splat(g, 0), I32::splat(g, 1));
    let quotient = (sum.to_f32() / n.to_f32()).to_i32();
    let rest = sum - quotient * n;
    let (low, high) = (rest.lt(zero), !rest.lt(n));
    let quotient = low.select_i(quotient - one, high.select_i(quotient + one, quotient));
    let rest = low.select_i(rest + n, high.select_i(rest - n, rest));
    (quotient.to_bits(), rest.to_f32() / n.to_f32())
}
