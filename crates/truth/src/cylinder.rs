//! The checker of the cylinder detector (`docs/algorithms.md`, "Cylinder: checking"): a track belongs to the particle
//! from which more than three quarters of the track's hits come.

use super::cylinder_tables::{CylinderBins, CylinderTable};
use super::efficiency::Counter;
use super::rows::{EventMatches, ParticleMatch, TrackMatch, cylinder_hits};
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, NO_HIT};

/// Fewest hits of the tracks of the second category.
const LONG: usize = 7;

/// The categories: all tracks, and tracks of at least [`LONG`] hits.
const NAMES: [&str; 2] = ["all", "n_found>=7"];

/// Counts of one category.
#[derive(Debug, Clone, Copy, Default)]
struct Category {
    counter: Counter,
    tracks: u64,
    ghosts: u64,
    /// Hits on matched tracks, hits on these tracks that come from their particles, and all hits of these particles.
    hits: [u64; 3],
}

/// Compares tracks in the cylinder detector with true particles, event by event.
#[derive(Debug, Clone, Default)]
pub struct CylinderChecker {
    events: u64,
    categories: [Category; 2],
    /// Counts of each category against pT and eta.
    bins: [CylinderBins; 2],
    /// Tracks by number of hits: matched, ghosts.
    lengths: [[u64; 2]; CYLINDER_LAYERS + 1],
    /// Results for the last event.
    last: EventMatches,
}

/// Results for the particles and tracks of one category; rates are `None` for 0 / 0.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CylinderCategory {
    /// Name of the category.
    pub name: &'static str,
    /// Number of particles.
    pub reconstructible: u64,
    /// Number of particles with a track.
    pub reconstructed: u64,
    /// Reconstructed over reconstructible particles.
    pub efficiency: Option<f64>,
    /// Lower end of the efficiency's 68 % Clopper-Pearson interval.
    pub efficiency_low: Option<f64>,
    /// Upper end of the efficiency's interval.
    pub efficiency_high: Option<f64>,
    /// Number of clones: tracks of particles that already have an earlier track.
    pub clones: u64,
    /// Clones over reconstructed particles.
    pub clone_rate: Option<f64>,
    /// Share of the hits of matched tracks that come from the matched particles.
    pub purity: Option<f64>,
    /// Share of the hits of matched particles that are on their tracks.
    pub hit_efficiency: Option<f64>,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of tracks that belong to no particle.
    pub ghosts: u64,
    /// Ghosts over all tracks of the category.
    pub ghost_rate: Option<f64>,
}

/// Results of [`CylinderChecker`].
#[derive(Debug, Clone, serde::Serialize)]
pub struct CylinderReport {
    /// Number of events.
    pub events: u64,
    /// Number of tracks.
    pub tracks: u64,
    /// Number of tracks that belong to no particle.
    pub ghosts: u64,
    /// Share of ghosts among tracks; `None` without tracks.
    pub ghost_rate: Option<f64>,
    /// Results of the category `all`, and of `n_found>=7`, which counts only tracks of at least 7 hits.
    pub categories: Vec<CylinderCategory>,
    /// Numbers of matched tracks and of ghosts, by number of hits.
    pub lengths: Vec<[u64; 2]>,
    /// Results of each category in bins of pT and of eta.
    pub tables: Vec<CylinderTable>,
}

