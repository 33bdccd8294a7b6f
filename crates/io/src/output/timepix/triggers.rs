//! Additional Parquet columns of clusters: the latest trigger before each cluster and hit.

use crate::output::fields::described;
use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::{ArrayRef, UInt16Array};
use arrow_schema::{DataType, Field};
use peloton::event::{PixelClusters, TriggerPairs};
use std::sync::Arc;

/// The fields of [`trigger_columns`]: `trigger`, the device's count of the latest trigger before the cluster, and
/// `hit_since_trigger`, a list of times since the trigger. Values are null without a trigger.
pub fn trigger_fields() -> Vec<Field> {
    let counter = "number that the device gave the latest trigger before the cluster; null if there is none";
    let since = "time of each hit since the latest trigger before the hit; null without a trigger";
    vec![
        described("trigger", DataType::UInt16, "1", counter).with_nullable(true),
        described("hit_since_trigger", DataType::List(element()), "ns", since),
    ]
}

/// The columns of `trigger_fields` for these clusters.
pub fn trigger_columns(clusters: &PixelClusters, pairs: &TriggerPairs) -> Vec<ArrayRef> {
    let has = pairs.has_trigger.iter().zip(&pairs.counter[..]);
    let counters: UInt16Array = has.map(|(has, counter)| (*has == 1).then_some(*counter)).collect();
    let mut since = ListBuilder::new(Float64Builder::new()).with_field(element());
    for cluster in 0..clusters.len() {
        since.append_value(clusters.of_cluster(cluster).map(|hit| pairs.since_ns(hit)));
    }
    vec![Arc::new(counters), Arc::new(since.finish())]
}

fn element() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Float64, true))
}
