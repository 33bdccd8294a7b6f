//! [`SciFiLosses`]: the steps at which the sequence `scifi` lost particles.

use super::kept::append_kept;
use super::{Alone, FindLosses, append_own, finds, step_alone};
use crate::{Rules, TrackMatcher};
use peloton::Result;
use peloton::engine::Algorithm;
use peloton::event::{Outcome, RawEvents, SciFiBatch, SciFiTracks, TruthEvent};
use peloton::scifi::{
    RowPass, SciFi, SciFiConfig, SciFiGeometry, SciFiPreset, SciFiScratch, SciFiWorkspace, SeedPass, decode,
};
use std::sync::Arc;

/// The steps; the last four are the ways of [`Alone`], and other tracks.
pub(super) const STEPS: [&str; 6] = [
    "event not reconstructed",
    "fewer hits than a track needs",
    "windows and tolerances",
    "classifier",
    "hits of other particles",
    "other tracks",
];
pub(super) const FAILED: usize = 0;
const FEW_HITS: usize = 1;
const ALONE: usize = 2;

/// The halves of the SciFi, in the order of their zones.
const HALVES: [&str; 2] = ["lower half", "upper half"];
/// Layers of the SciFi: x, u, v, x in each of three stations.
const LAYERS: usize = 12;
/// Hits that tracks may share when the choice is open: all of them.
const ALL_HITS: u32 = 12;

/// Finds the steps at which particles were lost by running the SciFi search on single particles.
pub struct SciFiLosses {
    geometry: Arc<SciFiGeometry>,
    scratch: SciFiScratch,
    hits: Outcome<SciFiBatch>,
    own_hits: SciFiBatch,
    search: Search,
    /// The event's tracks, and the particles that each track matches.
    tracks: Outcome<SciFiTracks>,
    particles: Vec<Vec<usize>>,
}

/// The search for the tracks of given hits.
struct Search {
    /// The search as configured, and the search with the choice open.
    scifi: SciFi,
    open: SciFi,
    workspace: SciFiWorkspace,
    matcher: TrackMatcher,
    found: Outcome<SciFiTracks>,
}

impl SciFiLosses {
    /// Creates the losses of the SciFi search in this geometry; `make` creates the search from a configuration.
    ///
    /// # Errors
    /// The error of `make`, if `make` fails.
    pub fn new(
        geometry: Arc<SciFiGeometry>,
        config: &SciFiConfig,
        make: impl Fn(SciFiConfig) -> Result<SciFi>,
    ) -> Result<Self> {
        let mut open = config.clone();
        for choice in open.rows.passes.iter_mut().map(|pass| &mut pass.choice) {
            (choice.min_score, choice.shared_hits) = (f32::MIN, ALL_HITS);
        }
        let (scifi, open) = (make(config.clone())?, make(open)?);
        let matcher = TrackMatcher::new(Rules::LhcbSeed);
        let (workspace, found) = Default::default();
        let search = Search { scifi, open, workspace, matcher, found };
        let (scratch, hits, own_hits, tracks) = Default::default();
        Ok(Self { geometry, scratch, hits, own_hits, search, tracks, particles: Vec::new() })
    }

    /// Returns whether the event was reconstructed.
    pub(super) fn is_ok(&self) -> bool {
        self.tracks.results.status[0].is_reconstructed()
    }

    /// Returns the event's tracks.
    pub(super) fn tracks(&self) -> &SciFiTracks {
        &self.tracks.results
    }

    /// Appends to `own` an event of the tracks that match this particle; returns whether there are any.
    pub(super) fn append_own(&self, particle: usize, own: &mut SciFiTracks) -> bool {
        append_own(&self.tracks.results, &self.particles, particle, own)
    }
}

/// Returns which x layers of a half have hits, given a bit for each layer, and the number of layers with hits.
fn x_layers(layers: u32) -> (Vec<bool>, u32) {
    let is_x = |layer: &usize| matches!(layer % 4, 0 | 3);
    let has = |layer: usize| layers >> layer & 1 == 1;
    ((0..LAYERS).filter(is_x).map(has).collect(), layers.count_ones())
}

