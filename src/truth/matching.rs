//! Which particles a track shares hits with. All rules begin here.

use crate::event::{Particle, TruthEvent};

/// A category of particles: its name in reports, and whether a particle belongs to it.
pub(super) struct Category {
    pub name: &'static str,
    pub holds: fn(&Particle) -> bool,
}

/// A track that counts as found by the rules, and one particle that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Association {
    /// Number of the track in its event.
    pub track: u32,
    /// Number of the particle in its event.
    pub particle: u32,
    /// Hits of the track that the particle left.
    pub common: u32,
    /// Hits of the track.
    pub track_hits: u32,
}

impl Association {
    /// Share of the track's hits that the particle left.
    pub fn purity(&self) -> f64 {
        f64::from(self.common) / f64::from(self.track_hits)
    }
}

/// What one event says of one category.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct EventCategory {
    /// Tracks that are a particle of the category.
    pub matched: u64,
    /// Sum of their purities.
    pub purity: f64,
    /// Sum of their hit efficiencies: hits in common over hits of the particle.
    pub hit_efficiency: f64,
}

/// What became of one particle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fate {
    pub reconstructed: bool,
    /// Tracks that are this particle.
    pub tracks: u32,
}

/// The truth of one event, by hit; the memory is used again for the next event.
#[derive(Debug, Default)]
pub(super) struct Matcher {
    /// (hit, particle), sorted, each pair once.
    owners: Vec<(u32, u32)>,
    /// Number of different hits of each particle.
    hits: Vec<u32>,
    /// Hits of the present track by particle; all 0 between tracks.
    counts: Vec<u32>,
    shares: Vec<(u32, u32)>,
}

impl Matcher {
    /// Takes up another event.
    pub fn index(&mut self, truth: &TruthEvent) {
        self.owners.clear();
        for (number, particle) in truth.particles.iter().enumerate() {
            self.owners.extend(particle.hits.iter().map(|&hit| (hit, number as u32)));
        }
        self.owners.sort_unstable();
        self.owners.dedup();
        self.hits.clear();
        self.hits.resize(truth.particles.len(), 0);
        for &(_, particle) in &self.owners {
            self.hits[particle as usize] += 1;
        }
        self.counts.clear();
        self.counts.resize(truth.particles.len(), 0);
    }

    /// Number of different hits of a particle.
    pub fn hits_of(&self, particle: u32) -> u32 {
        self.hits[particle as usize]
    }

    /// The particles that left hits of the track, rising, each with how many.
    pub fn shares(&mut self, track: &[u32]) -> &[(u32, u32)] {
        self.shares.clear();
        for &hit in track {
            let first = self.owners.partition_point(|&(owned, _)| owned < hit);
            for &(_, particle) in self.owners[first..].iter().take_while(|&&(owned, _)| owned == hit) {
                if self.counts[particle as usize] == 0 {
                    self.shares.push((particle, 0));
                }
                self.counts[particle as usize] += 1;
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
        let mut matcher = Matcher::default();
        matcher.index(&truth);
        assert_eq!(matcher.shares(&[9, 5, 100, 5]), [(0, 2), (2, 3)]);
        assert_eq!(matcher.shares(&[]), []);
        assert_eq!(matcher.shares(&[7]), [(0, 1)]);
        assert_eq!([0, 1, 2].map(|p| matcher.hits_of(p)), [2, 0, 2]);
    }
}
