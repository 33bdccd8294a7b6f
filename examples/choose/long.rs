//! Trains the networks in `src/long/pair_first_network.rs`, `pair_network.rs` and `pair_ut_network.rs`, which decide
//! whether a Velo track and a SciFi track (of the presets `best`) belong to one particle. Candidates are the pairs
//! within the windows of `LongConfig`. The first network uses one pair. The others also use its outputs for the pair's
//! rivals, which are pairs with one of its tracks; `pair_ut_network.rs` also uses the pair's UT hits.

use super::noise::Noise;
use super::sample::{
    BEAUTY_SEEDS, Criterion, EVENTS, Owners, PAIR_SEEDS, PAIR_THRESHOLD_SEEDS, Sample, copies,
};
use peloton::engine::Engine;
use peloton::event::{Outcome, SciFiTracks, UtBatch, VeloTracks};
use peloton::long::reference::{INPUTS, INPUTS_PAIR, INPUTS_UT, Pair, Parts, UtPart, pairs, rivals};
use peloton::long::{Bending, LongConfig, LongPreset};
use peloton::scifi::{SciFi, SciFiConfig, SciFiPreset};
use peloton::simd::Level;
use peloton::ut::{UtLayout, UtScratch, decode};
use peloton::velo::{Preset, VeloConfig};
use peloton::{Error, Result};
use peloton_truth::train::{Table, Trained, Training, train_with_noise};
use peloton_truth::{CheckReport, Checker, Rules};
use std::sync::Arc;

/// The networks: inputs, units of the hidden layer. With 32 units in the first network the criterion has the same result.
const FIRST: (usize, usize) = (INPUTS, 16);
const SECOND: (usize, usize) = (INPUTS_PAIR, 32);
const SECOND_UT: (usize, usize) = (INPUTS_UT, 32);
/// Seed 1 was fixed before anything was trained.
const TRAINING: Training = Training { hidden: 32, epochs: 24, batch: 64, rate: 0.015, seed: 1, keep: 0.99 };
/// The second network does not judge pairs with a smaller response of the first one: of 0.1, 0.05 and 0.02 the largest value that
/// loses no more than 0.01 % of the particles.
const LIKELY: f32 = 0.02;
/// Thresholds are multiples of this.
const STEP: f32 = 0.01;
/// The criteria of `long` and of `long-ut`; only their limits on ghosts differ.
const CATEGORIES: [&str; 2] = ["01_long", "02_long_P>5GeV"];
const CRITERIA: [Criterion; 2] = [
    Criterion { max_ghosts: 0.05, categories: CATEGORIES },
    Criterion { max_ghosts: 0.038, categories: CATEGORIES },
];
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
    "rival_of_velo",
    "rival_of_scifi",
    "ln_pairs_of_velo",
    "ln_pairs_of_scifi",
    "ut_hits",
    "ut_distance",
    "ut_part",
    "ut_part_of_four",
];

/// Simulated events and their tracks.
struct Tracks {
    sample: Sample,
    velo: VeloTracks,
    scifi: SciFiTracks,
    /// Layout of the UT and hits in it, if requested.
    ut: Option<(UtLayout, UtBatch)>,
    bending: Bending,
}

impl Tracks {
    fn new(
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

    fn parts(&self) -> Parts<'_> {
        let ut = self.ut.as_ref().map(|(layout, hits)| UtPart { layout, hits, bending: &self.bending });
        Parts { velo: &self.velo, scifi: &self.scifi, ut }
    }

    fn hits_of(&self, pair: &Pair) -> Vec<u32> {
        [self.velo.hits_of(pair.velo), &pair.ut_hits, self.scifi.hits_of(pair.scifi)].concat()
    }
}

/// Returns the layout of the UT and the hits in it.
fn hits_in_ut(level: Level, sample: &Sample) -> Result<(UtLayout, UtBatch)> {
    let (geometry, raw, mut hits) = (sample.geometry.ut()?, &sample.raw, Outcome::<UtBatch>::default());
    let end_z = VeloConfig::preset(Preset::Best).fit.end_z;
    let layout = UtLayout::new(&geometry, sample.geometry.ut_tables()?, sample.polarity, end_z)?;
    decode(level, &geometry, raw.view(), 0..raw.len(), &mut UtScratch::default(), &mut hits);
    Ok((layout, hits.results))
}

/// The pairs of simulated events, event by event.
struct Pairs {
    tracks: Tracks,
    events: Vec<Vec<Pair>>,
}

