//! Random numbers of the tests of the filter, the same on any machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: u8) -> Self {
        Self(Xoshiro256PlusPlus::from_seed([seed; 32]))
    }
    /// A number with a uniform distribution in a range.
    pub fn between(&mut self, low: f64, high: f64) -> f32 {
        (low + (high - low) * f64::from(self.0.next_u32()) / 4_294_967_296.0) as f32
    }
    /// A nearly Gaussian number with mean 0 and width 1.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.between(-0.5, 0.5)).sum()
    }
}
