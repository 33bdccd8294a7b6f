//! The rules of LHCb's checker for tracks through several detectors; hits are given as LHCbIDs.
//!
//! A particle matches a track if at least 70 % of the track's Velo hits and at least 70 % of its SciFi hits come from
//! the particle; a detector with fewer than three hits of the track is ignored. If only one of Velo and SciFi is used,
//! all but one of the track's UT hits must come from the particle, too. If both are used, the hits of a mother with
//! Velo hits and of its daughter with SciFi hits count for both particles, because a particle that decays on the way,
//! or an electron that radiates, is two particles in the truth. The hits of a particle whose mother has the particle's
//! own key count once. Hit efficiencies refer to the last detector that the track reaches.

use super::matching::{Match, PartCounts};
use peloton::event::TruthEvent;
use peloton_io::input::mdf::HitsOf;

/// Parts of the detector.
const VELO: usize = 0;
pub(super) const UT: usize = 1;
pub(super) const SCIFI: usize = 2;
/// A part where a track has at most this many hits is ignored.
const FEW: u32 = 2;
/// Largest number of a track's UT hits that may come from other particles.
const FOREIGN: u32 = 1;

/// Returns the part of the detector that a hit is in. A number that is no LHCbID counts as a SciFi hit.
pub(super) fn part_of(hit: u32) -> usize {
    // Older and newer generations of LHCbIDs.
    match hit >> 28 {
        8 | 2 => VELO,
        0xB | 3 => UT,
        _ => SCIFI,
    }
}

/// Returns the detector of a hit from the hit's LHCbID; a number that is no LHCbID counts as a SciFi hit.
pub fn detector_of(hit: u32) -> HitsOf {
    [HitsOf::Velo, HitsOf::Ut, HitsOf::SciFi][part_of(hit)]
}

/// Returns the particles of `shares` that match a track with these numbers of hits in each part.
pub(super) fn associate(shares: &[Share], track: PartCounts, truth: &TruthEvent) -> Vec<Match> {
    let many = [VELO, SCIFI].map(|part| track[part] > FEW);
    if many == [false; 2] {
        return Vec::new();
    }
    let both = many == [true; 2];
    let family = shares.iter().map(|share| {
        let (particle, mut common) = *share;
        let is_relative = |other: &&Share| is_mother(truth, other, share) || is_mother(truth, share, other);
        for (_, theirs) in shares.iter().filter(|other| both && is_relative(other)) {
            (0..common.len()).for_each(|part| common[part] = (common[part] + theirs[part]).min(track[part]));
        }
        (particle, common)
    });
    let enough = |common: u32, hits: u32| hits <= FEW || 10 * u64::from(common) >= 7 * u64::from(hits);
    family
        .filter(|(_, common)| {
            enough(common[VELO], track[VELO])
                && enough(common[SCIFI], track[SCIFI])
                && (both || common[UT] + FOREIGN >= track[UT])
        })
        .collect()
}

/// A particle, and the numbers of the track's hits that come from the particle, by part.
type Share = (u32, PartCounts);

/// Returns whether a track may join a mother with hits in the Velo and its daughter with hits in the SciFi. Some files
/// name particles as their own mothers: their hits would count twice.
fn is_mother(truth: &TruthEvent, (mother, early): &Share, (daughter, late): &Share) -> bool {
    let key = |particle: u32| truth.particles[particle as usize].key;
    let named = || truth.particles[*daughter as usize].mother == Some(key(*mother));
    mother != daughter && early[VELO] > 0 && late[SCIFI] > 0 && named()
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::Particle;

    const NONE: [u32; 0] = [];

    fn event() -> TruthEvent {
        let particle = |key, mother| Particle { key, mother, ..Particle::default() };
        TruthEvent { particles: vec![particle(5, None), particle(6, Some(5)), particle(7, Some(99))] }
    }

    fn matched(shares: &[(u32, PartCounts)], track: PartCounts) -> Vec<u32> {
        associate(shares, track, &event()).into_iter().map(|(particle, _)| particle).collect()
    }

    #[test]
    fn every_part_with_three_hits_must_agree() {
        assert_eq!(matched(&[(0, [7, 0, 8])], [10, 0, 11]), [0]);
        assert_eq!(matched(&[(0, [6, 0, 11])], [10, 0, 11]), NONE);
        assert_eq!(matched(&[(0, [10, 0, 7])], [10, 0, 11]), NONE);
        // A part with two hits is ignored; with two hits in both, a track matches nothing.
        assert_eq!(matched(&[(0, [0, 0, 10])], [2, 0, 10]), [0]);
        assert_eq!(matched(&[(0, [2, 4, 2])], [2, 4, 2]), NONE);
    }

    #[test]
    fn the_ut_may_have_one_foreign_hit_or_is_not_asked() {
        assert_eq!(matched(&[(0, [5, 3, 0])], [5, 4, 0]), [0]);
        assert_eq!(matched(&[(0, [5, 2, 0])], [5, 4, 0]), NONE);
        assert_eq!(matched(&[(0, [5, 0, 10])], [5, 4, 10]), [0]);
    }

    #[test]
    fn mother_and_daughter_count_as_one_on_long_tracks() {
        let shares = [(0, [5, 0, 4]), (1, [0, 0, 6])];
        assert_eq!(matched(&shares, [5, 0, 10]), [0, 1]);
        assert_eq!(associate(&shares, [5, 0, 10], &event())[0].1, [5, 0, 10]);
        // Hits of unrelated particles are not added, nor hits of relatives in the SciFi alone.
        assert_eq!(matched(&[(0, [5, 0, 4]), (2, [0, 0, 6])], [5, 0, 10]), NONE);
        assert_eq!(matched(&[(0, [0, 0, 4]), (1, [0, 0, 6])], [0, 0, 10]), NONE);
    }

    #[test]
    fn a_particle_that_is_its_own_mother_counts_once() {
        let particle = |key, mother| Particle { key, mother: Some(mother), ..Particle::default() };
        let event = TruthEvent { particles: vec![particle(5, 5), particle(6, 5)] };
        // 5 of 12 hits in the SciFi are less than 70 %; counted twice, they would be more.
        assert!(associate(&[(0, [5, 0, 5])], [5, 0, 12], &event).is_empty());
        assert_eq!(associate(&[(0, [5, 1, 9])], [5, 4, 12], &event), [(0, [5, 1, 9])]);
        // The hits of a daughter are still added, unless the daughter has none in the SciFi.
        assert_eq!(associate(&[(0, [4, 0, 9]), (1, [1, 0, 0])], [5, 0, 12], &event), [(0, [4, 0, 9])]);
        let shares = [(0, [5, 0, 5]), (1, [0, 0, 4])];
        let both = [5, 0, 9];
        assert_eq!(associate(&shares, [5, 0, 12], &event), [(0, both), (1, both)]);
    }

    #[test]
    fn ids_of_both_generations_are_known() {
        for (hit, part) in
            [(8 << 28, VELO), (2 << 28, VELO), (0xB << 28, UT), (3 << 28, UT), (0xA << 28, SCIFI)]
        {
            assert_eq!(part_of(hit | 77), part);
        }
    }
}
