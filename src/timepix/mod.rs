//! Timepix3, Timepix4 and similar detectors: from hits of single pixels to clusters.
//!
//! Modules in data-flow order: `calibrate` (energies, time walk), `sort` (order of time), `find` (clusters) and
//! `stream` (clusters of endless streams), `features`, `filter`, and [`reference`](mod@reference), the naive twin.
//! [`Chain`] runs these modules one after another.

mod calibrate;
mod calibration_folder;
mod chain;
mod config;
mod features;
mod filter;
mod find;
mod group;
mod labels;
mod mask;
mod merge;
#[cfg(feature = "reference")]
pub mod reference;
mod sequence;
mod sort;
mod stream;
mod trigger;
mod window;
mod workers;

pub use calibrate::{Calibration, TimeWalk};
pub use calibration_folder::{CalibratedChips, calibration_files};
pub use chain::{Chain, ChainCounts, Front};
pub use config::{Algorithm, DISORDER_US, Definition, FindConfig, MAX_DELTA, TimepixConfig};
pub use features::FeatureMaker;
pub use filter::{Cut, Feature, Filter};
pub use find::{Finder, PlainMatrix, plain_loop};
#[cfg(feature = "cuda")]
pub(crate) use mask::PixelMask;
pub use sequence::{PixelBatch, Timepix};
#[cfg(feature = "cuda")]
pub(crate) use sort::{Extent, Reached, extent_room, is_in_time_room};
pub use sort::{SortShape, TimeSorter};
pub use stream::Clusterer;
pub use trigger::TriggerPairer;
pub use window::{WindowClusters, WindowFinder};
pub use workers::Workers;
