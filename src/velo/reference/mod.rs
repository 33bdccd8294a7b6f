//! Naive reference of all presets, for tests: finds the same tracks as the kernels, bit for bit, by plain loops over
//! one hit at a time.
//!
//! The reference shares only the configuration and the geometry with the kernels, and has no gangs, tables, blocks or
//! packing. Details that determine bits are the same as in the kernels: the order of arithmetic operations, fused
//! multiply-adds (`mul_add`), and which of equally good hits is taken. The reference is too slow for other uses.

mod find;
mod fit;
mod fit_f64;
mod forwarding;
mod join;
mod link;
mod modules;
mod paper;
mod scores;

use super::config::{FitConfig, LimitConfig, MAX_WINDOW, Preset, VeloConfig};
use super::geometry::PAIRS;
use crate::Status;
use crate::event::{VELO_MODULES, VeloEvent, VeloEvents, VeloTracks};

pub use fit_f64::{Filtered, Line, fit_f64};
pub use scores::{Judge, Scores};

/// A comparison in the reference that is wrong on purpose, to show that tests detect such a fault.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No fault: the correct reference.
    None,
    /// Takes the last of equally near hits, not the first.
    LastOfEquals,
    /// Drops a track as a clone even if exactly the allowed share of its hits is on longer tracks.
    CloneAtLimit,
    /// Takes the hit farther from the line, not the nearer hit.
    Farthest,
}

impl Fault {
    /// Returns whether a hit with the distance `this` is better than the best so far.
    fn better(self, this: f32, best: f32) -> bool {
        match self {
            Self::LastOfEquals => this <= best,
            Self::Farthest => this > best,
            _ => this < best,
        }
    }
}

/// A hit of a pair.
#[derive(Debug, Clone, Copy)]
struct Hit {
    x: f32,
    y: f32,
    z: f32,
    /// Direction from the beam axis, 0..256 (see [`phi_turn`]).
    bin: u32,
    /// Index in the event's columns.
    source: usize,
    /// Whether a track has the hit.
    used: bool,
}

impl Hit {
    fn position(&self) -> [f32; 3] {
        [self.x, self.y, self.z]
    }
}

/// Number of bins of a turn.
const BINS: u32 = 256;

/// Reconstructs all events, and returns the same tracks as [`super::reconstruct`] on every level.
pub fn reconstruct(config: &VeloConfig, events: VeloEvents<'_>) -> VeloTracks {
    reconstruct_with(Fault::None, config, events)
}

/// Reconstructs all events with a deliberate fault, which tests must detect.
#[doc(hidden)]
pub fn reconstruct_with(fault: Fault, config: &VeloConfig, events: VeloEvents<'_>) -> VeloTracks {
    let mut out = VeloTracks::default();
    for event in 0..events.len() {
        let event = events.event(event);
        let status = check(&event, &config.limits);
        if status == Status::Ok {
            let (tracks, shared) = match config.preset {
                Preset::Best | Preset::TwoPass => {
                    (find::find(fault, config, sort(&event)), config.best.shared_hits)
                }
                Preset::Fast => (link::find(fault, config, &event), 1.0),
                Preset::Paper | Preset::PaperLiteral => (paper::find(fault, config, &event), 1.0),
                Preset::Forwarding => (forwarding::find(fault, config, &event), 1.0),
            };
            for track in without_clones(fault, shared, tracks, event.len()) {
                let hits: Vec<_> =
                    track.iter().map(|&hit| [event.x[hit], event.y[hit], event.z[hit]]).collect();
                fit::fit(&config.fit, &hits, &mut out);
                track.iter().for_each(|&hit| out.hits.push(event.id[hit]));
                out.hit_start.push(out.hits.len() as u32);
            }
        }
        out.track_start.push(out.tracks() as u32);
        out.status.push(status);
    }
    out
}

/// Fits tracks, given as positions of hits, and returns the same results as [`super::fit_tracks`] on every level.
pub fn fit_tracks<Hits: AsRef<[[f32; 3]]>>(config: &FitConfig, tracks: &[Hits]) -> VeloTracks {
    let mut out = VeloTracks::default();
    for track in tracks.iter().map(AsRef::as_ref) {
        fit::fit(config, track, &mut out);
        track.iter().for_each(|_| out.hits.push(out.hits.len() as u32));
        out.hit_start.push(out.hits.len() as u32);
    }
    out.track_start.push(out.tracks() as u32);
    out.status.push(Status::Ok);
    out
}

