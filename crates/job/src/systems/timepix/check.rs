//! Checks that all algorithms find the same clusters, and that every hit is in a cluster or counted as dropped.

use super::PixelDetector;
use crate::summary::object;
use crate::{Check, Checked, Chunk, Host, Request, Summary};
use peloton::engine::Sliced;
use peloton::event::{Column, PixelHits};
use peloton::timepix::{
    Algorithm, Definition, FindConfig, Finder, PixelBatch, TimeSorter, TimepixConfig, reference,
};
use peloton::{Error, Result};
use peloton_plot::text::table;
use serde::Serialize;

/// Maximum number of hits for which the reference runs, whose time grows with the square of the number of hits.
const NAIVE_HITS: usize = 20_000;

#[derive(Serialize)]
struct Row {
    definition: Definition,
    clusters: usize,
    mean_size: f64,
    size_deviation: f64,
    /// Algorithms that found exactly the same clusters as the first algorithm.
    agree: Vec<String>,
    /// Algorithms that found other clusters than the first algorithm.
    differ: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    late: u64,
    /// Whether the number of input hits equals the number of hits in clusters plus the number of dropped hits.
    all_accounted: bool,
    definitions: Vec<Row>,
}

/// Checks the clusters of the first source: collects its hits, sorted by time, while the sequence clusters them.
pub struct PixelCheck {
    timepix: TimepixConfig,
    sides: [usize; 2],
    sorter: TimeSorter,
    sorted: PixelHits,
    hits_in: u64,
    hits_out: u64,
    /// Whether the first source has ended. Only the first source is checked, since each source has its own clock.
    is_over: bool,
}

impl PixelCheck {
    /// Makes a check for the hits of a request.
    ///
    /// # Errors
    /// Returns errors of the configuration.
    pub fn new(request: &Request, detector: &PixelDetector) -> Result<Self> {
        let timepix = detector.configuration(&request.config);
        let sorter = TimeSorter::new(request.config.level()?, timepix.disorder_ticks(), timepix.capacity);
        Ok(Self {
            timepix,
            sides: [detector.layout.width(), detector.layout.height()],
            sorter,
            sorted: PixelHits::default(),
            hits_in: 0,
            hits_out: 0,
            is_over: false,
        })
    }
}

impl Check for PixelCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let Chunk { batch, result: results, .. } = chunk;
        let batch: &PixelBatch = batch.of()?;
        self.hits_in += batch.block.hits.len() as u64;
        self.hits_out += results.slices().map(|clusters| clusters.hits() as u64).sum::<u64>();
        if !self.is_over {
            self.sorter.push(&batch.block.hits);
            self.sorter.take(&mut self.sorted);
            self.is_over = batch.end;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, summary: &Summary, _host: Host<'_>) -> Result<Checked> {
        self.sorter.finish(&mut self.sorted);
        if self.sorted.is_empty() {
            return Err(Error::format("input", "there is no hit to check"));
        }
        let of = |reason: &str| summary.dropped.get(reason).copied().unwrap_or(0);
        let counted = ["masked_hits", "late_hits", "filtered_hits"].map(of).iter().sum::<u64>();
        let (find, sorted, sides) = (self.timepix.find, &self.sorted, self.sides);
        let rows = Definition::ALL.map(|definition| row(find, definition, sorted, sides));
        let report = Report {
            late: self.sorter.late(),
            all_accounted: self.hits_out + counted == self.hits_in && summary.hits == self.hits_in,
            definitions: rows.into_iter().collect::<Result<Vec<_>>>()?,
        };
        let is_right = report.all_accounted && report.definitions.iter().all(|row| row.differ.is_empty());
        Ok(Checked { text: text(&report), json: object(&report), is_right, failure: None })
    }
}

/// Clusters the hits by one definition with all algorithms, and compares the clusters.
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
    format!("{} hits late; {accounted}\n\n{}", report.late, table(&rows))
}
