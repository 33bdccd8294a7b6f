//! Where the results come from: program, machine, inputs, configuration, hashes.

use super::input::ReportInput;
use crate::text::grouped;
use maud::{Markup, html};
use serde_json::Value;

/// Parameters that differ from the preset's and are told at most.
const MAX_CHANGED: usize = 40;

/// The name of a row, and what an input tells there; nothing when it does not.
type Row = (&'static str, fn(&ReportInput) -> String);

/// A row for each thing that any of the inputs tells, a column for each input.
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
        ("events", |input| text(&input.json, "events")),
        ("hits", |input| text(&input.json, "hits")),
        ("dropped", dropped),
        ("hash of integers", |input| text(&input.json, "hash_int")),
        ("hash of all output", |input| text(&input.json, "output_hash")),
        ("hash of events", |input| text(&input.json, "hash_events")),
    ];
    let told = rows.into_iter().map(|(name, of)| (name, inputs.iter().map(of).collect::<Vec<_>>()));
    let told: Vec<_> = told.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect();
    html! {
        section.provenance {
            div.scroll {
                table {
                    @if inputs.len() > 1 {
                        thead { tr { th {} @for input in inputs { th { (input.name()) } } } }
                    }
                    tbody {
                        @for (name, cells) in &told {
                            tr { th { (name) } @for cell in cells { td { (cell) } } }
                        }
                    }
                }
            }
        }
    }
}

/// A value as text; nothing for none.
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
    let told = changed.iter().take(MAX_CHANGED);
    let mut told: Vec<_> =
        told.map(|one| format!("{} = {} (preset: {})", one.key, one.value, one.preset)).collect();
    if changed.len() > MAX_CHANGED {
        told.push(format!("and {} more", changed.len() - MAX_CHANGED));
    }
    told.join("; ")
}

fn dropped(input: &ReportInput) -> String {
    let Some(Value::Object(dropped)) = input.json.get("dropped") else { return String::new() };
    if dropped.is_empty() {
        return "nothing".into();
    }
    let told = dropped.iter().map(|(reason, count)| format!("{}: {count}", reason.replace('_', " ")));
    told.collect::<Vec<_>>().join(", ")
}
