//! [`Preset`]: a name for the parameters of all stages of a sequence.

use peloton::long::LongPreset;
use peloton::scifi::SciFiPreset;
use peloton::velo;
use serde::{Deserialize, Serialize};

/// A set of parameters. A stage that has no parameters of this name takes those that go best with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// The best physics at the best speed that we know.
    #[default]
    Best,
    /// What the papers tell.
    Paper,
    /// The sequential track forwarding of the Velo.
    Forwarding,
    /// LHCb's first trigger stage of 2023.
    Hlt1,
}

peloton::names!(Preset, "preset", {
    Best => "best", Paper => "paper", Forwarding => "forwarding", Hlt1 => "hlt1",
});

impl Preset {
    /// That of the Velo.
    pub fn velo(self) -> velo::Preset {
        match self {
            Self::Best | Self::Hlt1 => velo::Preset::Best,
            Self::Paper => velo::Preset::Paper,
            Self::Forwarding => velo::Preset::Forwarding,
        }
    }

    /// That of the SciFi.
    pub fn scifi(self) -> SciFiPreset {
        match self {
            Self::Best => SciFiPreset::Best,
            Self::Paper | Self::Forwarding | Self::Hlt1 => SciFiPreset::Hlt1,
        }
    }

    /// That of long tracks.
    pub fn long(self) -> LongPreset {
        match self {
            Self::Best => LongPreset::Best,
            Self::Paper | Self::Forwarding | Self::Hlt1 => LongPreset::Hlt1,
        }
    }
}
