//! Cluster sizes of the presets: mixtures of distributions with the paper's mean and standard deviation.
//!
//! The lead samples are mixtures of small clusters and a few large clusters of the paper's "subset" samples. The
//! published moments of the lead and subset samples determine the rate and size of small clusters. All other samples
//! are mixtures of two geometric distributions. Sizes are drawn at evenly spaced quantiles instead of random quantiles,
//! so that short streams have the same moments.

use peloton::{Error, Result};
use std::str::FromStr;

/// A sample of figure 3 in the paper of Celko et al.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelPreset {
    /// Photons of 59.6 keV.
    Am241,
    /// Pions of 40 GeV/c at 0 degrees.
    Pion0,
    /// Pions of 40 GeV/c at 45 degrees.
    Pion45,
    /// Pions of 40 GeV/c at 75 degrees.
    Pion75,
    /// Lead ions of 385 GeV/c at 0 degrees.
    Lead0,
    /// Lead ions of 385 GeV/c at 50 degrees.
    Lead50,
    /// Lead ions of 385 GeV/c at 90 degrees.
    Lead90,
    /// Only the large clusters of [`PixelPreset::Lead0`].
    Lead0Large,
    /// Only the large clusters of [`PixelPreset::Lead50`].
    Lead50Large,
    /// Only the large clusters of [`PixelPreset::Lead90`].
    Lead90Large,
}

/// Distribution of the sizes of a part of the clusters.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// 1 plus a geometric number of this mean.
    Geometric(f64),
    /// Uniform, with this mean and standard deviation.
    Even(f64, f64),
    /// The power 1.5 of a uniform number, rarer towards the largest size, with this mean and standard
    /// deviation.
    Power(f64, f64),
}

/// Largest cluster, pixels.
const LARGEST: f64 = 60_000.0;
/// Step of the evenly spaced quantiles: the fractional part of the golden ratio.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl PixelPreset {
    /// All presets with their names.
    pub const NAMES: [(&'static str, PixelPreset); 10] = [
        ("am241", PixelPreset::Am241),
        ("pion0", PixelPreset::Pion0),
        ("pion45", PixelPreset::Pion45),
        ("pion75", PixelPreset::Pion75),
        ("lead0", PixelPreset::Lead0),
        ("lead50", PixelPreset::Lead50),
        ("lead90", PixelPreset::Lead90),
        ("lead0large", PixelPreset::Lead0Large),
        ("lead50large", PixelPreset::Lead50Large),
        ("lead90large", PixelPreset::Lead90Large),
    ];

    /// Returns the name of the preset in specifications.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, preset)| *preset == self).map_or("?", |(name, _)| name)
    }

    /// Returns the mean cluster size in the paper, pixels.
    pub fn mean(self) -> f64 {
        self.moments().0
    }

    /// Returns the standard deviation of the cluster size in the paper, pixels.
    pub fn deviation(self) -> f64 {
        self.moments().1
    }

    fn moments(self) -> (f64, f64) {
        match self {
            PixelPreset::Am241 => (2.46, 2.15),
            PixelPreset::Pion0 => (7.22, 27.35),
            PixelPreset::Pion45 => (23.33, 33.47),
            PixelPreset::Pion75 => (60.27, 64.33),
            PixelPreset::Lead0 => (131.84, 500.51),
            PixelPreset::Lead50 => (26.51, 274.99),
            PixelPreset::Lead90 => (20.45, 356.57),
            PixelPreset::Lead0Large => (2231.45, 363.69),
            PixelPreset::Lead50Large => (3622.54, 860.56),
            PixelPreset::Lead90Large => (7258.26, 5105.26),
        }
    }

    /// The rarer part, its share, and the other part.
    fn parts(self) -> (Part, f64, Part) {
        let (mean, deviation) = self.moments();
        let large = |preset: Self| {
            let (mean, deviation) = preset.moments();
            // A uniform distribution with such a deviation would begin below zero.
            let is_wide = preset == PixelPreset::Lead90Large;
            if is_wide { Part::Power(mean, deviation) } else { Part::Even(mean, deviation) }
        };
        match self {
            PixelPreset::Am241 => geometric(mean, deviation, 0.2),
            PixelPreset::Pion0 => geometric(mean, deviation, 0.05),
            PixelPreset::Pion45 | PixelPreset::Pion75 => geometric(mean, deviation, 0.1),
            PixelPreset::Lead0 => with_large(self, PixelPreset::Lead0Large, large),
            PixelPreset::Lead50 => with_large(self, PixelPreset::Lead50Large, large),
            PixelPreset::Lead90 => with_large(self, PixelPreset::Lead90Large, large),
            _ => (large(self), 1.0, Part::Geometric(0.0)),
        }
    }
}

