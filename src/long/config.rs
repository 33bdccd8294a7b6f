//! Parameters of the search for long tracks, and their presets.

use super::pair_first_network::FIRST;
use super::pair_network::PAIRS;
use super::pair_ut_network::PAIRS_UT;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Smallest responses of `fast`, without hits in the UT and with them: `cargo run --release --example choose -- long-fast`.
const FAST: [f32; 2] = [0.71, 0.75];

/// Preset: a named set of parameters for the search for long tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LongPreset {
    /// Best results in simulated events: all pairs of tracks compete, ranked by networks trained on simulated events.
    #[default]
    Best,
    /// The search of `best` with other thresholds of the networks, for tracks of the presets `fast` of Velo and SciFi.
    Fast,
    /// The matching of LHCb's first trigger stage of 2023.
    Hlt1,
}

crate::names!(LongPreset, "preset of long tracks", { Best => "best", Fast => "fast", Hlt1 => "hlt1" });

/// Parameters of the search for long tracks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LongConfig {
    /// Preset that sets the defaults of the other parameters.
    pub preset: LongPreset,
    /// Largest |dx/dz|, at the beam line, of a Velo track that may be matched.
    pub max_tx: f32,
    /// Largest |dy/dz|, at the beam line, of a Velo track that may be matched.
    pub max_ty: f32,
    /// Smallest distance from the beam, at z = 2,484.6 mm in the UT, of a Velo track that may be matched, mm.
    pub inner_radius: f32,
    /// Largest absolute difference in dx/dz between the Velo track and the SciFi track of a pair.
    pub max_change_tx: f32,
    /// Largest absolute difference in dy/dz between the Velo track and the SciFi track of a pair.
    pub max_change_ty: f32,
    /// Largest distance in x between the straight lines of a pair's two tracks, extrapolated into the magnet, mm.
    pub max_distance_x: f32,
    /// Largest distance in y between the straight lines of a pair's two tracks at z = 10,000 mm, mm.
    pub max_distance_y: f32,
    /// Factor by which the Velo track's y at z = 10,000 mm is multiplied before the comparison with the SciFi track.
    pub scale_y: f32,
    /// Weights of the terms of a pair's chi2: distance in x, distance in y, change of dy/dz, change of dx/dz.
    pub weights: [f32; 4],
    /// Largest chi2 of a pair.
    pub max_chi2: f32,
    /// Smallest output, 0 to 1, of the second network (`pair_network.rs`) for a pair that may become a track. Pairs
    /// with larger outputs become tracks first. If 0, `long` uses no network, and pairs compete by chi2.
    pub min_response: f32,
    /// Like `min_response`, for the sequence `long-ut`, which has its own second network (`pair_ut_network.rs`).
    pub min_response_ut: f32,
    /// Smallest output of the first network (`pair_first_network.rs`): pairs with a smaller output are dropped before
    /// the search in the UT and the second network. If 0, no pair is dropped.
    pub min_response_first: f32,
    /// If true, all pairs compete, and the best pair becomes a track first. If false, each SciFi track chooses its best
    /// Velo track, and each Velo track keeps the best SciFi track that chose it.
    pub all_pairs: bool,
    /// Relative error of the formula that computes the momentum from the slopes in Velo and SciFi.
    pub momentum_error: f32,
}

impl Default for LongConfig {
    fn default() -> Self {
        Self::preset(LongPreset::default())
    }
}

impl LongConfig {
    /// Returns the configuration of a preset.
    pub fn preset(preset: LongPreset) -> Self {
        let hlt1 = Self {
            preset,
            max_tx: 0.35,
            max_ty: 0.30,
            inner_radius: 33.0,
            max_change_tx: 1.5,
            max_change_ty: 0.02,
            max_distance_x: 20.0,
            max_distance_y: 150.0,
            scale_y: 1.02,
            weights: [0.8, 0.2, 937.5, 2.0],
            max_chi2: 2.0,
            min_response: 0.0,
            min_response_ut: 0.0,
            min_response_first: 0.0,
            all_pairs: false,
            momentum_error: 0.001,
        };
        match preset {
            LongPreset::Hlt1 => hlt1,
            // Windows and response: `cargo run --release --example choose -- long`.
            LongPreset::Fast => {
                let [min_response, min_response_ut] = FAST;
                Self { preset, min_response, min_response_ut, ..Self::preset(LongPreset::Best) }
            }
            LongPreset::Best => Self {
                max_change_ty: 0.035,
                max_distance_x: 50.0,
                max_chi2: 12.0,
                min_response: PAIRS.threshold,
                min_response_ut: PAIRS_UT.threshold,
                min_response_first: FIRST.threshold,
                all_pairs: true,
                ..hlt1
            },
        }
    }

    /// Returns the smallest response of the network that ranks pairs, with hits in the UT or without them.
    pub(super) fn least(&self, with_ut: bool) -> f32 {
        if with_ut { self.min_response_ut } else { self.min_response }
    }

    /// Checks that all values are within their limits.
    ///
    /// # Errors
    /// Returns [`Error::Config`] with the name and the limits of a value that is out of range.
    pub fn validate(&self) -> Result<()> {
        let [wx, wy, wty, wtx] = self.weights;
        for (name, value) in [
            ("max_tx", self.max_tx),
            ("max_ty", self.max_ty),
            ("inner_radius", self.inner_radius),
            ("max_change_tx", self.max_change_tx),
            ("max_change_ty", self.max_change_ty),
            ("max_distance_x", self.max_distance_x),
            ("max_distance_y", self.max_distance_y),
            ("scale_y", self.scale_y),
            ("weights[0]", wx),
            ("weights[1]", wy),
            ("weights[2]", wty),
            ("weights[3]", wtx),
            ("max_chi2", self.max_chi2),
            ("min_response", self.min_response),
            ("min_response_ut", self.min_response_ut),
            ("min_response_first", self.min_response_first),
            ("momentum_error", self.momentum_error),
        ] {
            if !(0.0..=1e6).contains(&value) {
                return Err(Error::Config(format!("long.{name} = {value}: from 0 to 1,000,000")));
            }
        }
        Ok(())
    }
}
