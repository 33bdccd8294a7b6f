//! The clock of a stream of pixel hits: accepts times, rejects implausible times, and recognises restarts.
//!
//! The decoder of a stream passes the hits and triggers of all chips as [`Sample`]s to one [`Timeline`], and heartbeats
//! as witnesses. If counters wrap, the decoder extends them to the times nearest to [`Timeline::around`].
//! [`Heartbeats`] (Timepix3) and [`Pulses`] (Timepix4) decide which heartbeats may move `around`.
//!
//! ```text
//!              behind            near                ahead
//! time ----------|------------------------------|----------------->
//!          now - disorder     now    max(now, last) + disorder
//!
//! near    the sample is believed; now = max(now, min(last, sample)), last = sample
//! ahead   it waits: the next sample at its time minus the disorder or later confirms it (a gap); two consecutive samples
//!         before that time set it aside
//! behind  it waits: eight samples behind are a restart; two other samples set it aside, unless more samples are behind
//! ```
//! `now` is the latest time that two consecutive samples both reached, so one wrong time does not change other times.
//! Samples that are set aside are dropped and counted ([`PixelCounts::implausible`](super::PixelCounts::implausible)).
//! Restarts of the clock are counted; after a restart, time continues from the latest time. At the end of a stream, a
//! waiting sample is accepted unless another sample contradicts it.

mod beats;
mod pulses;
#[cfg(test)]
mod reference;
mod settle;
#[cfg(test)]
mod tests;
mod timeline;

pub(super) use beats::{Heartbeats, TURN, Waiting, hit_clocks};
pub(super) use pulses::Pulses;
pub(super) use timeline::{Near, Sink, Timeline};

/// Number of samples behind the running time after which the clock counts as restarted.
const RESTART_RUN: usize = 8;
/// Number of samples before the time of a sample ahead after which it is set aside.
const OBJECTIONS: usize = 2;
/// Pause between the end of one run and the zero of the next, ticks: one second.
pub(super) const PAUSE: i64 = 640_000_000;
/// Smallest disorder that the clock allows, ticks: one millisecond.
const LEAST_DISORDER: i64 = 640_000;
/// Largest number of words that wait for heartbeats; a word takes 16 bytes, for Timepix4 8 bytes.
const MAX_WAITING: usize = 1 << 23;

/// A hit or trigger and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// Time in ticks of the device's clock; for a counter that wraps, any time with the sample's counter value.
    pub time: i64,
    /// Number of the group of samples whose times come from one timestamp word; 0 for a single sample. Samples of a
    /// group neither confirm nor contradict one another.
    pub group: u32,
    pub payload: Payload,
}

/// The next action of the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Continue with the next word.
    GoOn,
    /// Read the words that wait, from the first on.
    Replay,
}

/// The source of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    /// x, y on the sensor and time over threshold, clocks of 25 ns.
    Hit([u16; 3]),
    /// Fine time, steps of 0.26 ns; the device's count; edge; chip.
    Trigger { fine: u8, counter: u16, edge: peloton::event::Edge, chip: u8 },
    /// A heartbeat: it confirms, but does not object.
    Witness,
}

/// The value nearest to `near` that is `value` modulo `wrap`.
#[inline(always)]
fn nearest(value: i64, wrap: i64, near: i64) -> i64 {
    let difference = value.wrapping_sub(near);
    let turns = difference.wrapping_add(wrap / 2).div_euclid(wrap);
    value.wrapping_sub(turns.wrapping_mul(wrap))
}
