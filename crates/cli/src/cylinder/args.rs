//! Flags for the cylinder detector, laid over `[cylinder]` of the configuration.

use clap::Args;
use peloton::cylinder::{Builder, CylinderConfig, SeedSource};

/// Flags of the sequence cylinder.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Sequence cylinder")]
pub struct CylinderArgs {
    /// How tracks are built: best-hit, standard, clone-engine [default: clone-engine]
    #[arg(long, value_name = "NAME")]
    pub builder: Option<Builder>,
    /// Where seeds come from: truth, hits [default: truth]
    #[arg(long, value_name = "FROM")]
    pub seeds: Option<SeedSource>,
    /// Candidates kept for each seed
    #[arg(long, value_name = "N")]
    pub candidates: Option<u32>,
    /// Layers without a hit that a candidate may pass
    #[arg(long, value_name = "N")]
    pub holes: Option<u32>,
}

impl CylinderArgs {
    /// Flags go before the configuration.
    pub fn lay_over(&self, config: &mut CylinderConfig) {
        config.builder = self.builder.unwrap_or(config.builder);
        config.seeds = self.seeds.unwrap_or(config.seeds);
        config.build.candidates = self.candidates.unwrap_or(config.build.candidates);
        config.build.holes = self.holes.unwrap_or(config.build.holes);
    }
}
