//! `peloton check --sequence timepix`: do all algorithms find the same clusters, and is every hit accounted for?

use super::source::{PixelInput, open};
use crate::console::table;
use crate::options::{ConfigArgs, InputArgs, ReportArgs};
use peloton::event::{Column, PixelBlock, PixelHits};
use peloton::pipeline::Config;
use peloton::timepix::{Algorithm, Chain, Definition, FindConfig, Finder, TimeSorter, reference};
use peloton::{Error, Result};
use peloton_io::input::timepix::PixelStream;
use peloton_io::input::timepix::ReadEnd;
use serde::Serialize;
use std::process::ExitCode;

/// Hits up to which the quadratic reference takes part.
const NAIVE_HITS: usize = 20_000;

#[derive(Serialize)]
struct Row {
    definition: Definition,
    clusters: usize,
    mean_size: f64,
    size_deviation: f64,
    /// Programs that found exactly these clusters.
    agree: Vec<String>,
    /// Programs that did not.
    differ: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    hits: usize,
    late: u64,
    /// Hits in equal hits out and counted drops, through the whole chain.
    all_accounted: bool,
    definitions: Vec<Row>,
}

/// Does it; exit code 1 when anything disagrees.
pub fn check(
    config: &Config,
    flags: &ConfigArgs,
    input: &InputArgs,
    report: &ReportArgs,
) -> Result<ExitCode> {
    let PixelInput { mut stream, layout, disorder_us, .. } = open(input, &flags.pixels, report)?;
    let mut timepix = config.timepix.clone();
    timepix.disorder_us.get_or_insert(disorder_us);
    let level = config.level()?;
    let mut chain = Chain::new(&timepix, level, &layout)?;
    let mut sorter = TimeSorter::new(level, timepix.disorder_ticks(), timepix.capacity);
    let (mut block, mut sorted) = (PixelBlock::default(), PixelHits::default());
    loop {
        let end = stream.read(timepix.block_hits, &mut block)?;
        if end == ReadEnd::End {
            break;
        }
        chain.push(&block.hits, end == ReadEnd::EndOfSource);
        sorter.push(&block.hits);
        // Sources have clocks of their own, and only one can be looked at.
        if end == ReadEnd::EndOfSource {
            break;
        }
        sorter.take(&mut sorted);
        block.clear();
    }
    sorter.finish(&mut sorted);
    chain.push(&PixelHits::default(), true);
    if sorted.is_empty() {
        return Err(Error::format("input", "no hit to check"));
    }
    let counts = chain.counts();
    let accounted = counts.hits_out + counts.masked + counts.late + counts.filtered;
    let sizes = [layout.width(), layout.height()];
    let rows = Definition::ALL.map(|definition| row(timepix.find, definition, &sorted, sizes));
    let definitions = rows.into_iter().collect::<Result<Vec<_>>>()?;
    let all_accounted = accounted == counts.hits_in && stream.counts().hits == counts.hits_in;
    let result = Report { hits: sorted.len(), late: sorter.late(), all_accounted, definitions };
    report.report(&text(&result), &result)?;
    let is_right = result.all_accounted && result.definitions.iter().all(|row| row.differ.is_empty());
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One definition by all algorithms.
fn row(
    find: FindConfig,
    definition: Definition,
    hits: &PixelHits,
    [width, height]: [usize; 2],
) -> Result<Row> {
    let mut found: Vec<(String, Vec<u32>)> = Vec::new();
    if hits.len() <= NAIVE_HITS {
        let config = FindConfig { definition, ..find };
        found.push(("all pairs".into(), reference::cluster(&config, hits)));
    }
    for algorithm in Algorithm::ALL {
        let config = FindConfig { definition, algorithm, ..find };
        if config.validate().is_ok() {
            let mut labels = Column::default();
            Finder::new(config, width, height)?.run(hits, &mut labels);
            found.push((format!("{algorithm:?}").to_lowercase(), labels.to_vec()));
        }
    }
    let labels = found[0].1.clone();
    let clusters = labels.iter().max().map_or(0, |last| *last as usize + 1);
    let mut sizes = vec![0u64; clusters];
    labels.iter().for_each(|label| sizes[*label as usize] += 1);
    let mean = hits.len() as f64 / clusters as f64;
    let squares: u64 = sizes.iter().map(|size| size * size).sum();
    let (agree, differ): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, other)| *other == labels);
    let names = |list: Vec<(String, Vec<u32>)>| list.into_iter().map(|(name, _)| name).collect();
    Ok(Row {
        definition,
        clusters,
        mean_size: mean,
        size_deviation: (squares as f64 / clusters as f64 - mean * mean).sqrt(),
        agree: names(agree),
        differ: names(differ),
    })
}

fn text(report: &Report) -> String {
    let mut rows =
        vec![["definition", "clusters", "mean size", "deviation", "agree", "differ"].map(String::from)];
    for row in &report.definitions {
        rows.push([
            format!("{:?}", row.definition).to_lowercase(),
            row.clusters.to_string(),
            format!("{:.2}", row.mean_size),
            format!("{:.2}", row.size_deviation),
            row.agree.join(", "),
            row.differ.join(", "),
        ]);
    }
    let accounted = if report.all_accounted { "every hit is accounted for" } else { "HITS ARE MISSING" };
    format!("{} hits, {} late; {accounted}\n\n{}", report.hits, report.late, table(&rows))
}
