//! The sequence of the SciFi: decodes raw banks and finds tracks.

use super::over_banks::OverBanks;
use super::parts::Parts;
use crate::{Config, Preset};
use peloton::Result;
use peloton_truth::SciFiLosses;

/// The sequence `scifi`: decodes SciFi banks and finds tracks in the SciFi.
pub static SCIFI: OverBanks = OverBanks {
    name: "scifi",
    algorithms: &["scifi_hits", "scifi_tracks"],
    presets: &[Preset::Best, Preset::Fast, Preset::Hlt1],
    losses: Some(|parts, config| Ok(Box::new(scifi_losses(parts, config)?))),
};

/// Makes the search for the steps at which particles were lost in the SciFi track search.
pub(super) fn scifi_losses(parts: &Parts, config: &Config) -> Result<SciFiLosses> {
    let make = |parameters| parts.scifi_as(config, parameters);
    SciFiLosses::new(parts.scifi_geometry()?, &config.scifi, make)
}
