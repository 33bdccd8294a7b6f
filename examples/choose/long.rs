//! `src/long/pair_network.rs` and `pair_ut_network.rs`: the networks that judge pairs, the second with their hits in the UT.
//! Candidates are the pairs of tracks of `velo` and `scifi`, presets `best`, within windows; of [`WINDOWS`] the narrowest are taken
//! that the criterion likes as well as any, and `LongConfig` has them. The second network takes those of the first.

use super::sample::{
    BEAUTY_SEEDS, Criterion, EVENTS, Owners, PAIR_SEEDS, PAIR_THRESHOLD_SEEDS, Sample, Widening, copies,
};
use peloton::engine::Engine;
use peloton::event::{Outcome, SciFiTracks, UtBatch, VeloTracks};
use peloton::long::reference::{INPUTS, INPUTS_UT, Pair, Parts, UtPart, match_tracks, pairs};
use peloton::long::{Bending, LongConfig, LongPreset};
use peloton::scifi::{SciFi, SciFiConfig, SciFiPreset};
use peloton::simd::Level;
use peloton::ut::{UtLayout, UtScratch, decode};
use peloton::velo::{Preset, VeloConfig};
use peloton::{Error, Result};
use peloton_truth::train::{Table, Trained, Training, train};
use peloton_truth::{CheckReport, Checker, Rules};
use std::sync::Arc;

/// Windows that are tried, narrow ones first: largest distance in x, mm, change of the slope in y, and chi2.
const WINDOWS: [[f32; 3]; 5] =
    [[20.0, 0.02, 4.0], [30.0, 0.025, 6.0], [40.0, 0.03, 8.0], [50.0, 0.035, 12.0], [60.0, 0.04, 16.0]];
/// Wider windows, which take longer, are taken for what is more than one part in this many by the criterion.
const ENOUGH: i64 = 1_000;
/// With 24 units the criterion says 0.2 % less.
const TRAINING: Training = Training { hidden: 32, epochs: 24, batch: 64, rate: 0.015, seed: 1, keep: 0.99 };
/// Thresholds are multiples of this.
const STEP: f32 = 0.01;
const CRITERION: Criterion = Criterion { max_ghosts: 0.04, categories: ["01_long", "02_long_P>5GeV"] };
const NAMES: [&str; INPUTS_UT] = [
    "distance_x",
    "distance_y",
    "change_y",
    "ln_bend",
    "ln_slope",
    "scifi_hits",
    "scifi_y",
    "ln_chi2",
    "velo_hits",
    "ln_velo_chi2",
    "ln_pairs",
    "ut_hits",
    "ut_distance",
];

/// Where some of them are.
const SCIFI_Y: usize = 6;
const LN_VELO_CHI2: usize = 9;
const UT_HITS: usize = 11;
/// Share of pairs of which a hit in the UT is taken away before weights are fitted: real tracks have more often three.
const MISSED: f64 = 0.04;

/// Simulated events and their tracks.
struct Tracks {
    sample: Sample,
    velo: VeloTracks,
    scifi: SciFiTracks,
    /// Hits in the UT, where they are asked.
    ut: Option<(UtLayout, UtBatch)>,
    bending: Bending,
}

impl Tracks {
    fn new(level: Level, sample: Sample, with_ut: bool) -> Result<Self> {
        Self::of_presets(level, sample, with_ut, (Preset::Best, SciFiPreset::Best))
    }

    fn of_presets(
        level: Level,
        sample: Sample,
        with_ut: bool,
        (velo, scifi): (Preset, SciFiPreset),
    ) -> Result<Self> {
        let (geometry, config) = (Arc::new(sample.geometry.scifi()?), SciFiConfig::preset(scifi));
        let engine = Engine::new(SciFi::new(level, config, geometry, sample.polarity)?);
        let mut out = Outcome::default();
        engine.try_run(sample.raw.view(), &mut engine.workspace(), &mut out)?;
        let ut = with_ut.then(|| hits_in_ut(level, &sample)).transpose()?;
        let bending = sample.geometry.bending()?;
        Ok(Self { velo: sample.velo_tracks(level, velo)?, sample, scifi: out.results, ut, bending })
    }

