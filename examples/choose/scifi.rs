//! Fits `src/scifi/weights.rs`: weights and thresholds of the passes of `fast` and `best`. The naive reference makes
//! the candidates and computes their features.

use super::linear::solve;
use super::sample::{Criterion, EVENTS, Owners, Sample, THRESHOLD_SEEDS, WEIGHT_SEEDS, Widening, copies};
use peloton::event::{Outcome, SCIFI_ZONES, SciFiBatch, SciFiTracks};
use peloton::scifi::reference::{ReferenceTrack, find};
use peloton::scifi::{
    ChoiceConfig, RowPass, SciFi, SciFiConfig, SciFiGeometry, SciFiPreset, SciFiScratch, SciFiWorkspace,
    decode,
};
use peloton::simd::Level;
use peloton::{Error, Result};
use peloton_truth::{CheckReport, Checker, Rules};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Number of features, which is the number of weights of a choice.
const N: usize = 15;
/// Index of the logarithm of the chi2 in y among the features.
const Y: usize = 4;
/// Step and range of the thresholds, which are multiples of the step.
const STEP: f32 = 0.25;
const STEPS: RangeInclusive<i8> = -4..=8;
/// The limit on ghosts is the share of the search by triplets in two passes, with which these presets are compared.
const CRITERION: Criterion =
    Criterion { max_ghosts: 0.025, categories: ["03_long_P>3GeV", "02_long_P>5GeV"] };

/// Weights of `best` are fitted and thresholds judged also with moved modules: in x by normal numbers with this width, mm,
/// between the two widths in docs/performance/tracks.md.
const MOVED: f64 = 0.15;
/// Number of bits of an LHCbID for the channel, and number of its bits below the module.
const CHANNEL_BITS: u32 = 20;
const MODULE_SHIFT: u32 = 11;

/// A track of a pass without a choice: features, whether 70 % of the hits come from one particle, and how often training uses it.
type Candidate = ([f32; N], bool, usize);

/// Simulated events and their hits.
struct Hits {
    sample: Sample,
    hits: SciFiBatch,
    /// Hits with moved modules, if they are used, too.
    moved: Option<SciFiBatch>,
    geometry: Arc<SciFiGeometry>,
}

/// Returns the hits of a SciFi whose modules are moved in x, equally in all events.
fn moved(hits: &SciFiBatch) -> SciFiBatch {
    let (mut draws, mut hits) = (Widening::new(), hits.clone());
    let by: Vec<f32> =
        (0..1 << (CHANNEL_BITS - MODULE_SHIFT)).map(|_| (MOVED * draws.normal()) as f32).collect();
    for zone in 0..SCIFI_ZONES * hits.status.len() {
        let range = hits.zone_start[zone] as usize..hits.zone_start[zone + 1] as usize;
        let of_hit = |at: usize| {
            let id = hits.id[at];
            let module = (id % (1 << CHANNEL_BITS)) >> MODULE_SHIFT;
            (hits.x[at] + by[module as usize], id, hits.z[at], hits.y_end[at], hits.width[at])
        };
        let mut of_zone: Vec<_> = range.clone().map(of_hit).collect();
        of_zone.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (at, hit) in range.zip(of_zone) {
            (hits.x[at], hits.id[at], hits.z[at], hits.y_end[at], hits.width[at]) = hit;
        }
    }
    hits
}

impl Hits {
    /// Makes the hits for `best`.
    fn new(level: Level, seeds: RangeInclusive<u64>) -> Result<Self> {
        let hits = Self::of(level, Sample::realistic(seeds)?)?;
        Ok(Self { moved: Some(moved(&hits.hits)), ..hits })
    }

    fn of(level: Level, sample: Sample) -> Result<Self> {
        let geometry = Arc::new(sample.geometry.scifi()?);
        let (raw, mut hits) = (&sample.raw, Outcome::<SciFiBatch>::default());
        decode(level, &geometry, raw.view(), 0..raw.len(), &mut SciFiScratch::default(), &mut hits);
        Ok(Self { sample, hits: hits.results, moved: None, geometry })
    }