impl Pairs {
    /// Makes all pairs of tracks of the presets `best`: no network is applied.
    fn new(level: Level, sample: Sample, with_ut: bool) -> Result<Self> {
        let tracks = Tracks::new(level, sample, with_ut, (Preset::Best, SciFiPreset::Best))?;
        Ok(Self::of(tracks, 0.0))
    }

    /// Makes the pairs of tracks whose responses of the library's networks are at least `least`.
    fn of(tracks: Tracks, least: f32) -> Self {
        let (min_response, min_response_ut) = (least, least);
        let config = LongConfig { min_response, min_response_ut, ..LongConfig::preset(LongPreset::Best) };
        let parts = tracks.parts();
        let events = (0..tracks.sample.truth.len()).map(|event| pairs(&config, &parts, event)).collect();
        Self { tracks, events }
    }

    /// Sets the rivals of each pair.
    fn set_rivals(&mut self, first: &Trained) {
        for pairs in &mut self.events {
            let response = |pair: &Pair| first.response(&pair.inputs) as f32;
            let responses: Vec<f32> = pairs.iter().map(response).collect();
            let rivals = rivals(pairs, &responses);
            pairs.iter_mut().zip(rivals).for_each(|(pair, rivals)| pair.rivals = rivals);
        }
    }

    /// Appends each pair, and whether one particle made both tracks, to a table: once or as often as the criterion counts it.
    fn fill(&self, table: &mut Table, inputs: usize, as_counted: bool) -> Result<()> {
        let Tracks { sample, velo, scifi, .. } = &self.tracks;
        for (event, pairs) in self.events.iter().enumerate() {
            let owners = Owners::of(&sample.truth[event]);
            for pair in pairs {
                let of_velo = owners.of_most(velo.hits_of(pair.velo));
                let of_scifi = owners.of_most(scifi.hits_of(pair.scifi));
                let both: Vec<u32> = of_velo.into_iter().filter(|owner| of_scifi.contains(owner)).collect();
                let count = if as_counted { copies(&sample.truth[event], &both) } else { 1 };
                for _ in 0..count {
                    table.push(sample.seeds[event], &pair.inputs_ut()[..inputs], !both.is_empty())?;
                }
            }
        }
        Ok(())
    }

    /// Returns the pairs of each event that have a response, the best first.
    fn ranked(&self, response: impl Fn(&Pair) -> Option<f32>) -> Vec<Vec<(f32, &Pair)>> {
        let mut all = Vec::new();
        for pairs in &self.events {
            let with = |pair| Some((response(pair)?, pair));
            let mut pairs: Vec<(f32, &Pair)> = pairs.iter().filter_map(with).collect();
            let places = |pair: &Pair| (pair.velo, pair.scifi);
            pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(places(a.1).cmp(&places(b.1))));
            all.push(pairs);
        }
        all
    }

    /// Checks the chosen pairs: from the best on, each pair above the threshold that shares no track with a chosen pair.
    fn check(&self, pairs: &[Vec<(f32, &Pair)>], threshold: f32) -> CheckReport {
        let mut checker = Checker::new(Rules::LhcbLong);
        for (truth, pairs) in self.tracks.sample.truth.iter().zip(pairs) {
            let mut chosen: Vec<&Pair> = Vec::new();
            for (_, pair) in pairs.iter().filter(|(response, _)| *response >= threshold) {
                if chosen.iter().all(|other| other.velo != pair.velo && other.scifi != pair.scifi) {
                    chosen.push(pair);
                }
            }
            let tracks: Vec<_> = chosen.iter().map(|pair| self.tracks.hits_of(pair)).collect();
            checker.event(truth, tracks.iter().map(Vec::as_slice));
        }
        checker.report()
    }
}

/// Trains a network with these numbers of inputs and units; also returns the table, for the choice of a threshold.
fn train(to_fit: &Pairs, to_choose: &Pairs, (inputs, hidden): (usize, usize)) -> Result<(Trained, Table)> {
    let mut table = Table::new(&NAMES[..inputs]);
    to_fit.fill(&mut table, inputs, true)?;
    to_choose.fill(&mut table, inputs, false)?;
    let mut noise = Noise::new();
    let training = Training { hidden, ..TRAINING };
    Ok((train_with_noise(&table, &training, &mut |inputs| noise.add(inputs))?, table))
}

