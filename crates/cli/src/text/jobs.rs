//! Text output of the commands tune, throughput and compare.

use peloton::event::Hashes;
use peloton::simd::{GANGS, Isa};
use peloton_job::{Compared, Config, JobThroughput, Measurement, Profile, Side, Throughput, Tuned};
use peloton_plot::text::{count, grouped, percent, preset_words, rate, table, unquoted};

/// Formats the results of `peloton tune` as tables: the whole sequence, then each stage.
pub fn tuned(tuned: &Tuned) -> String {
    let Tuned { profile, threads, wall_seconds, .. } = tuned;
    let Profile { cpu, sequence, preset, .. } = profile;
    let mut text = format!(
        "{cpu}: {sequence}, {}{}, ns per event by gang size (events from memory; * the fastest)\n",
        preset_words(preset.as_deref()),
        count(*threads, "thread")
    );
    text.push_str(&section("all stages", profile, |one| Some(one.ns_per_event)));
    let config = Config { sequence: *sequence, ..Config::default() };
    for stage in config.stages() {
        text.push_str(&section(stage.name, profile, |one| one.stages.get(stage.name).copied()));
    }
    let name = |(name, value): (&str, usize)| format!("{name} {value}");
    for (sizes, ns) in &tuned.sizes {
        let names: Vec<String> = sizes.iter().map(|&size| name(size)).collect();
        text.push_str(&format!("\n{}: {ns:.1} ns", names.join(", ")));
    }
    if !tuned.sizes.is_empty() {
        let best = profile.sizes.iter().map(|(key, value)| name((key, *value)));
        let best: Vec<String> = best.collect();
        let best = if best.is_empty() { "the usual ones".into() } else { best.join(", ") };
        text.push_str(&format!("\nfastest sizes: {best}\n"));
    }
    let gang = profile.gangs.get(&profile.isa).copied().unwrap_or_default();
    text.push_str(&format!("\nfastest: {} x {gang}\nthe whole scan took {wall_seconds:.2} s\n", profile.isa));
    text
}

/// Formats the results of repeated whole jobs: the fastest job in full, and a line about all jobs.
pub fn throughput_of_jobs(jobs: &JobThroughput) -> String {
    let JobThroughput { summary: fastest, repetitions, job_events_per_second, .. } = jobs;
    format!(
        "{}\nthe fastest of {} took {:.3} s, the median job {:.3} s; the fastest did {} {}s/s\n",
        fastest.text(),
        count(*repetitions as usize, "job"),
        fastest.wall_seconds,
        jobs.median(),
        rate(*job_events_per_second),
        fastest.row,
    )
}

/// Formats a table of times: a row for each instruction set, a column for each gang size; `*` marks the shortest time.
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

/// Formats the result of a comparison.
pub fn compared(report: &Compared) -> String {
    let side = |side: &Side| {
        let Side { preset, isa, gang, threads, slice, .. } = side;
        let preset = preset_words(preset.as_deref());
        format!("{preset}{isa} x {gang}, {}, slices of {slice}", count(*threads, "thread"))
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
    text.push_str(&times([&report.left, &report.right], row));
    text.push_str(&format!("the whole job took {:.2} s\n", report.wall_seconds));
    if report.is_interrupted {
        text.push_str("interrupted: partial results follow\n");
    }
    text
}

/// Formats times of stages or kernels of both sides. On a device, the rest of the wall clock is host work and waiting.
fn times(sides: [&Side; 2], row: &str) -> String {
    let cell = |ns: Option<f64>| ns.map_or("-".to_string(), |ns| format!("{ns:.0}"));
    let mut rows = vec![[format!("ns/{row}"), "left".into(), "right".into()]];
    let mut names: Vec<&str> = Vec::new();
    for part in sides.iter().flat_map(|side| &side.parts) {
        if !names.contains(&part.name) {
            names.push(part.name);
        }
    }
    let of = |side: &Side, name: &str| {
        side.parts.iter().find(|part| part.name == name).map(|part| part.ns_per_event)
    };
    rows.extend(
        names.iter().map(|name| [name.to_string(), cell(of(sides[0], name)), cell(of(sides[1], name))]),
    );
    let rest = |side: &Side| {
        let kernels: f64 = side.parts.iter().map(|part| part.ns_per_event).sum();
        side.is_device.then_some((side.wall_ns_per_event - kernels).max(0.0))
    };
    if sides.iter().any(|side| side.is_device) {
        rows.push(["host and waiting".into(), cell(rest(sides[0])), cell(rest(sides[1]))]);
    }
    rows.push([
        "wall clock".into(),
        cell(Some(sides[0].wall_ns_per_event)),
        cell(Some(sides[1].wall_ns_per_event)),
    ]);
    table(&rows)
}

/// Formats the results of `peloton throughput`.
pub fn throughput(report: &Throughput) -> String {
    let mut text = match &report.device {
        Some(device) => format!(
            "{device}, slices of {}, {:.0} MB of device memory, {:.0} MB page-locked\n",
            report.slice,
            report.arena_bytes as f64 / 1e6,
            report.pinned_bytes as f64 / 1e6
        ),
        None => String::new(),
    };
    text.push_str(&report.summary.text());
    if !report.kernels.is_empty() {
        let mut rows = vec![["kernel", "ns/event", "share"].map(String::from)];
        rows.extend(report.kernels.iter().map(|kernel| {
            [kernel.name.into(), format!("{:.0}", kernel.ns_per_event), percent(Some(kernel.share))]
        }));
        let kernels: f64 = report.kernels.iter().map(|kernel| kernel.ns_per_event).sum();
        let all = report.kernels_wall_ns_per_event.unwrap_or_default();
        rows.push(["host and waiting".into(), format!("{:.0}", (all - kernels).max(0.0)), String::new()]);
        text.push_str("\nwith one stream:\n");
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
        text.push_str(&format!("{}: {}\n", name.replace('_', " "), unquoted(value)));
    }
    text
}