impl CylinderChecker {
    /// Adds one event. Each track is a list of hit indices, which count from the first hit of the event.
    pub fn event<'a>(
        &mut self,
        hits: &CylinderBatch,
        truth: &CylinderTruth,
        event: usize,
        mut tracks: impl Iterator<Item = &'a [u32]>,
    ) {
        self.add_event(hits, truth, event, &mut tracks);
    }

    fn add_event(
        &mut self,
        hits: &CylinderBatch,
        truth: &CylinderTruth,
        event: usize,
        tracks: &mut dyn Iterator<Item = &[u32]>,
    ) {
        let first_hit = hits.layer_start[event * CYLINDER_LAYERS] as usize;
        let particles = truth.particles.start[event] as usize..truth.particles.start[event + 1] as usize;
        let mut found = vec![[0u64; 2]; particles.len()];
        self.events += 1;
        self.last.tracks.clear();
        self.last.particles.clear();
        self.last.particles.extend(particles.clone().map(|particle| ParticleMatch {
            // The categories differ in their tracks; all particles are in both.
            categories: NAMES.to_vec(),
            hits: cylinder_hits(truth, particle),
            ..ParticleMatch::default()
        }));
        for hits in tracks {
            let owner = majority(truth, first_hit, hits);
            let matched = owner.filter(|(_, count)| 4 * count > 3 * hits.len());
            self.note_track(hits.len(), matched);
            self.lengths[hits.len().min(CYLINDER_LAYERS)][usize::from(matched.is_none())] += 1;
            for (i, category) in self.categories.iter_mut().enumerate() {
                if i == 1 && hits.len() < LONG {
                    continue;
                }
                category.tracks += 1;
                if let Some((particle, _)) = owner {
                    self.bins[i].track(truth, particles.start + particle as usize, matched.is_none());
                }
                let Some((particle, count)) = matched else {
                    category.ghosts += 1;
                    continue;
                };
                let place = &mut found[particle as usize][i];
                if *place > 0 {
                    category.counter.clones += 1;
                }
                *place += 1;
                let all = cylinder_hits(truth, particles.start + particle as usize);
                let sums = [hits.len(), count, all as usize];
                category.hits.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more as u64);
            }
        }
        for (i, category) in self.categories.iter_mut().enumerate() {
            category.counter.reconstructible += particles.len() as u64;
            category.counter.reconstructed += found.iter().filter(|found| found[i] > 0).count() as u64;
            for (particle, found) in particles.clone().zip(&found) {
                self.bins[i].particle(truth, particle, found[i]);
            }
        }
    }

    /// Records a track of `hits` hits; `matched` has its particle, and the number of hits that come from it.
    fn note_track(&mut self, hits: usize, matched: Option<(u32, usize)>) {
        let number = self.last.tracks.len() as u32;
        let mut track = TrackMatch { hits: hits as u32, ..TrackMatch::default() };
        if let Some((particle, count)) = matched {
            let fate = &mut self.last.particles[particle as usize];
            (track.particle, track.particles) = (Some((particle, count as f64 / hits as f64)), 1);
            track.is_clone = fate.tracks > 0;
            fate.tracks += 1;
            let share = count as f64 / f64::from(fate.hits.max(1));
            if fate.best.is_none_or(|(_, most)| share > most) {
                fate.best = Some((number, share));
            }
        }
        self.last.tracks.push(track);
    }

    /// Returns the results for each particle and track of the last event.
    pub fn last_event(&self) -> &EventMatches {
        &self.last
    }

    /// Returns the results for all events so far.
    pub fn report(&self) -> CylinderReport {
        let [all, _] = &self.categories;
        let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        let categories = NAMES.iter().zip(&self.categories).map(|(name, category)| {
            let Counter { reconstructible, reconstructed, clones } = category.counter;
            let interval = category.counter.interval();
            CylinderCategory {
                name,
                reconstructible,
                reconstructed,
                efficiency: category.counter.efficiency(),
                efficiency_low: interval.map(|i| i.0),
                efficiency_high: interval.map(|i| i.1),
                clones,
                clone_rate: ratio(clones, reconstructed),
                purity: ratio(category.hits[1], category.hits[0]),
                hit_efficiency: ratio(category.hits[1], category.hits[2]),
                tracks: category.tracks,
                ghosts: category.ghosts,
                ghost_rate: ratio(category.ghosts, category.tracks),
            }
        });
        CylinderReport {
            events: self.events,
            tracks: all.tracks,
            ghosts: all.ghosts,
            ghost_rate: ratio(all.ghosts, all.tracks),
            categories: categories.collect(),
            lengths: self.lengths.to_vec(),
            tables: NAMES.iter().zip(&self.bins).flat_map(|(name, bins)| bins.tables(name)).collect(),
        }
    }
}

/// Returns the particle from which most of the hits come, and their number; of equal particles the first.
fn majority(truth: &CylinderTruth, first_hit: usize, hits: &[u32]) -> Option<(u32, usize)> {
    let owners = hits.iter().map(|&hit| truth.particle_of[first_hit + hit as usize]);
    let count =
        |owner: u32| hits.iter().filter(|&&hit| truth.particle_of[first_hit + hit as usize] == owner).count();
    let mut best: Option<(u32, usize)> = None;
    for owner in owners.filter(|owner| *owner != NO_HIT) {
        let count = count(owner);
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((owner, count));
        }
    }
    best
}
