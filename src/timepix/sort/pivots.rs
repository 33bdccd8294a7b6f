//! [`Pivots`]: sorts the words of a large bucket by splitting it at pivots.

use super::buckets::By;
use super::ranks::{FEW, insert, rank};
use crate::simd::varying::{Mask, U32};
use crate::simd::{Gang, inlined};

/// Most words of a bucket.
pub(super) const MANY: usize = 1 << 10;
/// Largest number of keys that are ranked without a further split.
const RANKED: usize = 48;
/// Room for the last keys, which are written as full registers.
const ROOM: usize = MANY + FEW;
/// Largest number of waiting parts: when pivots split so badly, words are sorted one by one.
const DEPTH: usize = 24;

/// Keys of 32 bits and the numbers of their words: all, and the ones that a pivot has sent to the left and to the right.
#[derive(Debug, Default)]
pub(super) struct Pivots {
    all: Keys,
    left: Keys,
    right: Keys,
}

#[derive(Debug)]
struct Keys {
    keys: [u32; ROOM],
    numbers: [u32; ROOM],
}

impl Default for Keys {
    fn default() -> Self {
        Self { keys: [0; ROOM], numbers: [0; ROOM] }
    }
}

impl Pivots {
    /// Sorts at most [`MANY`] words of a bucket by their keys; equal words keep their order.
    #[inline(always)]
    pub fn sort<G: Gang>(&mut self, g: G, by: By, words: &[u64], to: &mut [u64]) {
        let Keys { keys, numbers } = &mut self.all;
        for ((number, word), (key, to)) in (0..).zip(words).zip(keys.iter_mut().zip(numbers)) {
            (*key, *to) = (by.key(*word), number);
        }
        // A part waits until all parts to its left are sorted.
        let (mut start, mut ends, mut waiting) = (0, [words.len(); DEPTH], 1);
        while waiting > 0 {
            let end = ends[waiting - 1];
            if end - start > RANKED && waiting < DEPTH {
                let left = self.part(g, start, end);
                if start + left < end {
                    ends[waiting] = start + left;
                    waiting += 1;
                    continue;
                }
            }
            if end - start > RANKED || !self.rank(g, start, end, words, to) {
                self.insert(by.low, start, end, words, to);
            }
            (start, waiting) = (end, waiting - 1);
        }
    }

    /// Writes the words of a part to their positions. Returns whether no two are equal.
    #[inline(always)]
    fn rank<G: Gang>(&self, g: G, start: usize, end: usize, words: &[u64], to: &mut [u64]) -> bool {
        let Keys { keys, numbers } = &self.all;
        let keys: &[u32; FEW] = keys[start..].first_chunk().expect("padding follows the keys");
        let (numbers, to) = (&numbers[start..end], &mut to[start..end]);
        let key = inlined!(|i: usize| keys[i]);
        let put = inlined!(|i: usize, place: usize| to[place] = words[numbers[i] as usize]);
        rank(g, end - start, key, put)
    }

    #[cold]
    #[inline(never)]
    fn insert(&self, low: u32, start: usize, end: usize, words: &[u64], to: &mut [u64]) {
        let to = &mut to[start..end];
        for (to, number) in to.iter_mut().zip(&self.all.numbers[start..end]) {
            *to = words[*number as usize];
        }
        insert(low, to);
    }

    /// Moves keys below a pivot to the front or, if none is below it, the keys equal to it; keys keep their order. Returns
    /// the number of moved keys.
    #[inline(always)]
    fn part<G: Gang>(&mut self, g: G, start: usize, end: usize) -> usize {
        let pivot = self.pivot(start, end);
        match self.part_at(g, start, end, pivot) {
            0 => pivot.checked_add(1).map_or(end - start, |pivot| self.part_at(g, start, end, pivot)),
            below => below,
        }
    }

    /// Returns the median of three medians of three.
    #[inline(always)]
    fn pivot(&self, start: usize, end: usize) -> u32 {
        let keys = &self.all.keys[start..end];
        let step = keys.len() / 10;
        let middle = |a: u32, b: u32, c: u32| a.min(b).max(a.max(b).min(c));
        let of = |i: usize| middle(keys[i * step], keys[(i + 1) * step], keys[(i + 2) * step]);
        middle(of(1), of(4), of(7))
    }

    #[inline(always)]
    fn part_at<G: Gang>(&mut self, g: G, start: usize, end: usize, pivot: u32) -> usize {
        let Self { all, left, right } = self;
        let limit = U32::splat(g, pivot);
        let (mut below, mut rest) = (0, 0);
        for i in (start..end).step_by(G::LANES) {
            let (key, number) = (U32::load(g, &all.keys[i..]), U32::load(g, &all.numbers[i..]));
            let (is_there, is_below) = (Mask::first(g, end - i), key.lt(limit));
            let (to_left, to_right) = (is_there & is_below, is_there.and_not(is_below));
            key.store_packed(&mut left.keys[below..], to_left);
            below += number.store_packed(&mut left.numbers[below..], to_left);
            key.store_packed(&mut right.keys[rest..], to_right);
            rest += number.store_packed(&mut right.numbers[rest..], to_right);
        }
        let (keys, numbers) = (&mut all.keys[start..end], &mut all.numbers[start..end]);
        keys[..below].copy_from_slice(&left.keys[..below]);
        numbers[..below].copy_from_slice(&left.numbers[..below]);
        keys[below..].copy_from_slice(&right.keys[..rest]);
        numbers[below..].copy_from_slice(&right.numbers[..rest]);
        below
    }
}
