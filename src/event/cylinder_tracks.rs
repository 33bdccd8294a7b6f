//! Tracks of the cylinder detector, as columns.

use super::{Column, Starts, results, track_lists};
use crate::Status;

/// Number of values of a state in [`CylinderTracks::state`]: radius, five parameters, fifteen covariances.
pub const CYLINDER_STATE: usize = 21;

/// Tracks of many events. Event e owns the tracks `[track_start[e], track_start[e + 1])`, and track t owns the entries
/// `[hit_start[t], hit_start[t + 1])` of `hits`. All other columns except `status` have one value per track. The table
/// of all columns is [`Product::SCHEMA`](super::Product::SCHEMA).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CylinderTracks {
    /// First track of each event (no unit).
    pub track_start: Starts,
    /// First entry in `hits` of each track (no unit).
    pub hit_start: Starts,
    /// Indices, in the event, of the hits of each track, from inside out (no unit).
    pub hits: Column<u32>,
    /// Index of the track's seed in the event (no unit).
    pub seed: Column<u32>,
    /// chi2 of the fit (no unit).
    pub chi2: Column<f32>,
    /// Status of the fit: a code of `kalman::FitStatus` (no unit).
    pub fit: Column<u8>,
    /// The state at the innermost hit: radius (cm), azimuth (rad), z (cm), charge / pT (c/GeV), phi, theta (rad), then
    /// the lower triangle of the covariance of r-phi (cm), z, charge / pT, phi, theta, row by row.
    pub state: [Column<f32>; CYLINDER_STATE],
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    CylinderTracks: "event", "track", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [track_start] "track_start" "1" "index of the event's first track in the columns of tracks";
        Starts 1 [hit_start] "hit_start" "1" "index of the track's first hit in the columns of hits";
        U32 2 [hits] "hits" "1" "indices in the event of the track's hits, from inside out";
        U32 1 [seed] "seed" "1" "index of the track's seed in the event";
    }
    others {
        F32 1 [chi2] "chi2" "1" "chi2 of the fit";
        U8 1 [fit] "fit" "1" "status of the fit: the codes of kalman::FitStatus";
        F32 1 [state[0]] "radius" "cm" "distance from the z axis at the innermost hit";
        F32 1 [state[1]] "azimuth" "rad" "azimuth of the position at the innermost hit";
        F32 1 [state[2]] "z" "cm" "z at the innermost hit";
        F32 1 [state[3]] "qpt" "c/GeV" "charge over pT at the innermost hit";
        F32 1 [state[4]] "phi" "rad" "azimuth of the momentum at the innermost hit";
        F32 1 [state[5]] "theta" "rad" "polar angle of the momentum at the innermost hit";
        F32 1 [state[6]] "cov_rphi_rphi" "cm cm" "variance of r-phi";
        F32 1 [state[7]] "cov_z_rphi" "cm cm" "covariance of z and r-phi";
        F32 1 [state[8]] "cov_z_z" "cm cm" "variance of z";
        F32 1 [state[9]] "cov_qpt_rphi" "c/GeV cm" "covariance of charge over pT and r-phi";
        F32 1 [state[10]] "cov_qpt_z" "c/GeV cm" "covariance of charge over pT and z";
        F32 1 [state[11]] "cov_qpt_qpt" "c/GeV c/GeV" "variance of charge over pT";
        F32 1 [state[12]] "cov_phi_rphi" "rad cm" "covariance of phi and r-phi";
        F32 1 [state[13]] "cov_phi_z" "rad cm" "covariance of phi and z";
        F32 1 [state[14]] "cov_phi_qpt" "rad c/GeV" "covariance of phi and charge over pT";
        F32 1 [state[15]] "cov_phi_phi" "rad rad" "variance of phi";
        F32 1 [state[16]] "cov_theta_rphi" "rad cm" "covariance of theta and r-phi";
        F32 1 [state[17]] "cov_theta_z" "rad cm" "covariance of theta and z";
        F32 1 [state[18]] "cov_theta_qpt" "rad c/GeV" "covariance of theta and charge over pT";
        F32 1 [state[19]] "cov_theta_phi" "rad rad" "covariance of theta and phi";
        F32 1 [state[20]] "cov_theta_theta" "rad rad" "variance of theta";
    }
}

track_lists!(CylinderTracks);

impl CylinderTracks {
    /// Appends track `track` of `other` to the event that is being filled.
    pub fn push_from(&mut self, other: &Self, track: usize) {
        self.hits.extend_from_slice(other.hits_of(track));
        self.hit_start.push(self.hits.len() as u32);
        self.seed.push(other.seed[track]);
        self.chi2.push(other.chi2[track]);
        self.fit.push(other.fit[track]);
        self.state.iter_mut().zip(&other.state).for_each(|(to, from)| to.push(from[track]));
    }
}
