//! [`VeloLosses`]: counts missed Velo particles, ghosts and clones by cause.
//!
//! Only particles in category `velo` of the rules `json` count. A track matches a particle if more than 70 % of the
//! track's hits come from the particle. Each missed particle, ghost and clone is assigned to the first cause that
//! applies, so that the lines of a table add up.

use crate::json_rules::{CATEGORIES, accepts};
use crate::matching::Matcher;
use peloton::event::{TruthEvent, VELO_MODULES, VeloEvent};
use serde::Serialize;

/// Transverse momentum below which a particle is "slow", GeV/c.
const SLOW: f64 = 0.15;

/// Causes of missed particles, in the order in which they are checked.
const MISSED: [&str; 5] = [
    "hits in fewer than three pairs of modules",
    "at least half of the hits on other tracks",
    "no three hits within four consecutive pairs",
    "hits in three pairs of modules",
    "hits in four or more pairs of modules",
];
/// Kinds of ghosts, by their hits.
const GHOSTS: [&str; 5] = [
    "three hits, two of one particle",
    "three hits of three different particles",
    "three hits, at least one of no particle",
    "four hits",
    "five hits or more",
];
/// Position of a clone relative to the longest track of its particle.
const CLONES: [&str; 3] =
    ["continues the longest track in the next pair", "continues after a gap", "overlaps the longest track"];

/// One line of a table of losses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The cause.
    pub cause: &'static str,
    /// Number of losses with this cause.
    pub count: u64,
    /// Number of losses of particles with transverse momenta below 150 MeV/c; 0 for ghosts.
    pub slow: u64,
}

/// Losses in the Velo by cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LossReport {
    /// Velo particles.
    pub particles: u64,
    /// Tracks.
    pub tracks: u64,
    /// Causes of particles without a track.
    pub missed: Vec<Loss>,
    /// Kinds of ghosts: tracks without a particle.
    pub ghosts: Vec<Loss>,
    /// Kinds of clones: tracks of a particle that has another track, at least as long.
    pub clones: Vec<Loss>,
}

/// Counts losses by cause, event by event.
#[derive(Debug)]
pub struct VeloLosses {
    particles: u64,
    tracks: u64,
    missed: [[u64; 2]; MISSED.len()],
    ghosts: [[u64; 2]; GHOSTS.len()],
    clones: [[u64; 2]; CLONES.len()],
    matcher: Matcher,
    /// (id, pair of modules) of the event's hits, sorted.
    pairs: Vec<(u32, usize)>,
}

impl Default for VeloLosses {
    fn default() -> Self {
        Self {
            particles: 0,
            tracks: 0,
            missed: Default::default(),
            ghosts: Default::default(),
            clones: Default::default(),
            matcher: Matcher::new(|_| 0),
            pairs: Vec::new(),
        }
    }
}

