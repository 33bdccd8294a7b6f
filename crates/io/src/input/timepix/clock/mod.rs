//! The clock of a stream of pixel hits: accepts times, rejects implausible times, and recognises restarts.
//!
//! Every format feeds one [`Timeline`] per stream, for any number of chips: hits and triggers as [`Sample`]s,
//! heartbeats as witnesses. Formats whose counters wrap extend them around [`Timeline::around`]; [`Heartbeats`]
//! (Timepix3) and [`Pulses`] (Timepix4) decide which heartbeats the extension may follow.
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
//! `now` is the latest time that two consecutive samples have reached, so that one wrong time has no effect on
//! others. Samples that are set aside are counted ([`PixelCounts::implausible`](super::PixelCounts::implausible)); a
//! restart is counted and the time continues from the latest time. At the end of a stream a waiting sample is
//! accepted, except a sample ahead that was contradicted once.

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
    /// Ticks of the device's clock; for a counter that wraps, any of the possible times.
    pub time: i64,
    /// Number of the group of samples whose times come from the same data (a timestamp word): they neither
    /// confirm nor contradict one another; 0 for a single sample.
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
