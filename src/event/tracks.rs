//! Velo tracks of a batch of events, as columns.

use super::{Column, Starts, results, track_lists};
use crate::Status;

/// Straight-line states, one per track: position, slopes and one covariance. The fit gives x and y equal weights, so
/// the projections in x and in y have the same covariance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct States {
    /// x, mm.
    pub x: Column<f32>,
    /// y, mm.
    pub y: Column<f32>,
    /// z of the state, mm.
    pub z: Column<f32>,
    /// Slope dx/dz (no unit).
    pub tx: Column<f32>,
    /// Slope dy/dz (no unit).
    pub ty: Column<f32>,
    /// Variance of x, and equally of y, mm^2.
    pub cov_xx: Column<f32>,
    /// Covariance of x and tx, and equally of y and ty, mm.
    pub cov_xtx: Column<f32>,
    /// Variance of tx, and equally of ty (no unit).
    pub cov_txtx: Column<f32>,
}

impl States {
    /// The columns, in schema order.
    pub fn columns(&self) -> [&Column<f32>; 8] {
        let Self { x, y, z, tx, ty, cov_xx, cov_xtx, cov_txtx } = self;
        [x, y, z, tx, ty, cov_xx, cov_xtx, cov_txtx]
    }

    /// Mutable references to the columns, in schema order.
    pub fn columns_mut(&mut self) -> [&mut Column<f32>; 8] {
        [
            &mut self.x,
            &mut self.y,
            &mut self.z,
            &mut self.tx,
            &mut self.ty,
            &mut self.cov_xx,
            &mut self.cov_xtx,
            &mut self.cov_txtx,
        ]
    }
}

/// Velo tracks of many events. Event e owns the tracks `[track_start[e], track_start[e + 1])`, and track t owns the
/// entries `[hit_start[t], hit_start[t + 1])` of `hits`. All other columns except `status` have one value per track.
/// The table of all columns is [`Product::SCHEMA`](super::Product::SCHEMA).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VeloTracks {
    /// First track of each event (no unit).
    pub track_start: Starts,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Starts,
    /// Identifiers of the hits of each track (`id` of the input), in falling order of z (no unit).
    pub hits: Column<u32>,
    /// chi2 of the straight-line fit (no unit).
    pub chi2: Column<f32>,
    /// 1 for a track that flies towards -z, otherwise 0 (no unit).
    pub backward: Column<u8>,
    /// States at the closest approach to the beam line, mm.
    pub beam: States,
    /// States at the end of the Velo, z = 770 mm.
    pub end: States,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    VeloTracks: "event", "track", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [track_start] "track_start" "1" "index of the event's first track in the columns of tracks";
        Starts 1 [hit_start] "hit_start" "1" "index of the track's first hit in the columns of hits";
        U32 2 [hits] "hits" "1" "identifiers of the track's hits: index in the event (JSON, simulation) or LHCbID (raw banks), in falling order of z";
    }
    others {
        F32 1 [chi2] "chi2" "1" "chi2 of the straight-line fit, both projections";
        U8 1 [backward] "backward" "1" "1 when the track flies towards -z";
        F32 1 [beam.x] "beam_x" "mm" "x at the closest approach to the beam line";
        F32 1 [beam.y] "beam_y" "mm" "y at the closest approach to the beam line";
        F32 1 [beam.z] "beam_z" "mm" "z at the closest approach to the beam line";
        F32 1 [beam.tx] "beam_tx" "1" "slope dx/dz at the closest approach to the beam line";
        F32 1 [beam.ty] "beam_ty" "1" "slope dy/dz at the closest approach to the beam line";
        F32 1 [beam.cov_xx] "beam_cov_xx" "mm^2" "variance of x, and of y, at the closest approach to the beam line";
        F32 1 [beam.cov_xtx] "beam_cov_xtx" "mm" "covariance of x and tx, and of y and ty, at the closest approach to the beam line";
        F32 1 [beam.cov_txtx] "beam_cov_txtx" "1" "variance of tx, and of ty, at the closest approach to the beam line";
        F32 1 [end.x] "end_x" "mm" "x at the end of the Velo, z = 770 mm";
        F32 1 [end.y] "end_y" "mm" "y at the end of the Velo, z = 770 mm";
        F32 1 [end.z] "end_z" "mm" "z at the end of the Velo, z = 770 mm";
        F32 1 [end.tx] "end_tx" "1" "slope dx/dz at the end of the Velo, z = 770 mm";
        F32 1 [end.ty] "end_ty" "1" "slope dy/dz at the end of the Velo, z = 770 mm";
        F32 1 [end.cov_xx] "end_cov_xx" "mm^2" "variance of x, and of y, at the end of the Velo, z = 770 mm";
        F32 1 [end.cov_xtx] "end_cov_xtx" "mm" "covariance of x and tx, and of y and ty, at the end of the Velo, z = 770 mm";
        F32 1 [end.cov_txtx] "end_cov_txtx" "1" "variance of tx, and of ty, at the end of the Velo, z = 770 mm";
    }
}

track_lists!(VeloTracks);
