//! For each product with tracks: rules for the check, and a function that appends the tracks of an event.

use super::track_check::{Rows, TrackRows, product};
use peloton::event::{Columns, LongTracks, SciFiTracks, VeloTracks, VeloUtTracks};
use peloton_truth::{FittedState, Measured, Place, Rules};

/// Returns the default rules for the tracks of a product, and the function that appends the tracks of an event; no
/// function for products without tracks.
pub fn of_product(name: &str) -> (Rules, Option<Rows>) {
    match name {
        "velo_tracks" => (Rules::Lhcb, Some(velo)),
        "velo_ut_tracks" => (Rules::LhcbUt, Some(velo_ut)),
        "scifi_tracks" => (Rules::LhcbSeed, Some(scifi)),
        "long_tracks" => (Rules::LhcbLong, Some(long)),
        _ => (Rules::Lhcb, None),
    }
}

/// Appends the tracks of an event with their states.
pub fn velo(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &VeloTracks = product(results);
    for track in tracks.of_event(event) {
        let [beam, end] = [(Place::Beam, &tracks.beam), (Place::VeloEnd, &tracks.end)]
            .map(|(place, states)| FittedState::of_velo(place, states, track));
        rows.push(tracks.hits_of(track).iter().copied(), None, &[beam, end]);
    }
}

/// Position z of the states, in the middle of the UT, mm.
const UT_STATE_Z: f32 = 2484.6;

/// Appends the tracks of an event with their momenta. At the position of a state the field has already bent the track;
/// the slope in x before the field is therefore the slope of a line from the origin to the state.
fn velo_ut(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &VeloUtTracks = product(results);
    for (track, hits) in tracks.of_event(event).zip(tracks.hit_lists(event)) {
        let slopes = [tracks.x[track] / UT_STATE_Z, tracks.ty[track]];
        let measured = Measured::new(tracks.qop[track], Some(tracks.var_qop[track]), slopes);
        rows.push(hits.iter().copied(), Some(measured), &[FittedState::of_ut(tracks, track)]);
    }
}

/// Positions z of the bend in the magnet (`MAGNET_Z`) and of the states (`SCIFI_STATE_Z`), mm.
const MAGNET_Z: f32 = 5290.0;
const SCIFI_STATE_Z: f32 = 9410.0;

/// Appends the tracks of an event with their momenta; slopes in front of the magnet point from the origin to the bend.
fn scifi(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &SciFiTracks = product(results);
    let state = &tracks.state;
    for track in tracks.of_event(event) {
        let before = |at: f32, slope: f32| (at + slope * (MAGNET_Z - SCIFI_STATE_Z)) / MAGNET_Z;
        let slopes = [before(state.x[track], state.tx[track]), before(state.y[track], state.ty[track])];
        let variance = Some(tracks.var_qop[track]);
        let measured = Measured::new(state.qop[track], variance, slopes);
        let states = [FittedState::of_scifi(state, track, variance)];
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured), &states);
    }
}

/// Appends the tracks of an event with their momenta and states; slopes are taken at the beam line.
fn long(results: &Columns, event: usize, rows: &mut TrackRows) {
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
