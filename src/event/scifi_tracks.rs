//! Tracks in the SciFi of a batch of events, as columns.

use super::{Column, Starts, results, track_lists};
use crate::Status;

/// States in the SciFi, one per track, all at z = 9,410 mm: position, slopes, and the covariances of the projections in
/// x and in y, which are fitted one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SciFiStates {
    /// x, mm.
    pub x: Column<f32>,
    /// y, mm.
    pub y: Column<f32>,
    /// Slope dx/dz (no unit).
    pub tx: Column<f32>,
    /// Slope dy/dz (no unit).
    pub ty: Column<f32>,
    /// Charge over momentum, c/GeV.
    pub qop: Column<f32>,
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
}

/// Tracks at z = 9,410 mm in the simplified geometry of the published search: upright layers, u and v fibres tilted by
/// 0.086 in dx/dy. The matching with Velo tracks is tuned to it. [`SciFiStates`] has the real positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchedLines {
    /// x, mm.
    pub x: Column<f32>,
    /// y, mm.
    pub y: Column<f32>,
    /// Slope dx/dz (no unit).
    pub tx: Column<f32>,
    /// Slope dy/dz (no unit).
    pub ty: Column<f32>,
}

impl SearchedLines {
    /// Appends a track, given by x, y and the slopes dx/dz and dy/dz.
    pub fn push(&mut self, [x, y, tx, ty]: [f32; 4]) {
        self.x.push(x);
        self.y.push(y);
        self.tx.push(tx);
        self.ty.push(ty);
    }
}

/// The state of one track, see [`SciFiStates`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SciFiState {
    /// x and y, mm.
    pub position: [f32; 2],
    /// Slopes dx/dz and dy/dz (no unit).
    pub slope: [f32; 2],
    /// Charge over momentum, c/GeV.
    pub qop: f32,
    /// Variance of x (mm^2), covariance of x and tx (mm), variance of tx.
    pub cov_x: [f32; 3],
    /// Variance of y (mm^2), covariance of y and ty (mm), variance of ty.
    pub cov_y: [f32; 3],
}

impl SciFiStates {
    /// The columns, in schema order.
    pub fn columns(&self) -> [&Column<f32>; 11] {
        let Self { x, y, tx, ty, qop, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty } = self;
        [x, y, tx, ty, qop, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty]
    }

    /// Mutable references to the columns, in schema order.
    pub fn columns_mut(&mut self) -> [&mut Column<f32>; 11] {
        let Self { x, y, tx, ty, qop, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty } = self;
        [x, y, tx, ty, qop, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty]
    }

    /// Appends a state.
    pub fn push(&mut self, state: &SciFiState) {
        self.x.push(state.position[0]);
        self.y.push(state.position[1]);
        self.tx.push(state.slope[0]);
        self.ty.push(state.slope[1]);
        self.qop.push(state.qop);
        self.cov_xx.push(state.cov_x[0]);
        self.cov_xtx.push(state.cov_x[1]);
        self.cov_txtx.push(state.cov_x[2]);
        self.cov_yy.push(state.cov_y[0]);
        self.cov_yty.push(state.cov_y[1]);
        self.cov_tyty.push(state.cov_y[2]);
    }

    /// Returns the state of one track.
    ///
    /// # Panics
    /// Panics if there is no such track.
    pub fn get(&self, track: usize) -> SciFiState {
        SciFiState {
            position: [self.x[track], self.y[track]],
            slope: [self.tx[track], self.ty[track]],
            qop: self.qop[track],
            cov_x: [self.cov_xx[track], self.cov_xtx[track], self.cov_txtx[track]],
            cov_y: [self.cov_yy[track], self.cov_yty[track], self.cov_tyty[track]],
        }
    }
}

/// Tracks in the SciFi of many events. Event e owns the tracks `[track_start[e], track_start[e + 1])`, and track t owns
/// the entries `[hit_start[t], hit_start[t + 1])` of `hits`. All other columns except `status` have one value per
/// track. The table of all columns is [`Product::SCHEMA`](super::Product::SCHEMA).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SciFiTracks {
    /// First track of each event (no unit).
    pub track_start: Starts,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Starts,
    /// LHCbIDs of the hits of each track, in rising order of z (no unit).
    pub hits: Column<u32>,
    /// States at z = 9,410 mm.
    pub state: SciFiStates,
    /// Variance of charge over momentum, (c/GeV)^2, if the particle comes from the collisions.
    pub var_qop: Column<f32>,
    /// The same tracks in the simplified geometry of the published search, mm.
    pub searched: SearchedLines,
    /// Sum of the squared distances of the x hits to the track, mm^2.
    pub chi2_x: Column<f32>,
    /// Sum of the squared distances in y of the u and v hits to the track, mm^2.
    pub chi2_y: Column<f32>,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    SciFiTracks: "event", "track", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [track_start] "track_start" "1" "index of the event's first track in the columns of tracks";
        Starts 1 [hit_start] "hit_start" "1" "index of the track's first hit in the columns of hits";
        U32 2 [hits] "hits" "1" "LHCbIDs of the track's hits, in rising order of z";
    }
    others {
        F32 1 [state.x] "x" "mm" "x at z = 9410 mm";
        F32 1 [state.y] "y" "mm" "y at z = 9410 mm";
        F32 1 [state.tx] "tx" "1" "slope dx/dz at z = 9410 mm";
        F32 1 [state.ty] "ty" "1" "slope dy/dz";
        F32 1 [state.qop] "qop" "c/GeV" "charge over momentum, from the SciFi alone, if the particle comes from the collisions";
        F32 1 [var_qop] "var_qop" "c^2/GeV^2" "variance of charge over momentum, if the particle comes from the collisions";
        F32 1 [state.cov_xx] "cov_xx" "mm^2" "variance of x";
        F32 1 [state.cov_xtx] "cov_xtx" "mm" "covariance of x and tx";
        F32 1 [state.cov_txtx] "cov_txtx" "1" "variance of tx";
        F32 1 [state.cov_yy] "cov_yy" "mm^2" "variance of y";
        F32 1 [state.cov_yty] "cov_yty" "mm" "covariance of y and ty";
        F32 1 [state.cov_tyty] "cov_tyty" "1" "variance of ty";
        F32 1 [searched.x] "searched_x" "mm" "x at z = 9410 mm from the search, which assumes upright layers; input of the matching";
        F32 1 [searched.y] "searched_y" "mm" "y at z = 9410 mm from the search, which assumes upright layers and fibres tilted by 0.086; input of the matching";
        F32 1 [searched.tx] "searched_tx" "1" "slope dx/dz at z = 9410 mm from the search; input of the matching";
        F32 1 [searched.ty] "searched_ty" "1" "slope dy/dz from the search; input of the matching";
        F32 1 [chi2_x] "chi2_x" "mm^2" "sum of the squared distances of the x hits to the track";
        F32 1 [chi2_y] "chi2_y" "mm^2" "sum of the squared distances in y of the u and v hits to the track";
    }
}

track_lists!(SciFiTracks);
