//! Sorts the channel codes of a quarter by x: copies its modules, and the codes of each module, forward or backward.
//!
//! Codes are copied in whole blocks, because branch predictors cannot guess the size of a module, and most modules fit
//! in one block. The last block of a module includes codes beyond its end, which the next module overwrites.

use super::CHANNEL_SHIFT;
use crate::event::Column;
use crate::scifi::geometry::Part;
use crate::simd::Gang;
use crate::simd::varying::{Mask, U32};
use std::ops::Range;

/// Codes that are copied at once.
const BLOCK: usize = 32;
/// Number of bits of a code below its module number.
const MODULE_SHIFT: u32 = CHANNEL_SHIFT + 11;

/// The codes of a quarter in the order of channels, after one block that is read but never used.
#[derive(Debug, Default)]
pub(super) struct Quarter {
    pub(super) codes: Column<u32>,
    /// Index of the last code of each module.
    last: Column<u32>,
}

impl Quarter {
    /// Removes all codes.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.codes.set_len(BLOCK);
    }

    /// Appends the codes in the order of x to `codes`.
    #[inline(always)]
    pub(super) fn append_to<G: Gang>(&mut self, g: G, part: &Part, codes: &mut Column<u32>) {
        let all = BLOCK..self.codes.len();
        if all.is_empty() {
            return;
        }
        let from = self.codes.padded();
        match (part.modules_fall, part.modules_turned) {
            (false, false) => copy(from, all, codes),
            (true, false) => copy_turned(from, all, codes),
            (false, true) => {
                let mut first = BLOCK;
                for &last in list_last(g, from, all, &mut self.last) {
                    copy_turned(from, first..last as usize + 1, codes);
                    first = last as usize + 1;
                }
            }
            (true, true) => {
                let mut end = all.end;
                let last_ones = list_last(g, from, all, &mut self.last);
                for &last in last_ones.iter().rev().skip(1) {
                    copy(from, last as usize + 1..end, codes);
                    end = last as usize + 1;
                }
                copy(from, BLOCK..end, codes);
            }
        }
    }
}

/// Lists the index of the last code of each module.
#[inline(always)]
fn list_last<'a, G: Gang>(g: G, from: &[u32], all: Range<usize>, last: &'a mut Column<u32>) -> &'a [u32] {
    last.reserve_total(all.len());
    let mut modules = 0;
    let end = all.end - 1;
    for at in (all.start..end).step_by(G::LANES) {
        let differ = U32::load(g, &from[at..]) ^ U32::load(g, &from[at + 1..]);
        let here = Mask::first(g, end - at);
        let is_last = here.and_not(differ.shr::<MODULE_SHIFT>().eq(U32::splat(g, 0)));
        let code = U32::iota(g) + U32::splat(g, at as u32);
        modules += code.store_packed(&mut last.padded_mut()[modules..], is_last);
    }
    last.set_len(modules);
    last.push(end as u32);
    last
}

/// Appends a range of codes.
#[inline(always)]
fn copy(from: &[u32], range: Range<usize>, codes: &mut Column<u32>) {
    let begin = codes.len();
    codes.set_len(begin + range.len());
    for (to, from) in codes.padded_mut()[begin..]
        .chunks_exact_mut(BLOCK)
        .zip(range.clone().step_by(BLOCK).map(|at| &from[at..at + BLOCK]))
    {
        to.copy_from_slice(from);
    }
}

/// Appends a range of codes in reverse order.
#[inline(always)]
fn copy_turned(from: &[u32], range: Range<usize>, codes: &mut Column<u32>) {
    let begin = codes.len();
    codes.set_len(begin + range.len());
    for at in (0..range.len()).step_by(BLOCK) {
        let end = range.end - at;
        let mut block = [0; BLOCK];
        block.copy_from_slice(&from[end - BLOCK..end]);
        block.reverse();
        codes.padded_mut()[begin + at..][..BLOCK].copy_from_slice(&block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    /// Tests modules shorter and longer than a block, a module number that appears twice, and no modules.
    #[test]
    fn modules_and_their_hits_are_turned() {
        let lengths: [usize; 9] = [1, 31, 2, 32, 33, 100, 64, 1, 7];
        for modules in 0..=lengths.len() {
            let mut given: Vec<Vec<u32>> = Vec::new();
            for (module, length) in lengths[..modules].iter().enumerate() {
                let number = [0, 1, 2, 1, 4, 5, 7, 6, 5][module] << MODULE_SHIFT;
                given.push((0..*length as u32).map(|code| number | code << CHANNEL_SHIFT | 3).collect());
            }
            for (modules_fall, modules_turned) in [(false, false), (false, true), (true, false), (true, true)]
            {
                let mut expected: Vec<u32> = given.concat();
                let mut runs = given.clone();
                if modules_fall {
                    expected.reverse();
                    runs.reverse();
                    runs.iter_mut().for_each(|run| run.reverse());
                }
                if modules_turned {
                    runs.iter_mut().for_each(|run| run.reverse());
                    expected = runs.concat();
                }
                let part = Part { quarter: 0, modules_fall, modules_turned };
                for level in Level::usual() {
                    let (mut quarter, mut codes) = (Quarter::default(), Column::default());
                    // The codes that were there before must not appear.
                    quarter.codes.extend_from_slice(&[7; 500]);
                    codes.extend_from_slice(&[9, 8]);
                    quarter.clear();
                    quarter.codes.extend_from_slice(&given.concat());
                    crate::dispatch_isa!(level, g => quarter.append_to(g, &part, &mut codes));
                    assert_eq!(codes[..2], [9, 8], "{level}");
                    assert_eq!(codes[2..], expected, "{modules} {modules_fall} {modules_turned} {level}");
                }
            }
        }
    }
}
