//! Results as text for people: aligned columns, shares in per cent.

use crate::{Compared, InputKind, Measurement, Profile, Summary, Throughput, Tuned};
use peloton::event::Hashes;
use peloton::simd::{GANGS, Isa};
use peloton_truth::{
    CheckReport, CylinderCategory, CylinderReport, Loss, LossReport, MomentumReport, Pull, Resolution,
    StageLoss, VeloPullReport,
};

/// Rows of text in aligned columns, the first to the left and the others to the right.
pub fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let columns = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
    let mut widths = vec![0; columns];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, (cell, &width)) in row.as_ref().iter().zip(&widths).enumerate() {
            line.push_str(&if at == 0 { format!("{cell:width$}") } else { format!("  {cell:>width$}") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A run in a few aligned lines.
pub fn summary(summary: &Summary) -> String {
    let Summary { sequence, preset, events, isa, gang, threads, hashes, tracks, hits, .. } = summary;
    let per_event = |count: u64| format!("{:.1}", count as f64 / (*events).max(1) as f64);
    let mut text = format!("{sequence}, preset {preset}, {isa} x {gang}, ");
    text.push_str(&format!("{}\n\n", count(*threads, "thread")));
    let rows_are = format!("{}s", summary.row);
    let mut rows = vec![
        ["".into(), "all".into(), format!("per {}", summary.row)],
        [rows_are.clone(), grouped(*events), "".into()],
        ["hits".into(), grouped(*hits), per_event(*hits)],
    ];
    if summary.has_tracks {
        rows.push(["tracks".into(), grouped(*tracks), per_event(*tracks)]);
    }
    text.push_str(&table(&rows));
    // Nulls are for programs, and what has a row of its own is not said twice.
    let told = summary.facts.iter().filter(|(name, value)| !value.is_null() && **name != rows_are);
    for (name, value) in told.filter(|(name, _)| *name != "interrupted") {
        text.push_str(&format!("{}: {}\n", name.replace('_', " "), plain(value)));
    }
    for (reason, count) in &summary.dropped {
        text.push_str(&format!("dropped {}: {}\n", grouped(*count), reason.replace('_', " ")));
    }
    text.push('\n');
    if summary.events_per_second.is_finite() {
        let rate_of = if summary.input == InputKind::Live { "taken in" } else { "reconstruction alone" };
        text.push_str(&format!(
            "{rate_of}: {} {rows_are}/s, {} {rows_are}/s per thread, {} hits/s\n",
            rate(summary.events_per_second),
            rate(summary.events_per_second / *threads as f64),
            rate(summary.hits_per_second),
        ));
    }
    text.push_str(&format!("the whole job took {:.2} s{}\n\n", summary.wall_seconds, most_of_it(summary)));
    text.push_str(&stages(summary));
    text.push_str(&format!("\nhash_int {:016x}  output_hash {:016x}\n", hashes.int, hashes.output));
    if summary.is_interrupted {
        text.push_str("interrupted: this is what was made so far\n");
    }
    text
}

/// A number of things.
pub fn count(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// A number in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate with three digits or more before the point in groups, and one behind it where there are fewer.
pub fn rate(per_second: f64) -> String {
    if per_second < 100.0 { format!("{per_second:.1}") } else { grouped(per_second.round() as u64) }
}

/// What most of the time of a job went to, where that is the input.
fn most_of_it(summary: &Summary) -> &'static str {
    match summary.input {
        _ if summary.input_seconds <= 0.5 * summary.wall_seconds => "",
        InputKind::Read => ", most of it reading",
        InputKind::Simulated => ", most of it simulation",
        InputKind::Live => ", most of it waiting for input",
    }
}

/// A JSON value without quotation marks.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// One line per stage: time, share of the time, lane occupancy.
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
    }
    let hits: f64 = summary.stages.iter().map(|stage| stage.ns_per_hit).sum();
    rows.push(["sum".into(), format!("{total:.0}"), format!("{hits:.2}"), "".into(), "".into()]);
    table(&rows)
}

/// A share in per cent; a dash for none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.2} %", 100.0 * share))
}

/// Efficiencies and ghost rates in bins.
pub fn tables(report: &CheckReport) -> String {
    let mut text = String::new();
    for one in &report.tables {
        text.push_str(&format!("\n{} against {}\n", one.category, axis(one.variable, one.unit)));
        let mut rows =
            vec![["from", "to", "found", "of", "efficiency", "68 % from", "to", "clones"].map(String::from)];
        rows.extend(one.bins.iter().map(|bin| {
            let [low, efficiency, high] =
                [bin.efficiency_low, bin.efficiency, bin.efficiency_high].map(percent);
            let (found, of) = (bin.reconstructed.to_string(), bin.reconstructible.to_string());
            [edge(bin.low), edge(bin.high), found, of, efficiency, low, high, percent(bin.clone_rate)]
        }));
        text.push_str(&table(&rows));
    }
    for one in &report.ghost_tables {
        text.push_str(&format!("\nghosts against {}\n", axis(one.variable, one.unit)));
        let mut rows = vec![["from", "to", "ghosts", "tracks", "rate", "68 % from", "to"].map(String::from)];
        rows.extend(one.bins.iter().map(|bin| {
            let [low, rate, high] = [bin.ghost_rate_low, bin.ghost_rate, bin.ghost_rate_high].map(percent);
            [edge(bin.low), edge(bin.high), bin.ghosts.to_string(), bin.tracks.to_string(), rate, low, high]
        }));
        text.push_str(&table(&rows));
    }
    text
}

