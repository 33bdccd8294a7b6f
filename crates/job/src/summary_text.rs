//! [`Summary::text`]: the summary of a run as text.

use crate::{InputKind, Summary};
use peloton::event::Hashes;
use peloton_plot::text::{count, grouped, percent, preset_words, rate, table, unquoted};
use serde_json::Value;

impl Summary {
    /// Formats the summary in a few aligned lines.
    pub fn text(&self) -> String {
        let Summary { sequence, preset, events, isa, gang, threads, hashes, tracks, hits, .. } = self;
        let per_event = |count: u64| format!("{:.1}", count as f64 / (*events).max(1) as f64);
        let mut text = format!("{sequence}, {}{isa} x {gang}, ", preset_words(preset.as_deref()));
        text.push_str(&format!("{}\n\n", count(*threads, "thread")));
        let rows_are = format!("{}s", self.row);
        let mut rows = vec![
            ["".into(), "all".into(), format!("per {}", self.row)],
            [rows_are.clone(), grouped(*events), "".into()],
        ];
        // Not every hit of a stream is in a cluster, so the hits in clusters are printed, too.
        match self.facts.get("hits_out").and_then(Value::as_u64) {
            Some(inside) => rows.extend([
                ["hits".into(), grouped(*hits), "".into()],
                ["hits in clusters".into(), grouped(inside), per_event(inside)],
            ]),
            None => rows.push(["hits".into(), grouped(*hits), per_event(*hits)]),
        }
        if self.has_tracks {
            rows.push(["tracks".into(), grouped(*tracks), per_event(*tracks)]);
        }
        text.push_str(&table(&rows));
        // The text omits null values, which only programs need, and the value that has its own row.
        let told = self.facts.iter().filter(|(name, value)| !value.is_null() && **name != rows_are);
        for (name, value) in told.filter(|(name, _)| !["interrupted", "hits_out"].contains(&&name[..])) {
            text.push_str(&format!("{}: {}\n", name.replace('_', " "), unquoted(value)));
        }
        for (reason, count) in &self.dropped {
            text.push_str(&format!("dropped {}: {}\n", grouped(*count), reason.replace('_', " ")));
        }
        text.push('\n');
        if self.events_per_second.is_finite() {
            let rate_of = if self.input == InputKind::Live { "taken in" } else { "reconstruction alone" };
            text.push_str(&format!(
                "{rate_of}: {} {rows_are}/s, {} {rows_are}/s per thread, {} hits/s\n",
                rate(self.events_per_second),
                rate(self.events_per_second / *threads as f64),
                rate(self.hits_per_second),
            ));
        }
        text.push_str(&format!("the whole job took {:.2} s{}\n", self.wall_seconds, most_of_it(self)));
        text.push_str(&read_and_written(self));
        text.push('\n');
        text.push_str(&stages(self));
        let line =
            |hashes: &Hashes| format!("hash_int {:016x}  output_hash {:016x}", hashes.int, hashes.output);
        text.push_str(&format!("\n{}\n", line(hashes)));
        for (name, hashes) in &self.products {
            text.push_str(&format!("{name}: {}\n", line(hashes)));
        }
        if let Some(hash) = self.hash_events {
            text.push_str(&format!("hash_events {hash:016x}\n"));
        }
        if self.is_interrupted {
            text.push_str("interrupted: partial results follow\n");
        }
        text
    }
}

/// Names the busiest part of a job, which limits the rate, and its share of the time.
fn most_of_it(summary: &Summary) -> String {
    let Some((part, seconds)) = summary.busy.map(|busy| busy.longest()) else { return String::new() };
    let words = match (part, summary.input) {
        ("reading", InputKind::Simulated) => "simulating",
        ("reading", InputKind::Live) => "waiting for input",
        (part, _) => part,
    };
    let share = percent((summary.wall_seconds > 0.0).then_some((seconds / summary.wall_seconds).min(1.0)));
    format!(", {words} for {share} of it")
}

/// Formats the bytes that were read and written, with their rates; empty for a simulation without an output.
fn read_and_written(summary: &Summary) -> String {
    let Some(all) = summary.bytes else { return String::new() };
    let part = |what: &str, number: Option<u64>, per_second: Option<f64>| {
        let rate = per_second.map_or(String::new(), |rate| format!(" at {}/s", bytes(rate)));
        number.map(|number| format!("{} {what}{rate}", bytes(number as f64)))
    };
    let parts =
        [part("read", all.read, all.read_per_second), part("written", all.written, all.written_per_second)];
    format!("{}\n", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Formats a line for each stage: its time, its share of the time, its lane occupancy.
fn stages(summary: &Summary) -> String {
    let total: f64 = summary.stages.iter().map(|stage| stage.ns_per_event).sum();
    let mut rows = vec![[
        "stage".into(),
        format!("ns/{}", summary.row),
        "ns/hit".into(),
        "share".into(),
        "lanes busy".into(),
    ]];
    for stage in &summary.stages {
        rows.push([
            stage.name.into(),
            format!("{:.0}", stage.ns_per_event),
            format!("{:.2}", stage.ns_per_hit),
            percent((total > 0.0).then_some(stage.ns_per_event / total)),
            percent(stage.occupancy),
        ]);
        for part in &stage.parts {
            rows.push([
                format!("  {}", part.name),
                format!("{:.0}", part.ns_per_event),
                "".into(),
                percent((total > 0.0).then_some(part.ns_per_event / total)),
                "".into(),
            ]);
        }
    }
    let hits: f64 = summary.stages.iter().map(|stage| stage.ns_per_hit).sum();
    rows.push(["sum".into(), format!("{total:.0}"), format!("{hits:.2}"), "".into(), "".into()]);
    table(&rows)
}

/// Formats a number of bytes in the unit that leaves one to three digits before the point.
fn bytes(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let place = units.iter().enumerate().rposition(|(at, _)| bytes >= 1e3f64.powi(at as i32)).unwrap_or(0);
    let digits = usize::from(place > 0);
    format!("{:.digits$} {}", bytes / 1e3f64.powi(place as i32), units[place])
}
