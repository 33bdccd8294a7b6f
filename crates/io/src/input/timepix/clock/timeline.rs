//! [`Timeline`]: the running time of a stream of pixel hits, for any format.

use super::super::PixelCounts;
use super::{LEAST_DISORDER, Payload, Sample};
use peloton::event::PixelBlock;
use std::collections::VecDeque;

/// Largest number of samples that wait; then they are treated as at the end of the stream.
const MAX_QUEUE: usize = 1 << 10;

/// Destination of believed samples, and counts of all others.
pub(in super::super) struct Sink<'a> {
    pub block: &'a mut PixelBlock,
    pub counts: &'a mut PixelCounts,
}

/// The running time, and the limits of times near it, ticks of the device's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Near {
    /// Latest time that two consecutive samples have reached; before the first sample, the time around which it is extended.
    pub(super) now: i64,
    /// Time of the last sample or heartbeat.
    pub(super) last: i64,
    /// Latest time of all samples.
    pub(super) latest: i64,
    /// Latest time that may be believed at once; `i64::MIN` while others wait.
    high: i64,
    /// Largest distance of a sample ahead of the running time that is not doubtful.
    pub(super) ahead: i64,
    /// Largest distance of a sample behind the running time that needs no further checks.
    quick: i64,
    /// Ticks that are added to the device's times because of restarts.
    pub offset: i64,
}

impl Near {
    /// Accepts a sample at `time` if it is near the running time. Otherwise does nothing and returns false.
    #[inline(always)]
    pub fn takes(&mut self, time: i64) -> bool {
        let is_near = time <= self.high && time >= self.now - self.quick;
        if is_near {
            self.advance(time);
        }
        is_near
    }

    /// Accepts samples if all would be near the running time in any order. Otherwise does nothing and returns false.
    #[inline(always)]
    pub fn takes_all<const N: usize>(&mut self, times: &[i64; N]) -> bool {
        let least = times.iter().fold(i64::MAX, |least, time| least.min(*time));
        let most = times.iter().fold(i64::MIN, |most, time| most.max(*time));
        let high = self.high.min(self.now.saturating_add(self.ahead));
        let is_near = most <= high && least >= self.now.max(most).saturating_sub(self.quick);
        if is_near && let [first, .., last] = times[..] {
            let pairs = times.iter().zip(&times[1..]).map(|(a, b)| *a.min(b));
            let now = pairs.fold(self.last.min(first), i64::max);
            self.now = self.now.max(now);
            self.latest = self.latest.max(most);
            self.last = last;
            self.high = self.now.max(last) + self.ahead;
        }
        is_near
    }

    #[inline(always)]
    fn advance(&mut self, time: i64) {
        self.now = self.now.max(self.last.min(time));
        self.last = time;
        self.latest = self.latest.max(time);
        self.high = self.now.max(time) + self.ahead;
    }
}

/// The running time of a stream, and the doubtful samples.
#[derive(Debug)]
pub(in super::super) struct Timeline {
    pub(super) near: Near,
    /// Largest distance of a sample behind the running time that is not doubtful.
    pub(super) behind: i64,
    /// Period of the counter that gives the times; none if it does not wrap.
    pub(super) wrap: Option<i64>,
    /// Possible periods of a counter whose period is not known.
    pub(super) possible_wraps: &'static [i64],
    /// Time of the last heartbeat: counters are extended around it if there are no hits.
    pub(super) seen: i64,
    /// Whether heartbeats determine the turn of the counter, or it does not wrap.
    pub(super) is_dated: bool,
    pub(super) is_started: bool,
    pub(super) queue: VecDeque<Sample>,
    /// Restarts that no heartbeat has explained yet.
    pub(super) unexplained: u32,
}

impl Timeline {
    /// A timeline for a clock that does not wrap. Samples may be out of order by up to `disorder` ticks.
    pub fn new(disorder: i64) -> Self {
        let disorder = disorder.clamp(LEAST_DISORDER, i64::MAX >> 3);
        let (ahead, quick) = (disorder, disorder);
        Self {
            near: Near { now: 0, last: 0, latest: 0, high: i64::MIN, ahead, quick, offset: 0 },
            behind: disorder,
            wrap: None,
            possible_wraps: &[],
            seen: i64::MIN,
            is_dated: true,
            is_started: false,
            queue: VecDeque::new(),
            unexplained: 0,
        }
    }

    /// A timeline for a counter that wraps after `wrap` ticks. The disorder is limited to an eighth of `wrap`.
    pub fn wrapping(disorder: i64, wrap: i64) -> Self {
        let mut timeline = Self::new(disorder);
        timeline.wraps_after(wrap);
        timeline
    }

    /// A timeline for a counter that may wrap after any of these numbers of ticks, given in rising order.
    pub fn finding(disorder: i64, possible_wraps: &'static [i64]) -> Self {
        let mut timeline = Self { possible_wraps, ..Self::new(disorder) };
        if let Some(least) = possible_wraps.first() {
            let Near { ahead, quick, .. } = &mut timeline.near;
            (*ahead, *quick) = ((*ahead).min(least / 8), (*quick).min(least / 2));
        }
        timeline
    }

    /// A timeline that accepts all samples, for hits without a time of arrival.
    pub fn unchecked() -> Self {
        let bound = i64::MAX >> 1;
        let mut timeline = Self { behind: bound, is_started: true, ..Self::new(0) };
        let Near { ahead, quick, high, .. } = &mut timeline.near;
        (*ahead, *quick, *high) = (bound, bound, bound);
        timeline
    }

