//! Simulated events, and the criterion by which parameters are chosen.

use peloton::engine::Engine;
use peloton::event::{Outcome, RawBatch, TruthEvent, VeloTracks};
use peloton::simd::Level;
use peloton::velo::{Preset, Velo, VeloBanks, VeloConfig};
use peloton::{Error, Result};
use peloton_io::input::{EventNote, Geometry};
use peloton_sim::{LhcbDetector, LhcbReader};
use peloton_truth::{CheckReport, HitsOf, decode_mc};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Number of events of each seed. The next two constants are the seeds of events for weights and for thresholds.
pub const EVENTS: u64 = 10;
pub const WEIGHT_SEEDS: RangeInclusive<u64> = 101..=140;
pub const THRESHOLD_SEEDS: RangeInclusive<u64> = 801..=840;
/// Seeds of events for thresholds of pairs: all threshold seeds, so that the standard deviation of the ghosts is
/// small.
pub const PAIR_THRESHOLD_SEEDS: RangeInclusive<u64> = 801..=999;
/// Seeds of events for the formula of the momentum in the SciFi.
pub const MOMENTUM_SEEDS: RangeInclusive<u64> = 401..=600;
/// Seeds of events for the weights of pairs; the next constant: of events with b hadrons, with more high momenta.
pub const PAIR_SEEDS: RangeInclusive<u64> = 161..=400;
pub const BEAUTY_SEEDS: RangeInclusive<u64> = 141..=160;

/// Keys of the simulation.
const REALISTIC: &str = "realism=1";
const REALISTIC_BEAUTY: &str = "realism=1,signal=b";

/// Simulated events, seed after seed.
pub struct Sample {
    pub raw: RawBatch,
    pub truth: Vec<TruthEvent>,
    pub seeds: Vec<u64>,
    pub geometry: Geometry,
    pub polarity: f32,
}

impl Sample {
    /// Simulates minimum bias without `realism`, with the SciFi's hit efficiency of earlier versions.
    pub fn new(seeds: RangeInclusive<u64>) -> Result<Self> {
        Self::of(seeds.map(|seed| (seed, "realism=0")))
    }

    /// Simulates minimum bias with a SciFi that misses as many hits as in full simulation.
    pub fn realistic(seeds: RangeInclusive<u64>) -> Result<Self> {
        Self::of(seeds.map(|seed| (seed, REALISTIC)))
    }

    /// Simulates minimum bias and events with b hadrons, with a SciFi that misses as many hits as in full simulation.
    pub fn realistic_with_beauty(seeds: RangeInclusive<u64>) -> Result<Self> {
        let beauty = BEAUTY_SEEDS.map(|seed| (seed, REALISTIC_BEAUTY));
        Self::of(seeds.map(|seed| (seed, REALISTIC)).chain(beauty))
    }

    /// Simulates the events of seeds, each with keys of the simulation.
    fn of(seeds: impl Iterator<Item = (u64, &'static str)>) -> Result<Self> {
        let geometry = Geometry::Nominal;
        let (ut, scifi, polarity) = (geometry.ut()?, geometry.scifi()?, geometry.polarity()?);
        let detector = LhcbDetector { ut: &ut, scifi: &scifi, polarity };
        let (mut raw, mut notes, mut of) = (RawBatch::default(), Vec::new(), Vec::new());
        for (seed, keys) in seeds {
            let spec = format!("sim:lhcb,events={EVENTS},seed={seed},{keys}").parse()?;
            let mut reader = LhcbReader::new(spec, 0, None);
            while reader.read(64, &detector, &mut raw, &mut notes)? > 0 {}
            of.resize(notes.len(), seed);
        }
        let without = || Error::Config("a simulated event has no truth".into());
        let truth_of = |note: &EventNote| decode_mc(note.truth.as_ref().ok_or_else(without)?, HitsOf::All);
        let truth = notes.iter().map(truth_of).collect::<Result<_>>()?;
        Ok(Self { raw, truth, seeds: of, geometry, polarity })
    }

    /// Returns the Velo's sequence.
    pub fn velo(&self, level: Level, preset: Preset) -> Result<Velo> {
        let velo = Velo::new(level, VeloConfig::preset(preset))?;
        Ok(velo.with_sensors(Arc::new(self.geometry.velo()?), VeloBanks::Auto))
    }

    pub fn velo_tracks(&self, level: Level, preset: Preset) -> Result<VeloTracks> {
        let (engine, mut out) = (Engine::new(self.velo(level, preset)?), Outcome::default());
        engine.try_run(self.raw.view(), &mut engine.workspace(), &mut out)?;
        Ok(out.results)
    }
}

/// Maps the identifiers of an event's hits to the particles that made these hits.
pub struct Owners(HashMap<u32, Vec<u32>>);

impl Owners {
    pub fn of(truth: &TruthEvent) -> Self {
        let mut owners = HashMap::<u32, Vec<u32>>::new();
        for (number, particle) in (0..).zip(&truth.particles) {
            particle.hits.iter().for_each(|hit| owners.entry(*hit).or_default().push(number));
        }
        Self(owners)
    }

