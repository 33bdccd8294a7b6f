//! [`Heartbeats`] of Timepix3, which determine the turn (number of wraps) of the hits' counter.
//!
//! The counter of hits has 30 bits and wraps every 26.8 s; a heartbeat has 48 bits. A heartbeat only determines the
//! turn of the hits' counter: the decoder extends the times of hits around the running time, whose turn comes from the
//! heartbeats.
//!
//! - The first turn comes from two heartbeats that are at most an eighth of a turn apart. Until then, words wait.
//! - A heartbeat is doubtful if it is further than an eighth of a turn from the running time, or before the previous
//!   heartbeat of its chip. The following words then wait for the next heartbeat. If the next heartbeat agrees with the
//!   running time, the doubtful heartbeat is set aside. If the next heartbeat agrees with the doubtful heartbeat, the
//!   stream has a long gap (doubtful heartbeat ahead) or the clock was restarted (doubtful heartbeat behind).
//! - After a restart, heartbeats are shifted by whole turns, so that the times of hits need no shift.

use super::{Action, MAX_WAITING, Sink, Timeline, nearest};
use peloton::event::TICKS_PER_CLOCK;

/// A turn of the hits' counter, clocks of 25 ns.
pub(in super::super) const TURN: i64 = 1 << 30;
/// Largest distance of a heartbeat from the running time, or from another heartbeat, with which it agrees, clocks.
const REACH: i64 = TURN / 8;
/// Time span after which hits no longer wait, clocks; heartbeats come once a second.
const LONGEST_WAIT: i64 = 160_000_000;
/// Largest heartbeat including the turns added by restarts, clocks: smaller values cannot overflow.
const LARGEST: i64 = 1 << 56;
/// Number of heartbeats after which the first turn is chosen even if no two agree.
const FIRST_BEATS: usize = 3;

/// A word that waits, with the data needed to read it later.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Waiting {
    /// The word of a hit or trigger; for a heartbeat, its time in clocks of 25 ns.
    pub word: u64,
    pub chip: u8,
    pub is_beat: bool,
}

/// The event for which words wait.
#[derive(Debug)]
enum State {
    /// Words wait for the first turn; these are the first heartbeats so far.
    First(Vec<i64>),
    /// Words wait for a heartbeat that confirms or contradicts this one.
    Doubt(i64),
    /// No words wait.
    Runs,
}

/// The heartbeats of all chips of a stream.
#[derive(Debug)]
pub(in super::super) struct Heartbeats {
    state: State,
    /// Clocks that are added to heartbeats: whole turns.
    offset: i64,
    /// The last heartbeat of each chip, clocks.
    last: [Option<i64>; 256],
    waiting: Vec<Waiting>,
    /// The first hit that waits, clocks of the hits' counter; `span` is the largest delay of a hit after it.
    first_hit: Option<i64>,
    span: i64,
    /// Whether times count from the turn of the first hit, because no heartbeat came in time.
    is_undated: bool,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self {
            state: State::First(Vec::new()),
            offset: 0,
            last: [None; 256],
            waiting: Vec::new(),
            first_hit: None,
            span: 0,
            is_undated: false,
        }
    }
}

impl Heartbeats {
    /// Whether words wait for a heartbeat.
    #[inline(always)]
    pub fn waits(&self) -> bool {
        !matches!(self.state, State::Runs)
    }

