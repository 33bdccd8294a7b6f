//! The sequences that decode raw banks of UT and SciFi to hits.

use super::over_banks::OverBanks;

/// The sequence `ut`: decodes UT banks to UT hits.
pub static UT: OverBanks = hits("ut", &["ut_hits"]);

/// The sequence `scifi-hits`: decodes SciFi banks to SciFi hits.
pub static SCIFI_HITS: OverBanks = hits("scifi-hits", &["scifi_hits"]);

const fn hits(name: &'static str, algorithms: &'static [&'static str]) -> OverBanks {
    OverBanks { name, algorithms, presets: &[], losses: None }
}
