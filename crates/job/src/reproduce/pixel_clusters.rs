//! [`PixelLabels`]: which cluster every hit of a sample is in.

use super::entry::Job;
use crate::Request;
use crate::run::reconstruct;
use crate::system::open;
use peloton::event::PixelClusters;
use peloton::event::append;
use peloton::{Error, Result};
use std::collections::HashMap;

/// The clusters of a sample.
pub struct PixelLabels {
    /// All of them.
    pub clusters: PixelClusters,
    /// Columns and rows of the sensor.
    pub sides: [usize; 2],
    /// Number of the cluster of each hit, hits in the order of time, x, y.
    pub labels: Vec<u32>,
    /// The hash of the clusters.
    pub hash: String,
}

impl PixelLabels {
    /// Finds the clusters of a request.
    ///
    /// # Errors
    /// Those of the job.
    pub fn find(job: &Job<'_>, request: &Request) -> Result<Self> {
        job.complete(Self::run(job, request))
    }

    fn run(job: &Job<'_>, request: &Request) -> Result<Self> {
        let mut opened = open(request, false, job.host)?;
        let sides = opened.detector.sensor().unwrap_or_default();
        let runs = opened.detector.executor(request, &request.config)?;
        let mut clusters = PixelClusters::default();
        let summary = reconstruct(request, &mut opened, runs, job.host, &mut |chunk| {
            chunk.result.slices().try_for_each(|piece| append(&mut clusters, &**piece))
        })?;
        if let Some(failure) = summary.failure {
            return Err(Error::format(request.inputs.join(", "), failure));
        }
        if clusters.is_empty() {
            return Err(Error::format(request.inputs.join(", "), "there is no hit in it"));
        }
        let of_cluster = |cluster: usize| clusters.of_cluster(cluster).map(move |hit| (hit, cluster as u32));
        let mut hits: Vec<(usize, u32)> = (0..clusters.len()).flat_map(of_cluster).collect();
        let columns = &clusters.hits;
        hits.sort_by_key(|&(hit, _)| (columns.time[hit], columns.x[hit], columns.y[hit]));
        let labels = hits.into_iter().map(|(_, label)| label).collect();
        Ok(Self { clusters, sides, labels, hash: format!("{:016x}", summary.hashes.output) })
    }

    /// Hits of each cluster.
    fn sizes(&self) -> impl Fn(u32) -> u64 {
        let starts = self.clusters.hit_start.to_vec();
        move |cluster| u64::from(starts[cluster as usize + 1] - starts[cluster as usize])
    }

    /// How well two ways to find clusters agree on the same hits.
    ///
    /// # Errors
    /// [`Error::Internal`] when the hits differ in number.
    pub fn overlap(&self, other: &Self) -> Result<Overlap> {
        if self.labels.len() != other.labels.len() {
            let message = "two ways to find clusters gave different numbers of hits".into();
            return Err(Error::Internal(message));
        }
        let mut common = HashMap::<(u32, u32), u64>::new();
        for (&one, &two) in self.labels.iter().zip(&other.labels) {
            *common.entry((one, two)).or_default() += 1;
        }
        let (size, other_size) = (self.sizes(), other.sizes());
        let mut best = vec![0.0f64; self.clusters.len()];
        let mut identical = 0;
        for (&(one, two), &hits) in &common {
            let either = size(one) + other_size(two) - hits;
            identical += u64::from(hits == either);
            let best = &mut best[one as usize];
            *best = best.max(hits as f64 / either as f64);
        }
        let clusters = [self.clusters.len() as u64, other.clusters.len() as u64];
        Ok(Overlap { clusters, identical, mean: best.iter().sum::<f64>() / best.len() as f64 })
    }
}

/// How well two lists of clusters agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlap {
    /// How many clusters each has.
    pub clusters: [u64; 2],
    /// Clusters that both have with exactly the same hits.
    pub identical: u64,
    /// Intersection over union, in hits, of each cluster of the first with the one of the second that fits best: the mean.
    pub mean: f64,
}

impl Overlap {
    /// Intersection over union of the two sets of clusters.
    pub fn of_sets(&self) -> f64 {
        self.identical as f64 / (self.clusters[0] + self.clusters[1] - self.identical) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(sizes: &[u32], labels: &[u32]) -> PixelLabels {
        let mut clusters = PixelClusters::default();
        let mut end = 0;
        for size in sizes {
            end += size;
            clusters.hit_start.push(end);
        }
        PixelLabels { clusters, sides: [256, 256], labels: labels.to_vec(), hash: String::new() }
    }

    #[test]
    fn overlaps_are_those_of_sets_of_hits() {
        let one = labels(&[3, 2, 1], &[0, 0, 0, 1, 1, 2]);
        let two = labels(&[4, 1, 1], &[0, 0, 0, 0, 1, 2]);
        let overlap = one.overlap(&two).unwrap();
        assert_eq!((overlap.clusters, overlap.identical), ([3, 3], 1));
        assert!((overlap.of_sets() - 0.2).abs() < 1e-12);
        // 3 of 4, 1 of 2, 1 of 1.
        assert!((overlap.mean - 0.75).abs() < 1e-12);
        let same = one.overlap(&one).unwrap();
        assert_eq!((same.of_sets(), same.mean), (1.0, 1.0));
        assert!(one.overlap(&labels(&[1], &[0])).is_err());
    }
}
