//! Measurements for two tables of the pixel paper: the agreement of the clusters that two configurations find, and the
//! share of clusters that are split when hits are distributed among workers.

use super::job::{Facts, Job, Variant};
use peloton::event::{NS_PER_TICK, PixelClusters};
use peloton::{Error, Result};
use peloton_job::{FoundClusters, Request, clusters};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Compares the clusters of pairs of configurations. Values of a pair: labels `first` and `second`; numbers of
/// `clusters`; number of `identical` clusters; `intersection` over union of both sets of clusters; `overlap`, the mean
/// over the clusters of `first` of the largest intersection over union of hits with a cluster of `second`.
///
/// # Errors
/// Errors of the clustering, and an error when two configurations cluster different numbers of hits.
pub fn agreement(
    pairs: &[[usize; 2]],
    request: &Request,
    variants: &[Variant],
    job: &Job<'_>,
) -> Result<Facts> {
    let find =
        |variant: &Variant| Labels::find(job, &Request { config: variant.config.clone(), ..request.clone() });
    let found = variants.iter().map(find).collect::<Result<Vec<_>>>()?;
    let pair = |&[one, two]: &[usize; 2]| {
        let overlap = found[one].overlap(&found[two])?;
        let [first, second] = [one, two].map(|side| variants[side].label.clone());
        Ok(json!({
            "first": first, "second": second, "clusters": overlap.clusters, "identical": overlap.identical,
            "intersection": overlap.of_sets(), "overlap": overlap.mean,
        }))
    };
    let facts = pairs.iter().map(pair).collect::<Result<Vec<_>>>()?;
    Ok((facts, found.into_iter().map(|labels| labels.hash).collect()))
}

/// Counts the clusters that borders split. Values: number of `clusters`; share `windows/NS/border` of clusters that may
/// cross a border; shares of split clusters `windows/NS/split`, `blocks/HITS/split`, `regions/NUMBER/split`.
///
/// # Errors
/// Errors of the clustering.
pub fn splitting(
    windows: &[f64],
    blocks: &[usize],
    regions: &[usize],
    request: &Request,
    job: &Job<'_>,
) -> Result<Facts> {
    let found = Labels::find(job, request)?;
    let count = found.clusters.len();
    let share = |part: u64| part as f64 / count as f64;
    let by = |name: String, split: u64| (name, json!({ "split": share(split) }));
    let windows = windows.iter().map(|&window| {
        let [border, split] = found.by_window(window, request.config.timepix.find.delta);
        (window.to_string(), json!({ "border": share(border), "split": share(split) }))
    });
    let blocks = blocks.iter().map(|&block| by(block.to_string(), found.by_block(block)));
    let regions = regions.iter().map(|&number| by(number.to_string(), found.by_region(number)));
    let facts = json!({
        "clusters": count, "windows": windows.collect::<Map<String, Value>>(),
        "blocks": blocks.collect::<Map<String, Value>>(), "regions": regions.collect::<Map<String, Value>>(),
    });
    Ok((vec![facts], vec![found.hash]))
}

/// The clusters of a sample.
struct Labels {
    clusters: PixelClusters,
    /// Columns and rows of the sensor.
    sides: [usize; 2],
    /// Number of the cluster of each hit; hits are in the order of time, x, y.
    labels: Vec<u32>,
    hash: String,
}

impl Labels {
    fn find(job: &Job<'_>, request: &Request) -> Result<Self> {
        job.complete(Self::run(job, request))
    }

    fn run(job: &Job<'_>, request: &Request) -> Result<Self> {
        let FoundClusters { clusters, sensor, summary } = clusters(request, job.host)?;
        if let Some(failure) = summary.failure {
            return Err(Error::format(request.inputs.join(", "), failure));
        }
        if clusters.is_empty() {
            return Err(Error::format(request.inputs.join(", "), "the inputs contain no hit"));
        }
        let of_cluster = |cluster: usize| clusters.of_cluster(cluster).map(move |hit| (hit, cluster as u32));
        let mut hits: Vec<(usize, u32)> = (0..clusters.len()).flat_map(of_cluster).collect();
        let columns = &clusters.hits;
        hits.sort_by_key(|&(hit, _)| (columns.time[hit], columns.x[hit], columns.y[hit]));
        let labels = hits.into_iter().map(|(_, label)| label).collect();
        Ok(Self { clusters, sides: sensor, labels, hash: format!("{:016x}", summary.hashes.output) })
    }

