//! [`SciFi`]: the algorithm from hits to tracks in the SciFi.

use super::config::{SciFiConfig, SeedPass};
use super::find::plan::Kind;
use super::find::track::{NO_HIT, Track};
use super::find::{ChooseScratch, FindScratch, HalfHits, PassCounts, PassRules};
use super::geometry::SciFiGeometry;
use super::index::Index;
use super::layers::{BY_Z, HALF_LAYERS, HALVES};
use super::sequence::{SCIFI_HITS, SciFiHits};
use super::state::{Pattern, States};
use crate::engine::{Algorithm, AlgorithmInfo, Events, Handle, Sequence, Slice, detector_stages};
use crate::event::{BadBanks, Outcome, SciFiBatch, SciFiTracks, StageClock, Truncation};
use crate::lhcb::Bending;
use crate::simd::{Gang, Level};
use crate::{Result, Status};
use std::ops::Range;
use std::sync::Arc;

/// Bits of an LHCbID below the layer's number, and the number of the first layer.
const LAYER_SHIFT: u32 = 16;
const FIRST_LAYER: usize = 4;
/// Stages after decoding.
const SORT: usize = 1;
const FIND: usize = 2;
const CONFIRM: usize = 3;

/// Tracks in the SciFi, as a product.
pub const SCIFI_TRACKS: Handle = Handle::of::<SciFiTracks>("scifi_tracks");

/// Hits in the SciFi to tracks.
#[derive(Debug, Clone)]
pub struct SciFi {
    level: Level,
    geometry: Arc<SciFiGeometry>,
    config: SciFiConfig,
    /// What the passes need to know of the layers.
    kinds: Vec<Vec<Kind>>,
    states: States,
    bad_banks: BadBanks,
}

/// Scratch memory of one thread.
#[derive(Debug, Default)]
pub struct SciFiWorkspace {
    /// The hits of the event, or those that the passes before left: passes take turns.
    index: [Index; 2],
    find: FindScratch,
    /// Tracks of a pass, and of all passes.
    tracks: Vec<Track>,
    all: Vec<Track>,
    choose: ChooseScratch,
}

impl SciFi {
    /// An algorithm for this detector and polarity of the magnet, -1 (down) or 1. Momenta are those of the nominal magnet:
    /// [`with_bending`](Self::with_bending) takes another.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for a configuration that cannot be used.
    pub fn new(
        level: Level,
        config: SciFiConfig,
        geometry: Arc<SciFiGeometry>,
        polarity: f32,
    ) -> Result<Self> {
        config.validate()?;
        let kinds = |pass: &SeedPass| (0..pass.triplets.len()).map(|kind| Kind::new(pass, kind)).collect();
        let kinds = config.passes.iter().map(kinds).collect();
        let states = States::new(&config, Bending::nominal(polarity));
        Ok(Self { level, geometry, config, kinds, states, bad_banks: BadBanks::Event })
    }

    /// The same with another policy for events with damaged raw banks.
    pub fn with_bad_banks(self, bad_banks: BadBanks) -> Self {
        Self { bad_banks, ..self }
    }

    /// The same with the momenta of this magnet, which has its own polarity.
    pub fn with_bending(mut self, bending: Bending) -> Self {
        self.states = self.states.with_bending(bending, &self.config);
        self
    }

    /// What decodes the hits that the tracks are found in.
    pub fn hits(&self) -> SciFiHits {
        SciFiHits::new(self.level, self.geometry.clone()).with_bad_banks(self.bad_banks)
    }

    /// The configuration.
    pub fn config(&self) -> &SciFiConfig {
        &self.config
    }

    /// Variances of the slope in x against that of a track that does not scatter, given the LHCbIDs of a track's hits: by the
    /// errors of the hits, and by scattering at 1 GeV/c.
    pub(crate) fn turn(&self, ids: &[u32]) -> [f32; 2] {
        let layers = ids.iter().fold(0u32, |layers, id| layers | 1 << (id >> LAYER_SHIFT & 0xF));
        let mut has = [false; HALF_LAYERS];
        for (at, layer) in BY_Z.into_iter().enumerate() {
            has[layer] = layers >> (FIRST_LAYER + at) & 1 == 1;
        }
        self.states.turn(Pattern::new(|layer| has[layer]))
    }

    /// Finds the tracks of events of `range`, given their hits, and appends them to `out`, in order. An event that cannot
    /// be reconstructed gives no tracks and a [`Status`]; everything dropped is counted.
    ///
    /// Output bytes do not depend on the level, nor on how events are cut into ranges. Memory is allocated only while
    /// `workspace` and `out` still grow.
    ///
    /// # Panics
    /// When `range` is not within the events.
    pub fn find(
        &self,
        hits: &SciFiBatch,
        range: Range<usize>,
        workspace: &mut SciFiWorkspace,
        out: &mut Outcome<SciFiTracks>,
    ) {
        self.find_in(hits, range, workspace, out);
    }

    /// The one place where the search is compiled.
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
    "decode", "raw banks" => "hits by zone and x";
    "sort", "hits by zone and x" => "x by half and layer";
    "find", "hits of x layers" => "tracks in x";
    "confirm", "hits of u and v layers" => "tracks";
}

