//! [`SciFi`]: the algorithm that finds tracks from hits in the SciFi.

use super::config::{SciFiConfig, SciFiPreset};
use super::find::plan::Kind;
use super::find::track::{NO_HIT, Track};
use super::find::{FindScratch, HalfHits, PassCounts, PassRules};
use super::geometry::SciFiGeometry;
use super::index::Index;
use super::layers::{BY_Z, HALF_LAYERS, HALVES};
use super::rows::{self, RowsScratch};
use super::sequence::{SCIFI_HITS, SciFiHits};
use super::state::{Pattern, Staged, States};
use crate::engine::{Algorithm, AlgorithmInfo, Handle, Sequence, Slice, detector_stages};
use crate::event::{BadBanks, Outcome, SciFiBatch, SciFiTracks, StageClock, Truncation};
use crate::lhcb::Bending;
use crate::simd::{Gang, Level};
use crate::{Result, Status};
use std::ops::Range;
use std::sync::Arc;

/// Number of bits of an LHCbID below its layer number, and number of the first layer.
const LAYER_SHIFT: u32 = 16;
const FIRST_LAYER: usize = 4;
/// Numbers of the stages after decoding.
const SORT: usize = 1;
const FIND: usize = 2;
const CONFIRM: usize = 3;

/// Handle of the SciFi tracks that `SciFi` produces.
pub const SCIFI_TRACKS: Handle = Handle::of::<SciFiTracks>("scifi_tracks");

/// Finds tracks from hits in the SciFi.
#[derive(Debug, Clone)]
pub struct SciFi {
    level: Level,
    geometry: Arc<SciFiGeometry>,
    config: SciFiConfig,
    search: Search,
    states: States,
    bad_banks: BadBanks,
}

/// The kind of search, with its constants of the layers.
#[derive(Debug, Clone)]
enum Search {
    /// By triplets of these kinds.
    Triplets(Vec<Kind>),
    /// By rows of bits.
    Rows(rows::Plans),
}

/// Memory of [`SciFi`] that one thread reuses from event to event.
#[derive(Debug, Default)]
pub struct SciFiWorkspace {
    index: Index,
    find: FindScratch,
    rows: RowsScratch,
    tracks: Vec<Track>,
    staged: Staged,
}

impl SciFi {
    /// Creates an algorithm for a detector and a polarity of the magnet, -1 (down) or 1. Momenta are computed for the
    /// nominal magnet; [`with_bending`](Self::with_bending) sets another magnet.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if `config` is invalid.
    pub fn new(
        level: Level,
        config: SciFiConfig,
        geometry: Arc<SciFiGeometry>,
        polarity: f32,
    ) -> Result<Self> {
        config.validate()?;
        let search = match config.preset {
            SciFiPreset::Hlt1 => {
                let pass = &config.hlt1;
                Search::Triplets((0..pass.triplets.len()).map(|kind| Kind::new(pass, kind)).collect())
            }
            SciFiPreset::Best | SciFiPreset::Fast => {
                Search::Rows(rows::Plans::new(&config.rows, &geometry, polarity))
            }
        };
        let states = States::new(&config, Bending::nominal(polarity));
        Ok(Self { level, geometry, config, search, states, bad_banks: BadBanks::Event })
    }

    /// Sets how events with damaged raw banks are treated.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }

    /// Sets the magnet, with its polarity, for which momenta are computed.
    pub fn with_bending(mut self, bending: Bending) -> Self {
        self.states = self.states.with_bending(bending, &self.config);
        self
    }

    /// Returns the algorithm that decodes the hits that this algorithm reads.
    pub fn hits(&self) -> SciFiHits {
        SciFiHits::new(self.level, self.geometry.clone()).with_bad_banks(self.bad_banks)
    }

    /// Returns the configuration.
    pub fn config(&self) -> &SciFiConfig {
        &self.config
    }

    /// Returns the variances of the slope in x relative to a track without scattering, given the LHCbIDs of a track's hits:
    /// by the errors of the hits, and by scattering at 1 GeV/c.
    pub(crate) fn turn(&self, ids: &[u32]) -> [f32; 2] {
        let layers = ids.iter().fold(0u32, |layers, id| layers | 1 << (id >> LAYER_SHIFT & 0xF));
        let mut has = [false; HALF_LAYERS];
        for (at, layer) in BY_Z.into_iter().enumerate() {
            has[layer] = layers >> (FIRST_LAYER + at) & 1 == 1;
        }
        self.states.turn(Pattern::new(|layer| has[layer]))
    }

