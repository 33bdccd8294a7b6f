//! Matriplex: figure 2 and the efficiencies of its text.

use super::entry::{Job, SEED};
use super::figures::{Found, GANGS, bins, edge, ghost_rate_of, stages_ns, text_of};
use super::report::{Asked, Report};
use super::table::Origin::{Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::{Checked, Config, Measurement, Preset, Request, SequenceName, tune};
use peloton::Result;
use peloton::cylinder::{Builder, FitForm, SeedSource};
use peloton::simd::Isa;

/// The builders with their names in the paper.
const BUILDERS: [(Builder, &str); 3] = [
    (Builder::BestHit, "best hit"),
    (Builder::Standard, "combinatorial"),
    (Builder::CloneEngine, "clone engine"),
];

/// What is timed against the width of vectors.
const TIMED: [&str; 5] = ["best hit", "combinatorial", "clone engine", "fit", "fit of 6 parameters"];

/// The paper's events: 10,000 tracks, seeds from the true first three hits.
fn request(job: &Job<'_>, is_timed: bool, events: u64) -> Request {
    let tracks = job.size(10_000, 1_000);
    let simulated = format!("sim:cylinder,events={events},tracks={tracks},seed={SEED}");
    let make = if is_timed { Job::timed } else { Job::request };
    let mut request = make(job, SequenceName::Cylinder, Preset::Paper, &simulated);
    request.config.cylinder.seeds = SeedSource::Truth;
    request
}

/// The same for each builder.
fn configs(base: &Config) -> [Config; 3] {
    BUILDERS.map(|(builder, _)| {
        let mut config = base.clone();
        config.cylinder.builder = builder;
        config
    })
}

/// Figure 2a: time against the width of vectors.
///
/// # Errors
/// Those of the measurements.
pub fn figure_2a(job: &Job<'_>) -> Result<Report> {
    let request = request(job, true, job.size(2, 1));
    let mut scans: Vec<Vec<Measurement>> = Vec::new();
    let mut global = configs(&request.config)[0].clone();
    global.cylinder.fit.form = FitForm::Global;
    let names = BUILDERS.map(|(_, name)| name).into_iter().chain(["fit of 6 parameters"]);
    for (config, name) in configs(&request.config).into_iter().chain([global]).zip(names) {
        job.stage(name);
        let tuned = job.complete(tune(&Request { config, ..request.clone() }, job.plan(), job.host))?;
        scans.push(tuned.profile.measured);
    }
    let table = Table::new("Time of an event against the width of vectors, one thread")
        .columns(Setting, &[("instruction set", ""), ("lanes", "")])
        .columns(Here, &TIMED.map(|name| (name, "ms")));
    let mut table = table.drawn(1, &[2, 3, 4, 5, 6], Some(0), true);
    for (at, level) in scans[0].iter().enumerate() {
        let ms = |scan: &[Measurement], stage: &str| {
            let ns = scan.get(at).and_then(|one| one.stages.get(stage));
            ns.map_or(Cell::Nothing, |ns| Cell::Number(ns / 1e6, 3))
        };
        let mut row = vec![level.isa.as_str().into(), Cell::Count(level.gang as u64)];
        row.extend(scans[..BUILDERS.len()].iter().map(|scan| ms(scan, "build")));
        row.extend([ms(&scans[0], "fit"), ms(&scans[BUILDERS.len()], "fit")]);
        table.row(row);
    }
    let gains = gains(&table);
    let notes = [
        GANGS,
        "Columns of builders: the stage `build` alone, from given seeds. Fit: the stage `fit` of the tracks that best hit \
         found, of 5 parameters on a cylinder and of the paper's 6 with hits of 3 coordinates ([cylinder.fit] form)",
        "The paper's figure has no numbers; its text: vectors of 8 gain 1.5 to 2 times over one lane. Its program (mkFit \
         of 2017), run by us on one Zen 4 core, takes 14.3 (best hit), 101 to 107 (combinatorial), 81 (clone engine) and \
         3.3 ms (fit) an event of 10,000 tracks",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: format!("{}, preset paper", job.machine(&request.config)?),
        paper_machine: "2 x Xeon E5-2620 (Sandy Bridge, AVX), events of 10,000 tracks",
        tables: vec![table, gains],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// What the fastest number of lanes of each instruction set gains, from rows of an instruction set, a number of lanes and
/// times.
fn gains(times: &Table) -> Table {
    let mut table = Table::new("What the fastest number of lanes gains")
        .columns(Setting, &[("instruction set", ""), ("over", "")])
        .columns(Here, &TIMED.map(|name| (name, "times")));
    let time = |row: &[Cell], column: usize| row[2 + column].value().filter(|ms| *ms > 0.0);
    let one_lane = |set: &Cell| times.rows.iter().find(|row| row[0] == *set && row[1] == Cell::Count(1));
    let scalar = one_lane(&Isa::Scalar.name().into());
    let mut sets: Vec<&Cell> = times.rows.iter().map(|row| &row[0]).collect();
    sets.dedup();
    for set in sets {
        let of_set = || times.rows.iter().filter(|row| row[0] == *set);
        let least = |column| of_set().filter_map(|row| time(row, column)).reduce(f64::min);
        for (name, base) in [("1 lane of it", one_lane(set)), ("scalar x 1", scalar)] {
            let Some(base) = base else { continue };
            let gain = |column| match (time(base, column), least(column)) {
                (Some(base), Some(least)) => Cell::ratio(base, least, 2),
                _ => Cell::Nothing,
            };
            let mut row = vec![set.clone(), name.into()];
            row.extend((0..TIMED.len()).map(gain));
            table.row(row);
        }
    }
    table
}

/// Figure 2b: time against the number of threads.
///
/// # Errors
/// Those of the measurements.
pub fn figure_2b(job: &Job<'_>) -> Result<Report> {
    let all = job.options.threads.unwrap_or_else(|| Config::default().thread_count()).max(1);
    // As many for each thread, so that none is idle.
    let mut request = request(job, true, job.size(2, 1) * all as u64);
    request.config.threads = Some(all);
    let mut threads: Vec<usize> =
        std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < all).collect();
    threads.push(all);
    let table = Table::new("Time of an event against threads")
        .columns(Setting, &[("threads", "")])
        .columns(Here, &[("best hit", "ms"), ("combinatorial", "ms"), ("clone engine", "ms")])
        .columns(Here, &[("clone engine, threads share the event", "ms")]);
    let mut table = table.drawn(0, &[1, 2, 3, 4], None, true);
    let with = |count: usize| {
        let [best_hit, standard, clone_engine] = configs(&request.config);
        let mut within = Config { threads: Some(1), ..clone_engine.clone() };
        within.cylinder.event_threads = count as u32;
        let threads = [best_hit, standard, clone_engine].map(|one| Config { threads: Some(count), ..one });
        threads.into_iter().chain([within])
    };
    let every: Vec<Config> = threads.iter().flat_map(|&count| with(count)).collect();
    let measured = job.throughput(&request, &every)?;
    for (count, columns) in threads.iter().zip(measured.chunks(BUILDERS.len() + 1)) {
        let mut row = vec![Cell::Count(*count as u64)];
        // Stages are counted per thread: what threads share is done in so much less time, if they do not wait.
        let ms = |one: &crate::Throughput| {
            let all: f64 = one.summary.stages.iter().map(|stage| stage.ns_per_event).sum();
            let share = stages_ns(one, &["build"]) / all.max(1.0);
            Cell::ratio(1e3 * share, one.events_per_second_best, 3)
        };
        row.extend(columns.iter().map(ms));
        table.row(row);
    }
    let notes = [
        "Wall clock per event, times the share of the stage `build` in the time of all stages. Each thread takes whole events; \
         in the last column they share the seeds of one event after the other, 64 at a time (--event-threads), as in the paper",
        "The paper's figure has no numbers; its text: nearly eightfold for 21 threads on 12 cores with two threads each",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: format!("{}, preset paper", job.machine(&request.config)?),
        paper_machine: "2 x Xeon E5-2620 (Sandy Bridge, 12 cores, 24 threads)",
        hashes: measured.iter().map(|one| format!("{:016x}", one.summary.hashes.output)).collect(),
        tables: vec![table],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// The efficiencies and fakes that the paper's text has.
///
/// # Errors
/// Those of the checks.
pub fn efficiency(job: &Job<'_>) -> Result<Report> {
    let request = request(job, false, job.size(20, 1));
    let checked = job.check(&request, &configs(&request.config), None)?;
    let mut table = Table::new("Efficiency and fakes, candidates with seven hits or more")
        .columns(Setting, &[("builder", "")])
        .columns(Here, &[("found", ""), ("of", ""), ("efficiency", "%"), ("clones", "%"), ("fakes", "%")])
        .columns(Here, &[("efficiency, any length", "%"), ("fakes, any length", "%")])
        .columns(Paper, &[("efficiency", "%"), ("fakes", "%")]);
    let mut asked = Vec::new();
    for ((one, (_, name)), words) in
        checked.iter().zip(BUILDERS).zip([["93", "3"], ["over 99", "under 1"], ["over 99", "under 1"]])
    {
        let (long, all) = (Found::of(one, "n_found>=7")?, Found::of(one, "all")?);
        let (fakes, fakes_of_all) = (ghost_rate_of(one, "n_found>=7"), ghost_rate_of(one, "all"));
        table.row(vec![
            name.into(),
            Cell::Count(long.reconstructed),
            Cell::Count(long.reconstructible),
            Cell::percent(long.efficiency),
            Cell::percent(long.clone_rate),
            Cell::percent(fakes),
            Cell::percent(all.efficiency),
            Cell::percent(fakes_of_all),
            words[0].into(),
            words[1].into(),
        ]);
        if long.is_many() && words[0] != "93" {
            let (found, wrong) = (long.efficiency.unwrap_or(0.0), fakes.unwrap_or(1.0));
            let rates = format!("{:.2} %, {:.2} %", 100.0 * found, 100.0 * wrong);
            let what = format!("{name}: efficiency over 99 %, fakes under 1 %");
            asked.push(Asked::new(Paper, &what, rates, found > 0.99 && wrong < 0.01));
        }
    }
    let mut tables = vec![table];
    tables.extend([("pt", "GeV/c"), ("eta", "")].map(|(variable, unit)| against(&checked, variable, unit)));
    let notes = [
        "The paper's efficiencies and fakes are from its text (section 3.2); it has none against pT or eta. Fakes are in the \
         bin of the particle that left most of their hits",
        "Here a track is a particle's when more than three quarters of its hits are, and the clone rate is clones over \
         particles found. The paper's rates can be defined differently: it says only that candidates with fewer than 7 \
         hits of a simulated track count neither as found nor as fakes",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: format!("{}, preset paper", job.machine(&request.config)?),
        paper_machine: "events of 10,000 tracks of its own simulation; the same on every machine",
        hashes: checked.iter().map(|one| text_of(one, "output_hash")).collect(),
        tables,
        asked,
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// Efficiency, clones and fakes of candidates with seven hits or more against one property.
fn against(checked: &[Checked], variable: &'static str, unit: &'static str) -> Table {
    let table = Table::new(&format!("Candidates with seven hits or more against {variable}"))
        .columns(Setting, &[(variable, unit), ("to", unit)])
        .columns(Here, &[("particles", ""), ("best hit", "%"), ("clones", "%"), ("fakes", "%")])
        .columns(Here, &[("combinatorial", "%"), ("clones", "%"), ("fakes", "%")])
        .columns(Here, &[("clone engine", "%"), ("clones", "%"), ("fakes", "%")]);
    let mut table = table.drawn(0, &[3, 6, 9], None, false);
    let all: Vec<_> = checked.iter().map(|one| bins(one, "n_found>=7", variable)).collect();
    for (at, bin) in all[0].iter().enumerate().filter(|(_, bin)| bin["reconstructible"] != 0) {
        let particles = Cell::Count(bin["reconstructible"].as_u64().unwrap_or(0));
        let mut row = vec![edge(bin, "low"), edge(bin, "high"), particles];
        for bin in all.iter().map(|bins| bins[at]) {
            let rates = ["efficiency", "clone_rate", "ghost_rate"];
            row.extend(rates.map(|key| Cell::percent(bin[key].as_f64())));
        }
        table.row(row);
    }
    table
}
