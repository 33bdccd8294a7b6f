//! [`Pulses`]: heartbeats of the halves of a Timepix4, at equal intervals shorter than the period of the hits' counter.
//!
//! The counter of hits has 16 bits (1.6 ms). It is extended to the time nearest to the last heartbeat of the hit's
//! half, or to the half's last hits where heartbeats are lost. A heartbeat is accepted if it comes a whole number of
//! intervals after the previous heartbeat; otherwise it is doubtful, and the words of its half wait for the next
//! heartbeat. If the next heartbeat continues the heartbeats before the doubt, the doubtful heartbeat is set aside; if
//! it continues the doubtful heartbeat, both are accepted. When times of one half jump, its words wait until the other
//! half jumps, too: the halves are read out up to 0.1 s apart.

use super::{Action, MAX_WAITING, PAUSE, Sink, Timeline};
use peloton::event::TICKS_PER_CLOCK;

/// Longest time between two heartbeats of a half that agree, clocks of 25 ns: 2 s.
const LONGEST_INTERVAL: i64 = 80_000_000;
/// Time around which 16 bits are extended before any heartbeat, clocks: no time is below zero.
const UNDATED: i64 = 1 << 15;

/// The event for which the words of a half wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Words wait for a first heartbeat.
    #[default]
    First,
    /// Words wait for a heartbeat that confirms or contradicts this one.
    Doubt(i64),
    /// Words wait until the other half jumps as well; time jumps to this heartbeat.
    Jump(i64),
    /// No words wait.
    Runs,
}

#[derive(Debug, Default)]
struct Half {
    state: State,
    /// The last accepted heartbeat, clocks.
    last: Option<i64>,
    /// The latest time that two consecutive hits have reached, clocks; `hit` is the last hit.
    running: i64,
    hit: i64,
    interval: Option<i64>,
    /// Clocks added by restarts.
    offset: i64,
    waiting: Vec<u64>,
    /// Index of the doubtful heartbeat in `waiting`.
    doubtful: usize,
}

impl Half {
    /// Whether a heartbeat comes a whole number of intervals after the last one.
    fn goes_on(&self, beat: i64) -> bool {
        let Some(last) = self.last else { return false };
        let step = beat - last;
        let is_regular = |interval: i64| step > 0 && step % interval == 0;
        step == 0 || self.interval.is_some_and(is_regular)
    }
}

/// The heartbeats of both halves.
#[derive(Debug, Default)]
pub(in super::super) struct Pulses {
    halves: [Half; 2],
}

impl Pulses {
    /// Whether the words of a half wait for heartbeats.
    #[inline(always)]
    pub fn waits(&self, half: usize) -> bool {
        self.halves[half].state != State::Runs
    }

    /// The time around which a half's hits are extended, and the offset that restarts added to it, both in clocks.
    #[inline(always)]
    pub fn near(&self, half: usize) -> [i64; 2] {
        let Half { last, running, offset, .. } = self.halves[half];
        [last.unwrap_or(UNDATED).max(running), offset]
    }

    /// Records the time of a hit of a half, clocks.
    #[inline(always)]
    pub fn hit(&mut self, half: usize, clocks: i64) {
        let half = &mut self.halves[half];
        half.running = half.running.max(half.hit.min(clocks));
        half.hit = clocks;
    }

    /// Lets the word of a hit wait for heartbeats.
    #[cold]
    pub fn wait(&mut self, half: usize, word: u64, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        self.halves[half].waiting.push(word);
        let waiting: usize = self.halves.iter().map(|half| half.waiting.len()).sum();
        if waiting < MAX_WAITING { Action::GoOn } else { self.give_up(to) }
    }

    /// Removes and returns the words of a half that need not wait any longer, in order of arrival.
    pub fn take_waiting(&mut self, half: usize) -> Vec<u64> {
        if self.waits(half) { Vec::new() } else { std::mem::take(&mut self.halves[half].waiting) }
    }

