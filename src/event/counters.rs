//! [`Counters`]: counts for a slice of events: time, items and lanes of each stage, and dropped events and items.
//!
//! Counts are integers in fixed arrays: counting allocates nothing, and sums do not depend on the order of slices.

use crate::Status;
use std::time::Instant;

/// Largest number of stages of a sequence.
pub const MAX_STAGES: usize = 16;
/// Largest number of parts of a stage that are timed separately.
pub const MAX_PARTS: usize = 4;

/// Reason why hits or raw banks of a reconstructed event were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
#[non_exhaustive]
pub enum Truncation {
    /// Candidate hits beyond the maximum number per search window.
    CandidatesInWindow = 0,
    /// Hits beyond the maximum number per track.
    HitsOnTrack = 1,
    /// Raw banks that their detector marks as bad.
    BanksMarkedBad = 2,
    /// Hits on pixels that are masked.
    MaskedHits = 3,
    /// Hits that arrived too late: further out of time order than the configuration allows.
    LateHits = 4,
    /// Hits in clusters that a filter removed.
    FilteredHits = 5,
    /// Number of times that a full buffer had to release hits early, or had to cut clusters.
    FullBuffers = 6,
    /// Hits of a stream that were lost because the program itself failed.
    LostHits = 7,
    /// Damaged raw banks that were left out of reconstructed events.
    BanksLeftOut = 8,
}

impl Truncation {
    /// All truncations, in the order of their numbers.
    pub const ALL: [Truncation; 9] = [
        Truncation::CandidatesInWindow,
        Truncation::HitsOnTrack,
        Truncation::BanksMarkedBad,
        Truncation::MaskedHits,
        Truncation::LateHits,
        Truncation::FilteredHits,
        Truncation::FullBuffers,
        Truncation::LostHits,
        Truncation::BanksLeftOut,
    ];

    /// Returns the name, which the `dropped` counts give as the reason.
    pub fn name(self) -> &'static str {
        match self {
            Truncation::CandidatesInWindow => "candidates_in_window",
            Truncation::HitsOnTrack => "hits_on_track",
            Truncation::BanksMarkedBad => "banks_marked_bad",
            Truncation::MaskedHits => "masked_hits",
            Truncation::LateHits => "late_hits",
            Truncation::FilteredHits => "filtered_hits",
            Truncation::FullBuffers => "full_buffers",
            Truncation::LostHits => "lost_hits",
            Truncation::BanksLeftOut => "banks_left_out",
        }
    }
}

/// Counts of one stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StageCounter {
    /// Wall-clock time, summed over threads, ns.
    pub ns: u64,
    /// Times of the parts of the stage, in the order of [`Stage::parts`](crate::engine::Stage), ns.
    pub parts: [u64; MAX_PARTS],
    /// Number of input items, such as hits or candidates (no unit).
    pub items_in: u64,
    /// Number of output items, such as hits, candidates or tracks (no unit).
    pub items_out: u64,
    /// Number of lanes that did useful work, summed over all steps of all gangs (no unit).
    pub lanes_active: u64,
    /// Number of all lanes, summed over all steps of all gangs (no unit).
    pub lanes_total: u64,
}

impl StageCounter {
    /// Returns the share of lanes that did useful work, 0 to 1; `None` if the stage does not count lanes.
    pub fn occupancy(&self) -> Option<f64> {
        (self.lanes_total > 0).then(|| self.lanes_active as f64 / self.lanes_total as f64)
    }

    /// Adds the counts of other events.
    pub fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        self.parts.iter_mut().zip(&other.parts).for_each(|(sum, ns)| *sum += ns);
        self.items_in += other.items_in;
        self.items_out += other.items_out;
        self.lanes_active += other.lanes_active;
        self.lanes_total += other.lanes_total;
    }
}

/// Counts for a number of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Counts of each stage, in the order of the sequence (no unit).
    pub stages: [StageCounter; MAX_STAGES],
    status: [u64; Status::ALL.len()],
    truncated: [u64; Truncation::ALL.len()],
}

impl Counters {
    /// Counts the status of one event; call it once per event, for [`Status::Ok`] too.
    pub fn count_event(&mut self, status: Status) {
        self.status[status.code() as usize] += 1;
    }

    /// Changes the counted status of `events` events from [`Status::Ok`] to [`Status::Partial`].
    pub fn count_partial(&mut self, events: u64) {
        self.status[Status::Ok as usize] -= events;
        self.status[Status::Partial as usize] += events;
    }

    /// Counts `items` items that were dropped for the reason `what`.
    pub fn count_truncated(&mut self, what: Truncation, items: u64) {
        self.truncated[what as usize] += items;
    }

    /// Returns the number of items that were dropped for the reason `what`.
    pub fn truncated(&self, what: Truncation) -> u64 {
        self.truncated[what as usize]
    }

