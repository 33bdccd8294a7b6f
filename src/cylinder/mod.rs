//! Ten concentric cylinders in a field along their axis: the detector that tests the Kalman filter.
//!
//! Modules in data-flow order: [`geometry`], `index` (bin), `seeds`, `build`, `fit`. [`reconstruct`] runs these modules
//! over a range of events; [`fit_particles`] only fits particles, [`fit_tracks`] fits given tracks with a smoothed
//! state at each hit (`refit`). Units are cm, GeV/c, T.

pub(crate) mod build;
mod config;
mod fit;
mod fit_global;
pub mod geometry;
mod helix;
pub(crate) mod hit;
pub(crate) mod index;
#[cfg(feature = "reference")]
pub mod reference;
mod refit;
mod run;
pub(crate) mod seeds;
mod sequence;
mod threads;
mod triplets;

pub use crate::event::CylinderInput;
pub use config::{
    BinConfig, BuildConfig, Builder, CylinderConfig, FitConfig, FitForm, SeedConfig, SeedSource, StartConfig,
    StartCovariance,
};
pub use helix::Helix;
pub use refit::{CYLINDER_FITS, CylinderFit, CylinderFitWorkspace, fit_tracks};
pub use run::{CylinderWorkspace, fit_particles, reconstruct};
pub use sequence::{CYLINDER_TRACKS, Cylinder, CylinderSample};
