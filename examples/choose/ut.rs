//! Tunes `LineConfig::default`: the weights of hits and momentum with which `choice = line` chooses a track's UT hits,
//! and its cut. Errors follow from scattering (docs/algorithms.md, "Velo-UT").

use super::sample::{Criterion, EVENTS, Sample, THRESHOLD_SEEDS, WEIGHT_SEEDS};
use peloton::event::{Outcome, UtCellHits, VeloTracks, VeloUtTracks};
use peloton::simd::Level;
use peloton::ut::{
    LineConfig, UtConfig, UtFindInput, UtFindWorkspace, UtHitsIn, UtLayout, UtPreset, UtScratch,
    decode_by_cell, find,
};
use peloton::velo::{Preset, VeloConfig};
use peloton::{Error, Result};
use peloton_truth::{CheckReport, Checker, Rules};
use std::ops::RangeInclusive;

const CRITERION: Criterion = Criterion { max_ghosts: 0.05, categories: ["07_long", "08_long_P>5GeV"] };
/// Tried errors, `kink_error` and `offset_error`: the errors from scattering, and 0.7 of them. Even smaller errors find more,
/// but underestimate the error of the momentum (pull 1.8).
const ERRORS: [[[f32; 2]; 2]; 2] = [[[0.25, 4.0], [0.5, 7.0]], [[0.175, 2.8], [0.35, 4.9]]];
/// Rounds over all parameters except the cut, one after the other.
const ROUNDS: usize = 2;
/// Tried cuts.
const CUTS: RangeInclusive<i8> = -20..=20;

/// A parameter, and its tried values.
struct Parameter {
    name: &'static str,
    of: fn(&mut LineConfig) -> &mut f32,
    values: &'static [f32],
}

const PARAMETERS: [Parameter; 3] = [
    Parameter {
        name: "fourth_hit",
        of: |line| &mut line.fourth_hit,
        values: &[8.0, 12.0, 16.0, 20.0, 25.0, 30.0],
    },
    Parameter { name: "momentum", of: |line| &mut line.momentum, values: &[2.0, 4.0, 6.0, 8.0, 10.0] },
    Parameter { name: "max_momentum", of: |line| &mut line.max_momentum, values: &[10.0, 20.0, 40.0] },
];

/// Simulated events, their Velo tracks and UT hits.
struct Hits {
    sample: Sample,
    velo: VeloTracks,
    hits: UtCellHits,
    layout: UtLayout,
}

impl Hits {
    fn new(level: Level, seeds: RangeInclusive<u64>) -> Result<Self> {
        let sample = Sample::new(seeds)?;
        let (geometry, raw) = (sample.geometry.ut()?, &sample.raw);
        let end_z = VeloConfig::preset(Preset::Best).fit.end_z;
        let layout = UtLayout::new(&geometry, sample.geometry.ut_tables()?, sample.polarity, end_z)?;
        let (mut hits, mut scratch) = (Outcome::<UtCellHits>::default(), UtScratch::default());
        decode_by_cell(level, (&geometry, &layout), raw.view(), 0..raw.len(), &mut scratch, &mut hits);
        Ok(Self { velo: sample.velo_tracks(level, Preset::Best)?, sample, hits: hits.results, layout })
    }

    fn check(&self, level: Level, line: &LineConfig) -> CheckReport {
        let config = UtConfig { line: line.clone(), ..UtConfig::preset(UtPreset::Best) };
        let (mut workspace, mut out) = (UtFindWorkspace::default(), Outcome::<VeloUtTracks>::default());
        let input = UtFindInput { velo: &self.velo, hits: UtHitsIn::Cells(&self.hits) };
        find(level, &config, &self.layout, input, &mut workspace, &mut out);
        let mut checker = Checker::new(Rules::LhcbUt);
        for (event, truth) in self.sample.truth.iter().enumerate() {
            checker.event(truth, out.results.hit_lists(event));
        }
        checker.report()
    }
}

/// Returns the largest cut with few enough ghosts, by bisection, and its check; larger cuts find more particles and ghosts.
fn with_cut(level: Level, hits: &Hits, line: &LineConfig) -> Option<(LineConfig, CheckReport)> {
    let (mut low, mut high) = (*CUTS.start(), *CUTS.end() + 1);
    let mut best = None;
    while low < high {
        let cut = (low + high).div_euclid(2);
        let line = LineConfig { max_cost: f32::from(cut), ..line.clone() };
        let report = hits.check(level, &line);
        if CRITERION.worth(&report).is_some() {
            low = cut + 1;
            best = Some((line, report));
        } else {
            high = cut;
        }
    }
    best
}

/// Returns the best values by the criterion with these errors, except for the cut.
fn tuned(level: Level, hits: &Hits, [kink_error, offset_error]: [[f32; 2]; 2]) -> LineConfig {
    let mut line = LineConfig { kink_error, offset_error, ..LineConfig::default() };
    for parameter in PARAMETERS {
        *(parameter.of)(&mut line) = parameter.values[parameter.values.len() / 2];
    }
    for _ in 0..ROUNDS {
        for parameter in PARAMETERS {
            let worth = |value: &f32| {
                let mut line = line.clone();
                *(parameter.of)(&mut line) = *value;
                let report = with_cut(level, hits, &line).map(|(_, report)| report);
                (report.and_then(|report| CRITERION.worth(&report)), *value)
            };
            let best = parameter.values.iter().map(worth).reduce(|a, b| if b.0 > a.0 { b } else { a });
            if let Some((_, value)) = best {
                *(parameter.of)(&mut line) = value;
            }
        }
    }
    line
}

/// Prints the chosen values.
pub fn write(level: Level) -> Result<()> {
    let (to_fit, to_choose) = (Hits::new(level, WEIGHT_SEEDS)?, Hits::new(level, THRESHOLD_SEEDS)?);
    let tried = ERRORS.into_iter().filter_map(|errors| {
        let (line, report) = with_cut(level, &to_choose, &tuned(level, &to_fit, errors))?;
        Some((CRITERION.worth(&report), line, report))
    });
    let best = tried.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let none = || Error::Config("no cut gives so few ghosts".into());
    let (_, mut line, report) = best.ok_or_else(none)?;
    println!(
        "`sim:lhcb,events={EVENTS}`: seeds {WEIGHT_SEEDS:?} for all but the cut, {THRESHOLD_SEEDS:?} for the cut:"
    );
    println!("{}.", CRITERION.counts(&report));
    println!("kink_error = {:?}\noffset_error = {:?}", line.kink_error, line.offset_error);
    for parameter in PARAMETERS {
        println!("{} = {}", parameter.name, *(parameter.of)(&mut line));
    }
    println!("max_cost = {}", line.max_cost);
    Ok(())
}
