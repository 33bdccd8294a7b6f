//! Decides whether doubtful samples are accepted, are set aside, or show a restart of the clock.

use super::timeline::{Sink, Timeline};
use super::{OBJECTIONS, PAUSE, Payload, RESTART_RUN, Sample, nearest};

/// Largest sum of the ticks added by restarts: fifty years.
const MAX_OFFSET: i64 = 1 << 60;

/// Position of a sample relative to the running time.
enum Place {
    Near,
    Ahead,
    Behind,
}

/// Decision about the first samples that wait.
enum Verdict {
    /// The first sample is believed, and the running time becomes at least this time.
    Believe(i64),
    /// This many samples are set aside.
    SetAside(usize),
    Restart,
    Wait,
}

impl Timeline {
    /// Decides about the samples that wait, as far as possible; at the `end` of a stretch, about all of them.
    pub(super) fn settle(&mut self, end: bool, to: &mut Sink<'_>) {
        while let Some(first) = self.queue.front().copied() {
            let time = self.extended(first.time);
            if first.payload == Payload::Witness {
                self.queue.pop_front();
                self.see(time);
                continue;
            }
            let verdict = match self.place(time) {
                Place::Near => Verdict::Believe(self.near.now),
                Place::Ahead => self.judge_ahead(first, time, end),
                Place::Behind => self.judge_behind(end),
            };
            match verdict {
                Verdict::Believe(reached) => {
                    self.queue.pop_front();
                    self.start_at(time);
                    self.near.now = self.near.now.max(reached);
                    self.believe(Sample { time, ..first }, to);
                }
                Verdict::SetAside(count) => {
                    let samples = self.queue.drain(..count);
                    let lost = samples.filter(|sample| sample.payload != Payload::Witness).count();
                    to.counts.implausible += lost as u64;
                }
                Verdict::Restart => self.start_again(Some(time), to),
                Verdict::Wait => break,
            }
        }
        self.bound();
    }

    /// Sets the running time to the first sample of a stretch.
    fn start_at(&mut self, time: i64) {
        if !self.is_started {
            (self.near.now, self.near.last, self.is_started) = (time, time, true);
        }
    }

    /// The time nearest to the running time that has this value of the counter; never below zero.
    fn extended(&self, time: i64) -> i64 {
        let Some(wrap) = self.wrap else { return time };
        let time = nearest(time, wrap, self.around());
        if time < 0 { time + wrap } else { time }
    }

    fn place(&self, time: i64) -> Place {
        if !self.is_started || time > self.near.now.max(self.near.last) + self.near.ahead {
            Place::Ahead
        } else if time < self.near.now - self.behind || self.found_wrap(time).is_some() {
            Place::Behind
        } else {
            Place::Near
        }
    }

    /// The period after which the counter has wrapped, if `time` shows that it has.
    fn found_wrap(&self, time: i64) -> Option<i64> {
        let is_over = |wrap: &&i64| {
            (**wrap - **wrap / 8..**wrap).contains(&self.near.now) && time < self.near.now - **wrap / 2
        };
        self.possible_wraps.iter().find(is_over).copied()
    }

    /// How much later `time` is than `than`.
    fn later(&self, time: i64, than: i64) -> i64 {
        self.wrap.map_or(time - than, |wrap| nearest(time - than, wrap, 0))
    }

    /// Decides about a sample that is ahead, from the samples after it.
    fn judge_ahead(&self, first: Sample, time: i64, end: bool) -> Verdict {
        let (mut objections, mut group) = (0, first.group);
        for sample in self.queue.iter().skip(1) {
            if sample.group != 0 && sample.group == group {
                continue;
            }
            let later = self.later(sample.time, time);
            if later >= -self.near.ahead {
                return Verdict::Believe(time + later.min(0));
            }
            if sample.payload == Payload::Witness {
                continue;
            }
            // In a sparse stream without heartbeats, it is not known which of two times is wrong.
            if !self.is_dated && !matches!(self.place(self.extended(sample.time)), Place::Near) {
                return Verdict::Believe(self.near.now);
            }
            (objections, group) = (objections + 1, sample.group);
            if objections == OBJECTIONS {
                break;
            }
        }
        let of_group = |sample: &&Sample| first.group != 0 && sample.group == first.group;
        match objections {
            0 if end => Verdict::Believe(time),
            0 => Verdict::Wait,
            1 if !end => Verdict::Wait,
            _ => Verdict::SetAside(1 + self.queue.iter().skip(1).take_while(of_group).count()),
        }
    }

    /// Decides about a sample that is behind: whether more of the samples after it are behind or near.
    fn judge_behind(&self, end: bool) -> Verdict {
        let place = |sample: &Sample| self.place(self.extended(sample.time));
        let (mut behind, mut near, mut ahead, mut group) = (0, 0, 0, 0);
        for (i, sample) in self.queue.iter().enumerate() {
            if sample.payload == Payload::Witness || sample.group != 0 && sample.group == group {
                continue;
            }
            group = sample.group;
            match place(sample) {
                Place::Behind => behind += 1,
                Place::Near => near += 1,
                Place::Ahead => ahead += 1,
            }
            if behind == RESTART_RUN || !self.is_dated && i > 0 && near == 0 {
                return Verdict::Restart;
            }
            // In a sparse stream, samples that continue the running time are ahead.
            if near + ahead >= OBJECTIONS && near + ahead >= behind {
                let is_behind = |sample: &&Sample| matches!(place(sample), Place::Behind);
                return Verdict::SetAside(self.queue.iter().take_while(is_behind).count());
            }
        }
        match end {
            false => Verdict::Wait,
            true if near + ahead > 0 => Verdict::SetAside(1),
            true => Verdict::Restart,
        }
    }

    /// Restarts the clock, with a sample at `time` if known. A counter that wraps continues with its next turn, any other
    /// after a pause.
    pub(super) fn start_again(&mut self, time: Option<i64>, to: &mut Sink<'_>) {
        let found = time.and_then(|time| self.found_wrap(time));
        if let (Some(time), Some(wrap)) = (time, found.or(self.wrap)) {
            if found.is_some() {
                self.wraps_after(wrap);
            } else if self.is_dated {
                to.counts.restarts += 1;
                self.unexplained += 1;
            }
            // Beyond the largest time, the turn is kept, so that nothing overflows.
            self.near.now = if time + wrap < MAX_OFFSET { time + wrap } else { time };
        } else {
            to.counts.restarts += 1;
            let offset = self.near.offset + self.near.latest.max(0) + PAUSE;
            // Beyond the largest time, times repeat, so that nothing overflows.
            self.near.offset = if offset < MAX_OFFSET { offset } else { self.near.offset };
            self.near.now = 0;
        }
        self.near.last = self.near.now;
        self.seen = i64::MIN;
        self.is_started = false;
    }
}
