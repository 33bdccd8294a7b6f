//! The sequences of long tracks: from raw banks of Velo and SciFi to tracks through both detectors, with or without UT.

use super::over_banks::OverBanks;
use super::scifi::scifi_losses;
use crate::Preset;
use peloton_truth::{LongLosses, Matching};

const PRESETS: &[Preset] = &[Preset::Best, Preset::Fast, Preset::TwoPass, Preset::Hlt1];

/// The sequence `long`: decodes Velo and SciFi banks and finds long tracks.
pub static LONG: OverBanks = OverBanks {
    name: "long",
    algorithms: &["velo_tracks", "scifi_hits", "scifi_tracks", "long_tracks"],
    presets: PRESETS,
    losses: Some(|parts, config| {
        let seeds = scifi_losses(parts, config)?;
        let make = |parameters| Ok(Matching::Long(Box::new(parts.long(config, parameters)?), Box::default()));
        Ok(Box::new(LongLosses::new(parts.velo(config)?, seeds, None, &config.long, make)?))
    }),
};

/// The sequence `long-ut`: finds long tracks, and adds their hits in the UT.
pub static LONG_UT: OverBanks = OverBanks {
    name: "long-ut",
    algorithms: &["velo_tracks", "ut_hits", "scifi_hits", "scifi_tracks", "long_tracks"],
    presets: PRESETS,
    losses: Some(|parts, config| {
        let seeds = scifi_losses(parts, config)?;
        let make =
            |parameters| Ok(Matching::LongUt(Box::new(parts.long_ut(config, parameters)?), Box::default()));
        Ok(Box::new(LongLosses::new(parts.velo(config)?, seeds, Some(parts.ut()?), &config.long, make)?))
    }),
};
