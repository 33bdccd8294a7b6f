//! Runs whole sequences: [`Engine`] on the calling thread, [`Pool`] on many.
//!
//! A program that embeds peloton makes one [`Engine`] from a [`Config`], gives each of its own threads a
//! [`Workspace`], and calls [`Engine::run`] with columns of hits; `examples/embed.rs` shows it whole. Raw
//! banks go the same way through an engine that knows the detector's [`Geometry`].

mod config;
mod cylinder;
mod engine;
mod events;
mod geometry;
mod pool;
mod profile;
mod sequence;
mod slices;
pub mod timepix;

pub use config::{Config, SLICE_EVENTS};
pub use cylinder::{CylinderPool, CylinderSlot};
pub use engine::{Engine, Product, Workspace};
pub use events::Events;
pub use geometry::Geometry;
pub use pool::Pool;
pub use profile::{Measurement, Profile};
pub use sequence::{Sequence, Stage};
pub use slices::{Sliced, SlicedTracks};
