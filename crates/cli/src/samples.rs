//! [`Samples`]: a limited number of samples of rate and memory use in one round of `peloton soak`.

use serde::Serialize;
use std::time::Duration;

/// Maximum number of samples; when it is reached, neighbouring samples are merged in pairs.
const MAX_SAMPLES: usize = 256;
/// Interval between samples at the start of a round. Each time samples are merged, the interval doubles.
const INTERVAL: Duration = Duration::from_millis(200);

/// Rate and memory use in one time interval of a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// End of the interval, s since the round began.
    pub seconds: f64,
    /// Rate in this interval, hits/s.
    pub hits_per_second: f64,
    /// Resident memory at the end of the interval, or the largest value of merged intervals, MiB; none if the system
    /// does not report it.
    pub memory_mib: Option<f64>,
}

/// Samples of a whole round.
#[derive(Debug, Clone)]
pub struct Samples {
    list: Vec<Sample>,
    interval: Duration,
    last: Duration,
    hits: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self { list: Vec::new(), interval: INTERVAL, last: Duration::ZERO, hits: 0 }
    }
}

impl Samples {
    /// Whether a sample is due at `time`, counted since the round began.
    pub fn is_due(&self, time: Duration) -> bool {
        time >= self.last + self.interval
    }

    /// Adds a sample at `time`; `hits` and `time` are counted since the round began.
    pub fn add(&mut self, time: Duration, hits: u64, memory_mib: Option<f64>) {
        let passed = time.saturating_sub(self.last).as_secs_f64();
        if passed <= 0.0 {
            return;
        }
        let hits_per_second = hits.saturating_sub(self.hits) as f64 / passed;
        self.list.push(Sample { seconds: time.as_secs_f64(), hits_per_second, memory_mib });
        (self.last, self.hits) = (time, hits);
        if self.list.len() == MAX_SAMPLES {
            let mut begin = 0.0;
            let halves = self.list.chunks(2).map(|pair| {
                // Rates are weighted by the lengths of the intervals, which may differ.
                let (first, second) = (pair[0].seconds - begin, pair[1].seconds - pair[0].seconds);
                begin = pair[1].seconds;
                let hits = pair[0].hits_per_second * first + pair[1].hits_per_second * second;
                Sample {
                    seconds: pair[1].seconds,
                    hits_per_second: hits / (first + second),
                    memory_mib: pair.iter().filter_map(|one| one.memory_mib).reduce(f64::max),
                }
            });
            self.list = halves.collect();
            self.interval *= 2;
        }
    }

    /// Returns all samples.
    pub fn into_list(self) -> Vec<Sample> {
        self.list
    }
}

/// Resident memory of this process, MiB; none if the system does not report it.
pub fn resident_mib() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?;
    kib.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rounds_have_few_samples_and_no_hit_is_forgotten() {
        let mut samples = Samples::default();
        for tenth in 1..=10_000u64 {
            let time = Duration::from_millis(100 * tenth);
            if samples.is_due(time) {
                samples.add(time, 1000 * tenth, Some(tenth as f64));
            }
        }
        let list = samples.into_list();
        assert!(list.len() < MAX_SAMPLES && list.len() >= MAX_SAMPLES / 2 - 1, "{}", list.len());
        assert!(list.iter().all(|one| (one.hits_per_second - 10_000.0).abs() < 1e-6));
        assert!(list.is_sorted_by(|a, b| a.seconds < b.seconds && a.memory_mib < b.memory_mib));
        let mut samples = Samples::default();
        samples.add(Duration::ZERO, 5, None);
        assert_eq!(samples.into_list(), []);
    }
}
