//! Summaries as text.

use super::console::table;
use crate::output::Summary;
use crate::pipeline::Sequence;
use crate::truth::{CheckReport, Loss, LossReport, VeloPullReport};

/// A run in a few aligned lines.
pub fn summary(summary: &Summary) -> String {
    let Summary { sequence, preset, events, isa, gang, threads, hashes, tracks, hits, .. } = summary;
    let per_event = |count: u64| format!("{:.1}", count as f64 / (*events).max(1) as f64);
    let mut text = format!("{sequence}, preset {preset}, {isa} x {gang}, ");
    text.push_str(&format!("{threads} thread{}\n\n", if *threads == 1 { "" } else { "s" }));
    let mut rows = vec![
        ["".into(), "all".into(), "per event".into()],
        ["events".into(), events.to_string(), "".into()],
        ["hits".into(), hits.to_string(), per_event(*hits)],
    ];
    if *sequence == Sequence::Velo {
        rows.push(["tracks".into(), tracks.to_string(), per_event(*tracks)]);
    }
    text.push_str(&table(&rows));
    for (reason, count) in &summary.dropped {
        text.push_str(&format!("dropped {count}: {reason}\n"));
    }
    text.push_str(&format!(
        "\n{:.0} events/s, {:.0} events/s per thread, {:.2} million hits/s\n\n",
        summary.events_per_second,
        summary.events_per_second / *threads as f64,
        summary.hits_per_second / 1e6,
    ));
    text.push_str(&stages(summary));
    text.push_str(&format!("\nhash_int {:016x}  output_hash {:016x}\n", hashes.int, hashes.output));
    text
}

/// One line per stage: time, share of the time, lane occupancy.
fn stages(summary: &Summary) -> String {
    let total: f64 = summary.stages.iter().map(|stage| stage.ns_per_event).sum();
    let mut rows = vec![["stage", "ns/event", "share", "lanes busy"].map(String::from)];
    for stage in &summary.stages {
        rows.push([
            stage.name.into(),
            format!("{:.0}", stage.ns_per_event),
            percent((total > 0.0).then_some(stage.ns_per_event / total)),
            percent(stage.occupancy),
        ]);
    }
    rows.push(["sum".into(), format!("{total:.0}"), "".into(), "".into()]);
    table(&rows)
}

/// A share in per cent; a dash for none.
pub fn percent(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.1} %", 100.0 * share))
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

/// Fitted states against true ones, and impact parameters.
pub fn velo_pulls(report: &VeloPullReport) -> String {
    let heads = ["state", "p, GeV/c", "tracks", "mean pull", "width", "beyond 5", "resolution"];
    let mut rows = vec![heads.map(String::from)];
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
        ]);
    }
    let mut text = format!(
        "\nstates of prompt particles above 3 GeV/c, no electrons: pulls are (fitted - true) / sigma,\n\
         widths and resolutions half of the central 68 %\n{}",
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
