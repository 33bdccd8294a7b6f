//! Clusters of pixel hits with their features, as columns and offsets.

use super::{Column, PixelHits, Results, Starts, results};
use std::ops::Range;

/// Clusters of pixel hits, sorted by their first hits: by time, x, y, and order in the input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PixelClusters {
    /// Index in `hits` of the first hit of each cluster, then the number of hits (no unit).
    pub hit_start: Starts,
    /// Hits of all clusters, cluster by cluster, in order of time. Units are as in [`PixelHits`].
    pub hits: PixelHits,
    /// Features of the clusters, one value of each column per cluster. Units are as in [`ClusterFeatures`].
    pub features: ClusterFeatures,
}

/// Features of clusters, one value of each column per cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterFeatures {
    /// Time of the first hit, ticks of 1.5625 ns.
    pub time: Column<i64>,
    /// Time from the first to the last hit, ticks of 1.5625 ns.
    pub duration: Column<u32>,
    /// Sum of times over threshold, clocks of 25 ns.
    pub tot: Column<u32>,
    /// Largest time over threshold, clocks of 25 ns.
    pub height: Column<u16>,
    /// Energy in units of 10^-6 MeV (1 eV); 0 without calibration.
    pub energy: Column<u64>,
    /// Smallest x, smallest y, largest x, largest y (no unit).
    pub bounds: [Column<u16>; 4],
    /// Mean x and y of the pixels, weighted by time over threshold (no unit).
    pub centroid: [Column<f32>; 2],
    /// Unweighted mean x and y of the pixels (no unit).
    pub mean: [Column<f32>; 2],
    /// Length of a line of pixels whose variance is the variance of the cluster along its main axis, pixels (no unit).
    pub length: Column<f32>,
    /// Length of a line of pixels whose variance is the variance of the cluster across its main axis, pixels (no unit).
    pub breadth: Column<f32>,
    /// Difference of the two main variances over their sum: 0 if length and breadth are equal, 1 for a line (no unit).
    pub linearity: Column<f32>,
    /// Number of pixels divided by the area of a disc whose diameter is `length`, at most 1 (no unit).
    pub roundness: Column<f32>,
}

results! {
    PixelClusters: "cluster", "hit";
    integers {
        Starts 0 [hit_start] "hit_start" "1" "index of the cluster's first hit in the columns of hits";
        I64 1 [hits.time] "hit_time" "1.5625 ns" "time of arrival";
        U16 1 [hits.x] "hit_x" "pixel" "column of the pixel on the sensor";
        U16 1 [hits.y] "hit_y" "pixel" "row of the pixel on the sensor";
        U16 1 [hits.tot] "hit_tot" "25 ns" "time over threshold";
    }
    others {
        I64 0 [features.time] "time" "1.5625 ns" "time of the first hit";
        U32 0 [features.duration] "duration" "1.5625 ns" "time from the first to the last hit";
        U32 0 [features.tot] "tot" "25 ns" "sum of the times over threshold";
        U16 0 [features.height] "height" "25 ns" "largest time over threshold";
        U64 0 [features.energy] "energy" "eV" "energy; without a calibration 0 in memory and null in files";
        U16 0 [features.bounds[0]] "x_min" "pixel" "smallest x";
        U16 0 [features.bounds[1]] "y_min" "pixel" "smallest y";
        U16 0 [features.bounds[2]] "x_max" "pixel" "largest x";
        U16 0 [features.bounds[3]] "y_max" "pixel" "largest y";
        F32 0 [features.centroid[0]] "centroid_x" "pixel" "mean x of the pixels, weighted by time over threshold";
        F32 0 [features.centroid[1]] "centroid_y" "pixel" "mean y of the pixels, weighted by time over threshold";
        F32 0 [features.mean[0]] "mean_x" "pixel" "mean x of the pixels";
        F32 0 [features.mean[1]] "mean_y" "pixel" "mean y of the pixels";
        F32 0 [features.length] "length" "pixel" "length of the line of pixels whose variance equals the variance of the cluster along its main axis";
        F32 0 [features.breadth] "breadth" "pixel" "length of the line of pixels whose variance equals the variance of the cluster across its main axis";
        F32 0 [features.linearity] "linearity" "1" "difference of the two main variances over their sum: 0 for a round cluster, 1 for a line";
        F32 0 [features.roundness] "roundness" "1" "number of pixels divided by the area of a disc whose diameter is `length`, at most 1";
    }
}

