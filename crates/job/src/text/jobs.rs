//! What other jobs than runs and checks find, as text.

use super::summary::summary;
use super::words::{count, grouped, percent, plain, rate, table};
use crate::compare::{Compared, Side};
use crate::{Measurement, Profile, Throughput, Tuned};
use peloton::event::Hashes;
use peloton::simd::{GANGS, Isa};

/// The scan as tables: the whole sequence, then each stage.
pub fn tuned(tuned: &Tuned) -> String {
    let Tuned { profile, threads, wall_seconds, .. } = tuned;
    let Profile { cpu, sequence, preset, .. } = profile;
    let mut text = format!(
        "{cpu}: {sequence}, preset {preset}, {}, ns per event by gang size (events from memory; * the fastest)\n",
        count(*threads, "thread")
    );
    text.push_str(&section("all stages", profile, |one| Some(one.ns_per_event)));
    for stage in sequence.stages() {
        text.push_str(&section(stage.name, profile, |one| one.stages.get(stage.name).copied()));
    }
    let gang = profile.gangs.get(&profile.isa).copied().unwrap_or_default();
    text.push_str(&format!("\nfastest: {} x {gang}\nthe whole scan took {wall_seconds:.2} s\n", profile.isa));
    text
}

/// One table: levels down, gang sizes across, the smallest number marked.
fn section(name: &str, profile: &Profile, of: impl Fn(&Measurement) -> Option<f64>) -> String {
    let best = profile.measured.iter().filter_map(&of).min_by(f64::total_cmp);
    let cell = |isa: &str, gang: usize| {
        let one = profile.measured.iter().find(|one| one.isa == isa && one.gang == gang);
        match one.and_then(&of) {
            Some(ns) if Some(ns) == best => format!("*{ns:.0}"),
            Some(ns) => format!("{ns:.0}"),
            None => "-".into(),
        }
    };
    let row = |head: &str, cells: [String; GANGS.len()]| {
        let mut row: [String; GANGS.len() + 1] = Default::default();
        row[0] = head.into();
        row[1..].clone_from_slice(&cells);
        row
    };
    let mut rows = vec![row(name, GANGS.map(|gang| format!("x {gang}")))];
    for isa in Isa::ALL.map(Isa::name) {
        if profile.measured.iter().any(|one| one.isa == isa) {
            rows.push(row(isa, GANGS.map(|gang| cell(isa, gang))));
        }
    }
    format!("\n{}", table(&rows))
}

/// What a comparison found.
pub fn compared(report: &Compared) -> String {
    let side = |side: &Side| {
        let Side { preset, isa, gang, threads, slice, .. } = side;
        format!("preset {preset}, {isa} x {gang}, {}, slices of {slice}", count(*threads, "thread"))
    };
    let mut text = format!("left   {}\nright  {}\n", side(&report.left), side(&report.right));
    let Compared { events, different_events, row, .. } = report;
    match &report.first_difference {
        None if report.equal => {
            let Hashes { int, output } = report.left.hashes;
            text.push_str(&format!(
                "equal: {}, hash_int {int:016x}, output_hash {output:016x}\n",
                count(*events as usize, row)
            ));
        }
        None => text.push_str("the hashes differ\n"),
        Some(first) => text.push_str(&format!(
            "{different_events} of {events} {row}s differ; the first is {row} {}: {}\n",
            first.event, first.what
        )),
    }
    text.push_str(&format!("the whole job took {:.2} s\n", report.wall_seconds));
    if report.is_interrupted {
        text.push_str("interrupted: this is what was compared so far\n");
    }
    text
}

/// What repeated passes gave.
pub fn throughput(report: &Throughput) -> String {
    let mut text = match &report.device {
        Some(device) => format!("{device}, slices of {}\n", report.slice),
        None => String::new(),
    };
    text.push_str(&summary(&report.summary));
    if !report.kernels.is_empty() {
        let mut rows = vec![["kernel", "ns/event", "share"].map(String::from)];
        rows.extend(report.kernels.iter().map(|kernel| {
            [kernel.name.into(), format!("{:.0}", kernel.ns_per_event), percent(Some(kernel.share))]
        }));
        text.push('\n');
        text.push_str(&table(&rows));
    }
    if !report.scan.is_empty() {
        let of = if report.device.is_some() { "streams" } else { "threads" };
        let mut rows = vec![["slice".into(), of.into(), format!("{}s/s", report.summary.row)]];
        rows.extend(report.scan.iter().map(|point| {
            let rate = format!("{:.0}", point.events_per_second);
            [point.slice.to_string(), point.streams.to_string(), rate]
        }));
        text.push('\n');
        text.push_str(&table(&rows));
    }
    text.push_str(&format!(
        "{} in {:.2} s, equal hashes; fastest round {} {}s/s, {} hits/s\n",
        match report.repetitions {
            1 => "1 pass".into(),
            passes => format!("{} passes", grouped(passes)),
        },
        report.seconds,
        rate(report.events_per_second_best),
        report.summary.row,
        rate(report.hits_per_second_best)
    ));
    if let Some(rate) = report.bytes_per_second {
        text.push_str(&format!("{:.1} million bytes/s of raw banks\n", rate / 1e6));
    }
    for (name, value) in &report.facts {
        text.push_str(&format!("{}: {}\n", name.replace('_', " "), plain(value)));
    }
    text
}
