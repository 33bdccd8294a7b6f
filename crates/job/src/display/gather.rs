//! [`Gather`]: collects the data for pictures of a system's events.

use crate::Chunk;
use crate::systems::{Rows, TrackRows};
use peloton::engine::{Batch, Sliced};
use peloton::event::{Columns, Particle as TrueParticle, TruthEvent};
use peloton_plot::Sensor;
use peloton_plot::event::{Gathered, Hit, Momentum, Particle, Point, Track, Truth, path};
use peloton_truth::{Checker, EventMatches, Rules};
use std::collections::HashMap;

/// One event, by its place in its batch and in its results.
pub struct Of<'a> {
    /// The batch, its auxiliary data, and its results.
    pub chunk: &'a Chunk<Sliced>,
    /// Number of the event in the batch.
    pub number: usize,
    /// The piece of the results that contains the event.
    pub results: &'a Columns,
    /// Number of the event in that piece.
    pub event: usize,
}

/// Collects the drawn parts of the events of a system.
pub trait Gather: Send {
    /// The sensors.
    fn sensors(&self) -> Vec<Sensor>;

    /// Collects the drawn parts of an event.
    fn event(&mut self, of: &Of<'_>) -> Gathered;
}

/// The hits of an event of a batch.
pub type HitsOf = Box<dyn Fn(&dyn Batch, usize) -> Vec<Hit> + Send>;

/// Collects events of LHCb.
pub struct GatherTracks {
    /// Its hits.
    pub hits: HitsOf,
    /// Appends its tracks; none where the sequence ends at hits.
    pub rows: Option<Rows>,
    /// The rules that decide which particles are found.
    pub rules: Rules,
    /// The sensors.
    pub sensors: Vec<Sensor>,
}

impl Gather for GatherTracks {
    fn sensors(&self) -> Vec<Sensor> {
        self.sensors.clone()
    }

    fn event(&mut self, of: &Of<'_>) -> Gathered {
        let mut hits = (self.hits)(&*of.chunk.batch, of.number);
        hits.retain(Hit::is_finite);
        let Some(rows) = self.rows else { return Gathered { hits, ..Gathered::default() } };
        let index: HashMap<u32, usize> = hits.iter().map(|hit| hit.id).zip(0..).collect();
        let mut found = TrackRows::default();
        rows(of.results, of.event, &mut found);
        let ids = || found.iter().map(|(ids, _)| ids);
        let tracks = found.iter().enumerate().map(|(number, (ids, measured))| {
            let mut own: Vec<usize> = ids.iter().filter_map(|id| index.get(id).copied()).collect();
            own.sort_by(|&a, &b| hits[a].middle()[2].total_cmp(&hits[b].middle()[2]));
            let on_track: Vec<Hit> = own.iter().map(|&hit| hits[hit]).collect();
            let pieces = path::of_states(&on_track, found.states(number));
            let at = |hit: &Hit| path::at_z(&pieces, hit.middle()[2]).map(|point| point[1]);
            let points = on_track.iter().map(|hit| hit.at_y(at(hit).unwrap_or(hit.middle()[1]))).collect();
            let momentum = measured.map(Momentum::from).filter(|momentum| momentum.p.is_finite());
            let is_backward = path::is_backward(&on_track, found.states(number));
            let values = Vec::new();
            Track { hits: own, named: ids.len(), points, pieces, is_backward, momentum, values }
        });
        let tracks = tracks.collect();
        let truth = of.chunk.beside.truth.get(of.number).map(|truth| {
            let mut checker = Checker::new(self.rules);
            checker.event(truth, ids());
            true_event(truth, checker.last_event(truth), &hits, &index)
        });
        Gathered { hits, tracks, truth }
    }
}

fn true_event(truth: &TruthEvent, matches: EventMatches, hits: &[Hit], index: &HashMap<u32, usize>) -> Truth {
    let particle = |particle: &TrueParticle| {
        let mut own: Vec<usize> = particle.hits.iter().filter_map(|id| index.get(id).copied()).collect();
        own.sort_by(|&a, &b| hits[a].middle()[2].total_cmp(&hits[b].middle()[2]));
        let points = own.iter().map(|&hit| point_of(&hits[hit], particle)).collect();
        let TrueParticle { p, pt, eta, .. } = *particle;
        Particle { name: name(particle), p, pt, eta, hits: own, points }
    };
    Truth { particles: truth.particles.iter().map(particle).collect(), matches }
}

/// Where a particle left a hit: of a strip the point at the y of the true state that is nearest.
fn point_of(hit: &Hit, particle: &TrueParticle) -> Point {
    let z = hit.middle()[2];
    let states = [particle.start(), particle.states.velo, particle.states.ut, particle.states.scifi];
    let nearest = states.into_iter().flatten().min_by(|a, b| (a.z - z).abs().total_cmp(&(b.z - z).abs()));
    nearest.map_or(hit.middle(), |state| hit.at_y(state.at(z).y))
}

/// Names of what leaves hits; of other particles the PDG code.
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
