//! Fits of given tracks of the cylinder detector, as columns: a smoothed state for each hit.

use super::{CYLINDER_STATE, Column, Starts, results, track_lists};
use crate::Status;

/// Fitted tracks of many events. Event e owns the tracks `[track_start[e], track_start[e + 1])`, and track t owns the
/// entries `[hit_start[t], hit_start[t + 1])` of all columns with one value per hit. The table of all columns is
/// [`Product::SCHEMA`](super::Product::SCHEMA).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CylinderFits {
    /// First track of each event (no unit).
    pub track_start: Starts,
    /// First hit of each track (no unit).
    pub hit_start: Starts,
    /// Indices, in the event, of the hits of each track, from inside out (no unit).
    pub hits: Column<u32>,
    /// Index, in the event, of the input track that was fitted (no unit).
    pub track: Column<u32>,
    /// chi2 of the fit: the sum of the chi2 of its hits in the filter (no unit).
    pub chi2: Column<f32>,
    /// Status of the fit: a code of `kalman::FitStatus` (no unit).
    pub fit: Column<u8>,
    /// chi2 of each hit in the filter, from inside out (no unit).
    pub chi2_filtered: Column<f32>,
    /// chi2 between each hit and its smoothed state; NaN if the residual has no positive definite covariance (no unit).
    pub chi2_smoothed: Column<f32>,
    /// The smoothed state at each hit: radius (cm), azimuth (rad), z (cm), charge / pT (c/GeV), phi, theta (rad), then
    /// the lower triangle of the covariance of r-phi (cm), z, charge / pT, phi, theta, row by row.
    pub state: [Column<f32>; CYLINDER_STATE],
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

results! {
    CylinderFits: "event", "track", "hit";
    integers {
        Status 0 [status] "status" "1" "status of the event";
        Starts 0 [track_start] "track_start" "1" "index of the event's first track in the columns of tracks";
        Starts 1 [hit_start] "hit_start" "1" "index of the track's first hit in the columns of hits";
        U32 2 [hits] "hits" "1" "indices in the event of the track's hits, from inside out";
        U32 1 [track] "track" "1" "index of the input track in the event";
    }
    others {
        F32 1 [chi2] "chi2" "1" "chi2 of the fit: the sum of chi2_filtered";
        U8 1 [fit] "fit" "1" "status of the fit: the codes of kalman::FitStatus";
        F32 2 [chi2_filtered] "chi2_filtered" "1" "chi2 of the hit in the filter";
        F32 2 [chi2_smoothed] "chi2_smoothed" "1" "chi2 of the hit with respect to the smoothed state; NaN if the covariance of the residual is not positive definite";
        F32 2 [state[0]] "radius" "cm" "distance from the z axis at the hit";
        F32 2 [state[1]] "azimuth" "rad" "azimuth of the smoothed position at the hit";
        F32 2 [state[2]] "z" "cm" "smoothed z at the hit";
        F32 2 [state[3]] "qpt" "c/GeV" "charge over pT at the hit";
        F32 2 [state[4]] "phi" "rad" "azimuth of the momentum at the hit";
        F32 2 [state[5]] "theta" "rad" "polar angle of the momentum at the hit";
        F32 2 [state[6]] "cov_rphi_rphi" "cm cm" "variance of r-phi";
        F32 2 [state[7]] "cov_z_rphi" "cm cm" "covariance of z and r-phi";
        F32 2 [state[8]] "cov_z_z" "cm cm" "variance of z";
        F32 2 [state[9]] "cov_qpt_rphi" "c/GeV cm" "covariance of charge over pT and r-phi";
        F32 2 [state[10]] "cov_qpt_z" "c/GeV cm" "covariance of charge over pT and z";
        F32 2 [state[11]] "cov_qpt_qpt" "c/GeV c/GeV" "variance of charge over pT";
        F32 2 [state[12]] "cov_phi_rphi" "rad cm" "covariance of phi and r-phi";
        F32 2 [state[13]] "cov_phi_z" "rad cm" "covariance of phi and z";
        F32 2 [state[14]] "cov_phi_qpt" "rad c/GeV" "covariance of phi and charge over pT";
        F32 2 [state[15]] "cov_phi_phi" "rad rad" "variance of phi";
        F32 2 [state[16]] "cov_theta_rphi" "rad cm" "covariance of theta and r-phi";
        F32 2 [state[17]] "cov_theta_z" "rad cm" "covariance of theta and z";
        F32 2 [state[18]] "cov_theta_qpt" "rad c/GeV" "covariance of theta and charge over pT";
        F32 2 [state[19]] "cov_theta_phi" "rad rad" "covariance of theta and phi";
        F32 2 [state[20]] "cov_theta_theta" "rad rad" "variance of theta";
    }
}

track_lists!(CylinderFits);
