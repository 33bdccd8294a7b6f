//! The sequence of Velo and UT: finds Velo tracks in raw banks and adds UT hits.

use super::over_banks::OverBanks;
use crate::Preset;
use peloton_truth::VeloUtLosses;

/// The sequence `velo-ut`: decodes Velo and UT banks and finds tracks through both detectors.
pub static VELO_UT: OverBanks = OverBanks {
    name: "velo-ut",
    // `OverBanks::names` replaces `ut_cells` if the search reads the hits in another order.
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