/// Two geometric parts with the requested moments. With g the mean of size - 1, a part has the second moment g
/// + 2 g^2; the means lie at distances (1 - p) s and p s from the common one.
fn geometric(mean: f64, deviation: f64, p: f64) -> (Part, f64, Part) {
    let g = mean - 1.0;
    let second = deviation * deviation + g * g;
    let s = ((second - g - 2.0 * g * g) / (2.0 * p * (1.0 - p))).sqrt();
    (Part::Geometric(g + (1.0 - p) * s), p, Part::Geometric(g - p * s))
}

/// Large clusters among small clusters of geometric sizes: computes share and size of the small ones alternately.
fn with_large(all: PixelPreset, large: PixelPreset, part: impl Fn(PixelPreset) -> Part) -> (Part, f64, Part) {
    let second = |(mean, deviation): (f64, f64)| mean * mean + deviation * deviation;
    let (all, large_moments) = (all.moments(), large.moments());
    let (mut p, mut g) = (0.0, 0.0);
    for _ in 0..50 {
        let small = 1.0 + 3.0 * g + 2.0 * g * g;
        p = (second(all) - small) / (second(large_moments) - small);
        g = (all.0 - p * large_moments.0) / (1.0 - p) - 1.0;
    }
    (part(large), p, Part::Geometric(g))
}

impl FromStr for PixelPreset {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] that lists the presets.
    fn from_str(text: &str) -> Result<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, preset)| *preset).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name).join(", ");
            Error::Config(format!("unknown preset `{text}`: choose one of {names}"))
        })
    }
}

impl Part {
    /// The size below which a share `u` of the clusters lies.
    fn quantile(self, u: f64) -> f64 {
        match self {
            Part::Geometric(mean) => {
                let excess = libm::log(1.0 - u) / libm::log(mean / (1.0 + mean));
                if mean > 0.0 { 1.0 + libm::floor(excess) } else { 1.0 }
            }
            Part::Even(mean, deviation) => libm::round(mean + deviation * (12.0f64).sqrt() * (u - 0.5)),
            // u^1.5 has the mean 1 / 2.5 and the standard deviation 0.3.
            Part::Power(mean, deviation) => {
                let range = deviation / 0.3;
                libm::round(mean + range * (u * u.sqrt() - 1.0 / 2.5))
            }
        }
    }
}

/// The sizes of successive clusters.
#[derive(Debug)]
pub(super) struct Sizes {
    rare: Part,
    share: f64,
    common: Part,
    /// Current quantiles of the two parts.
    places: [f64; 2],
    /// Fraction of a rare cluster that is due.
    due: f64,
}

impl Sizes {
    pub fn new(preset: PixelPreset, seed: u64) -> Self {
        let (rare, share, common) = preset.parts();
        let start = (seed as f64 * GOLDEN * GOLDEN).fract();
        Self { rare, share, common, places: [start, start], due: start }
    }

    pub fn next(&mut self) -> usize {
        self.due += self.share;
        let is_rare = self.due >= 1.0;
        self.due -= f64::from(u8::from(is_rare));
        let place = &mut self.places[usize::from(is_rare)];
        *place = (*place + GOLDEN).fract();
        let part = if is_rare { self.rare } else { self.common };
        part.quantile(*place).clamp(1.0, LARGEST) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_moments_of_the_paper() {
        for (name, preset) in PixelPreset::NAMES {
            for seed in [1, 2, 77] {
                let mut sizes = Sizes::new(preset, seed);
                let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
                while sum < 1e6 {
                    let size = sizes.next() as f64;
                    (n, sum, squares) = (n + 1.0, sum + size, squares + size * size);
                }
                let mean = sum / n;
                let deviation = (squares / n - mean * mean).sqrt();
                let off = [mean / preset.mean() - 1.0, deviation / preset.deviation() - 1.0];
                assert!(
                    off.iter().all(|off| off.abs() < 0.025),
                    "{name}, seed {seed}: {mean} +- {deviation}"
                );
            }
        }
    }
}