    /// Finds tracks in the events of `range` from their hits, and appends the tracks to `out`, event by event. An event
    /// that cannot be reconstructed has no tracks, and its [`Status`] gives the reason; dropped hits and candidates are
    /// counted.
    ///
    /// Output bytes do not depend on the level, nor on how the events are split into ranges. Memory is allocated only
    /// until `workspace` and `out` are large enough.
    ///
    /// # Panics
    /// Panics if `range` is not within the events.
    pub fn find(
        &self,
        hits: &SciFiBatch,
        range: Range<usize>,
        workspace: &mut SciFiWorkspace,
        out: &mut Outcome<SciFiTracks>,
    ) {
        self.find_in(hits, range, workspace, out);
    }

    /// Runs the search; it is compiled only here.
    fn find_in(
        &self,
        hits: &SciFiBatch,
        range: Range<usize>,
        seeding: &mut SciFiWorkspace,
        out: &mut Outcome<SciFiTracks>,
    ) {
        crate::simd::kernels!(dispatch_wide!(self.level, g => run(g, self, hits, range, seeding, out)));
    }
}

detector_stages! {
    "scifi":
    "decode", "raw banks" => "hits sorted by zone and x";
    "sort", "hits sorted by zone and x" => "x of hits, sorted by half and layer";
    "find", "hits of x layers" => "tracks in x";
    "confirm", "hits of u and v layers" => "tracks";
}

impl From<SciFi> for Sequence {
    /// Returns the sequence from raw banks to tracks.
    fn from(algorithm: SciFi) -> Self {
        let hits = algorithm.hits();
        Self::of_one("scifi", hits).with(algorithm).expect("the search reads these hits")
    }
}

impl Algorithm for SciFi {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "scifi",
        reads: &[SCIFI_HITS],
        makes: SCIFI_TRACKS,
        stages: STAGES,
        stages_in_chain: STAGES_IN_CHAIN,
    };

    type Output = SciFiTracks;
    type Scratch = SciFiWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut SciFiWorkspace, out: &mut Outcome<SciFiTracks>) {
        self.find_in(slice.product(0), 0..slice.range().len(), scratch, out);
    }
}

#[inline(always)]
fn run<G: Gang>(
    g: G,
    of: &SciFi,
    hits: &SciFiBatch,
    range: Range<usize>,
    scratch: &mut SciFiWorkspace,
    out: &mut Outcome<SciFiTracks>,
) {
    let mut clock = StageClock::start();
    for event in range {
        let mut status = hits.status[event];
        if status.is_reconstructed() {
            status = status.and(sort_room(g, of, hits, event, scratch));
        }
        let count = hits.of_event(event).len() as u64;
        out.counters.stages[SORT].items_in += count;
        clock.lap(&mut out.counters.stages[SORT]);
        if status.is_reconstructed() {
            out.counters.stages[SORT].items_out += count;
            out.counters.stages[FIND].items_in += count;
            match &of.search {
                Search::Triplets(kinds) => {
                    let event_x = &hits.x.padded()[hits.of_event(event).start..];
                    find(g, Searched { of, kinds, event_x }, scratch, out, &mut clock);
                }
                Search::Rows(plans) => {
                    scratch.tracks.clear();
                    let SciFiWorkspace { rows, tracks, .. } = scratch;
                    let rules = rows::Rules { config: &of.config, plans };
                    for pass in 0..plans.passes() {
                        let mut counts = rows::RowCounts::default();
                        let candidates = rows.find_x(g, rules, pass, &mut counts) as u64;
                        out.counters.stages[FIND].items_out += candidates;
                        out.counters.stages[CONFIRM].items_in += candidates;
                        clock.lap(&mut out.counters.stages[FIND]);
                        rows.find_uv(g, rules, pass, &mut counts, tracks);
                        counts.x.add_to(&mut out.counters.stages[FIND]);
                        counts.uv.add_to(&mut out.counters.stages[CONFIRM]);
                        if counts.dropped > 0 {
                            out.counters.count_truncated(Truncation::CandidatesInWindow, counts.dropped);
                        }
                        clock.lap(&mut out.counters.stages[CONFIRM]);
                    }
                }
            }
            append_room(g, of, hits, event, scratch, &mut out.results);
            out.counters.stages[CONFIRM].items_out += scratch.tracks.len() as u64;
            out.results.status.push(status);
            out.counters.count_event(status);
        } else {
            out.push_failed(status);
        }
        clock.lap(&mut out.counters.stages[CONFIRM]);
    }
}

