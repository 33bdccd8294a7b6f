//! [`TrackMatcher`]: finds the particles that a track matches.

use super::Rules;
use super::matching::Matcher;
use peloton::event::TruthEvent;

/// Finds the particles of an event that a track matches by the given rules, without statistics.
#[derive(Debug)]
pub struct TrackMatcher {
    rules: Rules,
    matcher: Matcher,
}

impl TrackMatcher {
    /// Creates a matcher without an event.
    pub fn new(rules: Rules) -> Self {
        Self { rules, matcher: rules.matcher() }
    }

    /// Sets the current event by its truth.
    pub fn index(&mut self, truth: &TruthEvent) {
        self.matcher.index(truth);
    }

    /// Returns the indices of the particles that a track matches, rising; `truth` is the current event's truth.
    pub fn particles(&mut self, truth: &TruthEvent, track: &[u32]) -> Vec<usize> {
        let parts = self.matcher.parts_of(track);
        let matches = self.rules.associate(self.matcher.shares(track), parts, truth);
        matches.into_iter().map(|(particle, _)| particle as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checker, Particle};

    #[test]
    fn tracks_are_the_particles_that_the_checker_says() {
        let particle = |hits: &[u32]| Particle { hits: hits.to_vec(), ..Particle::default() };
        let truth = TruthEvent { particles: vec![particle(&[1, 2, 3, 4]), particle(&[3, 4, 5, 6])] };
        let tracks: [&[u32]; 4] = [&[1, 2, 3], &[3, 4, 5, 6], &[1, 2, 5, 6], &[3, 4, 1, 2, 5]];
        for rules in [Rules::Json, Rules::Lhcb] {
            let (mut checker, mut matcher) = (Checker::new(rules), TrackMatcher::new(rules));
            matcher.index(&truth);
            checker.event(&truth, tracks.iter().copied());
            let found: Vec<_> = tracks.iter().flat_map(|track| matcher.particles(&truth, track)).collect();
            assert_eq!(found, checker.found().collect::<Vec<_>>(), "{rules}");
            assert_eq!(found, [0, 1, 0], "{rules}");
        }
    }
}
