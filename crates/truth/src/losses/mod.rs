//! [`Losses`]: counts lost particles by the step of the sequence that lost them.
//!
//! For each lost particle, the step is determined. First, the inputs of the sequence's last search must exist: hits in
//! enough layers, a Velo track, a SciFi track. Then this search is repeated for this particle, first with only its own
//! tracks and hits, then with all hits of the event:
//!
//! ```text
//!   its own hits, later cuts open        no track: lost by windows and tolerances
//!   its own hits, cuts as configured     no track: lost by the cuts, or by the classifier
//!   all hits of the event                no track: lost to hits of other particles, which fitted better
//!   a track in each of these searches              lost to other tracks, which took its hits or its place
//! ```
//! Each lost particle is counted at exactly one step, so the steps of a table add up to the number of lost particles.
//! The searches themselves do not count losses.

mod cylinder;
mod kept;
mod long;
mod scifi;
mod velo;
mod velo_ut;

pub use cylinder::CylinderLosses;
pub use long::{LongLosses, Matching};
pub use scifi::SciFiLosses;
pub use velo::{Loss, LossReport, VeloLosses};
pub use velo_ut::VeloUtLosses;

use crate::{LossTable, Rules, StageLosses, TrackMatcher};
use peloton::engine::{Algorithm, Slice};
use peloton::event::{BadBanks, Outcome, RawBatch, RawEvents, Results, TruthEvent, VeloTracks};
use peloton::velo::{Velo, VeloSequenceWorkspace};

/// Finds the step at which a sequence lost a particle; each sequence has an implementation.
pub trait FindLosses: Send {
    /// Returns the names of the steps, in the order of the sequence.
    fn steps(&self) -> &'static [&'static str];

    /// Returns the categories of particles for which there are tables.
    fn categories(&self) -> &'static [&'static str];

    /// Returns the parts of the detector that are searched separately; the first category has a table for each part.
    fn parts(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the index in `parts` of the part that contains a particle of the current event; none if no part does.
    fn part_of(&self, _truth: &TruthEvent, _particle: usize) -> Option<usize> {
        None
    }

    /// Begins an event: runs the stages before the sequence's last search.
    fn take(&mut self, banks: RawEvents<'_>, event: usize, truth: &TruthEvent);

    /// Returns the index of the step that lost this particle of the current event; the particle must have no track.
    fn lost_at(&mut self, truth: &TruthEvent, particle: usize) -> usize;
}

/// The conditions of a search for one particle alone, from the easiest to the real conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    /// The search has only the particle's own hits, and all cuts after the search windows are off.
    Open,
    /// The search has only the particle's own hits.
    OwnHits,
    /// The search has all hits of the event.
    AllHits,
}

/// Returns the number of the first way in which a search does not find a particle. If all ways find it, returns the next
/// number: then other tracks are to blame.
fn step_alone(mut finds: impl FnMut(Alone) -> bool) -> usize {
    const WAYS: [Alone; 3] = [Alone::Open, Alone::OwnHits, Alone::AllHits];
    WAYS.iter().position(|&alone| !finds(alone)).unwrap_or(WAYS.len())
}

/// Tables of the losses of a sequence, by category of particles.
pub struct Losses {
    of: Box<dyn FindLosses>,
    rules: Rules,
    /// Treatment of events with damaged raw banks.
    bad_banks: BadBanks,
    tables: Vec<Table>,
    found: Vec<bool>,
}

/// Losses of a category, or of its particles in part number `part` of the detector.
struct Table {
    category: &'static str,
    part: Option<usize>,
    losses: StageLosses,
}

