//! Hits of hybrid pixel detectors (Timepix3, Timepix4) and their triggers, as columns.

use super::Column;
use crate::simd::copy_to_hand_over;

/// Number of ticks (1.5625 ns) of the fine clock in a clock of 25 ns. Times are whole numbers of ticks.
pub const TICKS_PER_CLOCK: i64 = 16;
/// Length of a tick, ns.
pub const NS_PER_TICK: f64 = 1.5625;

/// Pixel hits, one value of each column per hit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PixelHits {
    /// Time of arrival, ticks of 1.5625 ns.
    pub time: Column<i64>,
    /// Column of the pixel on the sensor (no unit).
    pub x: Column<u16>,
    /// Row of the pixel on the sensor (no unit).
    pub y: Column<u16>,
    /// Time over threshold, clocks of 25 ns.
    pub tot: Column<u16>,
}

impl PixelHits {
    /// Number of hits.
    #[inline]
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there is no hit.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// Removes the hits and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.set_len(0);
    }

    /// Sets the length of all columns; new values are undefined.
    pub fn set_len(&mut self, len: usize) {
        self.time.set_len(len);
        self.x.set_len(len);
        self.y.set_len(len);
        self.tot.set_len(len);
    }

    /// Appends one hit.
    #[inline(always)]
    pub fn push(&mut self, time: i64, x: u16, y: u16, tot: u16) {
        self.time.push(time);
        self.x.push(x);
        self.y.push(y);
        self.tot.push(tot);
    }

    /// Appends the hits of `range` of another table, with `shift` ticks added to their times.
    pub fn extend_from(&mut self, other: &PixelHits, range: std::ops::Range<usize>, shift: i64) {
        let first = self.len();
        self.time.extend_from_slice(&other.time[range.clone()]);
        if shift != 0 {
            self.time[first..].iter_mut().for_each(|time| *time += shift);
        }
        self.x.extend_from_slice(&other.x[range.clone()]);
        self.y.extend_from_slice(&other.y[range.clone()]);
        self.tot.extend_from_slice(&other.tot[range]);
    }

    /// Replaces the hits by copies of `other`. This is fast if another core has read this table and will read it again.
    pub fn copy_to_hand_over(&mut self, other: &PixelHits) {
        self.set_len(other.len());
        copy_to_hand_over(&other.time, &mut self.time);
        copy_to_hand_over(&other.x, &mut self.x);
        copy_to_hand_over(&other.y, &mut self.y);
        copy_to_hand_over(&other.tot, &mut self.tot);
    }

    /// Removes the first `count` hits.
    pub fn remove_front(&mut self, count: usize) {
        let len = self.len();
        self.time.copy_within(count..len, 0);
        self.x.copy_within(count..len, 0);
        self.y.copy_within(count..len, 0);
        self.tot.copy_within(count..len, 0);
        self.set_len(len - count);
    }

    /// Returns time, x, y and time over threshold of hit `i`.
    pub fn get(&self, i: usize) -> (i64, u16, u16, u16) {
        (self.time[i], self.x[i], self.y[i], self.tot[i])
    }
}

/// Edge of a trigger signal, and the trigger input that received it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Edge {
    /// Rising edge of input 1.
    Rise1 = 0,
    /// Falling edge of input 1.
    Fall1 = 1,
    /// Rising edge of input 2.
    Rise2 = 2,
    /// Falling edge of input 2.
    Fall2 = 3,
}

crate::names!(Edge, "edge of a trigger input", {
    Rise1 => "rise1", Fall1 => "fall1", Rise2 => "rise2", Fall2 => "fall2",
});

/// Time-stamped edges of the trigger inputs (TDC packets), in order of arrival.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Triggers {
    /// Time, ticks of 1.5625 ns.
    pub time: Column<i64>,
    /// Remainder of the time below a tick of 1.5625 ns, in steps of 0.26 ns.
    pub fine: Column<u8>,
    /// Trigger number that the device counted at this input (no unit).
    pub counter: Column<u16>,
    /// Input and edge, as a number of [`Edge`] (no unit).
    pub edge: Column<u8>,
    /// Number of the chip that sent the edge (no unit).
    pub chip: Column<u8>,
}

impl Triggers {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// Removes the edges and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.time.clear();
        self.fine.clear();
        self.counter.clear();
        self.edge.clear();
        self.chip.clear();
    }

    /// Appends other edges, with `shift` ticks added to their times.
    pub fn extend_from(&mut self, other: &Triggers, shift: i64) {
        other.time.iter().for_each(|time| self.time.push(time + shift));
        self.fine.extend_from_slice(&other.fine);
        self.counter.extend_from_slice(&other.counter);
        self.edge.extend_from_slice(&other.edge);
        self.chip.extend_from_slice(&other.chip);
    }

    /// Appends one edge.
    pub fn push(&mut self, time: i64, fine: u8, counter: u16, edge: Edge, chip: u8) {
        self.time.push(time);
        self.fine.push(fine);
        self.counter.push(counter);
        self.edge.push(edge as u8);
        self.chip.push(chip);
    }
}

/// The latest trigger before each cluster, and the time of each hit since the latest trigger before the hit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriggerPairs {
    /// Per cluster: 1 if a trigger came before the first hit of the cluster, otherwise 0 (no unit).
    pub has_trigger: Column<u8>,
    /// Per cluster: number of the latest trigger before the first hit, as the device counts (no unit).
    pub counter: Column<u16>,
    /// Per hit, in the order of the clusters: time since the latest trigger, in steps of 1.5625 / 6 ns;
    /// [`TriggerPairs::NONE`] before the first trigger.
    pub since: Column<i64>,
}

impl TriggerPairs {
    /// Value of `since` for a hit before the first trigger.
    pub const NONE: i64 = -1;
    /// Length of a step of `since`, ns.
    pub const NS_PER_STEP: f64 = NS_PER_TICK / 6.0;

    /// Removes all pairs and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.has_trigger.clear();
        self.counter.clear();
        self.since.clear();
    }

    /// Returns the time from the latest trigger to a hit, ns; `None` before the first trigger.
    pub fn since_ns(&self, hit: usize) -> Option<f64> {
        let since = self.since[hit];
        (since != Self::NONE).then_some(since as f64 * Self::NS_PER_STEP)
    }
}

/// A block of a stream of pixel data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PixelBlock {
    /// Hits in order of arrival. Units are as in [`PixelHits`].
    pub hits: PixelHits,
    /// Trigger edges in order of arrival. Units are as in [`Triggers`].
    pub triggers: Triggers,
}

impl PixelBlock {
    /// Removes all hits and triggers and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.hits.clear();
        self.triggers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_move_between_tables() {
        let mut hits = PixelHits::default();
        (0..10).for_each(|i| hits.push(i64::from(i) * 5, i, 100 + i, 7 * i));
        let mut other = PixelHits::default();
        other.extend_from(&hits, 2..5, 1000);
        assert_eq!((other.len(), other.get(0), other.get(2)), (3, (1010, 2, 102, 14), (1020, 4, 104, 28)));
        hits.remove_front(8);
        assert_eq!((hits.len(), hits.get(0), hits.get(1)), (2, (40, 8, 108, 56), (45, 9, 109, 63)));
    }
}
