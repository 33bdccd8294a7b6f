//! [`clusters`]: finds all clusters of pixel hits and returns them in memory.

use crate::run::reconstruct;
use crate::system::open;
use crate::{Host, Request, Summary};
use peloton::Result;
use peloton::event::{PixelClusters, append};

/// All clusters of a stream of pixel hits.
pub struct FoundClusters {
    /// The clusters, in the order of the results.
    pub clusters: PixelClusters,
    /// Number of columns and of rows of the sensor.
    pub sensor: [usize; 2],
    /// Summary of the job.
    pub summary: Summary,
}

/// Clusters all pixel hits of a request, and keeps the clusters in memory.
///
/// # Errors
/// Returns errors of the configuration and the inputs, and an error for every sequence but timepix.
pub fn clusters(request: &Request, host: Host<'_>) -> Result<FoundClusters> {
    let mut opened = open(request, false, host)?;
    let sensor = opened.detector.sensor().unwrap_or_default();
    let runs = opened.detector.executor(request, &request.config)?;
    let mut clusters = PixelClusters::default();
    let summary = reconstruct(request, &mut opened, runs, host, &mut |chunk| {
        chunk.result.slices().try_for_each(|piece| append(&mut clusters, &**piece))
    })?;
    Ok(FoundClusters { clusters, sensor, summary })
}
