//! Origin of the results: program, machine, inputs, configuration, hashes.

use super::input::ReportInput;
use crate::text::grouped;
use maud::{Markup, html};
use serde_json::Value;

/// Largest number of listed parameters that differ from the preset.
const MAX_CHANGED: usize = 40;

/// The name of a row, and its text for an input; empty if the input has none.
type Row = (&'static str, fn(&ReportInput) -> String);

/// Returns a table of the origin of all results: a row for each fact, and a column for each input.
pub fn section(inputs: &[ReportInput]) -> Markup {
    let rows: Vec<Row> = vec![
        ("command", |input| input.about.command.clone()),
        ("version", |input| input.about.version.clone()),
        ("CPU", |input| match input.about.cpu.is_empty() {
            true => text(&input.json, "cpu"),
            false => input.about.cpu.clone(),
        }),
        ("device", |input| text(&input.json, "device")),
        ("level", level),
        ("threads", |input| text(&input.json, "threads")),
        ("sequence", |input| text(&input.json, "sequence")),
        ("preset", |input| text(&input.json, "preset")),
        ("differs from the preset", changed),
        ("input", |input| input.about.inputs.join(", ")),
        ("events", |input| if is_stream(input) { String::new() } else { text(&input.json, "events") }),
        ("clusters", |input| if is_stream(input) { text(&input.json, "events") } else { String::new() }),
        ("hits", |input| text(&input.json, "hits")),
        ("dropped", dropped),
        ("hash of integers", |input| text(&input.json, "hash_int")),
        ("hash of all output columns", |input| text(&input.json, "output_hash")),
        ("hash of events", |input| text(&input.json, "hash_events")),
    ];
    let rows = rows.into_iter().map(|(name, of)| (name, inputs.iter().map(of).collect::<Vec<_>>()));
    let rows: Vec<_> = rows.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect();
    html! {
        section.provenance {
            div.scroll {
                table {
                    @if inputs.len() > 1 {
                        thead { tr { th {} @for input in inputs { th { (input.name()) } } } }
                    }
                    tbody {
                        @for (name, cells) in &rows {
                            tr { th { (name) } @for cell in cells { td { (cell) } } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns whether the input is a stream of pixel hits, whose results are clusters and not events.
fn is_stream(input: &ReportInput) -> bool {
    input.json.get("sequence").is_some_and(|name| name == "timepix")
}

/// Returns a value as text; empty for none.
fn text(json: &Value, key: &str) -> String {
    match json.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.as_u64().map_or(number.to_string(), grouped),
        _ => String::new(),
    }
}

fn level(input: &ReportInput) -> String {
    let (isa, gang) = (text(&input.json, "isa"), text(&input.json, "gang"));
    match (isa.is_empty(), gang.is_empty()) {
        (false, false) => format!("{isa}, gang of {gang}"),
        (false, true) => format!("{isa} is the fastest"),
        _ => String::new(),
    }
}

fn changed(input: &ReportInput) -> String {
    let changed = &input.about.changed;
    if changed.is_empty() {
        return if input.about.command.is_empty() { String::new() } else { "nothing".into() };
    }
    // A parameter that the input decides, or that is not set, has no value in a preset.
    let value = |value: &Value| if value.is_null() { "auto".into() } else { value.to_string() };
    let listed = changed.iter().take(MAX_CHANGED);
    let listed =
        listed.map(|one| format!("{} = {} (preset: {})", one.key, value(&one.value), value(&one.preset)));
    let mut listed: Vec<_> = listed.collect();
    if changed.len() > MAX_CHANGED {
        listed.push(format!("and {} more", changed.len() - MAX_CHANGED));
    }
    listed.join("; ")
}

fn dropped(input: &ReportInput) -> String {
    let Some(Value::Object(dropped)) = input.json.get("dropped") else { return String::new() };
    if dropped.is_empty() {
        return "nothing".into();
    }
    let counts = dropped.iter().map(|(reason, count)| format!("{}: {count}", reason.replace('_', " ")));
    counts.collect::<Vec<_>>().join(", ")
}
