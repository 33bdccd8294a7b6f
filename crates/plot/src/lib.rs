//! Figures, pages and tables of results. This crate only draws; other crates read and reconstruct.
//!
//! [`report()`] makes a page from results that were written as JSON, [`event`] draws events with their tracks, [`pixels`] draws a
//! stream of pixel clusters; [`svg`] has the axes of all figures, [`text`] the words and tables that people read.
#![deny(unsafe_code, missing_docs)]

mod about;
pub mod event;
mod look;
pub mod pixels;
mod report;
mod sensors;
pub mod svg;
pub mod text;

pub use about::{About, Changed, WithAbout};
pub use report::{ReportInput, report};
pub use sensors::{Sensor, Shape, sensors_as_csv};
