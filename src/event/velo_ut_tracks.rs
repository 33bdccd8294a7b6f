//! Velo tracks that were extended into the UT, as columns.

use super::{Column, Starts, results, track_lists};
use crate::Status;

/// Velo tracks with hits in the UT, of many events. Event e owns the tracks `[track_start[e], track_start[e + 1])`,
/// track t owns the entries `[hit_start[t], hit_start[t + 1])` of `hits`. Other columns except `status` have a value
/// per track. Tracks without UT hits are left out. The table of columns is [`Product::SCHEMA`](super::Product::SCHEMA).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VeloUtTracks {
    /// First track of each event (no unit).
    pub track_start: Starts,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Starts,
    /// LHCbIDs of the hits of each track: UT hits, then Velo hits in falling order of z (no unit).
    pub hits: Column<u32>,
    /// Number of UT hits of each track (no unit).
    pub ut_hits: Column<u8>,
    /// Index of the Velo track in its event (no unit).
    pub velo_track: Column<u32>,
    /// Charge over momentum, c/GeV.
    pub qop: Column<f32>,
    /// Variance of charge over momentum, (c/GeV)^2.
    pub var_qop: Column<f32>,
    /// chi2 of the fit (no unit).
    pub chi2: Column<f32>,
    /// x in the middle of the UT, at z = 2484.6 mm, in mm.
    pub x: Column<f32>,
    /// y in the middle of the UT, mm.
    pub y: Column<f32>,
    /// Slope dx/dz in the middle of the UT (no unit).
    pub tx: Column<f32>,
    /// Slope dy/dz in the middle of the UT (no unit).
    pub ty: Column<f32>,
    /// Variance of x, mm^2.
    pub cov_xx: Column<f32>,
    /// Covariance of x and tx, mm.
    pub cov_xtx: Column<f32>,
    /// Variance of tx (no unit).
    pub cov_txtx: Column<f32>,
    /// Variance of y, mm^2.
    pub cov_yy: Column<f32>,
    /// Covariance of y and ty, mm.
    pub cov_yty: Column<f32>,
    /// Variance of ty (no unit).
    pub cov_tyty: Column<f32>,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    VeloUtTracks: "event", "track", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [track_start] "track_start" "1" "index of the event's first track in the columns of tracks";
        Starts 1 [hit_start] "hit_start" "1" "index of the track's first hit in the columns of hits";
        U8 1 [ut_hits] "ut_hits" "1" "number of the track's hits in the UT";
        U32 1 [velo_track] "velo_track" "1" "index of the Velo track in its event";
        U32 2 [hits] "hits" "1" "LHCbIDs of the track's hits: UT, then Velo in falling order of z";
    }
    others {
        F32 1 [qop] "qop" "c/GeV" "charge over momentum";
        F32 1 [var_qop] "var_qop" "c^2/GeV^2" "variance of charge over momentum";
        F32 1 [chi2] "chi2" "1" "chi2 of the fit";
        F32 1 [x] "x" "mm" "x in the middle of the UT, z = 2484.6 mm";
        F32 1 [y] "y" "mm" "y in the middle of the UT";
        F32 1 [tx] "tx" "1" "slope dx/dz in the middle of the UT";
        F32 1 [ty] "ty" "1" "slope dy/dz in the middle of the UT";
        F32 1 [cov_xx] "cov_xx" "mm^2" "variance of x in the middle of the UT";
        F32 1 [cov_xtx] "cov_xtx" "mm" "covariance of x and tx in the middle of the UT";
        F32 1 [cov_txtx] "cov_txtx" "1" "variance of tx in the middle of the UT";
        F32 1 [cov_yy] "cov_yy" "mm^2" "variance of y in the middle of the UT";
        F32 1 [cov_yty] "cov_yty" "mm" "covariance of y and ty in the middle of the UT";
        F32 1 [cov_tyty] "cov_tyty" "1" "variance of ty in the middle of the UT";
    }
}

track_lists!(VeloUtTracks);

impl VeloUtTracks {
    /// Columns of floats with a value per track, in the order of the schema.
    pub(crate) fn floats_mut(&mut self) -> [&mut Column<f32>; 13] {
        let Self { qop, var_qop, chi2, x, y, tx, ty, .. } = self;
        let Self { cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty, .. } = self;
        [qop, var_qop, chi2, x, y, tx, ty, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty]
    }
}
