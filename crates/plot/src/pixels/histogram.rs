//! [`Histogram`]: a histogram of values whose range is unknown beforehand, with a fixed number of bins.

/// Number of bins; even.
const BINS: usize = 256;

/// A histogram of whole numbers of at least `start`. All bins double in width when a value lies beyond the last bin.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: [u64; BINS],
    /// Beginning of the first bin.
    start: i64,
    /// Width of a bin.
    width: i64,
    /// Number of values below `start`.
    below: u64,
}

impl Histogram {
    /// Creates empty bins from `start` on, initially `width` wide.
    pub fn new(start: i64, width: i64) -> Self {
        Self { counts: [0; BINS], start, width: width.max(1), below: 0 }
    }

    /// Adds a value.
    pub fn add(&mut self, value: i64) {
        if value < self.start {
            self.below += 1;
            return;
        }
        let distance = value.abs_diff(self.start);
        while distance / self.width.unsigned_abs() >= BINS as u64 {
            self.double();
        }
        self.counts[(distance / self.width.unsigned_abs()) as usize] += 1;
    }

    fn double(&mut self) {
        for i in 0..BINS / 2 {
            self.counts[i] = self.counts[2 * i] + self.counts[2 * i + 1];
        }
        self.counts[BINS / 2..].fill(0);
        self.width = self.width.saturating_mul(2);
    }

    /// Returns the number of values, including values below the first bin.
    pub fn total(&self) -> u64 {
        self.below + self.counts.iter().sum::<u64>()
    }

    /// Returns the number of values below the first bin.
    pub fn below(&self) -> u64 {
        self.below
    }

    /// Returns the beginning and the count of each bin up to the last bin that is not empty; at least one bin.
    pub fn bins(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let last = self.counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let place = |i: usize| self.start.saturating_add(self.width.saturating_mul(i as i64));
        self.counts[..=last].iter().enumerate().map(move |(i, count)| (place(i), *count))
    }

    /// Returns the width of a bin.
    pub fn width(&self) -> i64 {
        self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_and_nothing_is_lost() {
        let mut histogram = Histogram::new(10, 1);
        (10..266).for_each(|value| histogram.add(value));
        assert!(histogram.bins().all(|(_, count)| count == 1) && histogram.width() == 1);
        histogram.add(10 + 4 * 256 - 1);
        assert_eq!(histogram.width(), 4);
        let bins: Vec<_> = histogram.bins().collect();
        assert_eq!(
            (bins.len(), bins[0], bins[63], bins[64], bins[255]),
            (256, (10, 4), (262, 4), (266, 0), (1030, 1))
        );
        histogram.add(9);
        assert_eq!((histogram.total(), histogram.below()), (258, 1));
        histogram.add(i64::MAX);
        assert_eq!(histogram.total(), 259);
    }
}
