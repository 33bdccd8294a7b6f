//! `peloton check --sequence cylinder`: tracks against true particles, fitted states against true ones.

use super::run::reconstruct;
use super::source::EventSource;
use crate::console::table;
use crate::describe;
use crate::options::{InputArgs, ReportArgs};
use peloton::event::CYLINDER_LAYERS;
use peloton::kalman::FitStatus;
use peloton::pipeline::Config;
use peloton::{Error, Result};
use peloton_io::output::Summary;
use peloton_truth::{CylinderCategory, CylinderChecker, CylinderPulls, CylinderReport, Pull, Resolution};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: Summary,
    builder: String,
    seeds: String,
    rules: &'static str,
    #[serde(flatten)]
    check: CylinderReport,
    /// Tracks by what became of their fit.
    fits: BTreeMap<&'static str, u64>,
    pulls: Vec<Pull>,
    resolutions: Vec<Resolution>,
}

/// Does it.
pub fn check(config: &Config, input: &InputArgs, report: &ReportArgs, tables: bool) -> Result<ExitCode> {
    let mut source = EventSource::open(input)?;
    let mut checker = CylinderChecker::default();
    let mut pulls = CylinderPulls::new(f64::from(config.cylinder.field));
    let mut fits = BTreeMap::new();
    let made = reconstruct(config, &mut source, input.strict, |events, slots| {
        for (event, slot) in slots.iter().enumerate() {
            let first_hit = events.hits.layer_start[event * CYLINDER_LAYERS] as usize;
            checker.event(&events.truth, (event, first_hit), slot.tracks.hit_lists(0));
            pulls.event(&slot.tracks, 0, &events.truth, (event, first_hit));
            for code in slot.tracks.fit.iter() {
                *fits.entry(FitStatus::ALL[usize::from(*code)].name()).or_insert(0) += 1;
            }
        }
        Ok(())
    });
    source.say_problems(report);
    let (summary, _) = made?;
    let check = checker.report();
    if check.events == 0 {
        return Err(Error::format("input", "no event to check"));
    }
    let result = Report {
        summary,
        builder: config.cylinder.builder.to_string(),
        seeds: config.cylinder.seeds.to_string(),
        rules: "cylinder",
        check,
        fits,
        pulls: pulls.pulls(),
        resolutions: pulls.resolutions(),
    };
    report.report(&text(&result, tables), &result)?;
    Ok(ExitCode::SUCCESS)
}

fn text(report: &Report, tables: bool) -> String {
    let Report { summary, builder, seeds, check, .. } = report;
    let mut text = describe::summary(summary);
    text.push_str(&format!("\nbuilder {builder}, seeds from {seeds}\n"));
    text.push_str(&format!(
        "fakes : {}/{} {}\n",
        check.ghosts,
        check.tracks,
        describe::percent(check.ghost_rate)
    ));
    check.categories.iter().for_each(|category| text.push_str(&line(category)));
    let mut rows = vec![["pull", "tracks", "mean", "width"].map(String::from)];
    for Pull { parameter, tracks, mean, width } in &report.pulls {
        rows.push([(*parameter).into(), tracks.to_string(), format!("{mean:+.4}"), format!("{width:.4}")]);
    }
    text.push('\n');
    text.push_str(&table(&rows));
    for (name, count) in report.fits.iter().filter(|(name, _)| **name != FitStatus::Ok.name()) {
        text.push_str(&format!("{count} fits: {name}\n"));
    }
    if tables {
        text.push_str(&lengths(check));
        text.push_str(&resolutions(&report.resolutions));
    }
    text
}

fn line(category: &CylinderCategory) -> String {
    let CylinderCategory { name, reconstructible, reconstructed, efficiency, clones, .. } = category;
    let percent = describe::percent;
    format!(
        "{name:10} : {reconstructed}/{reconstructible} {} [{}, {}], {clones} ({}) clones, pur {}, hit eff {}, \
         fakes {}/{} {}\n",
        percent(*efficiency),
        percent(category.efficiency_low),
        percent(category.efficiency_high),
        percent(category.clone_rate),
        percent(category.purity),
        percent(category.hit_efficiency),
        category.fakes,
        category.tracks,
        percent(category.fake_rate),
    )
}

fn lengths(check: &CylinderReport) -> String {
    let mut rows = vec![["hits", "matched", "fake"].map(String::from)];
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
