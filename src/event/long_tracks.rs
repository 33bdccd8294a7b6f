//! Tracks through Velo and SciFi of a batch of events, as columns.

use super::{Column, SciFiStates, Starts, States, results, track_lists};
use crate::Status;

/// Long tracks of many events, each a Velo and a SciFi track of one particle. Event e owns the tracks
/// `[track_start[e], track_start[e + 1])`, track t owns the entries `[hit_start[t], hit_start[t + 1])` of `hits`. Other
/// columns except `status` have a value per track. All columns: [`Product::SCHEMA`](super::Product::SCHEMA).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LongTracks {
    /// First track of each event (no unit).
    pub track_start: Starts,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Starts,
    /// LHCbIDs of the hits of each track in rising order of z: Velo, UT (sequence `long-ut`), SciFi (no unit).
    pub hits: Column<u32>,
    /// Velo states at the closest approach to the beam line, mm.
    pub beam: States,
    /// SciFi states at z = 9,410 mm, with the momentum that the Velo and SciFi tracks measure together.
    pub scifi: SciFiStates,
    /// Variance of charge over momentum, (c/GeV)^2.
    pub var_qop: Column<f32>,
    /// chi2 of the match between the Velo track and the SciFi track (no unit).
    pub chi2: Column<f32>,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    LongTracks: "event", "track", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [track_start] "track_start" "1" "index of the event's first track in the columns of tracks";
        Starts 1 [hit_start] "hit_start" "1" "index of the track's first hit in the columns of hits";
        U32 2 [hits] "hits" "1" "LHCbIDs of the track's hits in rising order of z: Velo, UT (sequence `long-ut`), SciFi";
    }
    others {
        F32 1 [scifi.qop] "qop" "c/GeV" "charge over momentum";
        F32 1 [var_qop] "var_qop" "c^2/GeV^2" "variance of charge over momentum";
        F32 1 [chi2] "chi2" "1" "chi2 of the match between the Velo track and the SciFi track";
        F32 1 [beam.x] "beam_x" "mm" "x at the closest approach to the beam line";
        F32 1 [beam.y] "beam_y" "mm" "y at the closest approach to the beam line";
        F32 1 [beam.z] "beam_z" "mm" "z at the closest approach to the beam line";
        F32 1 [beam.tx] "beam_tx" "1" "slope dx/dz at the closest approach to the beam line";
        F32 1 [beam.ty] "beam_ty" "1" "slope dy/dz at the closest approach to the beam line";
        F32 1 [beam.cov_xx] "beam_cov_xx" "mm^2" "variance of x, and of y, at the closest approach to the beam line";
        F32 1 [beam.cov_xtx] "beam_cov_xtx" "mm" "covariance of x and tx, and of y and ty, at the closest approach to the beam line";
        F32 1 [beam.cov_txtx] "beam_cov_txtx" "1" "variance of tx, and of ty, at the closest approach to the beam line";
        F32 1 [scifi.x] "scifi_x" "mm" "x at z = 9410 mm";
        F32 1 [scifi.y] "scifi_y" "mm" "y at z = 9410 mm";
        F32 1 [scifi.tx] "scifi_tx" "1" "slope dx/dz at z = 9410 mm";
        F32 1 [scifi.ty] "scifi_ty" "1" "slope dy/dz at z = 9410 mm";
        F32 1 [scifi.cov_xx] "scifi_cov_xx" "mm^2" "variance of x at z = 9410 mm";
        F32 1 [scifi.cov_xtx] "scifi_cov_xtx" "mm" "covariance of x and tx at z = 9410 mm";
        F32 1 [scifi.cov_txtx] "scifi_cov_txtx" "1" "variance of tx at z = 9410 mm";
        F32 1 [scifi.cov_yy] "scifi_cov_yy" "mm^2" "variance of y at z = 9410 mm";
        F32 1 [scifi.cov_yty] "scifi_cov_yty" "mm" "covariance of y and ty at z = 9410 mm";
        F32 1 [scifi.cov_tyty] "scifi_cov_tyty" "1" "variance of ty at z = 9410 mm";
    }
}

track_lists!(LongTracks);
