//! Velo and UT: raw banks to Velo tracks with hits in the UT.

use super::over_banks::OverBanks;
use super::track_check::{TrackRows, product};
use crate::Preset;
use crate::losses::VeloUtLosses;
use peloton::event::{Columns, VeloUtTracks};
use peloton_truth::{FittedState, Measured, Rules};

/// Velo and UT banks to tracks through both.
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
    rules: Rules::LhcbUt,
    rows: Some(rows),
    losses: Some(|parts, config| {
        Ok(Box::new(VeloUtLosses::new(parts.velo(config)?, parts.ut()?, config.ut.clone())?))
    }),
};

/// Where states are given, the middle of the UT, mm.
const STATE_Z: f32 = 2484.6;

/// The tracks of an event, with momenta; the slope in x before the magnet is that of a line from the origin, because the
/// state is given where the magnet has bent the track already.
fn rows(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &VeloUtTracks = product(results);
    for (track, hits) in tracks.of_event(event).zip(tracks.hit_lists(event)) {
        let slopes = [tracks.x[track] / STATE_Z, tracks.ty[track]];
        let measured = Measured::new(tracks.q_over_p[track], Some(tracks.var_q_over_p[track]), slopes);
        rows.push(hits.iter().copied(), Some(measured), &[FittedState::of_ut(tracks, track)]);
    }
}