/// Why particles are missed, and what false tracks and clones are made of.
pub fn losses(report: &LossReport) -> String {
    let share = |count, of: u64| percent((of > 0).then_some(count as f64 / of as f64));
    let mut text = String::new();
    for (title, losses, of, slow) in [
        ("missed Velo particles", &report.missed, report.particles, true),
        ("ghosts", &report.ghosts, report.tracks, false),
        ("clones", &report.clones, report.particles, true),
    ] {
        let line = |cause: &str, count: u64, below: u64| {
            let below = if slow { below.to_string() } else { "".into() };
            [cause.into(), count.to_string(), share(count, of), below]
        };
        let below = if slow { "pT < 150 MeV/c" } else { "" };
        let mut rows = vec![[title, "number", "share", below].map(String::from)];
        rows.extend(losses.iter().map(|Loss { cause, count, slow }| line(cause, *count, *slow)));
        let sum = |value: fn(&Loss) -> u64| losses.iter().map(value).sum();
        rows.push(line("all", sum(|loss| loss.count), sum(|loss| loss.slow)));
        text.push('\n');
        text.push_str(&table(&rows));
    }
    text
}

/// Measured momenta against true ones.
pub fn momenta(report: &MomentumReport) -> String {
    let heads =
        ["p, GeV/c", "tracks", "median dp/p", "half 68 %", "pull of q/p", "right charge", "68 % interval"];
    let mut rows = vec![heads.map(String::from)];
    let share = |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.2} %", 100.0 * value));
    let above = std::iter::once((format!("above {}", edge(report.all.low)), &report.all));
    let bins = report.bins.iter().map(|bin| (format!("{}-{}", edge(bin.low), edge(bin.high)), bin));
    for (name, bin) in above.chain(bins).filter(|(_, bin)| bin.tracks > 0) {
        rows.push([
            name,
            bin.tracks.to_string(),
            bin.median.map_or("-".into(), |median| format!("{:+.2} %", 100.0 * median)),
            share(bin.half_width),
            bin.pull_width.map_or("-".into(), |width| format!("{width:.2}")),
            share(bin.right_charge_rate),
            format!("{} - {}", share(bin.right_charge_low), share(bin.right_charge_high)),
        ]);
    }
    format!(
        "\nmomenta of matched tracks of non-electrons, 2 < eta < 5: measured / true - 1\n{}",
        table(&rows)
    )
}

/// Where particles were lost, stage by stage.
pub fn stage_losses(title: &str, losses: &[StageLoss]) -> String {
    let mut rows = vec![[title, "entered", "lost", "share", "68 % interval"].map(String::from)];
    for loss in losses {
        let interval = format!("{} - {}", percent(loss.low), percent(loss.high));
        let share = (loss.entered > 0).then_some(loss.lost as f64 / loss.entered as f64);
        rows.push([
            loss.stage.into(),
            loss.entered.to_string(),
            loss.lost.to_string(),
            percent(share),
            interval,
        ]);
    }
    format!("\n{}", table(&rows))
}

/// Fitted states against true ones, and impact parameters.
pub fn velo_pulls(report: &VeloPullReport) -> String {
    let heads = [
        "state",
        "p, GeV/c",
        "tracks",
        "mean pull",
        "width",
        "beyond 5",
        "resolution",
        "hits in sigma^2",
        "hits in truth",
    ];
    let mut rows = vec![heads.map(String::from)];
    let known = |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share));
    for pull in &report.pulls {
        let (scale, unit) = if pull.parameter.starts_with('t') { (1e6, "urad") } else { (1e3, "um") };
        rows.push([
            format!("{} {}", pull.place, pull.parameter),
            format!("{}-{}", edge(pull.p_from), pull.p_to.map(edge).unwrap_or_default()),
            pull.tracks.to_string(),
            format!("{:+.3}", pull.mean),
            format!("{:.3}", pull.width),
            percent(Some(pull.far)),
            format!("{:.1} {unit}", scale * pull.resolution),
            known(pull.hit_share),
            known(pull.true_hit_share),
        ]);
    }
    let mut text = format!(
        "\nstates of prompt particles above 3 GeV/c, no electrons: pulls are (fitted - true) / sigma,\n\
         widths and resolutions half of the central 68 %; hits: which share of sigma^2, and of the real\n\
         variance, is due to hit errors, the rest being scattering\n{}",
        table(&rows)
    );
    let mut rows = vec![["1/pT, c/GeV", "tracks", "impact parameter", "LHCb run 1"].map(String::from)];
    for bin in &report.impact_parameters {
        rows.push([
            format!("{}-{}", edge(bin.inverse_pt_from), edge(bin.inverse_pt_to)),
            bin.tracks.to_string(),
            format!("{:.1} um", 1e3 * bin.resolution),
            format!("{:.1} um", 1e3 * bin.lhcb_run1),
        ]);
    }
    text.push('\n');
    text.push_str(&table(&rows));
    text
}