impl Losses {
    /// Creates tables without particles; `rules` and `bad_banks` must be the rules and settings of the sequence.
    pub fn new(of: Box<dyn FindLosses>, rules: Rules, bad_banks: BadBanks) -> Self {
        let table = |category, part| Table { category, part, losses: StageLosses::new(of.steps()) };
        let categories = of.categories();
        let mut tables: Vec<_> = categories.iter().map(|category| table(*category, None)).collect();
        tables.extend((0..of.parts().len()).map(|part| table(categories[0], Some(part))));
        Self { of, rules, bad_banks, tables, found: Vec::new() }
    }

    /// Adds an event; `found` are the indices of the particles that were found in the event.
    pub fn event(
        &mut self,
        banks: &RawBatch,
        event: usize,
        truth: &TruthEvent,
        found: impl Iterator<Item = usize>,
    ) {
        self.found.clear();
        self.found.resize(truth.particles.len(), false);
        found.for_each(|particle| self.found[particle] = true);
        self.of.take(banks.view().with_bad_banks(self.bad_banks), event, truth);
        for (number, particle) in truth.particles.iter().enumerate() {
            // Most particles are in several categories: the step is searched for once.
            let mut lost_at = None;
            for Table { category, part, losses } in &mut self.tables {
                let is_there = |part| self.of.part_of(truth, number) == Some(part);
                if self.rules.holds(category, particle) == Some(true) && part.is_none_or(is_there) {
                    let is_lost = !self.found[number];
                    let step = || self.of.lost_at(truth, number);
                    losses.add(is_lost.then(|| *lost_at.get_or_insert_with(step)));
                }
            }
        }
    }

    /// Returns the tables of all events so far.
    pub fn report(&self) -> Vec<LossTable> {
        let parts = self.of.parts();
        let name = |part: &usize| parts[*part];
        let table = |table: &Table| table.losses.table(table.category, table.part.as_ref().map(name));
        self.tables.iter().map(table).collect()
    }
}

/// Runs the Velo stage on one event at a time, and matches its tracks with particles.
pub struct VeloPart {
    velo: Velo,
    workspace: VeloSequenceWorkspace,
    /// Velo tracks of the event.
    pub tracks: Outcome<VeloTracks>,
    matcher: TrackMatcher,
    /// Particles that each track matches.
    particles: Vec<Vec<usize>>,
}

impl VeloPart {
    /// Creates the stage with this Velo algorithm.
    pub fn new(velo: Velo) -> Self {
        let (workspace, tracks) = Default::default();
        Self { velo, workspace, tracks, matcher: TrackMatcher::new(Rules::Lhcb), particles: Vec::new() }
    }

    /// Finds the Velo tracks of an event, and the particles that they match.
    pub fn take(&mut self, banks: RawEvents<'_>, event: usize, truth: &TruthEvent) {
        self.tracks.clear();
        Algorithm::run(&self.velo, Slice::of(banks, event..event + 1), &mut self.workspace, &mut self.tracks);
        self.matcher.index(truth);
        let lists = self.tracks.results.hit_lists(0);
        self.particles = lists.map(|hits| self.matcher.particles(truth, hits)).collect();
    }

    /// Appends to `own` an event with the tracks that match this particle; returns whether such tracks exist.
    pub fn append_own(&self, particle: usize, own: &mut VeloTracks) -> bool {
        append_own(&self.tracks.results, &self.particles, particle, own)
    }
}

/// Appends an event of the tracks of the first event of `tracks` that match a particle; returns whether there are any.
fn append_own<R: Results>(tracks: &R, particles: &[Vec<usize>], particle: usize, own: &mut R) -> bool {
    let is_own = |track: usize| particles[track].contains(&particle);
    kept::append_kept(own, tracks, is_own);
    (0..particles.len()).any(is_own)
}

/// Returns whether one of the tracks matches a particle of the event that the matcher has indexed.
fn finds<'a>(
    matcher: &mut TrackMatcher,
    truth: &TruthEvent,
    particle: usize,
    mut tracks: impl Iterator<Item = &'a [u32]>,
) -> bool {
    tracks.any(|hits| matcher.particles(truth, hits).contains(&particle))
}
