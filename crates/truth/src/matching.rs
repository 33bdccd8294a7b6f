//! Finds the particles from which a track's hits come; all rules use this module.

use peloton::event::{Particle, TruthEvent};

/// A category of particles: its name in reports, and whether a particle belongs to it.
pub(super) struct Category {
    pub name: &'static str,
    pub holds: fn(&Particle) -> bool,
}

/// A track that matches a particle by the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Association {
    /// Index of the track in its event.
    pub track: u32,
    /// Index of the particle in its event.
    pub particle: u32,
    /// Number of the track's hits that come from the particle.
    pub common: u32,
    /// Number of hits of the track.
    pub track_hits: u32,
    /// Numbers of the particle's hits on the track, and of all its hits, in the detector used for the hit efficiency.
    pub found: u32,
    pub left: u32,
}

impl Association {
    /// Returns the share of the track's hits that come from the particle.
    pub fn purity(&self) -> f64 {
        f64::from(self.common) / f64::from(self.track_hits)
    }

    /// Returns the share of the particle's hits that are on the track; 1 for a particle without hits.
    pub fn hit_efficiency(&self) -> f64 {
        if self.left == 0 { 1.0 } else { f64::from(self.found) / f64::from(self.left) }
    }
}

/// Sums of one event for one category.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct EventCategory {
    /// Number of tracks that match a particle of the category.
    pub matched: u64,
    /// Sum of the purities of these tracks.
    pub purity: f64,
    /// Sum of these tracks' hit efficiencies: hits in common over hits of the particle.
    pub hit_efficiency: f64,
}

/// Result for one particle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fate {
    pub reconstructed: bool,
    /// Number of tracks that match this particle.
    pub tracks: u32,
}

/// Number of parts of the detector whose hits are counted separately.
pub(super) const PARTS: usize = 3;

/// Numbers of hits in each part.
pub(super) type PartCounts = [u32; PARTS];

/// A particle that a track matches, and the numbers of the track's hits that come from the particle, by part.
pub(super) type Match = (u32, PartCounts);

/// The particles of one event, indexed by hit; the memory is used again for the next event.
#[derive(Debug)]
pub(super) struct Matcher {
    /// (hit, particle), sorted, each pair once.
    owners: Vec<(u32, u32)>,
    /// Number of different hits of each particle.
    hits: Vec<PartCounts>,
    /// Hits of the current track by particle; all 0 between tracks.
    counts: Vec<PartCounts>,
    shares: Vec<(u32, PartCounts)>,
    /// Returns the part that a hit is in.
    part_of: fn(u32) -> usize,
}

impl Matcher {
    /// Creates a matcher without particles; `part_of` returns the detector of a hit, a number below [`PARTS`].
    pub fn new(part_of: fn(u32) -> usize) -> Self {
        let (owners, hits, counts, shares) = Default::default();
        Self { owners, hits, counts, shares, part_of }
    }

    /// Replaces the particles by the particles of another event.
    pub fn index(&mut self, truth: &TruthEvent) {
        self.owners.clear();
        for (number, particle) in truth.particles.iter().enumerate() {
            self.owners.extend(particle.hits.iter().map(|&hit| (hit, number as u32)));
        }
        self.owners.sort_unstable();
        self.owners.dedup();
        self.hits.clear();
        self.hits.resize(truth.particles.len(), [0; PARTS]);
        for &(hit, particle) in &self.owners {
            self.hits[particle as usize][(self.part_of)(hit)] += 1;
        }
        self.counts.clear();
        self.counts.resize(truth.particles.len(), [0; PARTS]);
    }

    /// Returns the number of different hits of a particle in each detector.
    pub fn hits_of(&self, particle: u32) -> PartCounts {
        self.hits[particle as usize]
    }

    /// Returns the number of hits of a track in each detector.
    pub fn parts_of(&self, track: &[u32]) -> PartCounts {
        let mut counts = [0; PARTS];
        track.iter().for_each(|&hit| counts[(self.part_of)(hit)] += 1);
        counts
    }

    /// Returns the particles from which the track's hits come, rising, with the number of hits in each detector.
    pub fn shares(&mut self, track: &[u32]) -> &[(u32, PartCounts)] {
        self.shares.clear();
        for &hit in track {
            let first = self.owners.partition_point(|&(owned, _)| owned < hit);
            for &(_, particle) in self.owners[first..].iter().take_while(|&&(owned, _)| owned == hit) {
                let counts = &mut self.counts[particle as usize];
                if *counts == [0; PARTS] {
                    self.shares.push((particle, *counts));
                }
                counts[(self.part_of)(hit)] += 1;
            }
        }
        for (particle, count) in &mut self.shares {
            *count = std::mem::take(&mut self.counts[*particle as usize]);
        }
        self.shares.sort_unstable();
        &self.shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_and_foreign_hits_are_counted() {
        let particle = |hits: &[u32]| Particle { hits: hits.to_vec(), ..Particle::default() };
        let truth = TruthEvent { particles: vec![particle(&[7, 5, 5]), particle(&[]), particle(&[5, 9])] };
        let mut matcher = Matcher::new(|hit| usize::from(hit > 6));
        matcher.index(&truth);
        assert_eq!(matcher.shares(&[9, 5, 100, 5]), [(0, [2, 0, 0]), (2, [2, 1, 0])]);
        assert_eq!(matcher.shares(&[]), []);
        assert_eq!(matcher.shares(&[7]), [(0, [0, 1, 0])]);
        assert_eq!([0, 1, 2].map(|p| matcher.hits_of(p)), [[1, 1, 0], [0; 3], [1, 1, 0]]);
        assert_eq!(matcher.parts_of(&[9, 5, 100, 5]), [2, 2, 0]);
    }
}
