//! [`Grid`]: a two-dimensional histogram of whole numbers, with bins that are wider for larger numbers.

/// Number of bins in a doubling, and number of doublings.
const PARTS: u32 = 4;
const OCTAVES: u32 = 24;
const BINS: usize = (PARTS * OCTAVES) as usize;

/// A histogram of pairs of whole numbers of at least 1; the last bin along each axis contains all larger numbers.
#[derive(Debug, Clone)]
pub struct Grid {
    counts: Vec<u64>,
}

impl Default for Grid {
    fn default() -> Self {
        Self { counts: vec![0; BINS * BINS] }
    }
}

/// Returns the bin of a number.
fn bin(value: u64) -> usize {
    let octave = value.max(1).ilog2();
    let part = ((u128::from(value.max(1)) * u128::from(PARTS)) >> octave) as u32 - PARTS;
    ((PARTS * octave + part) as usize).min(BINS - 1)
}

/// Returns the beginning of a bin.
fn edge(bin: usize) -> f64 {
    let (octave, part) = (bin as u32 / PARTS, bin as u32 % PARTS);
    f64::from(PARTS + part) / f64::from(PARTS) * 2f64.powi(octave as i32)
}

/// A bin: its two ends in x, its two ends in y, and its count.
pub type Cell = ([f64; 2], [f64; 2], u64);

impl Grid {
    /// Adds a pair of numbers.
    pub fn add(&mut self, x: u64, y: u64) {
        self.counts[bin(y) * BINS + bin(x)] += 1;
    }

    /// Returns the bins that are not empty.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(at, count)| {
            let side = |bin| [edge(bin), edge(bin + 1)];
            (side(at % BINS), side(at / BINS), *count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_in_their_bins() {
        for value in [1, 2, 3, 5, 7, 100, 1023, 65_000, 1 << 23] {
            let bin = bin(value);
            assert!(edge(bin) <= value as f64 && (value as f64) < edge(bin + 1), "{value}");
        }
        let mut grid = Grid::default();
        grid.add(3, 100);
        grid.add(3, 101);
        grid.add(0, u64::MAX);
        assert_eq!(grid.cells().map(|cell| cell.2).sum::<u64>(), 3);
        assert_eq!(grid.cells().next().unwrap(), ([3.0, 3.5], [96.0, 112.0], 2));
    }
}
