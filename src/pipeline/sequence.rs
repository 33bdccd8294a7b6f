//! [`Sequence`]: which chain of stages runs, and what its stages are called.

use crate::{Error, Result, cylinder, timepix, velo};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A chain of stages that turns hits into the objects a detector is there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sequence {
    /// Velo banks or hits to Velo tracks.
    #[default]
    Velo,
    /// UT banks to UT hits.
    Ut,
    /// SciFi banks to SciFi hits.
    #[serde(rename = "scifi")]
    SciFi,
    /// Pixel hits to clusters; a stream, which [`timepix::Chain`] runs and not the event engine.
    Timepix,
    /// Hits of the cylinder detector to tracks with states; a [`CylinderPool`](super::CylinderPool) runs it.
    Cylinder,
}

/// One stage of a sequence: a name and what goes in and out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// Name used in results.
    pub name: &'static str,
    /// What it takes.
    pub input: &'static str,
    /// What it makes.
    pub output: &'static str,
}

const VELO_STAGES: [Stage; 4] = [
    Stage { name: velo::STAGES[0], input: "raw banks, or hits by module", output: "hits by module" },
    Stage { name: velo::STAGES[1], input: "hits by module", output: "hits by phi" },
    Stage { name: velo::STAGES[2], input: "hits by phi", output: "tracks as hit lists" },
    Stage { name: velo::STAGES[3], input: "tracks as hit lists", output: "states" },
];

const UT_STAGES: [Stage; 1] = [Stage { name: "decode", input: "raw banks", output: "hits by group and y" }];

const SCIFI_STAGES: [Stage; 1] = [Stage { name: "decode", input: "raw banks", output: "hits by zone and x" }];

const TIMEPIX_STAGES: [Stage; 4] = [
    Stage { name: timepix::STAGES[0], input: "hits as read out", output: "hits at their true time" },
    Stage { name: timepix::STAGES[1], input: "hits at their true time", output: "hits in order of time" },
    Stage { name: timepix::STAGES[2], input: "hits in order of time", output: "clusters as hit lists" },
    Stage { name: timepix::STAGES[3], input: "clusters as hit lists", output: "clusters with features" },
];

const CYLINDER_STAGES: [Stage; 4] = [
    Stage { name: cylinder::STAGES[0], input: "hits by layer", output: "hits by azimuth and z" },
    Stage { name: cylinder::STAGES[1], input: "hits by azimuth and z", output: "seeds with states" },
    Stage { name: cylinder::STAGES[2], input: "seeds with states", output: "tracks as hit lists" },
    Stage { name: cylinder::STAGES[3], input: "tracks as hit lists", output: "states" },
];

impl Sequence {
    /// All sequences.
    pub const ALL: [Sequence; 5] =
        [Sequence::Velo, Sequence::Ut, Sequence::SciFi, Sequence::Timepix, Sequence::Cylinder];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Sequence::Velo => "velo",
            Sequence::Ut => "ut",
            Sequence::SciFi => "scifi",
            Sequence::Timepix => "timepix",
            Sequence::Cylinder => "cylinder",
        }
    }

    /// The stages in the order they run; stage i counts in `Counters::stages[i]`.
    pub fn stages(self) -> &'static [Stage] {
        match self {
            Sequence::Velo => &VELO_STAGES,
            Sequence::Ut => &UT_STAGES,
            Sequence::SciFi => &SCIFI_STAGES,
            Sequence::Timepix => &TIMEPIX_STAGES,
            Sequence::Cylinder => &CYLINDER_STAGES,
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Sequence {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|sequence| sequence.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Sequence::name);
            Error::Config(format!("no sequence `{name}` in this build; there are {}", names.join(", ")))
        })
    }
}