    fn pairs(&self, config: &LongConfig) -> Vec<Vec<Pair>> {
        let of = |(layout, hits)| UtPart { layout, hits, bending: &self.bending };
        let ut = self.ut.as_ref().map(|(layout, hits)| of((layout, hits)));
        let parts = Parts { velo: &self.velo, scifi: &self.scifi, ut };
        (0..self.sample.truth.len()).map(|event| pairs(config, &parts, event)).collect()
    }

    /// What the network is given of a pair.
    fn inputs(&self, pair: &Pair) -> Vec<f32> {
        if self.ut.is_some() { pair.inputs_ut().to_vec() } else { pair.inputs.to_vec() }
    }

    fn fill(&self, pairs: &[Vec<Pair>], table: &mut Table, mut widening: Option<Widening>) -> Result<()> {
        for (event, pairs) in pairs.iter().enumerate() {
            let owners = Owners::of(&self.sample.truth[event]);
            for pair in pairs {
                let velo = owners.of_most(self.velo.hits_of(pair.velo));
                let scifi = owners.of_most(self.scifi.hits_of(pair.scifi));
                let both: Vec<u32> = velo.into_iter().filter(|owner| scifi.contains(owner)).collect();
                let seed = self.sample.seeds[event];
                let Some(widening) = &mut widening else {
                    table.push(seed, &self.inputs(pair), !both.is_empty())?;
                    continue;
                };
                for _ in 0..copies(&self.sample.truth[event], &both) {
                    let mut inputs = self.inputs(pair);
                    widen(&mut inputs, widening);
                    table.push(seed, &inputs, !both.is_empty())?;
                }
            }
        }
        Ok(())
    }

    /// What a checker says of the tracks that `long` finds, or `long-ut`.
    fn check_long(&self, config: &LongConfig, with_ut: bool) -> CheckReport {
        let ut = self.ut.as_ref().filter(|_| with_ut);
        let ut = ut.map(|(layout, hits)| UtPart { layout, hits, bending: &self.bending });
        let parts = Parts { velo: &self.velo, scifi: &self.scifi, ut };
        let mut checker = Checker::new(Rules::LhcbLong);
        for (event, truth) in self.sample.truth.iter().enumerate() {
            let tracks = match_tracks(config, &parts, event);
            let tracks: Vec<_> = tracks.iter().map(|pair| self.hits_of(pair)).collect();
            checker.event(truth, tracks.iter().map(Vec::as_slice));
        }
        checker.report()
    }

    fn hits_of(&self, pair: &Pair) -> Vec<u32> {
        [self.velo.hits_of(pair.velo), &pair.ut_hits, self.scifi.hits_of(pair.scifi)].concat()
    }

    /// What a checker says of the tracks: of the pairs that may be ones the best, then the next that shares nothing with it.
    fn check(&self, pairs: &[Vec<(f32, Pair)>], threshold: f32) -> CheckReport {
        let mut checker = Checker::new(Rules::LhcbLong);
        for (truth, pairs) in self.sample.truth.iter().zip(pairs) {
            let mut chosen: Vec<&Pair> = Vec::new();
            for (_, pair) in pairs.iter().filter(|(response, _)| *response >= threshold) {
                if chosen.iter().all(|other| other.velo != pair.velo && other.scifi != pair.scifi) {
                    chosen.push(pair);
                }
            }
            let tracks: Vec<_> = chosen.iter().map(|pair| self.hits_of(pair)).collect();
            checker.event(truth, tracks.iter().map(Vec::as_slice));
        }
        checker.report()
    }
}