impl PixelClusters {
    /// Number of clusters.
    pub fn len(&self) -> usize {
        self.hit_start.len() - 1
    }

    /// Whether there is no cluster.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all clusters and keeps the allocated memory.
    pub fn clear(&mut self) {
        Results::clear(self);
    }

    /// Appends the clusters `range` of another table.
    pub fn extend_from(&mut self, other: &PixelClusters, range: Range<usize>) {
        let hits = other.hit_start[range.start] as usize..other.hit_start[range.end] as usize;
        let (first, from) = (self.hits.len() as u32, hits.start as u32);
        other.hit_start[range.start + 1..=range.end]
            .iter()
            .for_each(|end| self.hit_start.push(first + end - from));
        self.hits.extend_from(&other.hits, hits, 0);
        self.features.extend_from(&other.features, range);
    }

    /// Removes the first `count` clusters.
    pub fn remove_front(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let (len, first) = (self.len(), self.hit_start[count]);
        self.hits.remove_front(first as usize);
        for cluster in count..len {
            self.features.copy_within(cluster, cluster - count);
            self.hit_start[cluster - count + 1] = self.hit_start[cluster + 1] - first;
        }
        self.hit_start.set_len(len - count + 1);
        self.features.set_len(len - count);
    }

    /// Returns the range of a cluster's hits in `hits`.
    pub fn of_cluster(&self, cluster: usize) -> Range<usize> {
        self.hit_start[cluster] as usize..self.hit_start[cluster + 1] as usize
    }
}

impl ClusterFeatures {
    /// Sets the length of all columns; new values are undefined.
    pub fn set_len(&mut self, len: usize) {
        let Self { time, duration, tot, height, energy, bounds, centroid, mean, .. } = self;
        time.set_len(len);
        energy.set_len(len);
        height.set_len(len);
        [duration, tot].into_iter().for_each(|column| column.set_len(len));
        bounds.iter_mut().for_each(|column| column.set_len(len));
        centroid.iter_mut().chain(mean).for_each(|column| column.set_len(len));
        let Self { length, breadth, linearity, roundness, .. } = self;
        [length, breadth, linearity, roundness].into_iter().for_each(|column| column.set_len(len));
    }

    /// Appends the features of the clusters `range` of another table.
    pub fn extend_from(&mut self, other: &ClusterFeatures, range: Range<usize>) {
        let of = || range.clone();
        self.time.extend_from_slice(&other.time[of()]);
        self.duration.extend_from_slice(&other.duration[of()]);
        self.tot.extend_from_slice(&other.tot[of()]);
        self.height.extend_from_slice(&other.height[of()]);
        self.energy.extend_from_slice(&other.energy[of()]);
        for (to, from) in self.bounds.iter_mut().zip(&other.bounds) {
            to.extend_from_slice(&from[of()]);
        }
        let Self { centroid, mean, length, breadth, linearity, roundness, .. } = self;
        let shapes = [length, breadth, linearity, roundness];
        for (to, from) in centroid.iter_mut().chain(mean).chain(shapes).zip(other.floats()) {
            to.extend_from_slice(&from[of()]);
        }
    }

    /// Copies the features of cluster `from` to cluster `to`.
    pub fn copy_within(&mut self, from: usize, to: usize) {
        let Self { time, duration, tot, height, energy, bounds, centroid, mean, .. } = self;
        time[to] = time[from];
        energy[to] = energy[from];
        height[to] = height[from];
        [duration, tot].into_iter().for_each(|column| column[to] = column[from]);
        bounds.iter_mut().for_each(|column| column[to] = column[from]);
        centroid.iter_mut().chain(mean).for_each(|column| column[to] = column[from]);
        let Self { length, breadth, linearity, roundness, .. } = self;
        [length, breadth, linearity, roundness].into_iter().for_each(|column| column[to] = column[from]);
    }

    /// Returns mutable references to the float columns, in schema order.
    pub fn floats_mut(&mut self) -> [&mut Column<f32>; 8] {
        let Self { centroid: [cx, cy], mean: [mx, my], length, breadth, linearity, roundness, .. } = self;
        [cx, cy, mx, my, length, breadth, linearity, roundness]
    }

    /// The columns of floats, in schema order.
    pub fn floats(&self) -> [&Column<f32>; 8] {
        let Self { centroid: [cx, cy], mean: [mx, my], length, breadth, linearity, roundness, .. } = self;
        [cx, cy, mx, my, length, breadth, linearity, roundness]
    }
}