    /// Processes a heartbeat, given as its time in clocks of 25 ns and as its word.
    pub fn beat(
        &mut self,
        half: usize,
        [beat, word]: [i64; 2],
        to: &mut (&mut Timeline, Sink<'_>),
    ) -> Action {
        let this = &mut self.halves[half];
        if this.state == State::Runs {
            let step = this.last.map_or(0, |last| beat - last);
            if this.interval.is_none() && (1..=LONGEST_INTERVAL).contains(&step) {
                this.interval = Some(step);
            }
            if this.goes_on(beat) {
                // Both halves cross a long gap together.
                if step <= to.0.disorder() / TICKS_PER_CLOCK {
                    this.last = Some(beat);
                    return Action::GoOn;
                }
                this.waiting.push(word as u64);
                let next = beat + this.interval.unwrap_or(0);
                return self.accept(half, [beat, next], to);
            }
        }
        this.waiting.push(word as u64);
        let place = this.waiting.len() - 1;
        match this.state {
            State::First | State::Runs => (this.state, this.doubtful) = (State::Doubt(beat), place),
            State::Jump(_) if this.waiting.len() >= MAX_WAITING => return self.give_up(to),
            State::Jump(_) => {}
            State::Doubt(_) if this.goes_on(beat) => {
                self.reject(half, to);
                self.halves[half].state = State::Runs;
                return Action::Replay;
            }
            State::Doubt(doubted) if (1..=LONGEST_INTERVAL).contains(&(beat - doubted)) => {
                return self.accept(half, [doubted, beat], to);
            }
            State::Doubt(_) => {
                this.state = State::Doubt(beat);
                self.reject(half, to);
                self.halves[half].doubtful = place - 1;
            }
        }
        Action::GoOn
    }

    /// Decides about the waiting words without further heartbeats, at the end of the stream or after a long wait.
    #[cold]
    pub fn give_up(&mut self, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        for half in 0..2 {
            match self.halves[half].state {
                State::Doubt(beat) if self.halves[half].last.is_none() => {
                    (self.halves[half].last, self.halves[half].state) = (Some(beat), State::Runs);
                }
                State::Doubt(_) => {
                    self.reject(half, to);
                    self.halves[half].state = State::Runs;
                }
                State::First => self.halves[half].state = State::Runs,
                State::Jump(_) | State::Runs => {}
            }
        }
        self.jump(to);
        Action::Replay
    }

    /// Rejects the doubtful heartbeat: counts it and drops its word.
    fn reject(&mut self, half: usize, to: &mut (&mut Timeline, Sink<'_>)) {
        let half = &mut self.halves[half];
        half.waiting.remove(half.doubtful);
        to.1.counts.implausible += 1;
    }

    /// Accepts a heartbeat that was doubtful or follows a gap.
    fn accept(&mut self, half: usize, [beat, next]: [i64; 2], to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        let (now, disorder) = (to.0.around() / TICKS_PER_CLOCK, to.0.disorder() / TICKS_PER_CLOCK);
        let is_first = !to.0.is_started();
        let (this, other) = if half == 0 { (0, 1) } else { (1, 0) };
        self.halves[this].interval = Some(next - beat).filter(|interval| *interval > 0);
        // If only the other half has restarted before, this half takes over its offset.
        let offset = self.halves[other].offset;
        let is_near = |offset: i64| (beat + offset - now).abs() <= disorder;
        if is_first || is_near(self.halves[this].offset) {
            (self.halves[this].last, self.halves[this].state) = (Some(beat), State::Runs);
            return Action::Replay;
        }
        if is_near(offset) {
            let half = &mut self.halves[this];
            (half.last, half.offset, half.state) = (Some(beat), offset, State::Runs);
            (half.running, half.hit) = (0, 0);
            return Action::Replay;
        }
        self.halves[this].state = State::Jump(beat);
        let has_to_come = |half: &Half| half.last.is_some() && !matches!(half.state, State::Jump(_));
        if self.halves.iter().any(has_to_come) {
            return Action::GoOn;
        }
        self.jump(to);
        Action::Replay
    }

    /// Lets time jump for all halves that wait for a jump.
    fn jump(&mut self, to: &mut (&mut Timeline, Sink<'_>)) {
        let (now, latest) = (to.0.around() / TICKS_PER_CLOCK, to.0.latest() / TICKS_PER_CLOCK);
        let (mut begin, mut restarts) = (i64::MAX, 0);
        for half in &mut self.halves {
            let State::Jump(beat) = half.state else { continue };
            if beat + half.offset < now {
                (half.offset, restarts) = (latest + PAUSE / TICKS_PER_CLOCK, 1);
            }
            (half.last, half.state) = (Some(beat), State::Runs);
            (half.running, half.hit) = (0, 0);
            begin = begin.min(beat + half.offset);
        }
        if begin < i64::MAX {
            to.1.counts.restarts += restarts;
            to.0.begin(begin * TICKS_PER_CLOCK, &mut to.1);
        }
    }
}