    /// Sets all counts to zero.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the number of events with any status.
    pub fn events(&self) -> u64 {
        self.status.iter().sum()
    }

    /// Returns the reason and count of each loss, unless the count is 0: events by status, then items by `Truncation`.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let events = Status::ALL.iter().zip(&self.status).skip(1).map(|(status, &n)| (status.name(), n));
        let items = Truncation::ALL.iter().zip(&self.truncated).map(|(what, &n)| (what.name(), n));
        events.chain(items).filter(|&(_, n)| n > 0)
    }

    /// Returns the counts since `before`, an earlier copy of these counters.
    pub fn since(&self, before: &Self) -> Self {
        let mut since = *self;
        for (stage, before) in since.stages.iter_mut().zip(&before.stages) {
            stage.ns -= before.ns;
            stage.parts.iter_mut().zip(&before.parts).for_each(|(now, before)| *now -= before);
            stage.items_in -= before.items_in;
            stage.items_out -= before.items_out;
            stage.lanes_active -= before.lanes_active;
            stage.lanes_total -= before.lanes_total;
        }
        since.status.iter_mut().zip(&before.status).for_each(|(now, before)| *now -= before);
        since.truncated.iter_mut().zip(&before.truncated).for_each(|(now, before)| *now -= before);
        since
    }

    /// Adds the counts of one algorithm of a sequence: stages and truncations, but not events. Stage i of `part` is
    /// added to stage `stages[i]`.
    pub fn add_part(&mut self, part: &Self, stages: &[usize]) {
        stages.iter().zip(&part.stages).for_each(|(&at, stage)| self.stages[at].add(stage));
        self.truncated.iter_mut().zip(&part.truncated).for_each(|(sum, n)| *sum += n);
    }

    /// Adds the counts of other events.
    pub fn merge(&mut self, other: &Self) {
        self.stages.iter_mut().zip(&other.stages).for_each(|(sum, stage)| sum.add(stage));
        self.status.iter_mut().zip(&other.status).for_each(|(sum, n)| *sum += n);
        self.truncated.iter_mut().zip(&other.truncated).for_each(|(sum, n)| *sum += n);
    }
}

/// A stopwatch that is read once per stage: the end of a stage is also the start of the next stage.
#[derive(Debug)]
pub struct StageClock(Instant);

impl StageClock {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Adds to `stage` the time since the start or the previous lap. The function is never inlined, so that instruction
    /// counts can be attributed to stages, too (`benches/instructions`).
    #[inline(never)]
    pub fn lap(&mut self, stage: &mut StageCounter) {
        stage.ns += self.restart();
    }

    /// Adds to the part `part` of `stage` the time since the start or the previous lap.
    #[inline(never)]
    pub fn lap_part(&mut self, stage: &mut StageCounter, part: usize) {
        stage.parts[part] += self.restart();
    }

    /// The time since the start or the last call, ns.
    #[inline(always)]
    fn restart(&mut self) -> u64 {
        let now = Instant::now();
        let ns = (now - self.0).as_nanos() as u64;
        self.0 = now;
        ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_index_their_own_arrays() {
        for (i, status) in Status::ALL.iter().enumerate() {
            assert_eq!(status.code() as usize, i);
        }
        for (i, what) in Truncation::ALL.iter().enumerate() {
            assert_eq!(*what as usize, i);
        }
    }

    #[test]
    fn algorithms_of_a_sequence_count_in_their_own_stages() {
        let (mut whole, mut part) = (Counters::default(), Counters::default());
        part.stages[1].items_in = 7;
        part.count_truncated(Truncation::LateHits, 2);
        part.count_event(Status::Ok);
        whole.add_part(&part, &[0, 1]);
        whole.add_part(&part, &[4, 5]);
        assert_eq!([1, 5].map(|stage| whole.stages[stage].items_in), [7, 7]);
        assert_eq!((whole.events(), whole.dropped().collect::<Vec<_>>()), (0, vec![("late_hits", 4)]));
    }

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let mut one = Counters::default();
        one.count_event(Status::Ok);
        one.count_event(Status::NotFinite);
        one.stages[1].ns = 5;
        let mut two = Counters::default();
        two.count_event(Status::Ok);
        two.count_truncated(Truncation::HitsOnTrack, 3);
        two.stages[1].lanes_total = 8;
        two.stages[1].lanes_active = 6;
        let (mut ab, mut ba) = (one, two);
        ab.merge(&two);
        ba.merge(&one);
        assert_eq!(ab, ba);
        assert_eq!(ab.events(), 3);
        assert_eq!(ab.dropped().collect::<Vec<_>>(), [("not_finite", 1), ("hits_on_track", 3)]);
        assert_eq!(ab.stages[1].occupancy(), Some(0.75));
        assert_eq!(ab.stages[0].occupancy(), None);
    }
}
