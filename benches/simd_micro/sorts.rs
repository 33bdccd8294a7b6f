//! The short-segment sort against the standard library's sort, on segments as long as the list of hits of a detector module.

use crate::kernels::Random;
use peloton::dispatch;
use peloton::simd::{Level, sort};

/// Many segments of one length, so that no branch predictor learns their order.
pub struct Sorts {
    keys: Vec<u32>,
    pub order: Vec<u32>,
    pairs: Vec<u64>,
    len: usize,
}

impl Sorts {
    pub const LENGTHS: [usize; 6] = [8, 16, 48, 128, 256, 1024];

    pub fn new(len: usize) -> Self {
        let count = (1 << 16) / len;
        let mut random = Random(2024);
        let keys: Vec<u32> = (0..count * len).map(|_| random.next()).collect();
        Self { order: vec![0; keys.len()], pairs: vec![0; len], keys, len }
    }

    pub fn work(&self) -> f64 {
        self.keys.len() as f64
    }

    pub fn gang(&mut self, level: Level) {
        let Self { keys, order, len, .. } = self;
        dispatch!(level, g => {
            for (keys, order) in keys.chunks_exact(*len).zip(order.chunks_exact_mut(*len)) {
                sort::sort_segment(g, keys, order);
            }
        });
    }

    /// Sorts (key, index) pairs, each in one word, by `slice::sort_unstable`.
    pub fn standard(&mut self) {
        let Self { keys, order, pairs, len } = self;
        for (keys, order) in keys.chunks_exact(*len).zip(order.chunks_exact_mut(*len)) {
            for (i, (pair, &key)) in pairs.iter_mut().zip(keys).enumerate() {
                *pair = (key as u64) << 32 | i as u64;
            }
            pairs.sort_unstable();
            for (place, pair) in order.iter_mut().zip(&*pairs) {
                *place = *pair as u32;
            }
        }
    }
}
