//! [`ClusterHasher`]: one number for all clusters of a run.

use crate::output::Hashes;
use peloton::event::PixelClusters;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Columns of hits and offsets: ends, time, x, y, tot.
const INTEGERS: usize = 5;
/// The features: time, duration, tot, height, energy, four bounds, eight floats.
const FEATURES: usize = 5 + 4 + 8;

/// Hashes clusters in their order, however they are cut into pieces.
///
/// Each column has an XXH3-64 of its own over its little-endian values: the end of each cluster's hits counted
/// from the first hit of the run (u64), then `time` (i64), `x`, `y`, `tot` (u16) of the hits, cluster by
/// cluster; then the features in schema order. A result is the XXH3-64 over the digests (u64) of the columns
/// it covers: the first five for `hash_int`, all of them for `output_hash`.
#[derive(Clone)]
pub struct ClusterHasher {
    columns: Box<[Xxh3; INTEGERS + FEATURES]>,
    hits: u64,
}

impl Default for ClusterHasher {
    fn default() -> Self {
        Self { columns: Box::new(std::array::from_fn(|_| Xxh3::new())), hits: 0 }
    }
}

impl ClusterHasher {
    /// Adds the clusters of one piece.
    pub fn update(&mut self, clusters: &PixelClusters) {
        let PixelClusters { hit_start, hits, features } = clusters;
        let [ends, time, x, y, tot, others @ ..] = &mut *self.columns;
        let mut buffer = [0u64; 64];
        for chunk in hit_start[1..].chunks(buffer.len()) {
            let values = &mut buffer[..chunk.len()];
            values.iter_mut().zip(chunk).for_each(|(value, end)| *value = self.hits + u64::from(*end));
            ends.update(bytemuck::cast_slice(values));
        }
        time.update(bytemuck::cast_slice(&hits.time));
        let short = [(x, &hits.x), (y, &hits.y), (tot, &hits.tot)];
        short.into_iter().for_each(|(hasher, column)| hasher.update(bytemuck::cast_slice(column)));
        self.hits += hits.len() as u64;

        let bounds = features.bounds.iter().map(|column| bytemuck::cast_slice(column));
        let floats = features.floats().map(|(_, column)| bytemuck::cast_slice(column));
        let columns: [&[u8]; 5] = [
            bytemuck::cast_slice(&features.time),
            bytemuck::cast_slice(&features.duration),
            bytemuck::cast_slice(&features.tot),
            bytemuck::cast_slice(&features.height),
            bytemuck::cast_slice(&features.energy),
        ];
        let columns = columns.into_iter().chain(bounds).chain(floats);
        others.iter_mut().zip(columns).for_each(|(hasher, column)| hasher.update(column));
    }

    /// The hashes of everything so far.
    pub fn finish(&self) -> Hashes {
        let digests = self.columns.each_ref().map(Xxh3::digest);
        Hashes {
            int: xxh3_64(bytemuck::cast_slice(&digests[..INTEGERS])),
            output: xxh3_64(bytemuck::cast_slice(&digests)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(range: std::ops::Range<u16>) -> PixelClusters {
        let mut clusters = PixelClusters::default();
        for i in range.clone() {
            (0..=i % 3).for_each(|k| clusters.hits.push(i64::from(i + k), i, k, 7));
            clusters.hit_start.push(clusters.hits.len() as u32);
        }
        clusters.features.set_len(range.len());
        let tot = clusters.features.tot.iter_mut().zip(range);
        tot.for_each(|(tot, i)| *tot = i.into());
        clusters
    }

    #[test]
    fn every_column_matters_and_cuts_do_not() {
        let hash = |pieces: &[PixelClusters]| {
            let mut hasher = ClusterHasher::default();
            pieces.iter().for_each(|piece| hasher.update(piece));
            hasher.finish()
        };
        let whole = hash(&[clusters(0..20)]);
        assert_eq!(hash(&[clusters(0..7), clusters(7..7), clusters(7..20)]), whole);
        let mut other = clusters(0..20);
        other.hits.y[3] += 1;
        assert_ne!(hash(&[other]).int, whole.int);
        let mut other = clusters(0..20);
        other.features.roundness[3] = -0.0;
        other.features.roundness[4] = 0.5;
        let found = hash(&[other]);
        assert_eq!(found.int, whole.int);
        assert_ne!(found.output, whole.output);
    }
}
