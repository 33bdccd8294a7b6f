//! Memory of the Velo reconstruction that one thread reuses.

use super::find::FindScratch;
use super::forwarding::ForwardingScratch;
use super::found::Found;
use super::index::{Binning, Index, SortScratch};
use super::link::LinkScratch;
use super::modules::Modules;
use super::paper::PaperScratch;
use crate::event::Column;

/// Memory that one thread reuses from event to event; its size is set by the largest event so far.
#[derive(Debug)]
pub struct VeloWorkspace {
    /// The sorted hits of the events, and the hits that the first pass left.
    pub(super) index: [Index; 2],
    pub(super) sort: SortScratch,
    pub(super) find: FindScratch,
    pub(super) link: LinkScratch,
    /// The hits of the event in the order of the presets `paper` and `forwarding`.
    pub(super) modules: Modules,
    pub(super) paper: PaperScratch,
    pub(super) forwarding: ForwardingScratch,
    /// Hits of a gang of tracks in the fit.
    pub(super) path: Column<f32>,
    pub(super) found: Found,
    /// Whether a longer track has the hit, for each sorted hit.
    pub(super) taken: Column<u32>,
}

impl Default for VeloWorkspace {
    fn default() -> Self {
        Self {
            // Both passes have equal bins; a quarter of the hits is left for the second.
            index: [Index::new(Binning::new(256)), Index::new(Binning::new(256))],
            sort: SortScratch::default(),
            find: FindScratch::default(),
            link: LinkScratch::default(),
            modules: Modules::default(),
            paper: PaperScratch::default(),
            forwarding: ForwardingScratch::default(),
            path: Column::default(),
            found: Found::default(),
            taken: Column::default(),
        }
    }
}
