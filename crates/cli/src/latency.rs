//! [`Latencies`]: percentiles of any number of times, in a fixed amount of memory.

use std::time::Duration;

/// Number of bins per factor of two in time: the relative error of a percentile is at most 1/16.
const STEPS: u32 = 16;

/// Histogram of times, with bins whose widths grow with the time.
#[derive(Debug, Clone)]
pub struct Latencies {
    counts: Vec<u64>,
    total: u64,
    worst: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { counts: vec![0; (64 * STEPS) as usize], total: 0, worst: Duration::ZERO }
    }
}

impl Latencies {
    /// Adds one time to the histogram.
    pub fn add(&mut self, time: Duration) {
        let ns = time.as_nanos().clamp(1, u128::from(u64::MAX)) as u64;
        self.counts[step(ns) as usize] += 1;
        self.total += 1;
        self.worst = self.worst.max(time);
    }

    /// Returns a percentile, ms: the fraction `share` of all times is at most this time.
    pub fn at(&self, share: f64) -> f64 {
        let worst = self.worst.as_secs_f64() * 1e3;
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut sum = 0;
        for (i, count) in self.counts.iter().enumerate() {
            sum += count;
            if sum >= wanted && *count > 0 {
                return (upper(i as u32) * 1e-6).min(worst);
            }
        }
        worst
    }
}

/// Returns the bin of a time, ns.
fn step(ns: u64) -> u32 {
    let power = ns.ilog2();
    let part = if power >= 4 { (ns >> (power - 4)) as u32 & 15 } else { 0 };
    power * STEPS + part
}

/// Returns the upper end of a bin, ns.
fn upper(step: u32) -> f64 {
    let (power, part) = (step / STEPS, step % STEPS);
    (2.0f64).powi(power as i32) * (1.0 + f64::from(part + 1) / f64::from(STEPS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_close() {
        let mut latencies = Latencies::default();
        (1..=1000).for_each(|i| latencies.add(Duration::from_micros(i)));
        for (share, ms) in [(0.5, 0.5), (0.99, 0.99), (1.0, 1.0)] {
            let found = latencies.at(share);
            assert!((found / ms - 1.0).abs() < 0.07, "{share}: {found}");
        }
    }
}
