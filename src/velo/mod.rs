//! Velo tracks. Stand-in: strings hits of following modules together by their order, so that the pipeline
//! has something to carry.

pub mod geometry;

use crate::event::{Counters, StageClock, VeloEvents, VeloTracks};
use crate::simd::Level;
use crate::{Error, Result, Status};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::str::FromStr;

/// Sets of parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The paper's.
    Paper,
    /// The best.
    #[default]
    Best,
    /// Track forwarding.
    Forwarding,
}

/// Stages, as counted.
pub const STAGES: [&str; 4] = ["decode", "sort", "find", "fit"];

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Best => "best",
            Self::Paper => "paper",
            Self::Forwarding => "forwarding",
        })
    }
}

impl FromStr for Preset {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "paper" => Ok(Self::Paper),
            "best" => Ok(Self::Best),
            "forwarding" => Ok(Self::Forwarding),
            _ => Err(Error::Config(format!("no preset `{name}`"))),
        }
    }
}

/// Parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VeloConfig {
    /// Which algorithm runs.
    pub preset: Preset,
    /// Sizes.
    pub limits: LimitConfig,
}

/// Sizes beyond which an event is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitConfig {
    /// Most hits an event may have.
    pub hits: u32,
}

impl VeloConfig {
    /// The parameters of a preset.
    pub fn preset(preset: Preset) -> Self {
        Self { preset, limits: LimitConfig { hits: if preset == Preset::Best { 100_000 } else { 1 } } }
    }
    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn validate(&self) -> Result<()> {
        if self.limits.hits == 0 {
            return Err(Error::Config("max_hits must be at least 1".into()));
        }
        Ok(())
    }
}

/// Scratch memory of one thread.
#[derive(Debug, Default)]
pub struct VeloWorkspace;

/// Appends the tracks of `range` to `out`.
pub fn reconstruct(
    _: Level,
    config: &VeloConfig,
    events: VeloEvents<'_>,
    range: Range<usize>,
    _: &mut VeloWorkspace,
    out: &mut VeloTracks,
    counters: &mut Counters,
) {
    for e in range {
        let event = events.event(e);
        let mut clock = StageClock::start();
        let status = if event.status != Status::Ok {
            event.status
        } else if event.x.iter().any(|x| !x.is_finite()) {
            Status::NotFinite
        } else if event.len() > config.limits.hits as usize {
            Status::TooManyHits
        } else {
            Status::Ok
        };
        clock.lap(&mut counters.stages[0]);
        if status == Status::Ok {
            for m in (0..46).step_by(6) {
                let rows = [event.module(m), event.module(m + 2), event.module(m + 4)];
                for ((a, b), c) in rows[0].clone().zip(rows[1].clone()).zip(rows[2].clone()) {
                    out.hits.extend_from_slice(&[event.id[a], event.id[b], event.id[c]]);
                    out.hit_start.push(out.hits.len() as u32);
                    out.chi2.push(event.x[a]);
                    out.backward.push(0);
                    for states in [&mut out.beam, &mut out.end] {
                        states.columns_mut().into_iter().for_each(|column| column.push(event.y[b]));
                    }
                }
            }
        }
        clock.lap(&mut counters.stages[2]);
        out.track_start.push(out.hit_start.len() as u32 - 1);
        out.status.push(status);
        counters.count_event(status);
    }
}
