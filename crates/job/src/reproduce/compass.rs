//! Compass UT: table 3, figure 9 and figure 12.

use super::entry::{Job, SEED};
use super::figures::{Found, ghost_rate, khz, stages_ns, text_of};
use super::report::{Asked, Report};
use super::table::Origin::{Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::{CheckRules, Checked, Config, Preset, Request, SequenceName};
use peloton::Result;
use peloton_truth::Rules;

/// Groups of sectors that are searched, and doublets that are tried.
const SECTORS: [u32; 3] = [1, 3, 5];
const CANDIDATES: [u32; 5] = [1, 2, 4, 8, 16];
/// Particles of the table: long, and with the UT, with hits in three of its planes, p > 5 GeV, pt > 1 GeV.
const LONG: &str = "long+UT_P>5GeV_Pt>1GeV";
const VELO_UT: &str = "velo+UT_P>5GeV_Pt>1GeV";

/// The paper's table 3, per cent: efficiency and clones of long tracks, the same of Velo+UT tracks, fakes.
const TABLE_3: [[[f64; 5]; 5]; 3] = [
    [
        [71.91, 0.36, 61.88, 0.32, 7.73],
        [76.53, 0.36, 69.99, 0.32, 7.78],
        [79.09, 0.31, 74.31, 0.32, 7.70],
        [80.36, 0.34, 76.58, 0.35, 7.61],
        [80.52, 0.34, 77.04, 0.35, 7.52],
    ],
    [
        [84.70, 0.39, 66.87, 0.32, 7.64],
        [90.07, 0.38, 75.61, 0.33, 7.62],
        [93.31, 0.35, 80.32, 0.32, 7.52],
        [94.72, 0.36, 82.66, 0.35, 7.43],
        [94.94, 0.36, 83.19, 0.35, 7.33],
    ],
    [
        [85.23, 0.39, 67.10, 0.31, 7.70],
        [90.65, 0.38, 75.84, 0.32, 7.67],
        [93.89, 0.35, 80.52, 0.32, 7.56],
        [95.27, 0.36, 82.87, 0.35, 7.47],
        [95.49, 0.36, 83.40, 0.35, 7.38],
    ],
];

/// The configurations, by sectors and candidates.
fn configs(base: &Config, sectors: &[u32]) -> Vec<Config> {
    let both = sectors.iter().flat_map(|&sectors| CANDIDATES.map(|candidates| (sectors, candidates)));
    both.map(|(sectors, candidates)| {
        let mut config = base.clone();
        (config.ut.sectors, config.ut.candidates) = (sectors, candidates);
        config
    })
    .collect()
}

/// Table 3: efficiencies, clones and fakes.
///
/// # Errors
/// Those of the checks.
pub fn table_3(job: &Job<'_>) -> Result<Report> {
    let simulated = format!("sim:lhcb,signal=b,events={},seed={SEED}", job.size(2000, 40));
    let request = job.request(SequenceName::VeloUt, Preset::Paper, &simulated);
    let rules = Some(CheckRules::Tracker(Rules::LhcbUt));
    job.stage("15 configurations");
    let checked = job.check(&request, &configs(&request.config, &SECTORS), rules)?;
    job.stage("Velo tracks");
    let velo = Config { sequence: SequenceName::Velo, ..request.config.clone() };
    let before = Request { config: velo.clone(), ..request.clone() };
    let before = job.check(&before, &[velo], rules)?;
    let mut report = Report {
        input: request.inputs.clone(),
        machine: format!("{}, preset paper", job.machine(&request.config)?),
        paper_machine: "1,000 simulated Bs -> phi phi events of LHCb; physics is the same on its GPUs and its CPU",
        hashes: checked.iter().map(|one| text_of(one, "output_hash")).collect(),
        ..Report::default()
    };
    report.tables.push(efficiencies(&checked)?);
    report.tables.push(velo_tracks(&before[0])?);
    if Found::of(&checked[0], LONG)?.is_many() {
        report.asked = asked(&checked, &before[0])?;
    } else {
        let few = "fewer than 1,000 long particles: rates are left out and nothing is checked, only counts are shown";
        report.notes.push(few.into());
    }
    report.notes.extend(
        [
            "Long and Velo+UT: no electrons, 2 < eta < 5, hits in at least three planes of the UT, p > 5 GeV/c, \
             pt > 1 GeV/c. The paper does not say how its particles were selected, except for the hits",
            "All long: any momentum, with the UT or without; the final cuts of preset `paper` drop p < 2.5 GeV/c and \
             pt < 425 MeV/c",
            "Fakes: tracks that belong to no particle, over all tracks. Clones: tracks beyond the first of a particle, over all \
             tracks of these particles; the paper counts them over all reconstructed tracks",
        ]
        .map(String::from),
    );
    Ok(report)
}

/// Our table beside the paper's.
fn efficiencies(checked: &[Checked]) -> Result<Table> {
    let table = Table::new("Efficiency, clones, fakes; long and Velo+UT with p > 5 GeV/c, pt > 1 GeV/c")
        .columns(Setting, &[("sectors", ""), ("candidates", "")])
        .columns(Here, &[("found", ""), ("of", ""), ("long", "%"), ("clones", "%")])
        .columns(Here, &[("Velo+UT", "%"), ("clones", "%"), ("all long", "%"), ("fakes", "%")])
        .columns(Paper, &[("long", "%"), ("clones", "%"), ("Velo+UT", "%"), ("clones", "%"), ("fakes", "%")]);
    let mut table = table.drawn(1, &[4, 10], Some(0), true);
    let rows = SECTORS.iter().zip(&TABLE_3).flat_map(|(&sectors, rows)| {
        CANDIDATES.iter().zip(rows).map(move |(&candidates, paper)| (sectors, candidates, paper))
    });
    for ((sectors, candidates, paper), one) in rows.zip(checked) {
        let (long, velo_ut) = (Found::of(one, LONG)?, Found::of(one, VELO_UT)?);
        let all = Found::of(one, "07_long")?;
        let rate = |share: Option<f64>| if long.is_many() { Cell::percent(share) } else { Cell::Nothing };
        let mut row = vec![
            Cell::Count(sectors.into()),
            Cell::Count(candidates.into()),
            Cell::Count(long.reconstructed),
            Cell::Count(long.reconstructible),
            rate(long.efficiency),
            rate(long.clone_rate),
            rate(velo_ut.efficiency),
            rate(velo_ut.clone_rate),
            rate(all.efficiency),
            rate(ghost_rate(one)),
        ];
        row.extend(paper.map(|value| Cell::Number(value, 2)));
        table.row(row);
    }
    Ok(table)
}

/// What went in.
fn velo_tracks(checked: &Checked) -> Result<Table> {
    let mut table = Table::new("The Velo tracks that go in, for the same particles")
        .columns(Setting, &[("particles", "")])
        .columns(Here, &[("found", ""), ("of", ""), ("efficiency", "%"), ("clones", "%")]);
    for (name, category) in [("long", LONG), ("Velo+UT", VELO_UT), ("all long", "07_long")] {
        let Found { reconstructible, reconstructed, efficiency, clone_rate, .. } =
            Found::of(checked, category)?;
        table.row(vec![
            name.into(),
            Cell::Count(reconstructed),
            Cell::Count(reconstructible),
            Cell::percent(efficiency),
            Cell::percent(clone_rate),
        ]);
    }
    Ok(table)
}

/// Limits that this project set from the paper's table; the last one is the paper's own. Of more candidates it says: the
/// biggest gain is in efficiency, "where the clone rate increases by less than 0.1% in all cases".
fn asked(checked: &[Checked], velo: &Checked) -> Result<Vec<Asked>> {
    let of = |sectors: usize, candidates: usize| &checked[CANDIDATES.len() * sectors + candidates];
    let long = |sectors, candidates| {
        Found::of(of(sectors, candidates), LONG).map(|found| 100.0 * found.efficiency.unwrap_or(0.0))
    };
    let (one, three, five, more) = (long(0, 3)?, long(1, 3)?, long(2, 3)?, long(2, 4)?);
    let fakes = ghost_rate(of(2, 3));
    let (after, before) = (Found::of(of(2, 3), LONG)?, Found::of(velo, LONG)?);
    let rates = after.clone_rate.zip(before.clone_rate);
    let percent = |rate: Option<f64>| rate.map_or("none".into(), |rate| format!("{:.2} %", 100.0 * rate));
    let change = clone_change(checked)?;
    let points = |value: f64| format!("{value:.2} points");
    Ok(vec![
        Asked::new(
            Here,
            "5 sectors, 8 candidates: at least 95 % of long particles found",
            format!("{five:.2} %"),
            five >= 95.0,
        ),
        Asked::new(
            Here,
            "1 sector, 8 candidates: at least 8 points less than that",
            points(five - one),
            five - one >= 8.0,
        ),
        Asked::new(
            Here,
            "3 sectors, 8 candidates: at most 1.5 points less than with 5 sectors",
            points(five - three),
            five - three <= 1.5,
        ),
        Asked::new(
            Here,
            "5 sectors, 16 candidates: less than 0.7 points more than with 8",
            points(more - five),
            more - five < 0.7,
        ),
        Asked::new(
            Here,
            "clone rate no higher than among the Velo tracks that go in",
            format!(
                "{} and {} ({} and {} clones)",
                percent(after.clone_rate),
                percent(before.clone_rate),
                after.clones,
                before.clones
            ),
            rates.is_some_and(|(after, before)| after <= before),
        ),
        Asked::new(
            Here,
            "5 sectors, 8 candidates: fakes at most 7.5 %",
            percent(fakes),
            fakes.is_some_and(|rate| rate <= 0.075),
        ),
        Asked::new(
            Paper,
            "1 to 16 candidates: the clone rate of long particles changes by less than 0.1 points",
            change.map_or("none".into(), |change| format!("{change:.2} points at most")),
            change.is_some_and(|change| change < 0.1),
        ),
    ])
}

/// How far apart the clone rates of long particles are at most for different numbers of candidates in the same sectors,
/// points; none where a rate is.
fn clone_change(checked: &[Checked]) -> Result<Option<f64>> {
    let mut largest: Option<f64> = None;
    for of_sectors in checked.chunks(CANDIDATES.len()) {
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for one in of_sectors {
            let Some(rate) = Found::of(one, LONG)?.clone_rate else { return Ok(None) };
            (min, max) = (min.min(100.0 * rate), max.max(100.0 * rate));
        }
        largest = Some(largest.map_or(max - min, |so_far| so_far.max(max - min)));
    }
    Ok(largest)
}

/// Stages that are Compass itself, without decoding and without the Velo.
const COMPASS: [&str; 2] = ["ut windows", "ut tracklets"];

/// Figure 9: throughput against candidates, for 3 and 5 sectors.
///
/// # Errors
/// Those of the measurements.
pub fn figure_9(job: &Job<'_>) -> Result<Report> {
    let simulated = format!("sim:lhcb,events={},seed={SEED}", job.size(1000, 40));
    let request = job.timed(SequenceName::VeloUt, Preset::Paper, &simulated);
    let measured = job.throughput(&request, &configs(&request.config, &SECTORS[1..]))?;
    let table = Table::new("Throughput against candidates, thousand events/s on one thread")
        .columns(Setting, &[("sectors", ""), ("candidates", "")])
        .columns(
            Here,
            &[("Compass", "kHz"), ("windows", "us"), ("tracklets", "us"), ("whole sequence", "kHz")],
        )
        .columns(Paper, &[("CPU, all cores", "kHz"), ("V100", "kHz")]);
    let mut table = table.drawn(1, &[2], Some(0), true);
    let settings =
        SECTORS[1..].iter().flat_map(|&sectors| CANDIDATES.map(|candidates| (sectors, candidates)));
    for ((sectors, candidates), one) in settings.zip(&measured) {
        let us = |name: &str| Cell::Number(stages_ns(one, &[name]) / 1e3, 2);
        let stages: f64 = one.summary.stages.iter().map(|stage| stage.ns_per_event).sum();
        // What the text of the paper says; the figure's curves have no numbers.
        let [cpu, gpu] = match (sectors, candidates) {
            (5, 8) => [Cell::Number(92.0, 0), Cell::Number(499.0, 0)],
            _ => [Cell::Nothing, Cell::Nothing],
        };
        table.row(vec![
            Cell::Count(sectors.into()),
            Cell::Count(candidates.into()),
            khz(stages_ns(one, &COMPASS)),
            us(COMPASS[0]),
            us(COMPASS[1]),
            khz(stages),
            cpu,
            gpu,
        ]);
    }
    let notes = [
        "Compass: stages `ut windows` and `ut tracklets`, as the paper's figure leaves out decoding and the Velo; ours include \
         the choice among tracklets and the fit with momenta",
        "The paper prints numbers for 5 sectors, 8 candidates alone: 92 kHz on its CPU (20 cores), 222 (T4), 231 \
         (1080 Ti), 454 (2080 Ti), 499 kHz (V100); and about 500 against 585 kHz for 5 against 3 sectors on the V100",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: format!("{}, preset paper", job.machine(&request.config)?),
        paper_machine: "minimum-bias events; 2 x Intel Xeon E5-2687W v3, GTX 1080 Ti, RTX 2080 Ti, T4, V100",
        hashes: measured.iter().map(|one| format!("{:016x}", one.summary.hashes.output)).collect(),
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// Figure 12: which step takes how much of the time, for 5 sectors and 16 candidates.
///
/// # Errors
/// Those of the measurement.
pub fn figure_12(job: &Job<'_>) -> Result<Report> {
    let simulated = format!("sim:lhcb,events={},seed={SEED}", job.size(1000, 40));
    let mut request = job.timed(SequenceName::VeloUt, Preset::Paper, &simulated);
    (request.config.ut.sectors, request.config.ut.candidates) = (5, 16);
    let configs = [request.config.clone()];
    let measured = &job.throughput(&request, &configs)?[0];
    let stages = [("ut decode", Some(52.2)), (COMPASS[0], None), (COMPASS[1], None)];
    let all = stages_ns(measured, &stages.map(|(name, _)| name));
    let mut table = Table::new("Time of the steps of the UT")
        .columns(Setting, &[("step", "")])
        .columns(Here, &[("time", "us"), ("share", "%")])
        .columns(Paper, &[("share", "%")]);
    for (name, paper) in stages {
        let ns = stages_ns(measured, &[name]);
        table.row(vec![
            name.into(),
            Cell::Number(ns / 1e3, 2),
            Cell::percent((all > 0.0).then_some(ns / all)),
            paper.map_or(Cell::Nothing, |share| Cell::Number(share, 1)),
        ]);
    }
    let note = "The paper's kernels of decoding are one stage here; of windows and tracklets it says only that the windows \
                take longer";
    Ok(Report {
        input: request.inputs.clone(),
        machine: format!("{}, preset paper", job.machine(&request.config)?),
        paper_machine: "RTX 2080 Ti, 5 sectors, 16 candidates",
        hashes: vec![format!("{:016x}", measured.summary.hashes.output)],
        tables: vec![table],
        notes: vec![note.into()],
        ..Report::default()
    })
}
