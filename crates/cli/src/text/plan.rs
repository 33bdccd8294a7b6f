//! Text output of the parts of a plan, and of manifests.

use peloton_plan::{Manifest, Ran};
use peloton_plot::text::{grouped, table};
use serde_json::Value;

/// Formats the result of one part of a plan as a line.
pub fn part(ran: &Ran) -> String {
    let Ran { report, was_done } = ran;
    let how = if *was_done { "done before".into() } else { format!("{:.2} s", report.seconds) };
    let events = report.summary.get("events").and_then(Value::as_u64).unwrap_or(0);
    let hash = report.summary.get("hash_events").and_then(Value::as_str).unwrap_or_default();
    let (part, name) = (report.spec.part, &report.output.name);
    let row = if report.spec.events.events.is_some() { "events" } else { "clusters" };
    format!("part {part}: {name}, {} {row}, {how}, hash_events {hash}\n", grouped(events))
}

/// Formats a manifest: the sums over all parts of a plan.
pub fn manifest(manifest: &Manifest) -> String {
    let Manifest { parts, parts_done, hash_events, bad_events, runs, seconds, .. } = manifest;
    let mut text = format!("{parts_done} of {parts} parts complete, {runs} runs, {seconds:.1} s in all\n\n");
    let mut rows: Vec<_> = manifest
        .sums
        .iter()
        .filter_map(|(name, count)| Some([name.replace('_', " "), grouped(count.as_u64()?)]))
        .collect();
    if *bad_events > 0 {
        rows.push(["not reconstructed".into(), grouped(*bad_events)]);
    }
    text.push_str(&table(&rows));
    for (reason, count) in manifest.dropped.iter().filter(|(_, count)| **count > 0) {
        text.push_str(&format!("dropped {}: {}\n", grouped(*count), reason.replace('_', " ")));
    }
    text.push_str(&format!("\nhash_events {hash_events}\n"));
    text
}