    /// Lets a word wait for a heartbeat; `clocks` is the hits' counter if the word is a hit.
    #[cold]
    pub fn wait(
        &mut self,
        chip: u8,
        word: u64,
        clocks: Option<i64>,
        to: &mut (&mut Timeline, Sink<'_>),
    ) -> Action {
        self.waiting.push(Waiting { word, chip, is_beat: false });
        if let Some(clocks) = clocks {
            let first = *self.first_hit.get_or_insert(clocks);
            self.span = self.span.max(nearest(clocks - first, TURN, 0));
        }
        if self.waiting.len() < MAX_WAITING && self.span <= LONGEST_WAIT {
            return Action::GoOn;
        }
        self.give_up(to)
    }

    /// Removes and returns the waiting words, in order of arrival.
    pub fn take_waiting(&mut self) -> Vec<Waiting> {
        (self.first_hit, self.span) = (None, 0);
        std::mem::take(&mut self.waiting)
    }

    /// Lets words that `take_waiting` returned wait again.
    pub fn wait_again(&mut self, words: impl Iterator<Item = Waiting>) {
        self.waiting.extend(words);
    }

    /// Processes a heartbeat of a chip; `beat` is its time in clocks of 25 ns.
    pub fn beat(&mut self, chip: u8, beat: i64, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        match &mut self.state {
            State::Runs => {
                if self.is_undated {
                    self.date(beat, to.0);
                }
                if self.follows(chip, beat, to.0) {
                    self.last[usize::from(chip)] = Some(beat);
                    to.0.witness((beat + self.offset) * TICKS_PER_CLOCK, &mut to.1);
                    return Action::GoOn;
                }
                self.state = State::Doubt(beat);
                self.waiting.push(Waiting { word: beat as u64, chip, is_beat: true });
                Action::GoOn
            }
            State::First(beats) => {
                self.waiting.push(Waiting { word: beat as u64, chip, is_beat: true });
                let agrees = beats.iter().copied().find(|earlier| (beat - earlier).abs() <= REACH);
                beats.push(beat);
                match agrees {
                    Some(anchor) => self.start(anchor, to),
                    None if beats.len() == FIRST_BEATS => self.give_up(to),
                    None => Action::GoOn,
                }
            }
            &mut State::Doubt(doubted) => {
                self.waiting.push(Waiting { word: beat as u64, chip, is_beat: true });
                let is_gap = doubted + self.offset > to.0.around() / TICKS_PER_CLOCK;
                let longest = if is_gap { i64::MAX } else { LONGEST_WAIT };
                let agrees = (-REACH..longest).contains(&(beat - doubted));
                if agrees && !self.follows(chip, beat, to.0) {
                    self.accept(doubted, to)
                } else {
                    self.reject(to)
                }
            }
        }
    }

    /// Decides about the waiting words without a further heartbeat, at the end of the stream or after a long wait.
    #[cold]
    pub fn give_up(&mut self, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        match &mut self.state {
            State::Runs => Action::GoOn,
            State::First(beats) if beats.is_empty() => {
                (self.state, self.is_undated) = (State::Runs, true);
                to.0.set_dated(false);
                Action::Replay
            }
            State::First(beats) => {
                beats.sort_unstable();
                let middle = beats[beats.len() / 2];
                self.start(middle, to)
            }
            &mut State::Doubt(beat) => {
                let now = to.0.around() / TICKS_PER_CLOCK;
                let is_near = |hit: i64| (nearest(hit, TURN, now) - now).abs() <= REACH / 16;
                let goes_on = self.waiting.iter().filter_map(|waiting| waiting.hit()).any(is_near);
                let is_gap = beat + self.offset > now + REACH;
                if is_gap && !goes_on { self.accept(beat, to) } else { self.reject(to) }
            }
        }
    }

    /// Takes the first turn from a heartbeat.
    fn start(&mut self, anchor: i64, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        self.state = State::Runs;
        to.0.begin(anchor * TICKS_PER_CLOCK, &mut to.1);
        Action::Replay
    }

    /// Whether a heartbeat agrees with the running time and with the previous heartbeat of its chip.
    fn follows(&self, chip: u8, beat: i64, clock: &Timeline) -> bool {
        let disorder = clock.disorder() / TICKS_PER_CLOCK;
        let is_behind = self.last[usize::from(chip)].is_some_and(|last| beat < last - disorder);
        let distance = beat + self.offset - clock.around() / TICKS_PER_CLOCK;
        !is_behind && distance.abs() <= REACH
    }

    /// Moves the first heartbeat of a stream to the turn of its hits, which did not wait for it.
    fn date(&mut self, beat: i64, clock: &mut Timeline) {
        let now = clock.around() / TICKS_PER_CLOCK;
        let moved = nearest(beat, TURN, now);
        if (moved - now).abs() <= REACH {
            self.offset = moved - beat;
        }
        self.is_undated = false;
        clock.set_dated(true);
    }

    /// Accepts the doubtful heartbeat, after a gap or a restart.
    fn accept(&mut self, beat: i64, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        let (now, running) = (to.0.around() / TICKS_PER_CLOCK, to.0.running() / TICKS_PER_CLOCK);
        let disorder = to.0.disorder() / TICKS_PER_CLOCK;
        if beat + self.offset.max(now) > LARGEST {
            return self.reject(to);
        }
        (self.state, self.last) = (State::Runs, [None; 256]);
        if to.0.is_started() && beat + self.offset <= now + REACH && beat + self.offset >= running - disorder
        {
            // The heartbeat contradicts no hit: the earlier heartbeats were too late.
            to.0.forget((beat + self.offset) * TICKS_PER_CLOCK);
            to.1.counts.implausible += 1;
            return Action::Replay;
        }
        if beat + self.offset > now + REACH {
            to.0.begin((beat + self.offset) * TICKS_PER_CLOCK, &mut to.1);
            return Action::Replay;
        }
        let moved = nearest(beat, TURN, now);
        if to.0.take_unexplained() > 0 && (moved - now).abs() <= REACH {
            self.offset = moved - beat;
            return Action::Replay;
        }
        let behind = now + (beat - now).rem_euclid(TURN);
        self.offset = behind - beat;
        to.1.counts.restarts += 1;
        to.0.begin(behind * TICKS_PER_CLOCK, &mut to.1);
        Action::Replay
    }

    /// Rejects the doubtful heartbeat, which is the first word that waits.
    fn reject(&mut self, to: &mut (&mut Timeline, Sink<'_>)) -> Action {
        self.state = State::Runs;
        self.waiting.remove(0);
        to.1.counts.implausible += 1;
        Action::Replay
    }
}

impl Waiting {
    /// The counter of a hit, clocks; none for other words.
    fn hit(&self) -> Option<i64> {
        (!self.is_beat && self.word >> 60 == 0xB).then(|| hit_clocks(self.word))
    }
}

/// The counter of a hit's word, clocks of 25 ns.
#[inline(always)]
pub(in super::super) fn hit_clocks(word: u64) -> i64 {
    ((word & 0xFFFF) << 14 | (word >> 30 & 0x3FFF)) as i64
}
