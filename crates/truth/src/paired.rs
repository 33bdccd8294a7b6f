//! [`PairedChecker`]: compares which particles two programs found.

use super::efficiency::clopper_pearson;
use super::{Rules, TrackMatcher};
use peloton::event::TruthEvent;
use serde::Serialize;

/// Numbers of particles that both, one or none of two programs found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Paired {
    /// Number of particles that both programs found.
    pub both: u64,
    /// Number of particles that only the first program found.
    pub first_only: u64,
    /// Number of particles that only the second program found.
    pub second_only: u64,
    /// Number of particles that neither program found.
    pub neither: u64,
}

impl Paired {
    /// Adds a particle; `first` and `second` state whether the first and the second program found the particle.
    pub fn add(&mut self, first: bool, second: bool) {
        *match (first, second) {
            (true, true) => &mut self.both,
            (true, false) => &mut self.first_only,
            (false, true) => &mut self.second_only,
            (false, false) => &mut self.neither,
        } += 1;
    }

    /// Returns the number of all particles.
    pub fn particles(&self) -> u64 {
        self.both + self.first_only + self.second_only + self.neither
    }
}

/// The comparison of two programs on the particles of one category.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedCategory {
    /// Name of the category.
    pub name: &'static str,
    /// Numbers of particles by the programs that found them.
    #[serde(flatten)]
    pub paired: Paired,
    /// Ends of the 68 % Clopper-Pearson interval of the share that the first program found.
    pub first_interval: Option<[f64; 2]>,
    /// Ends of the 68 % Clopper-Pearson interval of the share that the second program found.
    pub second_interval: Option<[f64; 2]>,
    /// Ends of the 68 % interval of `first_only` / (`first_only` + `second_only`). If the interval excludes 0.5, one of
    /// the programs finds more particles.
    pub first_only_interval: Option<[f64; 2]>,
}

/// Compares, particle by particle, the tracks of two programs for the same events.
#[derive(Debug)]
pub struct PairedChecker {
    rules: Rules,
    matcher: TrackMatcher,
    pairs: Vec<Paired>,
    found: [Vec<bool>; 2],
}

impl PairedChecker {
    /// Creates a checker without events.
    pub fn new(rules: Rules) -> Self {
        let pairs = rules.category_names().map(|_| Paired::default()).collect();
        Self { rules, matcher: TrackMatcher::new(rules), pairs, found: Default::default() }
    }

    /// Adds one event: its truth, the indices of the particles that the first program found (repeated indices are
    /// allowed), and the tracks of the second program as lists of hits.
    pub fn event<'a>(
        &mut self,
        truth: &TruthEvent,
        first: impl Iterator<Item = usize>,
        second: impl Iterator<Item = &'a [u32]>,
    ) {
        for found in &mut self.found {
            found.clear();
            found.resize(truth.particles.len(), false);
        }
        let [by_first, by_second] = &mut self.found;
        first.for_each(|particle| by_first[particle] = true);
        self.matcher.index(truth);
        for track in second {
            self.matcher.particles(truth, track).into_iter().for_each(|particle| by_second[particle] = true);
        }
        for (number, particle) in truth.particles.iter().enumerate() {
            for (paired, holds) in self.pairs.iter_mut().zip(self.rules.tests()) {
                if holds(particle) {
                    paired.add(self.found[0][number], self.found[1][number]);
                }
            }
        }
    }

    /// Returns the results of each category.
    pub fn report(&self) -> Vec<PairedCategory> {
        let interval = |pass, total| clopper_pearson(pass, total).map(|(low, high)| [low, high]);
        let category = |(name, paired): (&'static str, &Paired)| {
            let Paired { both, first_only, second_only, .. } = *paired;
            PairedCategory {
                name,
                paired: *paired,
                first_interval: interval(both + first_only, paired.particles()),
                second_interval: interval(both + second_only, paired.particles()),
                first_only_interval: interval(first_only, first_only + second_only),
            }
        };
        self.rules.category_names().zip(&self.pairs).map(category).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::Particle;

    #[test]
    fn each_particle_of_a_category_is_in_one_of_four_counts() {
        let particle = |first: u32, p: f64| Particle {
            hits: (first..first + 4).collect(),
            has_velo: true,
            eta: 3.0,
            is_long: true,
            p,
            ..Particle::default()
        };
        let truth =
            TruthEvent { particles: (0..4).map(|at| particle(10 * at, 6.0 - f64::from(at))).collect() };
        let mut checker = PairedChecker::new(Rules::Lhcb);
        let second: [&[u32]; 3] = [&[0, 1, 2], &[20, 21, 22, 23], &[30, 31, 1, 2]];
        checker.event(&truth, [0, 1, 0].into_iter(), second.into_iter());
        let report = checker.report();
        let of = |name: &str| report.iter().find(|one| one.name == name).unwrap();
        let long = of("02_long");
        assert_eq!(long.paired, Paired { both: 1, first_only: 1, second_only: 1, neither: 1 });
        assert_eq!(of("03_long_P>5GeV").paired, Paired { both: 1, ..Paired::default() });
        assert_eq!(of("06_long_fromB").first_interval, None);
        let [low, high] = long.first_only_interval.unwrap();
        assert!(low < 0.5 && 0.5 < high && (low + high - 1.0).abs() < 1e-9);
    }
}
