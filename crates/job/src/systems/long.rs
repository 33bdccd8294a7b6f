//! Long tracks: raw banks of Velo and SciFi to tracks through both, and with the UT to tracks through all three.

use super::over_banks::OverBanks;
use super::scifi::scifi_losses;
use super::track_check::{TrackRows, product};
use crate::Preset;
use crate::losses::{LongLosses, Matching};
use peloton::event::{Columns, LongTracks};
use peloton_truth::{FittedState, Measured, Place, Rules};

const PRESETS: &[Preset] = &[Preset::Best, Preset::Fast, Preset::TwoPass, Preset::Hlt1];

/// Raw banks to long tracks.
pub static LONG: OverBanks = OverBanks {
    name: "long",
    algorithms: &["velo_tracks", "scifi_hits", "scifi_tracks", "long_tracks"],
    presets: PRESETS,
    rules: Rules::LhcbLong,
    rows: Some(rows),
    losses: Some(|parts, config| {
        let seeds = scifi_losses(parts, config)?;
        let make = |parameters| Ok(Matching::Long(Box::new(parts.long(config, parameters)?), Box::default()));
        Ok(Box::new(LongLosses::new(parts.velo(config)?, seeds, None, &config.long, make)?))
    }),
};

/// Raw banks to long tracks with their hits in the UT.
pub static LONG_UT: OverBanks = OverBanks {
    name: "long-ut",
    algorithms: &["velo_tracks", "ut_hits", "scifi_hits", "scifi_tracks", "long_tracks"],
    presets: PRESETS,
    rules: Rules::LhcbLong,
    rows: Some(rows),
    losses: Some(|parts, config| {
        let seeds = scifi_losses(parts, config)?;
        let make =
            |parameters| Ok(Matching::LongUt(Box::new(parts.long_ut(config, parameters)?), Box::default()));
        Ok(Box::new(LongLosses::new(parts.velo(config)?, seeds, Some(parts.ut()?), &config.long, make)?))
    }),
};

/// The tracks of an event, with momenta and states; slopes are those at the beam line.
fn rows(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &LongTracks = product(results);
    for track in tracks.of_event(event) {
        let slopes = [tracks.beam.tx[track], tracks.beam.ty[track]];
        let measured = Measured::new(tracks.scifi.qop[track], Some(tracks.var_qop[track]), slopes);
        let variance = tracks.var_qop[track];
        let states = [
            FittedState::of_velo(Place::Beam, &tracks.beam, track),
            FittedState::of_scifi(&tracks.scifi, track, Some(variance)),
        ];
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured), &states);
    }
}
