//! `src/scifi/weights.rs`: weights and thresholds of both passes. Candidates come from the naive twin, which tells their
//! features.

use super::linear::solve;
use super::sample::{Criterion, EVENTS, Owners, Sample, THRESHOLD_SEEDS, WEIGHT_SEEDS, Widening, copies};
use peloton::engine::Engine;
use peloton::event::{Outcome, SciFiBatch, SciFiTracks};
use peloton::scifi::reference::{ReferenceTrack, find};
use peloton::scifi::{
    ChoiceConfig, SciFi, SciFiConfig, SciFiGeometry, SciFiPreset, SciFiScratch, SeedPass, decode,
};
use peloton::simd::Level;
use peloton::{Error, Result};
use peloton_truth::{CheckReport, Checker, Rules};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Features, as many as a choice has weights.
const N: usize = 15;
/// Where the logarithm of the chi2 in y is among them.
const Y: usize = 4;
/// Thresholds are multiples of this: from and to, for the first and the second pass.
const STEP: f32 = 0.5;
const STEPS: [RangeInclusive<i8>; 2] = [-3..=6, -3..=6];
const CRITERION: Criterion =
    Criterion { max_ghosts: 0.048, categories: ["03_long_P>3GeV", "02_long_P>5GeV"] };

/// A track of a pass without a choice: features, whether 70 % of the hits are of one particle, and how often it is learnt from.
type Candidate = ([f32; N], bool, usize);

/// Simulated events and their hits.
struct Hits {
    sample: Sample,
    hits: SciFiBatch,
    geometry: Arc<SciFiGeometry>,
}

impl Hits {
    fn new(level: Level, seeds: RangeInclusive<u64>) -> Result<Self> {
        let sample = Sample::new(seeds)?;
        let geometry = Arc::new(sample.geometry.scifi()?);
        let (raw, mut hits) = (&sample.raw, Outcome::<SciFiBatch>::default());
        decode(level, &geometry, raw.view(), 0..raw.len(), &mut SciFiScratch::default(), &mut hits);
        Ok(Self { sample, hits: hits.results, geometry })
    }

    /// What the last pass finds. It has no choice; the passes before it have.
    fn candidates(&self, level: Level, config: &SciFiConfig) -> Result<Vec<Candidate>> {
        let mut before = config.clone();
        before.passes.pop();
        let mut skip = vec![0; self.sample.truth.len()];
        if !before.passes.is_empty() {
            let tracks = self.tracks(level, before)?;
            (0..skip.len()).for_each(|event| skip[event] = tracks.of_event(event).len());
        }
        let bending = self.sample.geometry.bending()?;
        let of_event = |event: usize| {
            let found = find(config, &bending, &self.hits, event);
            let owners = Owners::of(&self.sample.truth[event]);
            let label = |track: &ReferenceTrack| {
                let of = owners.of_most(&track.hits);
                (track.features, !of.is_empty(), copies(&self.sample.truth[event], &of))
            };
            found.iter().skip(skip[event]).map(label).collect::<Vec<_>>()
        };
        let events: Vec<usize> = (0..skip.len()).collect();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let part = |events: &[usize]| events.iter().flat_map(|event| of_event(*event)).collect::<Vec<_>>();
        let part = &part;
        let parts = std::thread::scope(|scope| {
            let chunks = events.chunks(events.len().div_ceil(threads).max(1));
            let running: Vec<_> = chunks.map(|events| scope.spawn(move || part(events))).collect();
            running.into_iter().map(|thread| thread.join()).collect::<std::thread::Result<Vec<_>>>()
        });
        let parts = parts.map_err(|_| Error::Config("the reference panicked".into()))?;
        Ok(parts.concat())
    }

    fn tracks(&self, level: Level, config: SciFiConfig) -> Result<SciFiTracks> {
        let engine = Engine::new(SciFi::new(level, config, self.geometry.clone(), self.sample.polarity)?);
        let mut out = Outcome::default();
        engine.try_run(self.sample.raw.view(), &mut engine.workspace(), &mut out)?;
        Ok(out.results)
    }

    /// What a checker says of a configuration.
    fn check(&self, level: Level, config: SciFiConfig) -> Result<CheckReport> {
        let tracks = self.tracks(level, config)?;
        let mut checker = Checker::new(Rules::LhcbSeed);
        for (event, truth) in self.sample.truth.iter().enumerate() {
            checker.event(truth, tracks.hit_lists(event));
        }
        Ok(checker.report())
    }
}

/// What is learnt from: candidates with a larger chi2 in y, some of them twice.
fn widened(candidates: &[Candidate]) -> Vec<([f32; N], bool)> {
    let mut widening = Widening::new();
    let all = candidates.iter().flat_map(|candidate| std::iter::repeat_n(candidate, candidate.2));
    let widen = |(features, label, _): &Candidate| {
        let mut features = *features;
        features[Y] += libm::log2(widening.factor()) as f32;
        let [_, missing_x, missing_uv, _, y, _, _, _, _, bend, ..] = features;
        [features[7], features[8], features[10], features[12]] =
            [missing_uv * y, missing_x * y, y * y * 0.1, bend * y];
        (features, *label)
    };
    all.map(widen).collect()
}

