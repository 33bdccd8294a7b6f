//! Pixel clusters, section 3.2: how many clusters are split when the hits are shared out among workers.

use super::entry::Job;
use super::pixel_clusters::PixelLabels;
use super::pixels::{name, request, samples};
use super::report::Report;
use super::table::Origin::{Here, Paper, Setting};
use super::table::{Cell, Table};
use crate::Config;
use peloton::Result;
use peloton::event::NS_PER_TICK;

/// Windows in time, ns; hits of a block; regions along each side of the sensor. Each divides the next, or the next divides it:
/// what coarser parts split finer ones split, too.
const WINDOWS: [f64; 4] = [1e3, 1e4, 1e5, 1e6];
const BLOCKS: [usize; 4] = [100, 1_000, 10_000, 100_000];
const REGIONS: [usize; 3] = [2, 4, 8];

/// Shares of clusters that are split by windows in time, by numbers of hits, and by area.
///
/// # Errors
/// Those of the jobs.
pub fn splitting(job: &Job<'_>) -> Result<Report> {
    let samples = samples(job, job.size(200_000, 20_000));
    let table = Table::new("By windows in time")
        .columns(Setting, &[("sample", ""), ("window", "ns")])
        .columns(Here, &[("clusters", ""), ("border clusters", "%"), ("split", "%")])
        .columns(Paper, &[("border clusters", "%"), ("split", "%")]);
    let mut by_time = table.drawn(1, &[4], Some(0), true);
    let table = Table::new("By numbers of hits")
        .columns(Setting, &[("sample", ""), ("hits in a block", "")])
        .columns(Here, &[("clusters", ""), ("split", "%")]);
    let mut by_hits = table.drawn(1, &[3], Some(0), true);
    let mut by_area = Table::new("By area")
        .columns(Setting, &[("sample", ""), ("regions", "")])
        .columns(Here, &[("clusters", ""), ("split", "%")])
        .columns(Paper, &[("split", "%")]);
    let mut hashes = Vec::new();
    for (sample, preset) in &samples {
        let name = name(sample, *preset);
        job.stage(&name.text());
        let request = request(job, sample);
        let found = PixelLabels::find(job, &request)?;
        let count = found.clusters.len() as u64;
        let percent = |part: u64| Cell::Number(100.0 * part as f64 / count as f64, 3);
        for window in WINDOWS {
            let [border, split] = by_window(&found, window, request.config.timepix.find.delta);
            // What the paper expects of clusters of 25 ns.
            let is_papers = window == 1e4 && preset.is_some();
            let paper = if is_papers {
                ["about 2", "below 1"].map(Cell::from)
            } else {
                [Cell::Nothing, Cell::Nothing]
            };
            let [expected_border, expected_split] = paper;
            let settings = [name.clone(), Cell::Number(window, 0), Cell::Count(count)];
            let shares = [percent(border), percent(split), expected_border, expected_split];
            by_time.row(settings.into_iter().chain(shares).collect());
        }
        for block in BLOCKS {
            let split = split_by_block(&found, block);
            by_hits.row(vec![name.clone(), Cell::Count(block as u64), Cell::Count(count), percent(split)]);
        }
        for regions in REGIONS {
            let split = split_by_region(&found, regions);
            let paper = if regions == 2 && preset.is_some() { "around 2".into() } else { Cell::Nothing };
            let regions = format!("{regions} x {regions}");
            by_area.row(vec![
                name.clone(),
                regions.as_str().into(),
                Cell::Count(count),
                percent(split),
                paper,
            ]);
        }
        hashes.push(found.hash);
    }
    let notes = [
        "A cluster is split when its hits are in different parts. A border cluster may go on behind the border of its window: \
         its last hit is less than the 200 ns that still link hits away from it, or behind it. Here all of these are put \
         together again (`peloton check --sequence timepix`: the same clusters on any number of threads)",
        "The paper expects about 2 % border clusters and less than 1 % split ones of windows of 10,000 ns, for clusters that \
         last 25 ns; and around 2 % split ones by quadrants, for clusters 4 pixels wide. Larger clusters are split more often",
        "Windows begin at the first hit. Blocks hold hits in the order of time, and split clusters that lie in time within one \
         another, too",
    ];
    Ok(Report {
        input: samples.into_iter().map(|(sample, _)| sample).collect(),
        machine: job.machine(&Config::default())?,
        paper_machine: "an estimate of its text, nothing measured",
        hashes,
        tables: vec![by_time, by_hits, by_area],
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}

/// Clusters that may go on behind the border of a window in time of so many ns, and those that do.
fn by_window(found: &PixelLabels, window: f64, delta: u32) -> [u64; 2] {
    let features = &found.clusters.features;
    let origin = features.time.iter().min().copied().unwrap_or(0);
    let ticks = ((window / NS_PER_TICK).round() as i64).max(1);
    let mut counts = [0; 2];
    for (&time, &duration) in features.time.iter().zip(features.duration.iter()) {
        let number = |later: u32| (time - origin + i64::from(later)) / ticks;
        counts[0] += u64::from(number(duration.saturating_add(delta)) != number(0));
        counts[1] += u64::from(number(duration) != number(0));
    }
    counts
}

/// Clusters whose hits are in different blocks of so many hits, in order of time.
fn split_by_block(found: &PixelLabels, block: usize) -> u64 {
    let mut first = vec![None; found.clusters.len()];
    let mut is_split = vec![false; found.clusters.len()];
    for (number, &label) in found.labels.iter().enumerate() {
        let cluster = label as usize;
        is_split[cluster] |= *first[cluster].get_or_insert(number / block) != number / block;
    }
    is_split.into_iter().filter(|split| *split).count() as u64
}

/// Clusters with pixels in different ones of so many times so many regions of the sensor.
fn split_by_region(found: &PixelLabels, regions: usize) -> u64 {
    let [left, below, right, above] = &found.clusters.features.bounds;
    let region = |at: u16, side: usize| usize::from(at) * regions / side.max(1);
    let is_split = |cluster: &usize| {
        region(left[*cluster], found.sides[0]) != region(right[*cluster], found.sides[0])
            || region(below[*cluster], found.sides[1]) != region(above[*cluster], found.sides[1])
    };
    (0..found.clusters.len()).filter(is_split).count() as u64
}