/// Makes the chi2 of a pair's tracks larger, and sometimes takes a hit in the UT away, where there are three at least.
fn widen(inputs: &mut [f32], widening: &mut Widening) {
    let [of_velo, of_scifi] = [widening.factor(), widening.factor()].map(f64::sqrt);
    inputs[SCIFI_Y] = (f64::from(inputs[SCIFI_Y]) * of_scifi) as f32;
    let velo = libm::expm1(f64::from(inputs[LN_VELO_CHI2]));
    inputs[LN_VELO_CHI2] = libm::log1p(velo * of_velo) as f32;
    if inputs.len() == INPUTS_UT && widening.even() < MISSED && inputs[UT_HITS] > 2.5 {
        inputs[UT_HITS] -= 1.0;
    }
}

/// Hits in the UT.
fn hits_in_ut(level: Level, sample: &Sample) -> Result<(UtLayout, UtBatch)> {
    let (geometry, raw, mut hits) = (sample.geometry.ut()?, &sample.raw, Outcome::<UtBatch>::default());
    let end_z = VeloConfig::preset(Preset::Best).fit.end_z;
    let layout = UtLayout::new(&geometry, sample.geometry.ut_tables()?, sample.polarity, end_z)?;
    decode(level, &geometry, raw.view(), 0..raw.len(), &mut UtScratch::default(), &mut hits);
    Ok((layout, hits.results))
}

/// A network, and what the criterion says of it.
struct Chosen {
    worth: i64,
    trained: Trained,
    windows: [f32; 3],
    report: CheckReport,
}

/// What the criterion says of tracks without hits in the UT, or of tracks with them, of which no fewer are to be right.
fn worth(report: &CheckReport, least: Option<u64>) -> Option<i64> {
    match least {
        None => CRITERION.worth(report),
        Some(least) => (CRITERION.particles(report) >= least).then_some(-(report.ghosts as i64)),
    }
}

/// Prints the smallest responses of `fast`, whose networks are those of `best`.
pub fn write_fast(level: Level) -> Result<()> {
    let sample = Sample::new(PAIR_THRESHOLD_SEEDS)?;
    let tracks = Tracks::of_presets(level, sample, true, (Preset::Fast, SciFiPreset::Fast))?;
    let mut least = None;
    for with_ut in [false, true] {
        let mut best: Option<(i64, f32, CheckReport)> = None;
        for step in 10..90 {
            let response = step as f32 * STEP;
            let (min_response, min_response_ut) = (response, response);
            let preset = LongConfig::preset(LongPreset::Best);
            let config = LongConfig { min_response, min_response_ut, ..preset };
            let report = tracks.check_long(&config, with_ut);
            let Some(worth) = worth(&report, least) else { continue };
            if best.as_ref().is_none_or(|best| worth > best.0) {
                best = Some((worth, response, report));
            }
        }
        let Some((_, response, report)) = best else {
            return Err(Error::Config("no response with so few ghosts".into()));
        };
        let name = if with_ut { "long-ut" } else { "long" };
        println!("{name}: {response:.2}: {}", CRITERION.counts(&report));
        least = Some(CRITERION.particles(&report));
    }
    Ok(())
}