    /// Returns a function that returns the number of hits of a cluster.
    fn sizes(&self) -> impl Fn(u32) -> u64 {
        let starts = self.clusters.hit_start.to_vec();
        move |cluster| u64::from(starts[cluster as usize + 1] - starts[cluster as usize])
    }

    /// Measures how well two ways to find clusters agree on the same hits.
    fn overlap(&self, other: &Self) -> Result<Overlap> {
        if self.labels.len() != other.labels.len() {
            let message = "two algorithms clustered different numbers of hits".into();
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

    /// Returns the number of clusters that may cross a border of time windows of `window` ns, and the number that do.
    fn by_window(&self, window: f64, delta: u32) -> [u64; 2] {
        let features = &self.clusters.features;
        let origin = features.time.iter().min().copied().unwrap_or(0);
        let ticks = ((window / NS_PER_TICK).round() as i64).max(1);
        let mut counts = [0; 2];
        for (&time, &duration) in features.time.iter().zip(features.duration.iter()) {
            let number = |later: u32| (time - origin + i64::from(later)) / ticks;
            counts[0] += u64::from(number(duration.saturating_add(delta)) != number(0));
            counts[1] += u64::from(number(duration) != number(0));
        }
        counts
    }

    /// Returns the number of clusters with hits in different blocks of `block` hits, in order of time.
    fn by_block(&self, block: usize) -> u64 {
        let mut first = vec![None; self.clusters.len()];
        let mut is_split = vec![false; self.clusters.len()];
        for (number, &label) in self.labels.iter().enumerate() {
            let cluster = label as usize;
            is_split[cluster] |= *first[cluster].get_or_insert(number / block) != number / block;
        }
        is_split.into_iter().filter(|split| *split).count() as u64
    }

    /// Returns the number of clusters with pixels in different regions, `regions` along each side of the sensor.
    fn by_region(&self, regions: usize) -> u64 {
        let [left, below, right, above] = &self.clusters.features.bounds;
        let region = |at: u16, side: usize| usize::from(at) * regions / side.max(1);
        let is_split = |cluster: &usize| {
            region(left[*cluster], self.sides[0]) != region(right[*cluster], self.sides[0])
                || region(below[*cluster], self.sides[1]) != region(above[*cluster], self.sides[1])
        };
        (0..self.clusters.len()).filter(is_split).count() as u64
    }
}

/// Agreement of two lists of clusters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Overlap {
    /// Number of clusters in each list.
    clusters: [u64; 2],
    /// Number of clusters that are in both lists with exactly the same hits.
    identical: u64,
    /// Mean over the clusters of the first list: intersection over union, in hits, with the best cluster of the second.
    mean: f64,
}

impl Overlap {
    /// Returns the intersection over union of the two sets of clusters.
    fn of_sets(&self) -> f64 {
        self.identical as f64 / (self.clusters[0] + self.clusters[1] - self.identical) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(sizes: &[u32], labels: &[u32]) -> Labels {
        let mut clusters = PixelClusters::default();
        let mut end = 0;
        for size in sizes {
            end += size;
            clusters.hit_start.push(end);
        }
        Labels { clusters, sides: [256, 256], labels: labels.to_vec(), hash: String::new() }
    }

    #[test]
    fn overlaps_are_those_of_sets_of_hits() {
        let one = labels(&[3, 2, 1], &[0, 0, 0, 1, 1, 2]);
        let two = labels(&[4, 1, 1], &[0, 0, 0, 0, 1, 2]);
        let overlap = one.overlap(&two).unwrap();
        assert_eq!((overlap.clusters, overlap.identical), ([3, 3], 1));
        assert!((overlap.of_sets() - 0.2).abs() < 1e-12);
        // The best overlaps are 3 of 4, 1 of 2, 1 of 1 hits.
        assert!((overlap.mean - 0.75).abs() < 1e-12);
        let same = one.overlap(&one).unwrap();
        assert_eq!((same.of_sets(), same.mean), (1.0, 1.0));
        assert!(one.overlap(&labels(&[1], &[0])).is_err());
    }
}