impl From<SciFi> for Sequence {
    /// The sequence from raw banks to tracks.
    fn from(algorithm: SciFi) -> Self {
        let hits = algorithm.hits();
        Self::of_one("scifi", hits).with(algorithm).expect("tracks of these hits")
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

    fn accept(&self, _events: Events<'_>) -> Result<()> {
        Ok(())
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
            let event_x = &hits.x.padded()[hits.of_event(event).start..];
            find(g, Searched { of, event_x }, scratch, out, &mut clock);
            append_room(g, of, hits, event, scratch, &mut out.results);
            out.counters.stages[CONFIRM].items_out += scratch.all.len() as u64;
            out.results.status.push(status);
            out.counters.count_event(status);
        } else {
            out.push_failed(status);
        }
        clock.lap(&mut out.counters.stages[CONFIRM]);
    }
}

/// What is searched: by which sequence, and the x of the event's hits.
#[derive(Clone, Copy)]
struct Searched<'a> {
    of: &'a SciFi,
    event_x: &'a [f32],
}

/// All passes over an event; each stage is a function of its own.
#[inline(always)]
fn find<G: Gang>(
    g: G,
    of: Searched<'_>,
    scratch: &mut SciFiWorkspace,
    out: &mut Outcome<SciFiTracks>,
    clock: &mut StageClock,
) {
    scratch.all.clear();
    let counters = &mut out.counters;
    for pass in 0..of.of.config.passes.len() {
        let mut counts = PassCounts::default();
        scratch.tracks.clear();
        for half in 0..HALVES {
            let candidates = find_room(g, of, pass, half, scratch, &mut counts);
            counters.stages[FIND].items_out += candidates as u64;
            counters.stages[CONFIRM].items_in += candidates as u64;
            clock.lap(&mut counters.stages[FIND]);
            confirm_room(g, of, pass, half, scratch, &mut counts);
            clock.lap(&mut counters.stages[CONFIRM]);
        }
        counts.x.add_to(&mut counters.stages[FIND]);
        counts.uv.add_to(&mut counters.stages[CONFIRM]);
        if counts.dropped > 0 {
            counters.count_truncated(Truncation::CandidatesInWindow, counts.dropped);
        }
        choose_room(g, of, pass, scratch);
        clock.lap(&mut counters.stages[CONFIRM]);
    }
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
        || scratch.index[0].fill(g, &of.config, hits, event),
    )
}

/// Says how many candidates there are.
#[inline(never)]
fn find_room<G: Gang>(
    g: G,
    Searched { of, event_x }: Searched<'_>,
    pass: usize,
    half: usize,
    scratch: &mut SciFiWorkspace,
    counts: &mut PassCounts,
) -> usize {
    g.vectorize(
        #[inline(always)]
        || {
            let rules = PassRules {
                pass: &of.config.passes[pass],
                kinds: &of.kinds[pass],
                limits: &of.config.limits,
                event_x,
            };
            scratch.find.find_x(g, rules, &mut scratch.index[pass % 2], half, counts)
        },
    )
}

#[inline(never)]
fn confirm_room<G: Gang>(
    g: G,
    Searched { of, event_x }: Searched<'_>,
    pass: usize,
    half: usize,
    scratch: &mut SciFiWorkspace,
    counts: &mut PassCounts,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let SciFiWorkspace { index, find, tracks, .. } = scratch;
            let hits = HalfHits::new(&index[pass % 2], event_x, half);
            find.find_uv(g, &of.config.passes[pass], hits, counts, tracks);
        },
    );
}

/// Chooses among the tracks of a pass, whose hits are numbers in the event, counted from 1, from then on, and leaves the
/// other hits to the next pass.
#[inline(never)]
fn choose_room<G: Gang>(
    g: G,
    Searched { of, event_x }: Searched<'_>,
    pass: usize,
    scratch: &mut SciFiWorkspace,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let SciFiWorkspace { index: [first, second], tracks, all, choose, .. } = scratch;
            let (present, next) = if pass.is_multiple_of(2) { (first, second) } else { (second, first) };
            for track in tracks.iter_mut() {
                track.chi2_x = of.states.chi2_x(track, present.x(event_x));
            }
            let choice = of.config.passes[pass].choice.as_ref();
            choose.choose(choice, present, tracks);
            for track in tracks.iter_mut() {
                for hit in track.hits.iter_mut().filter(|hit| **hit != NO_HIT) {
                    *hit = present.source(*hit - 1) + 1;
                }
            }
            all.extend_from_slice(tracks);
            if let Some(pass) = of.config.passes.get(pass + 1) {
                next.keep_free(g, pass.x_tolerance, (present, event_x), choose.used.padded());
            }
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
    scratch: &SciFiWorkspace,
    out: &mut SciFiTracks,
) {
    g.vectorize(
        #[inline(always)]
        || {
            let first = hits.of_event(event).start;
            for track in &scratch.all {
                for hit in BY_Z.map(|layer| track.hits[layer]) {
                    if hit != NO_HIT {
                        out.hits.push(hits.id[first + hit as usize - 1]);
                    }
                }
                out.hit_start.push(out.hits.len() as u32);
                let (state, var_qop) = of.states.of(track);
                out.state.push(&state);
                out.var_qop.push(var_qop);
                out.searched.push(of.states.searched(track));
                out.chi2_x.push(track.chi2_x);
                out.chi2_y.push(track.chi2);
            }
            out.track_start.push(out.hit_start.len() as u32 - 1);
        },
    );
}