/// The best network and threshold for some windows.
fn choose(to_fit: &Tracks, to_choose: &Tracks, windows: [f32; 3]) -> Result<Option<Chosen>> {
    let [max_distance_x, max_change_ty, max_chi2] = windows;
    let config = LongConfig {
        max_distance_x,
        max_change_ty,
        max_chi2,
        min_response: 0.0,
        min_response_ut: 0.0,
        min_response_before_ut: 0.0,
        ..LongConfig::preset(LongPreset::Best)
    };
    let with_ut = to_fit.ut.is_some();
    let names = if with_ut { &NAMES[..] } else { &NAMES[..INPUTS] };
    // Hits in the UT are there to find fewer ghosts: as few as can be, while no fewer particles are found than by `long`.
    let best = LongConfig::preset(LongPreset::Best);
    let least = with_ut.then(|| CRITERION.particles(&to_choose.check_long(&best, false)));
    let worth = |report: &CheckReport| worth(report, least);
    let (mut table, pairs) = (Table::new(names), to_choose.pairs(&config));
    to_fit.fill(&to_fit.pairs(&config), &mut table, Some(Widening::new()))?;
    to_choose.fill(&pairs, &mut table, None)?;
    let mut trained = train(&table, &TRAINING)?;
    // As the kernel: the threshold and the ranks are those of the network that is written.
    let best_first = |pairs: Vec<Pair>| {
        let with = |pair: Pair| (trained.response(&to_choose.inputs(&pair)) as f32, pair);
        let mut pairs: Vec<_> = pairs.into_iter().map(with).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1.velo, a.1.scifi).cmp(&(b.1.velo, b.1.scifi))));
        pairs
    };
    let pairs: Vec<_> = pairs.into_iter().map(best_first).collect();
    let mut best: Option<(i64, f32, CheckReport)> = None;
    for step in 10..90 {
        let threshold = step as f32 * STEP;
        let report = to_choose.check(&pairs, threshold);
        let Some(worth) = worth(&report) else { continue };
        if best.as_ref().is_none_or(|best| worth > best.0) {
            best = Some((worth, threshold, report));
        }
    }
    let Some((worth, threshold, report)) = best else { return Ok(None) };
    eprintln!("windows {windows:?}: threshold {threshold}: {} ({worth})", CRITERION.counts(&report));
    trained.set_threshold(&table, threshold);
    Ok(Some(Chosen { worth, trained, windows, report }))
}

/// Writes the file of one of the networks.
pub fn write(level: Level, with_ut: bool) -> Result<()> {
    let to_fit = Tracks::new(level, Sample::with_beauty(PAIR_SEEDS)?, with_ut)?;
    let to_choose = Tracks::new(level, Sample::new(PAIR_THRESHOLD_SEEDS)?, with_ut)?;
    let taken = LongConfig::preset(LongPreset::Best);
    let taken = [[taken.max_distance_x, taken.max_change_ty, taken.max_chi2]];
    let windows = if with_ut { &taken[..] } else { &WINDOWS };
    let chosen: Result<Vec<_>> =
        windows.iter().map(|windows| choose(&to_fit, &to_choose, *windows)).collect();
    let chosen: Vec<_> = chosen?.into_iter().flatten().collect();
    let most = chosen.iter().map(|chosen| chosen.worth).max();
    let enough = |chosen: &Chosen| most.is_some_and(|most| (most - chosen.worth) * ENOUGH <= most.abs());
    let best = chosen.into_iter().find(enough);
    let best = best.ok_or_else(|| Error::Config("no threshold with so few ghosts".into()))?;
    let [x, ty, chi2] = best.windows;
    let (command, constant) = if with_ut { ("long-ut", "PAIRS_UT") } else { ("long", "PAIRS") };
    let made = format!(
        "`cargo run --release --example choose -- {command}`. Candidates are\n//! pairs of tracks of `velo` and `scifi`, presets \
         `best`, in `sim:lhcb,events={EVENTS}`, seeds {PAIR_SEEDS:?} and,\n//! with `signal=b`, {BEAUTY_SEEDS:?}; \
         {PAIR_THRESHOLD_SEEDS:?}; with distances in x up to {x} mm, changes of the slope in y up to {ty} and\n//! chi2 up to {chi2}; \
         true is where one particle has 70 % of the hits of both. Threshold: a multiple of {STEP}, by the\n//! criterion of \
         docs/algorithms.md: {}.",
        CRITERION.counts(&best.report)
    );
    let what = "Tells pairs of a Velo and a SciFi track that are one particle's from others";
    let what = if with_ut { format!("{what}, by their hits in the UT, too") } else { what.into() };
    print!(
        "{}",
        best.trained.to_rust(constant, &what, &made, "crate").replace("pub const", "pub(super) const")
    );
    Ok(())
}
