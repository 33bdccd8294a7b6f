//! UT and SciFi: raw banks to hits.

use super::over_banks::OverBanks;

/// UT banks to UT hits.
pub static UT: OverBanks = hits("ut", &["ut_hits"]);

/// SciFi banks to SciFi hits.
pub static SCIFI_HITS: OverBanks = hits("scifi-hits", &["scifi_hits"]);

const fn hits(name: &'static str, algorithms: &'static [&'static str]) -> OverBanks {
    OverBanks { name, algorithms, presets: &[], losses: None }
}
