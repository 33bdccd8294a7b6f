//! [`Filter`]: keeps the clusters whose features lie within limits, for online data reduction.

use crate::event::{ClusterFeatures, PixelClusters};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Feature that a cut can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Number of hits.
    Size,
    /// Sum of times over threshold, clocks of 25 ns.
    Tot,
    /// Largest time over threshold, clocks of 25 ns.
    Height,
    /// Energy, keV.
    Energy,
    /// Time from first to last hit, ns.
    Duration,
    /// Length along the main axis, pixels.
    Length,
    /// Length across the main axis, pixels.
    Breadth,
    /// Linearity, from 0 (round) to 1 (a straight line).
    Linearity,
    /// Roundness: number of hits over the area of a disc as long as the cluster, at most 1.
    Roundness,
}

impl Feature {
    /// All features with their names.
    pub const NAMES: [(&'static str, Feature); 9] = [
        ("size", Feature::Size),
        ("tot", Feature::Tot),
        ("height", Feature::Height),
        ("energy", Feature::Energy),
        ("duration", Feature::Duration),
        ("length", Feature::Length),
        ("breadth", Feature::Breadth),
        ("linearity", Feature::Linearity),
        ("roundness", Feature::Roundness),
    ];

    /// Returns the smallest and largest value that a cluster can have.
    fn possible(self) -> [f64; 2] {
        match self {
            Feature::Size => [1.0, f64::INFINITY],
            Feature::Linearity | Feature::Roundness => [0.0, 1.0],
            _ => [0.0, f64::INFINITY],
        }
    }

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, feature)| *feature == self).map_or("?", |(name, _)| name)
    }

    fn of(self, features: &ClusterFeatures, size: usize, cluster: usize) -> f64 {
        match self {
            Feature::Size => size as f64,
            Feature::Tot => f64::from(features.tot[cluster]),
            Feature::Height => f64::from(features.height[cluster]),
            Feature::Energy => features.energy[cluster] as f64 / 1000.0,
            Feature::Duration => f64::from(features.duration[cluster]) * crate::event::NS_PER_TICK,
            Feature::Length => features.length[cluster].into(),
            Feature::Breadth => features.breadth[cluster].into(),
            Feature::Linearity => features.linearity[cluster].into(),
            Feature::Roundness => features.roundness[cluster].into(),
        }
    }
}

/// Limits of one feature, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// The feature.
    pub feature: Feature,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// A list of cuts; a cluster has to pass all of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Filter {
    /// The cuts.
    pub cuts: Vec<Cut>,
}

impl FromStr for Filter {
    type Err = Error;

    /// Reads `size=2:100,energy=10:`; a missing limit does not cut.
    ///
    /// # Errors
    /// [`Error::Config`] that names the part that is not understood.
    fn from_str(text: &str) -> Result<Self> {
        let mut cuts = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = || {
                let names = Feature::NAMES.map(|(name, _)| name).join(", ");
                Error::Config(format!("filter `{part}` is not FEATURE=MIN:MAX with one of {names}"))
            };
            let (name, range) = part.split_once('=').ok_or_else(wrong)?;
            let (_, feature) =
                Feature::NAMES.into_iter().find(|(known, _)| *known == name).ok_or_else(wrong)?;
            let (min, max) = range.split_once(':').ok_or_else(wrong)?;
            let limit = |text: &str, open: f64| match text {
                "" => Ok(open),
                text => text.parse().ok().filter(|value: &f64| !value.is_nan()).ok_or_else(wrong),
            };
            let (min, max) = (limit(min, f64::MIN)?, limit(max, f64::MAX)?);
            cuts.push(Cut { feature, min, max });
        }
        let filter = Self { cuts };
        filter.check(true)?;
        Ok(filter)
    }
}