/// Returns `Ok` if an event can be reconstructed, or else the first reason against it.
fn check(event: &VeloEvent<'_>, limits: &LimitConfig) -> Status {
    let all = |good: fn(f32, f32) -> bool| {
        let mut values = event.x.iter().chain(event.y).chain(event.z);
        values.all(|&value| good(value, limits.coordinate))
    };
    if event.status != Status::Ok {
        event.status
    } else if event.len() > limits.hits as usize {
        Status::TooManyHits
    } else if (0..VELO_MODULES).any(|module| event.module(module).len() > limits.hits_in_module as usize) {
        Status::TooManyHitsInModule
    } else if !all(|value, _| value.is_finite()) {
        Status::NotFinite
    } else if !all(|value, most| value.abs() <= most) {
        Status::OutOfRange
    } else {
        Status::Ok
    }
}

/// Returns the hits of each pair of modules by phi bin, in input order within a bin.
fn sort(event: &VeloEvent<'_>) -> Vec<Vec<Hit>> {
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        let mut hits = Vec::new();
        for source in event.module(2 * pair).chain(event.module(2 * pair + 1)) {
            let (x, y, z) = (event.x[source], event.y[source], event.z[source]);
            hits.push(Hit { x, y, z, bin: truncate(phi_turn(x, y).0) % BINS, source, used: false });
        }
        hits.sort_by_key(|hit| hit.bin); // stable
        pairs.push(hits);
    }
    pairs
}

/// Returns the direction on the diamond scale in bins, 0..=256, and 1 / (|x| + |y|).
fn phi_turn(x: f32, y: f32) -> (f32, f32) {
    let scale = 1.0 / max(x.abs() + y.abs(), 1e-30);
    let t = y * scale;
    let turn = if x < 0.0 {
        2.0 - t
    } else if y < 0.0 {
        4.0 + t
    } else {
        t
    };
    (turn * (BINS as f32 / 4.0), scale)
}

/// Returns the indices of the hits in the bins from `middle - half` to `middle + half`, continued past the last bin:
/// first the hits from the leftmost bin up, then the hits from bin 0 up. A window much wider than any window of a
/// search is empty.
fn window(hits: &[Hit], middle: f32, half: f32) -> Vec<usize> {
    let middle = middle + BINS as f32;
    let (left, right) = (truncate(middle - half), truncate(middle + half));
    let (first, width) = (left % BINS, right.wrapping_sub(left));
    if width >= 2 * MAX_WINDOW + 2 {
        return Vec::new();
    }
    let inside = |&place: &usize| (BINS + hits[place].bin - first) % BINS <= width;
    let up = (0..hits.len()).filter(|&place| hits[place].bin >= first);
    let round = (0..hits.len()).filter(|&place| hits[place].bin < first);
    up.chain(round).filter(inside).collect()
}

/// Truncates towards zero and returns two's complement; NaN and values that do not fit give 2^31.
fn truncate(value: f32) -> u32 {
    if value < 2_147_483_648.0 { value as i32 as u32 } else { i32::MIN as u32 }
}

/// Returns the smaller value, or `b` if one of them is NaN, which `f32::min` does not promise.
fn min(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the larger value, or `b` if one of them is NaN.
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Returns the tracks from the longest to the shortest, then in the order of finding, without tracks with a share of
/// more than `shared` of their hits on earlier tracks.
fn without_clones(fault: Fault, shared: f32, mut tracks: Vec<Vec<usize>>, hits: usize) -> Vec<Vec<usize>> {
    let mut taken = vec![false; hits];
    tracks.sort_by_key(|track| std::cmp::Reverse(track.len())); // stable
    tracks.retain(|track| {
        let held = track.iter().filter(|&&hit| taken[hit]).count() as f32;
        let most = shared * track.len() as f32;
        let keep = if fault == Fault::CloneAtLimit { held < most } else { held <= most };
        if keep {
            track.iter().for_each(|&hit| taken[hit] = true);
        }
        keep
    });
    tracks
}