/// Returns whether the search by triplets could make a track of hits in these layers of a half.
fn is_enough(pass: &SeedPass, (x, all): &(Vec<bool>, u32)) -> bool {
    let in_x = x.iter().filter(|has| **has).count() as u32;
    let is_triplet = |kind: &[usize; 3]| kind.iter().all(|&layer| x[layer]);
    in_x >= pass.min_x_hits
        && all - in_x >= pass.min_uv_hits
        && *all >= pass.min_hits
        && pass.triplets.iter().any(is_triplet)
}

/// Returns whether a pass over rows of bits could make one: it needs a pivot, and layers of the first and of the last station.
fn is_enough_for_rows(pass: &RowPass, (x, all): &(Vec<bool>, u32)) -> bool {
    let in_x = x.iter().filter(|has| **has).count() as u32;
    in_x >= pass.min_x_hits
        && all - in_x >= pass.min_uv_hits
        && *all >= pass.min_hits
        && (x[2] || x[3])
        && (x[0] || x[1])
        && (x[4] || x[5])
}

impl Search {
    fn finds(&mut self, truth: &TruthEvent, particle: usize, hits: &SciFiBatch, is_open: bool) -> bool {
        let scifi = if is_open { &self.open } else { &self.scifi };
        self.found.clear();
        scifi.find(hits, 0..1, &mut self.workspace, &mut self.found);
        finds(&mut self.matcher, truth, particle, self.found.results.hit_lists(0))
    }
}

