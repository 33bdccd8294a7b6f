//! [`Gathered::of_lhcb`]: hits, tracks and truth of an LHCb event in the form that is drawn.

use super::{Gathered, Hit, Momentum, Particle, Point, Track, Truth, path};
use peloton::event::{Particle as TrueParticle, TruthEvent};
use peloton_truth::{EventMatches, FittedState, Measured};
use std::collections::HashMap;

/// A reconstructed track: the ids of its hits, its momentum (if measured), and its fitted states.
pub type FoundTrack<'a> = (&'a [u32], Option<Measured>, &'a [FittedState]);

impl Gathered {
    /// Gathers the hits, tracks and truth of an event. Hits without finite coordinates are omitted.
    pub fn of_lhcb<'a>(
        mut hits: Vec<Hit>,
        tracks: impl Iterator<Item = FoundTrack<'a>>,
        truth: Option<(&TruthEvent, EventMatches)>,
    ) -> Self {
        hits.retain(Hit::is_finite);
        let index = hits.iter().map(|hit| hit.id).zip(0..).collect();
        let known = KnownHits { hits: &hits, index };
        let tracks = tracks.map(|track| known.track(track)).collect();
        let truth = truth.map(|(truth, matches)| known.truth(truth, matches));
        Self { hits, tracks, truth }
    }
}

/// The hits of an event, and their indices by id.
struct KnownHits<'a> {
    hits: &'a [Hit],
    index: HashMap<u32, usize>,
}

impl KnownHits<'_> {
    /// Returns the indices of the known hits of a list, by z.
    fn places(&self, ids: &[u32]) -> Vec<usize> {
        let mut own: Vec<usize> = ids.iter().filter_map(|id| self.index.get(id).copied()).collect();
        own.sort_by(|&a, &b| self.hits[a].middle()[2].total_cmp(&self.hits[b].middle()[2]));
        own
    }

    fn track(&self, (ids, measured, states): FoundTrack<'_>) -> Track {
        let own = self.places(ids);
        let on_track: Vec<Hit> = own.iter().map(|&hit| self.hits[hit]).collect();
        let pieces = path::of_states(&on_track, states);
        let at = |hit: &Hit| path::at_z(&pieces, hit.middle()[2]).map(|point| point[1]);
        let points = on_track.iter().map(|hit| hit.at_y(at(hit).unwrap_or(hit.middle()[1]))).collect();
        let momentum = measured.map(Momentum::from).filter(|momentum| momentum.p.is_finite());
        let is_backward = path::is_backward(&on_track, states);
        Track { hits: own, named: ids.len(), points, pieces, is_backward, momentum, values: Vec::new() }
    }

    fn truth(&self, truth: &TruthEvent, matches: EventMatches) -> Truth {
        let particle = |particle: &TrueParticle| {
            let own = self.places(&particle.hits);
            let points = own.iter().map(|&hit| point_of(&self.hits[hit], particle)).collect();
            let TrueParticle { p, pt, eta, .. } = *particle;
            Particle { name: name(particle), p, pt, eta, hits: own, points }
        };
        Truth { particles: truth.particles.iter().map(particle).collect(), matches }
    }
}

/// Returns the point of a particle's hit: on a strip, at the y of the true state with the nearest z.
fn point_of(hit: &Hit, particle: &TrueParticle) -> Point {
    let z = hit.middle()[2];
    let states = [particle.start(), particle.states.velo, particle.states.ut, particle.states.scifi];
    let nearest = states.into_iter().flatten().min_by(|a, b| (a.z - z).abs().total_cmp(&(b.z - z).abs()));
    nearest.map_or(hit.middle(), |state| hit.at_y(state.at(z).y))
}

/// PDG codes and names of particles that leave hits; other particles are named by their code.
const NAMES: [(i32, &str, &str); 5] =
    [(11, "e-", "e+"), (13, "mu-", "mu+"), (211, "pi+", "pi-"), (321, "K+", "K-"), (2212, "p", "anti-p")];

fn name(particle: &TrueParticle) -> String {
    let TrueParticle { pid, key, .. } = *particle;
    let known = NAMES.iter().find(|(code, ..)| *code == pid.abs());
    match known {
        Some((_, positive, negative)) => format!("{} {key}", if pid > 0 { positive } else { negative }),
        None if pid == 0 => format!("particle {key}"),
        None => format!("PDG {pid}, {key}"),
    }
}
