//! Compares reconstructed tracks with simulated particles, the truth.
//!
//! A [`Checker`] takes events one by one, each as its [`TruthEvent`] and the hit lists of its tracks, and
//! gives a [`CheckReport`]: ghosts, and for each category of particles the efficiency, clones, purity and
//! hit efficiency, with tables of efficiency against momentum, angle and multiplicity. The [`Rules`] define
//! which particles count as found. The reconstruction does not use this crate.
#![deny(unsafe_code, missing_docs)]

mod checker;
mod cylinder;
mod cylinder_fit_pulls;
mod cylinder_pulls;
mod cylinder_tables;
mod efficiency;
mod json_rules;
mod lhcb_rules;
mod lhcb_tracks;
mod losses;
mod matching;
mod momentum;
mod output;
mod paired;
mod report;
mod rows;
mod stages;
mod state_pulls;
mod tables;
mod track_file;
mod track_matcher;
pub mod train;
mod velo_pulls;

pub use checker::Checker;
pub use cylinder::{CylinderCategory, CylinderChecker, CylinderReport};
pub use cylinder_fit_pulls::{CylinderFitPulls, LayerPulls};
pub use cylinder_pulls::{CylinderPulls, Pull, Resolution};
pub use cylinder_tables::{CylinderBin, CylinderTable};
pub use efficiency::{Counter, clopper_pearson};
pub use lhcb_tracks::detector_of;
pub use losses::{
    CylinderLosses, FindLosses, LongLosses, Loss, LossReport, Losses, Matching, SciFiLosses, VeloLosses,
    VeloUtLosses,
};
pub use momentum::{Measured, MomentumBin, MomentumReport};
pub use output::{TruthOutput, truth_files};
pub use paired::{Paired, PairedCategory, PairedChecker};
pub use peloton::event::{Particle, TruthEvent};
pub use peloton_io::input::mdf::{HitsOf, Vertex, decode_mc, decode_vertices};
pub use report::{CategoryReport, CheckReport, FastGhosts};
pub use rows::{EventMatches, EventRows, PARTICLE_FIELDS, ParticleMatch, TRACK_FIELDS, TrackMatch};
pub use stages::{LossTable, StageLoss, StageLosses};
pub use state_pulls::{FittedState, Place, PullHistogram, StatePull, StatePulls};
pub use tables::{EfficiencyBin, EfficiencyTable, GhostBin, GhostTable};
pub use track_file::{OtherTrack, TrackFile};
pub use track_matcher::TrackMatcher;
pub use velo_pulls::{ImpactParameter, VeloHits, VeloPullReport, VeloPulls};

use peloton::Error;
use std::{fmt, str::FromStr};

/// Rules that define found particles, clones and ghosts, and the categories of particles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rules {
    /// The strict validator of the public Velo JSON events (github.com/dcampora/velopix_tracking). More than 70 % of a
    /// track's hits must match. There is no cut on pseudorapidity. The clone rate is clones per found particle.
    Json,
    /// LHCb's checker for Velo tracks: at least 70 % of a track's hits; categories with 2 < eta < 5; clones per track.
    Lhcb,
    /// LHCb's track checker for Velo tracks that were extended to the UT. Hits are LHCbIDs.
    LhcbUt,
    /// LHCb's track checker for tracks in the SciFi. Hits are LHCbIDs.
    LhcbSeed,
    /// LHCb's track checker for tracks through Velo and SciFi, with or without UT hits. Hits are LHCbIDs.
    LhcbLong,
}

impl Rules {
    /// All rules.
    pub const ALL: [Rules; 5] = [Rules::Json, Rules::Lhcb, Rules::LhcbUt, Rules::LhcbSeed, Rules::LhcbLong];

    /// Returns the detectors whose hits the truth must contain for these rules.
    pub fn hits_of(self) -> HitsOf {
        match self {
            Rules::Json | Rules::Lhcb => HitsOf::Velo,
            Rules::LhcbUt | Rules::LhcbSeed | Rules::LhcbLong => HitsOf::All,
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Rules::Json => "json",
            Rules::Lhcb => "lhcb",
            Rules::LhcbUt => "lhcb-ut",
            Rules::LhcbSeed => "lhcb-seed",
            Rules::LhcbLong => "lhcb-long",
        })
    }
}

impl FromStr for Rules {
    type Err = Error;

    /// # Errors
    /// [`Error::Config`] that lists the rules.
    fn from_str(text: &str) -> peloton::Result<Self> {
        Self::ALL.into_iter().find(|rules| rules.to_string() == text).ok_or_else(|| {
            let names = Self::ALL.map(|rules| rules.to_string()).join(", ");
            Error::Config(format!("unknown rules `{text}`: choose one of {names}"))
        })
    }
}