/// A logistic regression with ridge 1 by Newton's method, rounded to 0.001.
fn fit(candidates: &[Candidate]) -> [f32; N] {
    let candidates = widened(candidates);
    let mut weights = [0.0f64; N];
    for _ in 0..15 {
        let (mut matrix, mut step) = ([[0.0f64; N]; N], weights.map(|weight| -weight));
        (0..N).for_each(|i| matrix[i][i] = 1.0);
        for (features, label) in &candidates {
            let features = features.map(f64::from);
            let sum: f64 = features.iter().zip(&weights).map(|(feature, weight)| feature * weight).sum();
            let odds = 1.0 / (1.0 + (-sum.clamp(-30.0, 30.0)).exp());
            let variance = odds * (1.0 - odds) + 1e-6;
            for i in 0..N {
                step[i] += (f64::from(u8::from(*label)) - odds) * features[i];
                (0..N).for_each(|j| matrix[i][j] += variance * features[i] * features[j]);
            }
        }
        solve(&mut matrix, &mut step);
        (0..N).for_each(|i| weights[i] += step[i]);
    }
    weights.map(|weight| (weight * 1000.0).round() as f32 / 1000.0)
}

fn with(config: &SciFiConfig, weights: [[f32; N]; 2], min_score: [f32; 2]) -> SciFiConfig {
    let mut config = config.clone();
    for (pass, (weights, min_score)) in config.passes.iter_mut().zip(weights.into_iter().zip(min_score)) {
        pass.choice = Some(ChoiceConfig { weights, min_score, shared_hits: 2 });
    }
    config
}

/// Thresholds of both passes, and what the events say of them.
struct Thresholds {
    worth: i64,
    min_score: [f32; 2],
    report: CheckReport,
}

/// Thresholds: the pair that the criterion likes best; of equal ones the first.
fn thresholds(
    level: Level,
    sample: &Hits,
    config: &SciFiConfig,
    weights: [[f32; N]; 2],
) -> Result<Thresholds> {
    let mut best: Option<Thresholds> = None;
    for first in STEPS[0].clone() {
        for second in STEPS[1].clone() {
            let min_score = [first, second].map(|steps| f32::from(steps) * STEP);
            let report = sample.check(level, with(config, weights, min_score))?;
            let Some(worth) = CRITERION.worth(&report) else { continue };
            if best.as_ref().is_none_or(|best| worth > best.worth) {
                best = Some(Thresholds { worth, min_score, report });
            }
        }
    }
    best.ok_or_else(|| Error::Config("no thresholds with so few ghosts".into()))
}

/// Weights of both passes, what those of the second are made from, and thresholds.
struct Trained {
    weights: [[f32; N]; 2],
    second: Vec<Candidate>,
    chosen: Thresholds,
}

/// Fits the second pass of a configuration to candidates, and chooses thresholds, with these weights of the first pass.
fn train(
    level: Level,
    [to_fit, to_choose]: [&Hits; 2],
    config: &SciFiConfig,
    first: [f32; N],
) -> Result<Trained> {
    let mut weights = [first, [0.0; N]];
    // What the second pass finds depends on the threshold of the first, hence twice.
    let mut once = |min_score: [f32; 2]| {
        let mut open = with(config, weights, min_score);
        open.passes[1].choice = None;
        let second = to_fit.candidates(level, &open)?;
        weights[1] = fit(&second);
        Ok(Trained { weights, second, chosen: thresholds(level, to_choose, config, weights)? })
    };
    let min_score = once([0.0; 2])?.chosen.min_score;
    once(min_score)
}

/// Candidates of the first pass.
fn first_candidates(level: Level, to_fit: &Hits, config: &SciFiConfig) -> Result<Vec<Candidate>> {
    let mut config = config.clone();
    config.passes.truncate(1);
    config.passes[0].choice = None;
    to_fit.candidates(level, &config)
}

/// Writes the file.
pub fn write(level: Level) -> Result<()> {
    let (to_fit, to_choose) = (Hits::new(level, WEIGHT_SEEDS)?, Hits::new(level, THRESHOLD_SEEDS)?);
    let best = SciFiConfig::preset(SciFiPreset::Best);
    let first = first_candidates(level, &to_fit, &best)?;
    let Trained { weights, second, chosen } = train(level, [&to_fit, &to_choose], &best, fit(&first))?;
    let Thresholds { min_score, report, .. } = chosen;
    let counts = |candidates: &[Candidate]| {
        let is_true = candidates.iter().filter(|(_, label, _)| *label).count();
        format!("{is_true} true and {} false", candidates.len() - is_true)
    };
    println!("//! Weights and thresholds of the two choices of `best`, made from simulated events alone.");
    println!(
        "//!\n//! Written by `cargo run --release --example choose -- scifi`, not by hand. Logistic regressions"
    );
    println!(
        "//! (ridge 1, rounded to 0.001) on what a pass finds without a choice in `sim:lhcb,events={EVENTS}`, seeds"
    );
    println!("//! {WEIGHT_SEEDS:?}; true is what has 70 % of its hits of one particle.");
    println!("//! First pass: {}; second: {}.", counts(&first), counts(&second));
    println!(
        "//! Thresholds: in steps of {STEP} on seeds {THRESHOLD_SEEDS:?}, by the criterion of docs/algorithms.md:"
    );
    println!("//! {}.\n", CRITERION.counts(&report));
    println!("use super::config::FEATURES;\n");
    for (what, name, weights) in [("first", "FIRST", weights[0]), ("second", "SECOND", weights[1])] {
        println!(
            "/// Of the {what} pass.\n#[rustfmt::skip]\npub(super) const {name}: [f32; FEATURES] =\n    {weights:?};"
        );
    }
    println!("/// The smallest sums of both.\npub(super) const MIN_SCORE: [f32; 2] = {min_score:?};");
    Ok(())
}

