//! Velo and UT: raw banks to Velo tracks with hits in the UT.

use super::over_banks::OverBanks;
use crate::Preset;
use peloton_truth::VeloUtLosses;

/// Decodes Velo and UT banks and finds tracks through both.
pub static VELO_UT: OverBanks = OverBanks {
    name: "velo-ut",
    // Hits in the order that the search reads: see `OverBanks::names`.
    algorithms: &["velo_tracks", "ut_cells", "velo_ut_tracks"],
    presets: &[
        Preset::Best,
        Preset::Fast,
        Preset::TwoPass,
        Preset::Hlt1,
        Preset::Hlt1Unrestricted,
        Preset::Paper,
    ],
    losses: Some(|parts, config| {
        Ok(Box::new(VeloUtLosses::new(parts.velo(config)?, parts.ut()?, config.ut.clone())?))
    }),
};
