//! [`Preset`]: the names of the parameter sets that sequences have.

use crate::SequenceName;
use peloton::long::LongPreset;
use peloton::scifi::SciFiPreset;
use peloton::ut::UtPreset;
use peloton::velo;
use serde::{Deserialize, Serialize};

/// A set of parameters for all stages; a stage without a preset of this name uses its most similar preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The best physics results (efficiency, ghosts, clones), with the fastest known algorithms.
    #[default]
    Best,
    /// Parameters that find nearly the same particles as `best` in half the time, for the first level of a trigger; the
    /// UT search takes only tracks with transverse momenta above 0.25 GeV/c. Stages without such a preset use `best`.
    Fast,
    /// The search for Velo tracks in two passes, which GPUs run. All other stages use `best`.
    TwoPass,
    /// Algorithms with the steps of the published papers.
    Paper,
    /// Like `paper`, but the Velo search follows its paper literally.
    PaperLiteral,
    /// The Velo search that extends one track after the other, module by module.
    Forwarding,
    /// The cuts of LHCb's first trigger stage in 2023.
    Hlt1,
    /// The cuts of `hlt1`, except for lower cuts on the transverse momentum.
    Hlt1Unrestricted,
}

peloton::names!(Preset, "preset", {
    Best => "best",
    Fast => "fast",
    TwoPass => "two-pass",
    Paper => "paper",
    PaperLiteral => "paper-literal",
    Forwarding => "forwarding",
    Hlt1 => "hlt1",
    Hlt1Unrestricted => "hlt1-unrestricted",
});

impl Preset {
    /// Returns the matching preset of the search for Velo tracks.
    pub fn velo(self) -> velo::Preset {
        match self {
            Self::Best | Self::Hlt1 | Self::Hlt1Unrestricted => velo::Preset::Best,
            Self::Fast => velo::Preset::Fast,
            Self::TwoPass => velo::Preset::TwoPass,
            Self::Paper => velo::Preset::Paper,
            Self::PaperLiteral => velo::Preset::PaperLiteral,
            Self::Forwarding => velo::Preset::Forwarding,
        }
    }

    /// Returns the matching preset of the search for UT hits of Velo tracks.
    pub fn ut(self) -> UtPreset {
        match self {
            Self::Best | Self::TwoPass => UtPreset::Best,
            Self::Fast => UtPreset::Fast,
            Self::Paper | Self::PaperLiteral | Self::Forwarding => UtPreset::Paper,
            Self::Hlt1 => UtPreset::Hlt1,
            Self::Hlt1Unrestricted => UtPreset::Hlt1Unrestricted,
        }
    }

    /// Returns the matching preset of the search for tracks in the SciFi.
    pub fn scifi(self) -> SciFiPreset {
        match self {
            Self::Best | Self::TwoPass => SciFiPreset::Best,
            Self::Fast => SciFiPreset::Fast,
            _ => SciFiPreset::Hlt1,
        }
    }

    /// Returns the matching preset of the search for long tracks.
    pub fn long(self) -> LongPreset {
        match self {
            Self::Best | Self::TwoPass => LongPreset::Best,
            Self::Fast => LongPreset::Fast,
            _ => LongPreset::Hlt1,
        }
    }

    /// Returns the events on which the parameters of this preset were chosen for a sequence, because results should be
    /// quoted on other events. None for sequences whose parameters were not chosen on events.
    pub fn chosen_on(self, sequence: SequenceName) -> Option<&'static str> {
        let is_ours = matches!(self, Self::Best | Self::Fast | Self::TwoPass);
        match sequence {
            SequenceName::VeloUt | SequenceName::SciFi | SequenceName::Long | SequenceName::LongUt
                if !is_ours =>
            {
                Some("nothing: published cuts")
            }
            SequenceName::VeloUt => Some("sim:lhcb, seeds 1 to 999 and 4242"),
            SequenceName::SciFi if self == Self::Fast => {
                Some("sim:lhcb, seeds 31, 101 to 140 and 801 to 840")
            }
            SequenceName::SciFi => {
                Some("sim:lhcb,realism=1, seeds 101 to 140 and 801 to 840; windows on sim:lhcb, seed 31")
            }
            SequenceName::Long | SequenceName::LongUt => {
                Some("sim:lhcb,realism=1, seeds 141 to 400 and 801 to 999")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures are quoted on seeds from 5000 on.
    #[test]
    fn what_a_preset_was_chosen_on_is_told() {
        let of = |preset: Preset, sequence| preset.chosen_on(sequence);
        assert!(of(Preset::Best, SequenceName::Long).is_some_and(|on| on.contains("realism=1")));
        assert!(of(Preset::Hlt1, SequenceName::LongUt).is_some_and(|on| on.contains("published")));
        assert_eq!(of(Preset::Best, SequenceName::Timepix), None);
    }

    #[test]
    fn names_that_stages_have_too_are_theirs() {
        for preset in velo::Preset::ALL {
            assert_eq!(preset.to_string().parse::<Preset>().unwrap().velo(), preset);
        }
        for preset in UtPreset::ALL {
            assert_eq!(preset.name().parse::<Preset>().unwrap().ut(), preset);
        }
    }
}