/// Input of the search by triplets: the algorithm, the kinds of triplets, and x of the event's hits.
#[derive(Clone, Copy)]
struct Searched<'a> {
    of: &'a SciFi,
    kinds: &'a [Kind],
    event_x: &'a [f32],
}

/// Runs the search by triplets; each stage is a function of its own.
#[inline(always)]
fn find<G: Gang>(
    g: G,
    of: Searched<'_>,
    scratch: &mut SciFiWorkspace,
    out: &mut Outcome<SciFiTracks>,
    clock: &mut StageClock,
) {
    let counters = &mut out.counters;
    let mut counts = PassCounts::default();
    scratch.tracks.clear();
    for half in 0..HALVES {
        let candidates = find_room(g, of, half, scratch, &mut counts);
        counters.stages[FIND].items_out += candidates as u64;
        counters.stages[CONFIRM].items_in += candidates as u64;
        clock.lap(&mut counters.stages[FIND]);
        confirm_room(g, of, half, scratch, &mut counts);
        clock.lap(&mut counters.stages[CONFIRM]);
    }
    counts.x.add_to(&mut counters.stages[FIND]);
    counts.uv.add_to(&mut counters.stages[CONFIRM]);
    if counts.dropped > 0 {
        counters.count_truncated(Truncation::CandidatesInWindow, counts.dropped);
    }
    let SciFiWorkspace { index, tracks, .. } = scratch;
    for track in tracks.iter_mut() {
        track.chi2_x = of.of.states.chi2_x(track, index.x(of.event_x));
        for hit in track.hits.iter_mut().filter(|hit| **hit != NO_HIT) {
            *hit = index.source(*hit - 1) + 1;
        }
    }
    clock.lap(&mut counters.stages[CONFIRM]);
}

#[inline(never)]
fn sort_room<G: Gang>(
    g: G,
    of: &SciFi,
    hits: &SciFiBatch,
    event: usize,
    scratch: &mut SciFiWorkspace,
) -> Status {
    g.vectorize(
        #[inline(always)]
        || match of.search {
            Search::Triplets(_) => scratch.index.fill(g, &of.config, hits, event),
            Search::Rows(_) => scratch.rows.fill(g, &of.config, hits, event),
        },
    )
}

/// Finds the candidates in x. Returns their number.
#[inline(never)]
fn find_room<G: Gang>(
    g: G,
    Searched { of, kinds, event_x }: Searched<'_>,
    half: usize,
    scratch: &mut SciFiWorkspace,
    counts: &mut PassCounts,
) -> usize {
    g.vectorize(
        #[inline(always)]
        || {
            let rules = PassRules { pass: &of.config.hlt1, kinds, limits: &of.config.limits, event_x };
            scratch.find.find_x(g, rules, &mut scratch.index, half, counts)
        },
    )
}

#[inline(never)]
fn confirm_room<G: Gang>(
    g: G,
    Searched { of, event_x, .. }: Searched<'_>,
    half: usize,
    scratch: &mut SciFiWorkspace,
    counts: &mut PassCounts,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let SciFiWorkspace { index, find, tracks, .. } = scratch;
            find.find_uv(g, &of.config.hlt1, HalfHits::new(index, event_x, half), counts, tracks);
        },
    );
}

/// Writes the tracks of an event.
#[inline(never)]
fn append_room<G: Gang>(
    g: G,
    of: &SciFi,
    hits: &SciFiBatch,
    event: usize,
    scratch: &mut SciFiWorkspace,
    out: &mut SciFiTracks,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let first = hits.of_event(event).start;
            for track in &scratch.tracks {
                for hit in BY_Z.map(|layer| track.hits[layer]) {
                    if hit != NO_HIT {
                        out.hits.push(hits.id[first + hit as usize - 1]);
                    }
                }
                out.hit_start.push(out.hits.len() as u32);
            }
            of.states.append(g, &scratch.tracks, &mut scratch.staged, out);
            out.track_start.push(out.hit_start.len() as u32 - 1);
        },
    );
}