fn axis(variable: &str, unit: &str) -> String {
    if unit.is_empty() { variable.into() } else { format!("{variable} ({unit})") }
}

/// An edge of a bin without digits that say nothing.
fn edge(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Efficiency, ghosts and pulls of the cylinder detector.
pub fn cylinder(check: &CylinderReport, pulls: &[Pull]) -> String {
    let mut text = format!("ghosts     : {}/{} {}\n", check.ghosts, check.tracks, percent(check.ghost_rate));
    check.categories.iter().for_each(|category| text.push_str(&category_line(category)));
    let mut rows = vec![["pull", "tracks", "mean", "width"].map(String::from)];
    for Pull { parameter, tracks, mean, width } in pulls {
        rows.push([(*parameter).into(), tracks.to_string(), format!("{mean:+.4}"), format!("{width:.4}")]);
    }
    text.push('\n');
    text.push_str(&table(&rows));
    text
}

/// Lengths of tracks, and resolutions.
pub fn cylinder_tables(check: &CylinderReport, bins: &[Resolution]) -> String {
    lengths(check) + &cylinder_bins(check) + &resolutions(bins)
}

/// Efficiency, clones and fakes against pT and eta.
fn cylinder_bins(check: &CylinderReport) -> String {
    let mut text = String::new();
    for one in &check.tables {
        text.push_str(&format!("\n{} against {}\n", one.category, axis(one.variable, one.unit)));
        let heads = ["from", "to", "found", "of", "efficiency", "clones", "ghosts", "tracks", "ghost rate"];
        let mut rows = vec![heads.map(String::from)];
        rows.extend(one.bins.iter().filter(|bin| bin.reconstructible + bin.tracks > 0).map(|bin| {
            let [found, of, ghosts, tracks] =
                [bin.reconstructed, bin.reconstructible, bin.ghosts, bin.tracks].map(|n| n.to_string());
            let [rate, clones, ghost_rate] = [bin.efficiency, bin.clone_rate, bin.ghost_rate].map(percent);
            [edge(bin.low), edge(bin.high), found, of, rate, clones, ghosts, tracks, ghost_rate]
        }));
        text.push_str(&table(&rows));
    }
    text
}

fn category_line(category: &CylinderCategory) -> String {
    let CylinderCategory { name, reconstructible, reconstructed, efficiency, clones, .. } = category;
    format!(
        "{name:10} : {reconstructed}/{reconstructible} {} [{}, {}], {clones} ({}) clones, pur {}, hit eff {}, \
         ghosts {}/{} {}\n",
        percent(*efficiency),
        percent(category.efficiency_low),
        percent(category.efficiency_high),
        percent(category.clone_rate),
        percent(category.purity),
        percent(category.hit_efficiency),
        category.ghosts,
        category.tracks,
        percent(category.ghost_rate),
    )
}

fn lengths(check: &CylinderReport) -> String {
    let mut rows = vec![["hits", "matched", "ghosts"].map(String::from)];
    for (hits, [matched, fake]) in check.lengths.iter().enumerate().skip(3) {
        rows.push([hits.to_string(), matched.to_string(), fake.to_string()]);
    }
    format!("\n{}", table(&rows))
}

fn resolutions(bins: &[Resolution]) -> String {
    let heads = ["pT from, GeV/c", "tracks", "r-phi, um", "z, um", "pT, %", "phi, mrad", "theta, mrad"];
    let mut rows = vec![heads.map(String::from)];
    for bin in bins {
        rows.push([
            format!("{:.1}", bin.pt_from),
            bin.tracks.to_string(),
            format!("{:.1}", 1e4 * bin.r_phi),
            format!("{:.0}", 1e4 * bin.z),
            format!("{:.3}", 100.0 * bin.pt),
            format!("{:.3}", 1e3 * bin.phi),
            format!("{:.3}", 1e3 * bin.theta),
        ]);
    }
    format!("\n{}", table(&rows))
}

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
    let side = |side: &crate::compare::Side| {
        let crate::compare::Side { preset, isa, gang, threads, slice, .. } = side;
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
        let mut rows = vec![["slice", "streams", "events/s"].map(String::from)];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [["stage", "ns"], ["find", "31000.5"], ["a long one", "7"]].map(|row| row.map(String::from));
        assert_eq!(table(&rows), "stage            ns\nfind        31000.5\na long one        7\n");
    }
}
