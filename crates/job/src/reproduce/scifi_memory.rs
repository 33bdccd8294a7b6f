//! Seeding in the SciFi: what it gains to search hits that were copied to one block, rather than the event's columns.

use super::entry::{Job, SEED};
use super::figures::stages_ns;
use super::report::{Asked, Report};
use super::table::Origin::{self, Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::{Config, Preset, Request, SequenceName, Throughput};
use peloton::simd::Level;
use peloton::{Error, Result};

/// Gain of the slides, whatever the number of hits.
const PUBLISHED: f64 = 1.57;
/// Collisions of an event in the mean, for events of different sizes.
const COLLISIONS: [f64; 4] = [1.0, 3.0, 7.0, 15.0];
/// Rounds in which the forms take turns.
const ROUNDS: u64 = 5;
/// The stages that search, and the one that makes ready for them.
const SEARCH: [&str; 2] = ["find", "confirm"];
const SORT: [&str; 1] = ["sort"];

/// Least times of the two forms, compact and in place, us per event.
struct Forms {
    sort: [f64; 2],
    search: [f64; 2],
    /// Hits of an event.
    hits: f64,
    hash: String,
}

impl Forms {
    /// What the copy gains in the search, and with the time that it takes itself.
    fn gains(&self) -> [Cell; 2] {
        let [[copied, in_place], [search, search_in_place]] = [self.sort, self.search];
        [Cell::ratio(search_in_place, search, 3), Cell::ratio(in_place + search_in_place, copied + search, 3)]
    }

    /// Times and gains, as a table has them.
    fn cells(&self) -> Vec<Cell> {
        let times = self.sort.into_iter().chain(self.search).map(|us| Cell::Number(us, 2));
        times.chain(self.gains()).collect()
    }
}

/// Names of these.
const COLUMNS: [(&str, &str); 6] = [
    ("sort, copied", "us"),
    ("sort, in place", "us"),
    ("search, copied", "us"),
    ("search, in place", "us"),
    ("gain of the search", "times"),
    ("gain with sort", "times"),
];

/// Measures configurations in both forms, which take turns.
fn measure(job: &Job<'_>, request: &Request, configs: &[Config]) -> Result<Vec<Forms>> {
    let both = |config: &Config| {
        [true, false].map(|compact| {
            let mut config = config.clone();
            config.scifi.compact = compact;
            config
        })
    };
    let rounds = job.size(ROUNDS, 1);
    let all: Vec<Config> = (0..rounds).flat_map(|_| configs.iter().flat_map(both)).collect();
    let measured = job.throughput(request, &all)?;
    let of = |number: usize| {
        let of_form = |form: usize| measured[2 * number + form..].iter().step_by(2 * configs.len());
        let least = |form: usize, stages: &[&str]| {
            of_form(form).map(|one| stages_ns(one, stages) / 1e3).fold(f64::INFINITY, f64::min)
        };
        let hash = |one: &Throughput| one.summary.hashes.output;
        let first = &measured[2 * number];
        if (0..2).flat_map(of_form).any(|one| hash(one) != hash(first)) {
            return Err(Error::Internal("hits in one block and in place give other tracks".into()));
        }
        Ok(Forms {
            sort: [0, 1].map(|form| least(form, &SORT)),
            search: [0, 1].map(|form| least(form, &SEARCH)),
            hits: first.summary.hits as f64 / first.summary.events.max(1) as f64,
            hash: format!("{:016x}", hash(first)),
        })
    };
    (0..configs.len()).map(of).collect()
}

/// Time of the search by where it reads the hits.
///
/// # Errors
/// Those of the measurements, and when the forms differ in what they find.
pub fn shared_memory(job: &Job<'_>) -> Result<Report> {
    let events = job.size(300, 20);
    let request =
        job.timed(SequenceName::SciFi, Preset::Hlt1, &format!("sim:lhcb,events={events},seed={SEED}"));
    let levels = Level::usual();
    let config =
        |level: &Level| Config { isa: Some(level.isa()), gang: Some(level.gang()), ..request.config.clone() };
    let configs: Vec<Config> = levels.iter().map(config).collect();
    let by_level = measure(job, &request, &configs)?;
    let mut table = Table::new("Time of an event by where the search reads x of the hits, one thread")
        .columns(Setting, &[("instruction set", ""), ("lanes", "")])
        .columns(Here, &COLUMNS)
        .columns(Paper, &[("gain of the search", "times")]);
    for (level, forms) in levels.iter().zip(&by_level) {
        let mut row = vec![level.isa().name().into(), Cell::Count(level.gang() as u64)];
        row.extend(forms.cells());
        row.push(Cell::Number(PUBLISHED, 2));
        table.row(row);
    }
    let hash = &by_level[0].hash;
    let are_same = by_level.iter().all(|forms| forms.hash == *hash);
    let mut hashes = vec![hash.clone()];
    let mut tables = vec![table];
    if job.is_simulated() {
        let (by_size, of_sizes) = against_size(job)?;
        tables.push(by_size);
        hashes.extend(of_sizes);
    }
    let what = "both forms and all levels find the same tracks (output hash)";
    let notes = [
        "Copied: x of the event's hits in one block, half by half, as the slides have it ([scifi] compact = true). In place: the \
         search reads x in the column of the decoded event ([scifi] compact = false). The instructions of the search are the same",
        "Search: stages `find` and `confirm`, of preset hlt1. Sort: checks the hits, copies them, and makes the tables from \
         which windows come",
        "On the slides' GPU the block is on the chip and the event's columns are not. On a CPU both are dense columns of one \
         length, which its caches hold alike",
        "Crossings without a collision are events, too: more than a third of those with one in the mean",
    ];
    Ok(Report {
        input: request.inputs.clone(),
        machine: job.machine(&request.config)?,
        paper_machine: "RTX A5000, hits of a half in shared memory or in global memory",
        hashes,
        tables,
        asked: vec![Asked::new(
            Origin::Here,
            what,
            format!("{} of {}", if are_same { "the same" } else { "others" }, levels.len()),
            are_same,
        )],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// The same against the size of events, and hashes of what is found.
fn against_size(job: &Job<'_>) -> Result<(Table, Vec<String>)> {
    let table = Table::new("The same against the number of hits")
        .columns(Setting, &[("collisions in the mean", "")])
        .columns(Here, &[("hits of an event", "")])
        .columns(Here, &COLUMNS)
        .columns(Paper, &[("gain of the search", "times")]);
    let mut table = table.drawn(1, &[4, 5], None, true);
    let mut hashes = Vec::new();
    for collisions in COLLISIONS {
        let events = job.size(200, 10);
        let simulated = format!("sim:lhcb,events={events},pileup={collisions},seed={SEED}");
        let request = job.timed(SequenceName::SciFi, Preset::Hlt1, &simulated);
        for forms in measure(job, &request, std::slice::from_ref(&request.config))? {
            let mut row = vec![Cell::Number(collisions, 0), Cell::Number(forms.hits, 0)];
            row.extend(forms.cells());
            row.push(Cell::Number(PUBLISHED, 2));
            table.row(row);
            hashes.push(forms.hash);
        }
    }
    Ok((table, hashes))
}
