//! Additional Parquet columns of clusters whose hits come from frames.

use crate::output::fields::described;
use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::{DataType, Field};
use peloton::event::PixelClusters;
use std::sync::Arc;

/// Columns that are null for clusters of frames, which have no times.
pub const WITHOUT_TIMES: [&str; 3] = ["time", "duration", "hit_time"];

/// The field of [`frame_columns`].
pub fn frame_fields() -> Vec<Field> {
    let meaning = "number of the frame in its input; `time`, `duration` and `hit_time` of a frame are null";
    vec![described("frame", DataType::UInt64, "1", meaning)]
}

/// For each cluster, the number of its frame, which is stored as the time of its hits.
pub fn frame_columns(clusters: &PixelClusters) -> Vec<ArrayRef> {
    let frames = clusters.features.time.iter().map(|frame| u64::try_from(*frame).unwrap_or(0));
    vec![Arc::new(UInt64Array::from_iter_values(frames))]
}
