//! Random numbers that are the same on every machine: they use an integer generator, IEEE arithmetic, and functions
//! of `libm`, which computes them in software.

use super::normal::NormalPair;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::TAU;

/// The stream of random numbers of one event.
pub(super) struct Random {
    generator: Xoshiro256PlusPlus,
    /// The spare normal number: they are made in pairs.
    spare: Option<f64>,
}

/// The finaliser of SplitMix64: every bit of the input changes half of the output bits.
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl Random {
    /// Creates the stream of event `event` in the sample with this seed; streams of different events are independent.
    pub fn new(seed: u64, event: u64) -> Self {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut state = mix(seed.wrapping_add(GOLDEN)) ^ mix(event.wrapping_add(GOLDEN)).rotate_left(32);
        let mut bytes = [0; 32];
        for word in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN);
            word.copy_from_slice(&mix(state).to_le_bytes());
        }
        Self { generator: Xoshiro256PlusPlus::from_seed(bytes), spare: None }
    }

    /// Returns a number that is uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns a number that is uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        let [first, second] = self.normal_pair().exact();
        self.spare = Some(second);
        first
    }

    /// Draws the uniform numbers for the next pair of normal numbers; call [`Random::take_spare`] before this function.
    pub fn normal_pair(&mut self) -> NormalPair {
        NormalPair { radius: self.uniform(), turn: self.uniform() }
    }

    /// Takes the second number of the last pair of normal numbers, if it is unused.
    pub fn take_spare(&mut self) -> Option<f64> {
        self.spare.take()
    }

    /// Makes `value` the number that the next call of [`Random::normal`] returns.
    pub fn put_spare(&mut self, value: f64) {
        self.spare = Some(value);
    }

    /// Returns an exponentially distributed number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// Returns a number with density `t exp(-t)` and mean 2: the sum of two exponential numbers.
    pub fn gamma2(&mut self) -> f64 {
        self.exponential() + self.exponential()
    }

    /// Returns a Poisson-distributed number with this mean, by counting exponentially distributed gaps.
    pub fn poisson(&mut self, mean: f64) -> usize {
        let mut count = 0;
        let mut time = self.exponential();
        while time < mean {
            count += 1;
            time += self.exponential();
        }
        count
    }

    /// Returns a unit vector that is uniform over the sphere.
    pub fn direction(&mut self) -> [f64; 3] {
        let cos = self.between(-1.0, 1.0);
        let sin = (1.0 - cos * cos).sqrt();
        let (sin_phi, cos_phi) = libm::sincos(TAU * self.uniform());
        [sin * cos_phi, sin * sin_phi, cos]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_have_their_moments() {
        let mut random = Random::new(1, 2);
        let n = 100_000;
        let mut moments = |draw: fn(&mut Random) -> f64| {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / f64::from(n);
            (mean, variance)
        };
        for (name, draw, mean, variance) in [
            ("uniform", Random::uniform as fn(&mut Random) -> f64, 0.5, 1.0 / 12.0),
            ("normal", Random::normal, 0.0, 1.0),
            ("exponential", Random::exponential, 1.0, 1.0),
            ("gamma2", Random::gamma2, 2.0, 2.0),
            ("poisson", |random| random.poisson(7.5) as f64, 7.5, 7.5),
            ("direction", |random| random.direction()[0], 0.0, 1.0 / 3.0),
        ] {
            let (m, v) = moments(draw);
            let error = 5.0 * (variance / f64::from(n)).sqrt();
            assert!((m - mean).abs() < error, "{name}: mean {m}");
            assert!((v / variance - 1.0).abs() < 0.04, "{name}: variance {v}");
        }
    }

    #[test]
    fn sine_and_cosine_at_once_are_the_same() {
        let mut random = Random::new(7, 8);
        let tiny = (0..1000).map(|i| f64::from_bits(((i + 900) << 52) | (0xF_FFFF_FFFF_FFFF / 7 * (i % 8))));
        let angles: Vec<f64> = (0..200_000).map(|_| TAU * random.uniform()).chain(tiny).collect();
        for angle in angles.into_iter().filter(|angle| *angle <= TAU) {
            let (sin, cos) = libm::sincos(angle);
            assert_eq!([sin, cos].map(f64::to_bits), [libm::sin(angle), libm::cos(angle)].map(f64::to_bits));
        }
    }

    #[test]
    fn streams_differ() {
        let first = |seed, event| Random::new(seed, event).uniform().to_bits();
        let mut all: Vec<u64> =
            (0..100).flat_map(|i| [first(i, 0), first(0, i + 1), first(i, i + 200)]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
    }
}