/// Momenta from which the second pass looks, MeV, and windows in x, mm, that are tried.
const SECOND: [(f64, f32); 6] =
    [(2_500.0, 0.8), (2_500.0, 1.0), (2_250.0, 0.8), (2_250.0, 1.0), (2_000.0, 0.8), (2_000.0, 1.0)];

/// Prints what the criterion says of momenta and windows of the second pass, with weights and thresholds of their own.
pub fn compare_second(level: Level) -> Result<()> {
    let (to_fit, to_choose) = (Hits::new(level, WEIGHT_SEEDS)?, Hits::new(level, THRESHOLD_SEEDS)?);
    let mut config = SciFiConfig::preset(SciFiPreset::Best);
    let first = fit(&first_candidates(level, &to_fit, &config)?);
    for (min_momentum, x_tolerance) in SECOND {
        (config.passes[1].min_momentum, config.passes[1].x_tolerance) = (min_momentum, x_tolerance);
        let chosen = train(level, [&to_fit, &to_choose], &config, first)?.chosen;
        let counts = CRITERION.counts(&chosen.report);
        println!("from {min_momentum} MeV, x within {x_tolerance} mm: {}, {counts}", chosen.worth);
    }
    Ok(())
}

/// A change of one window, or of the clone rule.
type Change = fn(&mut SciFiConfig);

/// What else the windows and the clone rule could be.
const CHANGES: [(&str, Change); 21] = [
    ("as they are", |_| {}),
    ("first pass: x within 0.75 mm", |config| config.passes[0].x_tolerance = 0.75),
    ("first pass: x within 1 mm", |config| config.passes[0].x_tolerance = 1.0),
    ("first pass: u, v within 0.75 mm", |config| config.passes[0].uv_tolerance = 0.75),
    ("first pass: u, v within 1.5 mm", |config| config.passes[0].uv_tolerance = 1.5),
    ("first pass: 9 hits", |config| config.passes[0].min_hits = 9),
    ("first pass: from 3 GeV", |config| config.passes[0].min_momentum = 3_000.0),
    ("first pass: from 5 GeV", |config| config.passes[0].min_momentum = 5_000.0),
    ("first pass: 4 own hits", |config| own(&mut config.passes[0], 4, 4)),
    ("second pass: 5 hits in x", |config| config.passes[1].min_x_hits = 5),
    ("second pass: 3 own hits, 2 of six", |config| own(&mut config.passes[1], 3, 2)),
    ("second pass: from 2 GeV", |config| config.passes[1].min_momentum = 2_000.0),
    ("both passes: 1 shared hit", |config| share(config, 1)),
    ("both passes: 3 shared hits", |config| share(config, 3)),
    ("second pass: from 1.5 GeV", |config| config.passes[1].min_momentum = 1_500.0),
    ("second pass: from 3 GeV", |config| config.passes[1].min_momentum = 3_000.0),
    ("second pass: x within 1.5 mm", |config| config.passes[1].x_tolerance = 1.5),
    ("second pass: u, v within 1.5 mm", |config| config.passes[1].uv_tolerance = 1.5),
    ("second pass: u, v within 3 mm", |config| config.passes[1].uv_tolerance = 3.0),
    ("second pass: 10 hits", |config| config.passes[1].min_hits = 10),
    ("no second pass", |config| config.passes.truncate(1)),
];

fn own(pass: &mut SeedPass, hits: u32, of_six: u32) {
    (pass.min_own_hits, pass.min_own_of_six) = (hits, of_six);
}

fn share(config: &mut SciFiConfig, hits: u32) {
    let choices = config.passes.iter_mut().filter_map(|pass| pass.choice.as_mut());
    choices.for_each(|choice| choice.shared_hits = hits);
}

/// Prints what the criterion says of the preset, and of what differs in one thing (weights and thresholds stay).
pub fn compare(level: Level) -> Result<()> {
    let hits = Hits::new(level, THRESHOLD_SEEDS)?;
    for (what, change) in CHANGES {
        let mut config = SciFiConfig::preset(SciFiPreset::Best);
        change(&mut config);
        let report = hits.check(level, config)?;
        println!("{what}: {:?}, {}", CRITERION.worth(&report), CRITERION.counts(&report));
    }
    Ok(())
}