impl VeloLosses {
    /// Adds one event: its truth, its hits, and its tracks as lists of hit ids.
    pub fn event<'a>(
        &mut self,
        truth: &TruthEvent,
        event: &VeloEvent<'_>,
        tracks: impl Iterator<Item = &'a [u32]>,
    ) {
        self.found_event(truth, event, &tracks.collect::<Vec<_>>());
    }

    fn found_event(&mut self, truth: &TruthEvent, event: &VeloEvent<'_>, tracks: &[&[u32]]) {
        self.matcher.index(truth);
        self.pairs.clear();
        let modules = 0..VELO_MODULES;
        let of_module = |module| event.id[event.module(module)].iter().map(move |&id| (id, module / 2));
        self.pairs.extend(modules.flat_map(of_module));
        self.pairs.sort_unstable();
        let mut tracks_of = vec![Vec::new(); truth.particles.len()];
        let mut taken: Vec<u32> = Vec::new();
        for &track in tracks {
            let shares = self.matcher.shares(track).to_vec();
            let hits = track.len() as u32;
            for (particle, _) in shares.iter().filter(|(_, common)| accepts(common[0], hits)) {
                tracks_of[*particle as usize].push(track);
            }
            if !shares.iter().any(|(_, common)| accepts(common[0], hits)) {
                self.ghosts[ghost(track, shares.iter().map(|(_, common)| common[0]))][0] += 1;
            }
            taken.extend(track);
        }
        taken.sort_unstable();
        self.tracks += tracks.len() as u64;
        for (particle, mut found) in truth.particles.iter().zip(tracks_of) {
            if !(CATEGORIES[0].holds)(particle) {
                continue;
            }
            self.particles += 1;
            let slow = usize::from(particle.pt < SLOW);
            let Some(longest) = found.iter().copied().max_by_key(|track| track.len()) else {
                let cause = self.why_missed(&particle.hits, &taken);
                count(&mut self.missed[cause], slow);
                continue;
            };
            found.retain(|&track| !std::ptr::eq(track, longest));
            for clone in found {
                let kind = self.how_cloned(longest, clone);
                count(&mut self.clones[kind], slow);
            }
        }
    }

    /// Returns the counts of all events so far.
    pub fn report(&self) -> LossReport {
        let named = |causes: &[&'static str], counts: &[[u64; 2]]| {
            let line = |(&cause, &[count, slow]): (&&'static str, &[u64; 2])| Loss { cause, count, slow };
            causes.iter().zip(counts).map(line).collect()
        };
        LossReport {
            particles: self.particles,
            tracks: self.tracks,
            missed: named(&MISSED, &self.missed),
            ghosts: named(&GHOSTS, &self.ghosts),
            clones: named(&CLONES, &self.clones),
        }
    }

    /// Returns the pairs of modules that contain the hits, rising, each once; unknown ids are ignored.
    fn pairs_of(&self, hits: &[u32]) -> Vec<usize> {
        let pair = |id: &u32| {
            let place = self.pairs.binary_search_by_key(id, |&(id, _)| id).ok()?;
            Some(self.pairs[place].1)
        };
        let mut pairs: Vec<_> = hits.iter().filter_map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Returns the index of the cause in [`MISSED`].
    fn why_missed(&self, hits: &[u32], taken: &[u32]) -> usize {
        let pairs = self.pairs_of(hits);
        let on_others = hits.iter().filter(|hit| taken.binary_search(hit).is_ok()).count();
        if pairs.len() < 3 {
            0
        } else if 2 * on_others >= hits.len() {
            1
        } else if !pairs.windows(3).any(|three| three[2] - three[0] < 4) {
            2
        } else if pairs.len() == 3 {
            3
        } else {
            4
        }
    }

    /// Returns the index of the position in [`CLONES`].
    fn how_cloned(&self, longest: &[u32], clone: &[u32]) -> usize {
        let (one, other) = (self.pairs_of(longest), self.pairs_of(clone));
        let (Some(first), Some(last)) = (one.first(), one.last()) else { return 2 };
        let (Some(begin), Some(end)) = (other.first(), other.last()) else { return 2 };
        match begin.checked_sub(*last).max(first.checked_sub(*end)) {
            Some(1) => 0,
            Some(gap) if gap > 1 => 1,
            _ => 2,
        }
    }
}

fn count(counts: &mut [u64; 2], slow: usize) {
    counts[0] += 1;
    counts[1] += slow as u64;
}

/// Returns the index of the kind in [`GHOSTS`]; `common` has the number of the track's hits of each particle.
fn ghost(track: &[u32], common: impl Iterator<Item = u32>) -> usize {
    let common: Vec<_> = common.collect();
    match track.len() {
        0..=3 if common.contains(&2) => 0,
        0..=3 if common.len() >= 3 => 1,
        0..=3 => 2,
        4 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::{Particle, VeloBatch};

    /// Makes an event with one hit in each module, whose id is the module's number, and a particle per list of hits.
    fn event(particles: &[&[u32]]) -> (VeloBatch, TruthEvent) {
        let column = vec![0.0; VELO_MODULES];
        let starts: Vec<u32> = (0..=VELO_MODULES as u32).collect();
        let mut batch = VeloBatch::default();
        batch.push_event(0, &column, &column, &column, &starts);
        let particle =
            |hits: &&[u32]| Particle { has_velo: true, pt: 1.0, hits: hits.to_vec(), ..Particle::default() };
        (batch, TruthEvent { particles: particles.iter().map(particle).collect() })
    }

    fn counts(losses: &[Loss]) -> Vec<u64> {
        losses.iter().map(|loss| loss.count).collect()
    }

    fn losses(particles: &[&[u32]], tracks: &[&[u32]]) -> LossReport {
        let (batch, truth) = event(particles);
        let mut losses = VeloLosses::default();
        losses.event(&truth, &batch.view().event(0), tracks.iter().copied());
        losses.report()
    }

    #[test]
    fn each_missed_particle_has_one_cause() {
        let particles: [&[u32]; 6] =
            [&[0, 1, 2], &[4, 6, 8, 10], &[20, 26, 32], &[34, 36, 38], &[40, 42, 44, 46], &[48, 49, 50]];
        let report = losses(&particles, &[&[4, 6, 12], &[48, 49, 50]]);
        assert_eq!((report.particles, counts(&report.missed)), (6, vec![1, 1, 1, 1, 1]));
        assert_eq!(counts(&report.ghosts), [1, 0, 0, 0, 0]);
    }

    #[test]
    fn ghosts_are_told_apart_by_their_hits() {
        let particles: [&[u32]; 3] = [&[0, 2, 4], &[6, 8], &[10, 12]];
        let tracks: [&[u32]; 5] = [&[0, 2, 6], &[0, 6, 10], &[0, 20, 30], &[0, 2, 6, 8], &[0, 2, 6, 8, 20]];
        assert_eq!(counts(&losses(&particles, &tracks).ghosts), [1, 1, 1, 1, 1]);
    }

    #[test]
    fn clones_go_on_or_lie_beside() {
        let particle: &[u32] = &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
        let tracks: [&[u32]; 4] = [&[16, 18, 20, 22], &[10, 12, 14], &[0, 2, 4], &[18, 20, 24]];
        let report = losses(&[particle], &tracks);
        assert_eq!((counts(&report.clones), counts(&report.missed)), (vec![1, 1, 1], vec![0; 5]));
    }
}
