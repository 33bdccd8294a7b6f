//! Seeding in the SciFi: the slides' throughput, efficiency and ghosts.

use super::entry::{Job, SEED};
use super::figures::{Found, bins, edge, ghost_rate, stages_ns, text_of};
use super::report::Report;
use super::table::Origin::{Here, Paper, Program, Setting};
use super::table::{Cell, Table};
use crate::{Checked, Config, Preset, Request, SequenceName};
use peloton::Result;

/// Presets that are put side by side.
const PRESETS: [Preset; 2] = [Preset::Hlt1, Preset::Best];
/// Why the columns of forward tracking are empty.
const NO_FORWARD: &str = "Forward tracking is not in this repository yet, so its column or row is empty";

/// Published validation of LHCb's program (2023), 1,000 Bs -> phi phi events, per cent: category, seeding + matching,
/// forward tracking with the UT.
const PUBLISHED: [(&str, f64, f64); 6] = [
    ("01_long", 69.74, 60.40),
    ("02_long_P>5GeV", 82.74, 75.50),
    ("05_long_fromB", 79.40, 75.73),
    ("06_long_fromB_P>5GeV", 87.53, 85.94),
    ("long_P>5GeV_AND_Pt>1GeV", 84.49, 89.57),
    ("13_long_PT>2GeV", 85.97, 92.36),
];
/// Ghosts of the same, per cent.
const PUBLISHED_GHOSTS: [f64; 2] = [7.63, 3.55];

/// The same of its seeds, per cent.
const PUBLISHED_SEEDS: [(&str, f64); 8] = [
    ("00_P>3Gev_Pt>0.5", 85.61),
    ("01_long", 75.62),
    ("02_long_P>5GeV", 87.82),
    ("03_long_P>3GeV", 86.31),
    ("05_long_from_B", 83.34),
    ("06_long_from_B_P>5GeV", 90.87),
    ("08_UT+SciFi", 60.78),
    ("10_UT+SciFi_P>3GeV", 84.21),
];
const PUBLISHED_SEED_GHOSTS: f64 = 13.43;