    /// Returns the particles that made at least 70 % of these hits.
    pub fn of_most(&self, hits: &[u32]) -> Vec<u32> {
        let mut counts = HashMap::<u32, usize>::new();
        for owner in hits.iter().filter_map(|hit| self.0.get(hit)).flatten() {
            *counts.entry(*owner).or_default() += 1;
        }
        counts.into_iter().filter(|(_, count)| count * 10 >= hits.len() * 7).map(|(owner, _)| owner).collect()
    }
}

/// Returns how often training uses a candidate of these particles: twice for long particles above 5 GeV/c, else once.
pub fn copies(truth: &TruthEvent, owners: &[u32]) -> usize {
    let counts_twice = |owner: &u32| {
        let particle = &truth.particles[*owner as usize];
        let accepted = particle.eta > 2.0 && particle.eta < 5.0 && !particle.is_electron();
        particle.is_long && accepted && particle.p > 5.0
    };
    if owners.iter().any(counts_twice) { 2 } else { 1 }
}

/// Share of candidates whose chi2 are enlarged before weights are fitted: simulated chi2 have shorter tails than real ones,
/// since the simulated Velo has no beam pipe and measures all hits equally well.
const WIDENED: f64 = 0.3;

/// Draws random factors for the chi2 of candidates' tracks.
pub struct Widening(Xoshiro256PlusPlus);

impl Widening {
    pub fn new() -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(1))
    }

    /// Returns a random number above 0, and at most 1.
    pub fn even(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Returns a random number from the normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.even())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.even())
    }

    /// Returns a random factor for a chi2, at least 1: most often 1, otherwise with density ~ 1 / factor^2.
    pub fn factor(&mut self) -> f64 {
        if self.even() < WIDENED { 1.0 / self.even() } else { 1.0 }
    }
}

/// Returns the number of found particles and the number of all particles of a category.
pub fn found(report: &CheckReport, name: &str) -> [u64; 2] {
    let category = report.categories.iter().find(|category| category.name == name);
    category.map_or([0; 2], |category| [category.reconstructed, category.reconstructible])
}

/// The criterion for parameters: the largest share of ghosts, and the categories of particles to find.
pub struct Criterion {
    pub max_ghosts: f64,
    pub categories: [&'static str; 2],
}

impl Criterion {
    /// Returns ten times the number of found particles minus the number of ghosts; `None` with too many ghosts.
    pub fn worth(&self, report: &CheckReport) -> Option<i64> {
        // A standard deviation below the limit, so that other events keep within it, too.
        let ghosts = report.ghosts as f64;
        let few = ghosts + ghosts.sqrt() <= self.max_ghosts * report.tracks as f64;
        few.then_some(self.value(report))
    }

    /// Returns ten times the number of found particles minus the number of ghosts, for any number of ghosts.
    pub fn value(&self, report: &CheckReport) -> i64 {
        10 * self.particles(report) as i64 - report.ghosts as i64
    }

    /// Returns the number of found particles in the categories.
    pub fn particles(&self, report: &CheckReport) -> u64 {
        self.categories.iter().map(|name| found(report, name)[0]).sum()
    }

    /// Describes a result: found particles out of all particles, ghosts out of all tracks.
    pub fn counts(&self, report: &CheckReport) -> String {
        let [[a, all_a], [b, all_b]] = self.categories.map(|name| found(report, name));
        let of = |a, b| format!("{a} of {b}");
        format!("{} and {}, ghosts {}", of(a, all_a), of(b, all_b), of(report.ghosts, report.tracks))
    }
}