    /// Returns the tracks of the last pass, whose choice accepts all tracks; earlier passes keep their choices.
    fn candidates(&self, level: Level, config: &SciFiConfig) -> Result<Vec<Candidate>> {
        let mut all = self.candidates_of(level, config, &self.hits)?;
        if let Some(moved) = &self.moved {
            all.extend(self.candidates_of(level, config, moved)?);
        }
        Ok(all)
    }

    fn candidates_of(&self, level: Level, config: &SciFiConfig, hits: &SciFiBatch) -> Result<Vec<Candidate>> {
        let mut before = config.clone();
        before.rows.passes.pop();
        let mut skip = vec![0; self.sample.truth.len()];
        if !before.rows.passes.is_empty() {
            let tracks = self.tracks(level, before, hits)?;
            (0..skip.len()).for_each(|event| skip[event] = tracks.of_event(event).len());
        }
        let bending = self.sample.geometry.bending()?;
        let of_event = |event: usize| {
            let found = find(config, (&self.geometry, &bending), hits, event);
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

    fn tracks(&self, level: Level, config: SciFiConfig, hits: &SciFiBatch) -> Result<SciFiTracks> {
        let scifi = SciFi::new(level, config, self.geometry.clone(), self.sample.polarity)?;
        let scifi = scifi.with_bending(self.sample.geometry.bending()?);
        let mut out = Outcome::default();
        scifi.find(hits, 0..hits.status.len(), &mut SciFiWorkspace::default(), &mut out);
        Ok(out.results)
    }

    /// Checks the tracks of a configuration against the truth.
    fn check(&self, level: Level, config: SciFiConfig) -> Result<CheckReport> {
        self.check_with(level, config, &self.hits)
    }

    /// Returns the worth of a configuration, and its check; none with too many ghosts.
    fn judge(&self, level: Level, config: SciFiConfig) -> Result<Option<(i64, CheckReport)>> {
        let report = self.check(level, config.clone())?;
        let Some(mut worth) = CRITERION.worth(&report) else { return Ok(None) };
        if let Some(moved) = &self.moved {
            worth += CRITERION.value(&self.check_with(level, config, moved)?);
        }
        Ok(Some((worth, report)))
    }

    fn check_with(&self, level: Level, config: SciFiConfig, hits: &SciFiBatch) -> Result<CheckReport> {
        let tracks = self.tracks(level, config, hits)?;
        let mut checker = Checker::new(Rules::LhcbSeed);
        for (event, truth) in self.sample.truth.iter().enumerate() {
            checker.event(truth, tracks.hit_lists(event));
        }
        Ok(checker.report())
    }
}

/// Returns the data for a fit: candidates with enlarged chi2 in y, some of them twice.
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

/// Fits a logistic regression with ridge 1 by Newton's method, rounded to 0.001.
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

/// Changes the choice of a pass so that it accepts all tracks.
fn open(pass: &mut RowPass) {
    (pass.choice.min_score, pass.choice.shared_hits) = (f32::MIN, 12);
}

fn with(config: &SciFiConfig, weights: &[[f32; N]], min_score: &[f32]) -> SciFiConfig {
    let mut config = config.clone();
    for (pass, (&weights, &min_score)) in config.rows.passes.iter_mut().zip(weights.iter().zip(min_score)) {
        pass.choice = ChoiceConfig { weights, min_score, shared_hits: 2 };
    }
    config
}

/// Thresholds of the passes, their worth and their check.
struct Thresholds {
    worth: i64,
    min_score: Vec<f32>,
    report: CheckReport,
}

/// Returns the thresholds that are best by the criterion; the first of several.
fn thresholds(level: Level, sample: &Hits, config: &SciFiConfig, weights: &[[f32; N]]) -> Result<Thresholds> {
    let values = || STEPS.map(|steps| f32::from(steps) * STEP);
    let all: Vec<Vec<f32>> = match weights.len() {
        1 => values().map(|one| vec![one]).collect(),
        _ => values().flat_map(|first| values().map(move |second| vec![first, second])).collect(),
    };
    let mut best: Option<Thresholds> = None;
    for min_score in all {
        let judged = sample.judge(level, with(config, weights, &min_score))?;
        let Some((worth, report)) = judged else { continue };
        if best.as_ref().is_none_or(|best| worth > best.worth) {
            best = Some(Thresholds { worth, min_score, report });
        }
    }
    best.ok_or_else(|| Error::Config("no thresholds give so few ghosts".into()))
}

/// Weights of passes, the candidates for their fit, and thresholds.
struct Trained {
    weights: Vec<[f32; N]>,
    candidates: Vec<Vec<Candidate>>,
    chosen: Thresholds,
}

/// Fits the passes of a configuration, one or two, to candidates, and chooses thresholds.
fn train(level: Level, [to_fit, to_choose]: [&Hits; 2], config: &SciFiConfig) -> Result<Trained> {
    let mut first = config.clone();
    first.rows.passes.truncate(1);
    open(&mut first.rows.passes[0]);
    let first = to_fit.candidates(level, &first)?;
    let mut weights = vec![fit(&first)];
    if config.rows.passes.len() == 1 {
        let chosen = thresholds(level, to_choose, config, &weights)?;
        return Ok(Trained { weights, candidates: vec![first], chosen });
    }
    weights.push([0.0; N]);
    // The tracks of the second pass depend on the threshold of the first: the second fit is done twice.
    let mut min_score = vec![-1.0, 0.0];
    let mut second = Vec::new();
    for _ in 0..2 {
        let mut all = with(config, &weights, &min_score);
        open(&mut all.rows.passes[1]);
        second = to_fit.candidates(level, &all)?;
        weights[1] = fit(&second);
        min_score = thresholds(level, to_choose, config, &weights)?.min_score;
    }
    let judged = to_choose.judge(level, with(config, &weights, &min_score))?;
    let (worth, report) =
        judged.ok_or_else(|| Error::Config("the thresholds give too many ghosts".into()))?;
    let chosen = Thresholds { worth, min_score, report };
    Ok(Trained { weights, candidates: vec![first, second], chosen })
}

/// Prints the source file of the weights.
pub fn write(level: Level) -> Result<()> {
    let (to_fit, to_choose) = (Hits::new(level, WEIGHT_SEEDS)?, Hits::new(level, THRESHOLD_SEEDS)?);
    let best = train(level, [&to_fit, &to_choose], &SciFiConfig::preset(SciFiPreset::Best))?;
    // Trained with a SciFi that misses more hits, `fast` finds fewer seeds of the seven public events: its training is unchanged.
    let [to_fit, to_choose] =
        [WEIGHT_SEEDS, THRESHOLD_SEEDS].map(|seeds| Hits::of(level, Sample::new(seeds)?));
    let fast = train(level, [&to_fit?, &to_choose?], &SciFiConfig::preset(SciFiPreset::Fast))?;
    let counts = |candidates: &[Candidate]| {
        let is_true = candidates.iter().filter(|(_, label, _)| *label).count();
        format!("{is_true} true and {} false", candidates.len() - is_true)
    };
    println!(
        "//! Weights and thresholds of the classifiers of tracks of `fast` and `best`, trained on simulated events alone."
    );
    println!(
        "//!\n//! Written by `cargo run --release --example choose -- scifi`, not by hand. The classifiers"
    );
    println!(
        "//! are logistic regressions (ridge 1, rounded to 0.001) on all candidates of a pass in `sim:lhcb,events={EVENTS}`,"
    );
    println!(
        "//! seeds {WEIGHT_SEEDS:?}, with `realism=1` for `best`. A candidate is true if 70 % of its hits are of one particle."
    );
    println!(
        "//! Candidates: `fast` {}; `best` {} in the first pass, {} in the second.",
        counts(&fast.candidates[0]),
        counts(&best.candidates[0]),
        counts(&best.candidates[1])
    );
    println!(
        "//! Thresholds: multiples of {STEP}, chosen on seeds {THRESHOLD_SEEDS:?} by the criterion of docs/algorithms.md. Weights and thresholds\n//! of `best` also use events with modules moved by {MOVED} mm. Found long particles above 3 and 5 GeV/c:"
    );
    println!("//! `fast` {};", CRITERION.counts(&fast.chosen.report));
    println!("//! `best` {}.\n", CRITERION.counts(&best.chosen.report));
    println!(
        "/// Number of features of a track that a classifier weighs.\npub(super) const FEATURES: usize = {N};\n"
    );
    let passes = fast
        .weights
        .iter()
        .chain(&best.weights)
        .zip(fast.chosen.min_score.iter().chain(&best.chosen.min_score));
    for ((what, name), (weights, min_score)) in
        [("`fast`", "FAST"), ("the first pass of `best`", "FIRST"), ("the second pass", "SECOND")]
            .into_iter()
            .zip(passes)
    {
        println!("/// Weights for {what}, and the smallest sum of an accepted track.\n#[rustfmt::skip]");
        println!(
            "pub(super) const {name}: ([f32; FEATURES], f32) = (\n    {weights:?},\n    {min_score:?},\n);"
        );
    }
    Ok(())
}

/// Tried shifts of the second pass, and windows in x, mm.
const SECOND: [(f32, f32); 6] =
    [(480.0, 0.8), (480.0, 1.0), (540.0, 0.6), (540.0, 0.8), (540.0, 1.0), (600.0, 0.8)];

/// Prints the criterion's value for shifts and windows of the second pass, each with weights and thresholds of its own.
pub fn compare_second(level: Level) -> Result<()> {
    let (to_fit, to_choose) = (Hits::new(level, WEIGHT_SEEDS)?, Hits::new(level, THRESHOLD_SEEDS)?);
    let mut config = SciFiConfig::preset(SciFiPreset::Best);
    for (shift, x_tolerance) in SECOND {
        (config.rows.passes[1].shift, config.rows.passes[1].x_tolerance) = (shift, x_tolerance);
        let chosen = train(level, [&to_fit, &to_choose], &config)?.chosen;
        let counts = CRITERION.counts(&chosen.report);
        println!("shifts up to {shift} mm, x within {x_tolerance} mm: {}, {counts}", chosen.worth);
    }
    Ok(())
}

/// A change of one window, or of the clone rule.
type Change = fn(&mut SciFiConfig);

/// Other values of the windows and of the clone rule.
const CHANGES: [(&str, Change); 19] = [
    ("as they are", |_| {}),
    ("reach: 0.3 mm", |config| config.rows.reach[0] = 0.3),
    ("reach: 0.42 mm", |config| config.rows.reach[0] = 0.42),
    ("reach: 1.3 spreads", |config| config.rows.reach[1] = 1.3),
    ("reach: 2 spreads", |config| config.rows.reach[1] = 2.0),
    ("outer: beyond 900 mm", |config| config.rows.outer = 900.0),
    ("outer: beyond 1,500 mm", |config| config.rows.outer = 1_500.0),
    ("pivots: layer 3 first", |config| config.rows.pivots = [3, 2]),
    ("first pass: x within 0.7 mm", |config| config.rows.passes[0].x_tolerance = 0.7),
    ("first pass: u, v within 1.2 mm", |config| config.rows.passes[0].uv_tolerance = 1.2),
    ("first pass: 9 hits", |config| config.rows.passes[0].min_hits = 9),
    ("first pass: shifts up to 250 mm", |config| config.rows.passes[0].shift = 250.0),
    ("first pass: shifts up to 360 mm", |config| config.rows.passes[0].shift = 360.0),
    ("second pass: 5 hits in x", |config| config.rows.passes[1].min_x_hits = 5),
    ("second pass: 4 hits for any shift", |config| config.rows.passes[1].four_hit_shift = 1_000.0),
    ("second pass: u, v within 2 mm", |config| config.rows.passes[1].uv_tolerance = 2.0),
    ("second pass: 10 hits", |config| config.rows.passes[1].min_hits = 10),
    ("both passes: 3 shared hits", |config| {
        config.rows.passes.iter_mut().for_each(|pass| pass.choice.shared_hits = 3);
    }),
    ("no second pass", |config| config.rows.passes.truncate(1)),
];

/// Prints the criterion for the preset, and for variants with one changed value and the same weights and thresholds.
pub fn compare(level: Level) -> Result<()> {
    let hits = Hits::new(level, THRESHOLD_SEEDS)?;
    for (what, change) in CHANGES {
        let mut config = SciFiConfig::preset(SciFiPreset::Best);
        change(&mut config);
        match hits.judge(level, config)? {
            Some((worth, report)) => println!("{what}: {worth}, {}", CRITERION.counts(&report)),
            None => println!("{what}: too many ghosts"),
        }
    }
    Ok(())
}