/// Efficiency against p, pt and eta, and ghosts, of seeding and matching.
///
/// # Errors
/// Those of the checks.
pub fn efficiency(job: &Job<'_>) -> Result<Report> {
    let simulated = format!("sim:lhcb,signal=b,events={},seed={SEED}", job.size(1000, 40));
    let request = job.request(SequenceName::Long, Preset::Hlt1, &simulated);
    let configs = PRESETS.map(|preset| request.config.with_preset(preset));
    let checked = job.check(&request, &configs, None)?;
    job.stage("seeds");
    let seeds = Request {
        config: Config { sequence: SequenceName::SciFi, ..request.config.clone() },
        ..request.clone()
    };
    let configs = PRESETS.map(|preset| seeds.config.with_preset(preset));
    let seeds = job.check(&seeds, &configs, None)?;
    let mut tables = vec![categories(&checked)?, seed_categories(&seeds)?];
    for (variable, unit) in [("p", "GeV/c"), ("pt", "GeV/c"), ("eta", "")] {
        tables.push(against(&checked, variable, unit));
    }
    let notes = [
        "Long particles, no electrons, 2 < eta < 5. The slides have curves without numbers; those of LHCb's program in \
         the first two tables are from its published validation logs of 2023",
        "Preset hlt1: the published search and matching; preset best: this project's own",
        NO_FORWARD,
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "1,000 simulated Bs -> phi phi events of LHCb, RTX A5000",
        hashes: checked.iter().chain(&seeds).map(|one| text_of(one, "output_hash")).collect(),
        tables,
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// Efficiencies by category, and ghosts.
fn categories(checked: &[Checked]) -> Result<Table> {
    let mut table = Table::new("Efficiency of long tracks, and ghosts")
        .columns(Setting, &[("particles", "")])
        .columns(Here, &[("of", ""), ("hlt1", "%"), ("best", "%"), ("forward with UT", "%")])
        .columns(Program, &[("LHCb's program, 2023: seeding and matching", "%")])
        .columns(Program, &[("LHCb's program, 2023: forward with UT", "%")]);
    for (name, matching, forward) in PUBLISHED {
        let mut row = vec![name.into(), Cell::Count(Found::of(&checked[0], name)?.reconstructible)];
        for one in checked {
            row.push(Cell::percent(Found::of(one, name)?.efficiency));
        }
        row.extend([Cell::Nothing, Cell::Number(matching, 2), Cell::Number(forward, 2)]);
        table.row(row);
    }
    let mut row = vec!["ghosts".into(), Cell::Nothing];
    row.extend(checked.iter().map(|one| Cell::percent(ghost_rate(one))));
    row.push(Cell::Nothing);
    row.extend(PUBLISHED_GHOSTS.map(|rate| Cell::Number(rate, 2)));
    table.row(row);
    Ok(table)
}

/// Efficiencies and ghosts of the seeds alone.
fn seed_categories(checked: &[Checked]) -> Result<Table> {
    let mut table = Table::new("Efficiency of tracks in the SciFi (seeds), and ghosts")
        .columns(Setting, &[("particles", "")])
        .columns(Here, &[("of", ""), ("hlt1", "%"), ("best", "%")])
        .columns(Program, &[("LHCb's program, 2023", "%")]);
    for (name, published) in PUBLISHED_SEEDS {
        let mut row = vec![name.into(), Cell::Count(Found::of(&checked[0], name)?.reconstructible)];
        for one in checked {
            row.push(Cell::percent(Found::of(one, name)?.efficiency));
        }
        row.push(Cell::Number(published, 2));
        table.row(row);
    }
    let mut row = vec!["ghosts".into(), Cell::Nothing];
    row.extend(checked.iter().map(|one| Cell::percent(ghost_rate(one))));
    row.push(Cell::Number(PUBLISHED_SEED_GHOSTS, 2));
    table.row(row);
    Ok(table)
}

/// Efficiency against one property.
fn against(checked: &[Checked], variable: &'static str, unit: &'static str) -> Table {
    let table = Table::new(&format!("Efficiency of long tracks against {variable}"))
        .columns(Setting, &[(variable, unit), ("to", unit)])
        .columns(Here, &[("found, hlt1", ""), ("of", ""), ("hlt1", "%"), ("best", "%")])
        .columns(Here, &[("forward with UT", "%")]);
    let mut table = table.drawn(0, &[4, 5], None, false);
    let of = |one| bins(one, "01_long", variable);
    for (bin, best) in of(&checked[0]).into_iter().zip(of(&checked[1])) {
        let count = |key: &str| Cell::Count(bin[key].as_u64().unwrap_or(0));
        if bin["reconstructible"] == 0 {
            continue;
        }
        table.row(vec![
            edge(bin, "low"),
            edge(bin, "high"),
            count("reconstructed"),
            count("reconstructible"),
            Cell::percent(bin["efficiency"].as_f64()),
            Cell::percent(best["efficiency"].as_f64()),
            Cell::Nothing,
        ]);
    }
    table
}

/// Throughput of seeding and matching; the slides compare with forward tracking.
///
/// # Errors
/// Those of the measurements.
pub fn throughput(job: &Job<'_>) -> Result<Report> {
    let simulated = format!("sim:lhcb,events={},seed={SEED}", job.size(500, 40));
    let request = job.timed(SequenceName::Long, Preset::Hlt1, &simulated);
    let configs = PRESETS.map(|preset| request.config.with_preset(preset));
    let measured = job.throughput(&request, &configs)?;
    let mut table =
        Table::new("Throughput from raw banks, thousand events/s; time of the steps, us per event")
            .columns(Setting, &[("method", "")])
            .columns(Here, &[("throughput", "kHz"), ("Velo", "us"), ("decoding", "us"), ("sort", "us")])
            .columns(Here, &[("seed in x", "us"), ("confirm", "us"), ("match", "us")])
            .columns(Paper, &[("30 MHz over 200 GPUs", "kHz")]);
    let velo = ["velo decode", "velo sort", "velo find", "velo fit"];
    for (one, preset) in measured.iter().zip(PRESETS) {
        let us = |names: &[&str]| Cell::Number(stages_ns(one, names) / 1e3, 1);
        let name = format!("seeding and matching, {preset}");
        table.row(vec![
            name.as_str().into(),
            Cell::Number(one.events_per_second_best / 1e3, 2),
            us(&velo),
            us(&["scifi decode"]),
            us(&["scifi sort"]),
            us(&["scifi find"]),
            us(&["scifi confirm"]),
            us(&["match"]),
            if preset == Preset::Hlt1 { Cell::Number(150.0, 0) } else { Cell::Nothing },
        ]);
    }
    let mut forward = vec!["forward with UT".into()];
    forward.resize(9, Cell::Nothing);
    table.row(forward);
    let notes = [
        "The slides: about 200 RTX A5000 take the detector's 30 MHz, so 150 kHz each, for the whole first trigger stage, of \
         which seeding and matching are only a part; the figure of the slides has no numbers",
        NO_FORWARD,
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "RTX A5000, minimum bias",
        hashes: measured.iter().map(|one| format!("{:016x}", one.summary.hashes.output)).collect(),
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}