impl FindLosses for SciFiLosses {
    fn steps(&self) -> &'static [&'static str] {
        &STEPS
    }

    fn categories(&self) -> &'static [&'static str] {
        &["02_long_P>5GeV", "03_long_P>3GeV", "10_UT+SciFi_P>3GeV"]
    }

    fn parts(&self) -> &'static [&'static str] {
        &HALVES
    }

    /// Returns the half with most of the particle's hits.
    fn part_of(&self, truth: &TruthEvent, particle: usize) -> Option<usize> {
        let ids = &truth.particles[particle].hits;
        let hits = &self.hits.results;
        let count = |half: usize| -> usize {
            let zones = (0..LAYERS).map(|layer| hits.of_zone(0, 2 * layer + half));
            zones.flatten().filter(|&hit| ids.contains(&hits.id[hit])).count()
        };
        let [lower, upper] = [0, 1].map(count);
        (lower != upper).then_some(usize::from(upper > lower))
    }

    fn take(&mut self, banks: RawEvents<'_>, event: usize, truth: &TruthEvent) {
        let Search { scifi, workspace, matcher, .. } = &mut self.search;
        self.hits.clear();
        decode(scifi.level(), &self.geometry, banks, event..event + 1, &mut self.scratch, &mut self.hits);
        self.tracks.clear();
        scifi.find(&self.hits.results, 0..1, workspace, &mut self.tracks);
        matcher.index(truth);
        let lists = self.tracks.results.hit_lists(0);
        self.particles = lists.map(|hits| matcher.particles(truth, hits)).collect();
    }

    fn lost_at(&mut self, truth: &TruthEvent, particle: usize) -> usize {
        if !self.is_ok() {
            return FAILED;
        }
        let Self { search, own_hits, hits, .. } = self;
        let hits = &hits.results;
        own_hits.clear();
        let ids = &truth.particles[particle].hits;
        append_kept(own_hits, hits, |hit| ids.contains(&hits.id[hit]));
        // Zones are halves of layers, lower and upper; tracks stay in their half.
        let layers = |half: usize| {
            let is_hit = |layer: &usize| !own_hits.of_zone(0, 2 * layer + half).is_empty();
            (0..LAYERS).filter(is_hit).fold(0, |layers, layer| layers | 1 << layer)
        };
        let config = search.scifi.config();
        let is_enough = |layers: u32| {
            let layers = x_layers(layers);
            match config.preset {
                SciFiPreset::Hlt1 => is_enough(&config.hlt1, &layers),
                _ => config.rows.passes.iter().any(|pass| is_enough_for_rows(pass, &layers)),
            }
        };
        if ![0, 1].map(layers).into_iter().any(is_enough) {
            return FEW_HITS;
        }
        ALONE
            + step_alone(|alone| match alone {
                Alone::Open => search.finds(truth, particle, own_hits, true),
                Alone::OwnHits => search.finds(truth, particle, own_hits, false),
                Alone::AllHits => search.finds(truth, particle, hits, true),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HitsOf, decode_mc};
    use peloton::event::RawBatch;
    use peloton::simd::Level;
    use peloton_io::input::Geometry;
    use peloton_sim::{LhcbDetector, LhcbReader};

    /// The magnet bends in x: a particle that leaves upwards has its hits in the upper half.
    #[test]
    fn the_half_is_the_one_that_a_particle_flies_into() {
        let nominal = Geometry::Nominal;
        let (ut, scifi) = (nominal.ut().unwrap(), Arc::new(nominal.scifi().unwrap()));
        let polarity = nominal.polarity().unwrap();
        let (mut raw, mut notes) = (RawBatch::default(), Vec::new());
        LhcbReader::new("sim:lhcb,events=5,seed=5000".parse().unwrap(), 0, None)
            .read(5, &LhcbDetector { ut: &ut, scifi: &scifi, polarity }, &mut raw, &mut notes)
            .unwrap();
        let level = Level::choose(None, None).unwrap();
        let make = |config| SciFi::new(level, config, scifi.clone(), polarity);
        let mut losses = SciFiLosses::new(scifi.clone(), &SciFiConfig::default(), make).unwrap();
        let mut in_half = [0, 0];
        for (event, note) in notes.iter().enumerate() {
            let truth = decode_mc(note.truth.as_ref().unwrap(), HitsOf::All).unwrap();
            losses.take(raw.view(), event, &truth);
            for (number, particle) in truth.particles.iter().enumerate() {
                // Steep and fast enough to stay in its half.
                let up = particle.phi.sin();
                if particle.is_long && particle.p > 5.0 && up.abs() > 0.5 {
                    let half = usize::from(up > 0.0);
                    in_half[half] += 1;
                    assert_eq!(losses.part_of(&truth, number), Some(half), "event {event}, {particle:?}");
                }
            }
        }
        assert!(in_half.iter().all(|&count| count > 20), "{in_half:?}");
    }

    #[test]
    fn a_track_needs_its_triplet_and_enough_hits() {
        let pass = &SciFiConfig::default().hlt1;
        assert_eq!((pass.min_x_hits, pass.min_uv_hits, pass.min_hits), (5, 4, 10));
        let all = (1 << LAYERS) - 1;
        let is_enough = |layers: u32| is_enough(pass, &x_layers(layers));
        assert!(is_enough(all));
        // Without x layer 0, triplets from x layer 1 remain; without both, no triplet remains.
        assert!(is_enough(all & !1) && !is_enough(all & !0b1001));
        // One, two and three of the u and v layers are missing.
        assert!(is_enough(all & !0b10) && is_enough(all & !0b110));
        assert!(!is_enough(all & !0b10_0110));
    }

    #[test]
    fn rows_need_a_pivot_and_both_ends() {
        let pass = &SciFiConfig::default().rows.passes[1];
        assert_eq!((pass.min_x_hits, pass.min_uv_hits, pass.min_hits), (4, 4, 9));
        let all = (1 << LAYERS) - 1;
        let is_enough = |layers: u32| is_enough_for_rows(pass, &x_layers(layers));
        assert!(is_enough(all) && is_enough(all & !(1 << 4)) && !is_enough(all & !(1 << 4 | 1 << 7)));
        assert!(is_enough(all & !1) && !is_enough(all & !0b1001));
    }
}