/// Returns the threshold on the response that is best by the criterion, and the check with it.
fn best_response(criterion: &Criterion, check: impl Fn(f32) -> CheckReport) -> Result<(f32, CheckReport)> {
    let mut best: Option<(i64, f32, CheckReport)> = None;
    for step in 10..95 {
        let response = step as f32 * STEP;
        let report = check(response);
        let Some(worth) = criterion.worth(&report) else { continue };
        if best.as_ref().is_none_or(|best| worth > best.0) {
            best = Some((worth, response, report));
        }
    }
    let (_, response, report) =
        best.ok_or_else(|| Error::Config("no threshold gives so few ghosts".into()))?;
    Ok((response, report))
}

/// Prints the thresholds on the networks' response for the preset `fast`, which uses the networks of `best`.
pub fn write_fast(level: Level) -> Result<()> {
    for (criterion, (name, with_ut)) in CRITERIA.iter().zip([("long", false), ("long-ut", true)]) {
        let sample = Sample::realistic(PAIR_THRESHOLD_SEEDS)?;
        let tracks = Tracks::new(level, sample, with_ut, (Preset::Fast, SciFiPreset::Fast))?;
        let pairs = Pairs::of(tracks, STEP);
        let ranked = pairs.ranked(|pair| Some(1.0 - pair.rank));
        let (response, report) = best_response(criterion, |response| pairs.check(&ranked, response))?;
        println!("{name}: {response:.2}: {}", criterion.counts(&report));
    }
    Ok(())
}

/// The network to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    First,
    Long,
    LongUt,
}

/// Prints the source file of a network. Before another network, the first network is trained, always with the same
/// result.
pub fn write(level: Level, network: Network) -> Result<()> {
    let with_ut = network == Network::LongUt;
    let mut to_fit = Pairs::new(level, Sample::realistic_with_beauty(PAIR_SEEDS)?, with_ut)?;
    let mut to_choose = Pairs::new(level, Sample::realistic(PAIR_THRESHOLD_SEEDS)?, with_ut)?;
    let (mut first, table) = train(&to_fit, &to_choose, FIRST)?;
    let what = "Decides whether a Velo and a SciFi track are of one particle";
    if network == Network::First {
        first.set_threshold(&table, LIKELY);
        let threshold = format!("the second network does not judge pairs with a response below {LIKELY}");
        return print(&first, ["long-first", "FIRST"], &format!("{what}, from this pair alone"), &threshold);
    }
    to_fit.set_rivals(&first);
    to_choose.set_rivals(&first);
    let (shape, names) =
        if with_ut { (SECOND_UT, ["long-ut", "PAIRS_UT"]) } else { (SECOND, ["long", "PAIRS"]) };
    let (mut second, table) = train(&to_fit, &to_choose, shape)?;
    let criterion = &CRITERIA[usize::from(with_ut)];
    let ranked = to_choose.ranked(|pair| {
        let is_likely = first.response(&pair.inputs) as f32 >= LIKELY;
        is_likely.then(|| second.response(&pair.inputs_ut()[..shape.0]) as f32)
    });
    let (response, report) = best_response(criterion, |response| to_choose.check(&ranked, response))?;
    second.set_threshold(&table, response);
    let threshold = format!(
        "the best multiple of {STEP} by the criterion of docs/algorithms.md, with ghosts at most {} %.\n//! Found long \
         particles, all and above 5 GeV/c: {}",
        100.0 * criterion.max_ghosts,
        criterion.counts(&report)
    );
    let by = if with_ut { ", its rivals and its UT hits" } else { " and its rivals (pairs sharing a track)" };
    print(&second, names, &format!("{what}, from this pair{by}"), &threshold)
}

fn print(trained: &Trained, [command, constant]: [&str; 2], what: &str, threshold: &str) -> Result<()> {
    let LongConfig { max_distance_x, max_change_ty, max_chi2, .. } = LongConfig::preset(LongPreset::Best);
    let made = format!(
        "`cargo run --release --example choose -- {command}`. Candidates are\n//! pairs of tracks of `velo` and `scifi`, presets \
         `best`, in `sim:lhcb,events={EVENTS},realism=1`: seeds {PAIR_SEEDS:?} and,\n//! with `signal=b`, {BEAUTY_SEEDS:?} \
         for weights, {PAIR_THRESHOLD_SEEDS:?} for the threshold; distances in x are up to {max_distance_x} mm, changes of \
         the\n//! slope in y up to {max_change_ty}, chi2 up to {max_chi2}. A pair is true if one particle has at least 70 % \
         of the hits of both tracks.\n//! Threshold: {threshold}."
    );
    print!("{}", trained.to_rust(constant, what, &made, "crate").replace("pub const", "pub(super) const"));
    Ok(())
}
