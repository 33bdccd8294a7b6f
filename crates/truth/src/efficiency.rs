//! Efficiencies and their intervals, computed from counts.

use statrs::function::beta::beta_reg;

/// Probability content of one standard deviation of a normal distribution: the "68 %" of intervals.
const COVERAGE: f64 = 0.682_689_492_137_085_9;

/// If the numbers of successes and failures both exceed this, the normal distribution gives the interval: its ends differ by
/// less than 0.002 of the width, and series for the beta distribution no longer converge.
const MANY: f64 = 1e5;

/// Returns the 68 % Clopper-Pearson interval of a probability, given `pass` successes out of `total` trials; none for
/// `total` 0 and for `pass > total`. The interval's coverage is never below 68 %. The Particle Data Group (review of
/// statistics, intervals for binomial data) and ROOT's `TEfficiency` use this interval.
pub fn clopper_pearson(pass: u64, total: u64) -> Option<(f64, f64)> {
    if total == 0 || pass > total {
        return None;
    }
    let tail = (1.0 - COVERAGE) / 2.0;
    let (passed, failed) = (pass as f64, (total - pass) as f64);
    if passed.min(failed) > MANY {
        let (value, of) = (passed / total as f64, total as f64);
        let half = (value * (1.0 - value) / of).sqrt() + 0.5 / of;
        return Some((value - half, value + half));
    }
    let low = if pass == 0 { 0.0 } else { quantile(passed, failed + 1.0, tail) };
    let high = if pass == total { 1.0 } else { quantile(passed + 1.0, failed, 1.0 - tail) };
    Some((low, high))
}

/// Returns the argument at which the regularised incomplete beta function has this value, by bisection: statrs' own inverse
/// does not end for 9,999,999 of 10,000,000.
fn quantile(a: f64, b: f64, value: f64) -> f64 {
    let [mut low, mut high] = [0.0, 1.0];
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if beta_reg(a, b, middle) < value { low = middle } else { high = middle }
    }
}

/// Returns `part / whole`; none for 0 / 0.
pub(super) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Counts of the particles of a category, or of one bin of a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    /// Reconstructible particles.
    pub reconstructible: u64,
    /// Number of reconstructible particles that were found.
    pub reconstructed: u64,
    /// Number of clones: tracks of particles that already have an earlier track.
    pub clones: u64,
}

impl Counter {
    /// Adds the counts of another counter.
    pub fn add(&mut self, other: Counter) {
        self.reconstructible += other.reconstructible;
        self.reconstructed += other.reconstructed;
        self.clones += other.clones;
    }

    /// Returns the efficiency, reconstructed over reconstructible particles; none for 0 / 0.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(self.reconstructed as f64, self.reconstructible as f64)
    }

    /// Returns the 68 % Clopper-Pearson interval of the efficiency.
    pub fn interval(&self) -> Option<(f64, f64)> {
        clopper_pearson(self.reconstructed, self.reconstructible)
    }
}

/// A sum of ratios that does not depend on the order of its terms: fixed point, with 64 bits after the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum(u128);

/// 2^64.
const ONE: f64 = 18_446_744_073_709_551_616.0;

impl Sum {
    /// Adds a value that is not negative.
    pub fn add(&mut self, value: f64) {
        self.0 = self.0.saturating_add((value * ONE) as u128);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: Sum) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Returns the sum.
    pub fn value(self) -> f64 {
        self.0 as f64 / ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn intervals_are_those_of_the_beta_distribution() {
        // From scipy.stats.beta.ppf with the tails of one standard deviation.
        let known: [(u64, u64, f64, f64); 12] = [
            (1, 1, 0.15865525393145707, 1.0),
            (1, 2, 0.08275153525964246, 0.9172484647403576),
            (1, 10, 0.017127014136728243, 0.29413538963846697),
            (9, 10, 0.705864610361533, 0.9828729858632718),
            (50, 100, 0.44530092488942935, 0.5546990751105707),
            (99, 100, 0.967381879258749, 0.9982739535442713),
            (652, 654, 0.9929227620522381, 0.9989169057217611),
            (2298, 2377, 0.9626677078996914, 0.9704468127592665),
            (52200, 54976, 0.9485540050776258, 0.9504399602936912),
            (54975, 54976, 0.9999399836737151, 0.9999968576559299),
            (999990, 1000000, 0.9999857330806772, 0.9999931086871735),
            (1, 1000000, 1.7275376410151666e-07, 3.2995227654298157e-06),
        ];
        for (pass, total, low, high) in known {
            let (l, h) = clopper_pearson(pass, total).unwrap();
            let tolerance = (1e-3 * (high - low)).min(1e-8);
            let wrong = (l - low).abs().max((h - high).abs());
            assert!(wrong < tolerance, "{pass}/{total}: {l} {h}, not {low} {high}");
        }
    }

    #[test]
    fn the_edges_are_exact() {
        assert_eq!(clopper_pearson(0, 0), None);
        assert_eq!(clopper_pearson(3, 2), None);
        let tail = (1.0 - COVERAGE) / 2.0;
        for n in [1u64, 2, 10, 1000] {
            // One-sided: (1 - high)^n is the tail's probability.
            let (low, high) = clopper_pearson(0, n).unwrap();
            assert_eq!(low, 0.0);
            assert!(close(high, 1.0 - tail.powf(1.0 / n as f64)), "{n}");
            let (low, high) = clopper_pearson(n, n).unwrap();
            assert_eq!(high, 1.0);
            assert!(close(low, tail.powf(1.0 / n as f64)), "{n}");
        }
    }

    #[test]
    fn intervals_hold_the_value_and_narrow() {
        let mut width = 1.0;
        for n in [10u64, 100, 1000, 10_000, 1_000_000] {
            let (low, high) = clopper_pearson(n * 9 / 10, n).unwrap();
            assert!(low < 0.9 && 0.9 < high && high - low < width, "{n}");
            width = high - low;
        }
    }

    #[test]
    fn intervals_of_very_many_come_to_an_end() {
        // Of few successes only the number counts: these are the ends for one success, times the total.
        for total in [10_000_000, 100_000_000, 1_000_000_000_000] {
            let (low, high) = clopper_pearson(1, total).unwrap();
            let [low, high] = [low, high].map(|end| end * total as f64);
            assert!((low - 0.1728).abs() < 1e-3 && (high - 3.2995).abs() < 1e-3, "{total}: {low} {high}");
            let (low, high) = clopper_pearson(total - 1, total).unwrap();
            assert!(low < high && high <= 1.0);
        }
        assert!(clopper_pearson(u64::MAX - 1, u64::MAX).is_some());
        for failed in [1000, 100_000, 100_001, 10_000_000, 1_000_000_000] {
            let total = 1000 * failed;
            let (low, high) = clopper_pearson(total - failed, total).unwrap();
            let sigma = (failed as f64).sqrt() / total as f64;
            let [below, above] = [0.999 - low, high - 0.999].map(|width| width / sigma);
            assert!((below - 1.0).abs() < 0.04 && (above - 1.0).abs() < 0.04, "{failed}: {below} {above}");
        }
    }

    #[test]
    fn sums_do_not_depend_on_order() {
        let values: Vec<f64> = (1..1000).map(|i| 1.0 / f64::from(i)).collect();
        let (mut forth, mut back) = (Sum::default(), Sum::default());
        values.iter().for_each(|v| forth.add(*v));
        values.iter().rev().for_each(|v| back.add(*v));
        assert_eq!(forth, back);
        assert!(close(forth.value(), values.iter().sum()));
    }
}