impl Filter {
    /// Checks that some cluster can pass: all cuts on a feature together must leave a possible value. Without energies, the
    /// energy of every cluster is 0.
    ///
    /// # Errors
    /// [`Error::Config`] that names the feature.
    pub fn check(&self, has_energies: bool) -> Result<()> {
        for &Cut { feature, .. } in &self.cuts {
            let [low, high] = feature.possible();
            let is_zero = feature == Feature::Energy && !has_energies;
            let high = if is_zero { 0.0 } else { high };
            let cuts = self.cuts.iter().filter(|cut| cut.feature == feature);
            let (min, max) = cuts.fold((low, high), |(min, max), cut| (cut.min.max(min), cut.max.min(max)));
            let is_number = |cut: &Cut| !cut.min.is_nan() && !cut.max.is_nan();
            if min <= max && self.cuts.iter().all(is_number) {
                continue;
            }
            let name = feature.name();
            let why = match is_zero {
                true => "without a calibration the energy of every cluster is 0",
                false => "no cluster has such a value",
            };
            return Err(Error::Config(format!("the filter on {name} keeps nothing: {why}")));
        }
        Ok(())
    }

    /// Removes the clusters that do not pass; returns the numbers of removed clusters and hits.
    pub fn apply(&self, clusters: &mut PixelClusters) -> (u64, u64) {
        if self.cuts.is_empty() {
            return (0, 0);
        }
        let all = (clusters.len(), clusters.hits.len());
        let (mut kept, mut end) = (0, 0);
        for cluster in 0..all.0 {
            let range = clusters.of_cluster(cluster);
            let value = |cut: &Cut| cut.feature.of(&clusters.features, range.len(), cluster);
            if self.cuts.iter().any(|cut| !(cut.min..=cut.max).contains(&value(cut))) {
                continue;
            }
            let size = range.len();
            let hits = &mut clusters.hits;
            hits.time.copy_within(range.clone(), end);
            hits.x.copy_within(range.clone(), end);
            hits.y.copy_within(range.clone(), end);
            hits.tot.copy_within(range, end);
            clusters.features.copy_within(cluster, kept);
            (kept, end) = (kept + 1, end + size);
            clusters.hit_start[kept] = end as u32;
        }
        clusters.hit_start.set_len(kept + 1);
        clusters.features.set_len(kept);
        clusters.hits.set_len(end);
        ((all.0 - kept) as u64, (all.1 - end) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_outside_the_limits_go() {
        let mut clusters = PixelClusters::default();
        for size in [1u32, 3, 2, 5] {
            (0..size).for_each(|i| clusters.hits.push(i.into(), i as u16, size as u16, 7));
            clusters.hit_start.push(clusters.hits.len() as u32);
        }
        clusters.features.set_len(4);
        clusters.features.tot.copy_from_slice(&[7, 21, 14, 35]);
        let mut filter: Filter = "size=2:,tot=:30".parse().unwrap();
        assert_eq!(filter.apply(&mut clusters), (2, 6));
        assert_eq!(clusters.hit_start[..], [0, 3, 5]);
        assert_eq!((&clusters.features.tot[..], &clusters.hits.y[..]), (&[21, 14][..], &[3, 3, 3, 2, 2][..]));
        filter.cuts.clear();
        assert_eq!(filter.apply(&mut clusters), (0, 0));
        for wrong in ["size", "size=2", "colour=1:2", "size=a:", "size=1:NaN"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn cuts_that_keep_nothing_are_refused() {
        for wrong in ["size=5:2", "size=:0", "size=3:,tot=1:,size=:2", "linearity=1.5:", "tot=:-1"] {
            let error = wrong.parse::<Filter>().unwrap_err().to_string();
            assert!(error.contains("keeps nothing"), "{wrong}: {error}");
        }
        for (cut, without) in
            [("energy=10:", false), ("energy=:10", true), ("energy=0:0", true), ("size=2:2", true)]
        {
            let filter: Filter = cut.parse().unwrap();
            assert_eq!((filter.check(true).is_ok(), filter.check(false).is_ok()), (true, without), "{cut}");
        }
        let cuts = vec![Cut { feature: Feature::Tot, min: f64::NAN, max: f64::NAN }];
        assert!(Filter { cuts }.check(true).is_err());
    }
}
