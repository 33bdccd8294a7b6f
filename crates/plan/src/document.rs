//! [`Plan`]: a JSON document that lists the inputs of a job and the events of each part.

use crate::folder::text;
use peloton::{Error, Result};
use peloton_io::output::write_whole;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the format of the document.
const PLAN_VERSION: u32 = 1;

/// A job cut into parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the format of this document.
    pub plan_version: u32,
    /// Total number of events; null for pixel hits, which are not events.
    pub events: Option<u64>,
    /// The inputs in the order in which their events are numbered.
    pub inputs: Vec<PlannedInput>,
    /// The parts, by their numbers from 0.
    pub parts: Vec<PlannedPart>,
}

/// A file, a folder of bank containers or a simulation, with hashes that identify it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedInput {
    /// The absolute path, or `sim:...`.
    pub path: String,
    /// The format, as in `--format`.
    pub format: String,
    /// Size, bytes; for a folder the total size of its files, for a simulation 0.
    pub size: u64,
    /// XXH3-64 of the first MiB, or of the names and sizes of the files in a folder; empty for a simulation.
    pub xxh3_first_mib: String,
    /// XXH3-64 of the last MiB; empty for a folder or a simulation.
    pub xxh3_last_mib: String,
    /// Number of the input's first event, counted over all inputs.
    pub first_number: u64,
    /// Number of events in the input; null for pixel hits.
    pub events: Option<u64>,
}

/// The events of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPart {
    /// Index of the part's input, from 0.
    pub input: usize,
    /// Number of the part's first event, counted from 0 within the input.
    pub first_event: u64,
    /// Number of events in the part; null for a part with all pixel hits of the input.
    pub events: Option<u64>,
    /// Byte of the input at which the part's first event begins; null if reading cannot begin there.
    pub byte: Option<u64>,
}

/// A part and its input. The part, the input and the configuration determine the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSpec {
    /// Number of the part.
    pub part: usize,
    /// The events of the part.
    pub events: PlannedPart,
    /// The input of these events.
    pub input: PlannedInput,
}

impl Plan {
    /// The plan of these inputs and parts.
    pub(super) fn new(inputs: Vec<PlannedInput>, parts: Vec<PlannedPart>) -> Self {
        let events = inputs.iter().map(|input| input.events).sum();
        Self { plan_version: PLAN_VERSION, events, inputs, parts }
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`Error::Config`] when the file cannot be read or is not a plan.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |what: String| Error::Config(format!("--plan {}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let plan: Self = serde_json::from_str(&text).map_err(|e| wrong(format!("no plan: {e}")))?;
        plan.check().map_err(|what| wrong(format!("{what}: make the plan again with `peloton plan`")))?;
        Ok(plan)
    }

    /// Writes the plan as JSON to a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, path: &Path) -> Result<()> {
        write_whole(path, text(path, self)?.as_bytes())
    }

    /// The part with this number.
    ///
    /// # Errors
    /// [`Error::Config`] when the plan has no such part.
    pub fn part(&self, part: usize) -> Result<PartSpec> {
        let events = *self.parts.get(part).ok_or_else(|| {
            let last = self.parts.len().saturating_sub(1);
            Error::Config(format!("--part {part}: the plan has the parts 0 to {last}"))
        })?;
        let input = self.inputs.get(events.input).cloned();
        let input = input
            .ok_or_else(|| Error::Config(format!("--part {part}: the plan does not contain its input")))?;
        Ok(PartSpec { part, events, input })
    }

    /// Checks a plan, which may have been edited: each event of each input must be in one part.
    fn check(&self) -> std::result::Result<(), String> {
        if self.plan_version != PLAN_VERSION {
            return Err(format!(
                "plan_version is {}, but this program reads {PLAN_VERSION}",
                self.plan_version
            ));
        }
        if self.parts.is_empty() {
            return Err("the plan has no parts".into());
        }
        let (mut number, mut parts) = (0u64, self.parts.iter().peekable());
        for (place, input) in self.inputs.iter().enumerate() {
            let path = &input.path;
            if input.first_number != number {
                return Err(format!("first_number of {path} is not {number}"));
            }
            let mut next = Some(0u64).filter(|_| input.events.is_some());
            while let Some(part) = parts.next_if(|part| part.input == place) {
                if part.first_event != next.unwrap_or(0) || part.events.is_some() != next.is_some() {
                    return Err(format!("the parts of {path} are not consecutive"));
                }
                next = next.zip(part.events).and_then(|(next, count)| next.checked_add(count));
            }
            if next != input.events {
                return Err(format!("the parts of {path} do not have all its events"));
            }
            let end = number.checked_add(input.events.unwrap_or(0));
            number = end.filter(|end| usize::try_from(*end).is_ok()).ok_or("there are too many events")?;
        }
        match parts.next() {
            Some(part) => Err(format!("a part of input {} is out of order", part.input)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    fn input(first_number: u64, events: Option<u64>) -> PlannedInput {
        let (path, format) = ("sim:velo".into(), "auto".into());
        let (xxh3_first_mib, xxh3_last_mib) = (String::new(), String::new());
        PlannedInput { path, format, size: 0, xxh3_first_mib, xxh3_last_mib, first_number, events }
    }

    fn part(input: usize, first_event: u64, events: Option<u64>) -> PlannedPart {
        PlannedPart { input, first_event, events, byte: None }
    }

    #[test]
    fn each_event_must_be_in_one_part() {
        let inputs = || vec![input(0, Some(5)), input(5, Some(2))];
        let parts = || vec![part(0, 0, Some(3)), part(0, 3, Some(2)), part(1, 0, Some(2))];
        Plan::new(inputs(), parts()).check().unwrap();
        type Change = fn(&mut Plan);
        let changes: [(Change, &str); 9] = [
            (|plan| plan.plan_version = 2, "plan_version"),
            (|plan| plan.parts.clear(), "no parts"),
            (|plan| plan.parts.swap(0, 1), "not consecutive"),
            (|plan| plan.parts.truncate(2), "not have all"),
            (|plan| plan.parts.push(part(1, 2, Some(1))), "not have all"),
            (|plan| plan.parts.push(part(7, 0, Some(1))), "out of order"),
            (|plan| plan.parts[1].events = None, "not consecutive"),
            (|plan| plan.parts[0].events = Some(u64::MAX), "not consecutive"),
            (|plan| plan.inputs[1].first_number = 4, "first_number"),
        ];
        for (change, words) in changes {
            let mut plan = Plan::new(inputs(), parts());
            change(&mut plan);
            let found = plan.check().expect_err(words);
            assert!(found.contains(words), "{words}: {found}");
        }
        let pixels =
            Plan::new(vec![input(0, None), input(0, None)], vec![part(0, 0, None), part(1, 0, None)]);
        assert_eq!((pixels.check(), pixels.events), (Ok(()), None));
    }
}
