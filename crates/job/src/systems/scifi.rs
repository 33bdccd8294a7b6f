//! SciFi: raw banks to tracks in the SciFi.

use super::over_banks::OverBanks;
use super::parts::Parts;
use super::track_check::{TrackRows, product};
use crate::losses::SciFiLosses;
use crate::{Config, Preset};
use peloton::Result;
use peloton::event::{Columns, SciFiTracks};
use peloton_truth::{FittedState, Measured, Rules};

/// SciFi banks to tracks in the SciFi.
pub static SCIFI: OverBanks = OverBanks {
    name: "scifi",
    algorithms: &["scifi_hits", "scifi_tracks"],
    presets: &[Preset::Best, Preset::Fast, Preset::Hlt1],
    rules: Rules::LhcbSeed,
    rows: Some(rows),
    losses: Some(|parts, config| Ok(Box::new(scifi_losses(parts, config)?))),
};

/// What finds out where tracks in the SciFi were lost.
pub(super) fn scifi_losses(parts: &Parts, config: &Config) -> Result<SciFiLosses> {
    let make = |parameters| parts.scifi_as(config, parameters);
    SciFiLosses::new(parts.scifi_geometry()?, &config.scifi, make)
}

/// Where the magnet bends, mm, and where states are.
const MAGNET_Z: f32 = 5290.0;
const STATE_Z: f32 = 9410.0;

/// The tracks of an event, with momenta; slopes before the magnet are those of a line from the origin to where it bends.
fn rows(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &SciFiTracks = product(results);
    let state = &tracks.state;
    for track in tracks.of_event(event) {
        let before = |at: f32, slope: f32| (at + slope * (MAGNET_Z - STATE_Z)) / MAGNET_Z;
        let slopes = [before(state.x[track], state.tx[track]), before(state.y[track], state.ty[track])];
        let variance = Some(tracks.var_qop[track]);
        let measured = Measured::new(state.qop[track], variance, slopes);
        let states = [FittedState::of_scifi(state, track, variance)];
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured), &states);
    }
}