    /// The time around which counters are extended: the running time or a later heartbeat, ticks of the device's clock.
    #[inline(always)]
    pub fn around(&self) -> i64 {
        self.near.now.max(self.seen)
    }

    /// The running time from hits and triggers, without heartbeats, ticks.
    pub fn running(&self) -> i64 {
        self.near.now
    }

    /// Discards the times of heartbeats after `time`, which were wrong; counters are no longer extended around them.
    pub fn forget(&mut self, time: i64) {
        self.seen = self.seen.min(time);
    }

    /// Sets whether the turn of the counter is known from heartbeats.
    pub fn set_dated(&mut self, is_dated: bool) {
        self.is_dated = is_dated;
    }

    /// Whether there was a sample since the last (re)start.
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// The latest time of all accepted and waiting samples, ticks.
    pub fn newest(&self) -> i64 {
        self.queue.iter().map(|sample| sample.time).fold(self.near.latest, i64::max)
    }

    /// The latest accepted time, ticks.
    pub fn latest(&self) -> i64 {
        self.near.latest
    }

    /// Largest time by which a sample may come after a later sample, ticks.
    pub fn disorder(&self) -> i64 {
        self.behind
    }

    /// The running time, to accept many samples at once. [`take`](Self::take) handles the samples that `Near` rejects.
    pub fn near(&mut self) -> &mut Near {
        &mut self.near
    }

    /// Processes the next sample: accepts it or lets it wait.
    #[inline(always)]
    pub fn take(&mut self, sample: Sample, to: &mut Sink<'_>) {
        if self.near.takes(sample.time) {
            self.emit(sample, to);
        } else {
            self.doubt(sample, to);
        }
    }

    /// Processes a heartbeat, which may confirm waiting samples. Later samples near the heartbeat are accepted.
    pub fn witness(&mut self, time: i64, to: &mut Sink<'_>) {
        self.seen = self.seen.max(time);
        if self.queue.is_empty() {
            self.see(time);
        } else {
            // Of consecutive heartbeats, only the last is kept.
            if self.queue.back().is_some_and(|sample| sample.payload == Payload::Witness) {
                self.queue.pop_back();
            }
            self.queue.push_back(Sample { time, group: 0, payload: Payload::Witness });
            self.settle(false, to);
        }
    }

    /// Records a heartbeat. It comes before the hits of its time, so it does not move the running time.
    pub(super) fn see(&mut self, time: i64) {
        if self.is_started && time >= self.near.now - self.behind {
            self.near.last = time;
            self.bound();
        }
    }

    /// Begins again with the next sample, whose time is near `near`, after a known gap or restart.
    pub fn begin(&mut self, near: i64, to: &mut Sink<'_>) {
        self.finish(to);
        (self.near.now, self.near.last, self.is_started) = (near, near, false);
        self.bound();
        self.seen = i64::MIN;
        self.unexplained = 0;
    }

    /// Restarts the clock with the next sample, where the input marks a restart. Times continue from the latest time.
    pub fn restart(&mut self, to: &mut Sink<'_>) {
        self.finish(to);
        if self.is_started {
            self.start_again(None, to);
            self.bound();
        }
    }

    /// Ends the stream: accepts or sets aside all samples that wait.
    pub fn finish(&mut self, to: &mut Sink<'_>) {
        self.settle(true, to);
    }

    /// Returns the number of restarts that no heartbeat has explained, and sets it to 0.
    pub fn take_unexplained(&mut self) -> u32 {
        std::mem::take(&mut self.unexplained)
    }

    /// Sets the period of the counter, ticks.
    pub(super) fn wraps_after(&mut self, wrap: i64) {
        self.wrap = Some(wrap);
        self.possible_wraps = &[];
        for bound in [&mut self.near.ahead, &mut self.behind, &mut self.near.quick] {
            *bound = (*bound).min(wrap / 8);
        }
    }

    /// Updates the time up to which the next sample is believed at once: none while others wait.
    pub(super) fn bound(&mut self) {
        let is_open = self.queue.is_empty() && self.is_started;
        let Near { now, last, ahead, .. } = self.near;
        self.near.high = if is_open { now.max(last) + ahead } else { i64::MIN };
    }

    /// Believes a sample at any position.
    pub(super) fn believe(&mut self, sample: Sample, to: &mut Sink<'_>) {
        self.near.advance(sample.time);
        self.emit(sample, to);
    }

    #[inline(always)]
    fn emit(&mut self, sample: Sample, to: &mut Sink<'_>) {
        let time = sample.time + self.near.offset;
        if let Payload::Hit([x, y, tot]) = sample.payload {
            to.block.hits.push(time, x, y, tot);
            to.counts.hits += 1;
        } else if let Payload::Trigger { fine, counter, edge, chip } = sample.payload {
            to.block.triggers.push(time, fine, counter, edge, chip);
            to.counts.triggers += 1;
        }
    }

    #[cold]
    fn doubt(&mut self, sample: Sample, to: &mut Sink<'_>) {
        // A further sample of a group gives no new information.
        let is_of_group = |last: &Sample| sample.group != 0 && last.group == sample.group;
        let waits = self.queue.back().is_some_and(is_of_group) && self.queue.len() < MAX_QUEUE;
        self.queue.push_back(sample);
        if !waits {
            self.settle(self.queue.len() > MAX_QUEUE, to);
        }
    }
}
