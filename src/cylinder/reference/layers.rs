//! The hits of an event as input of the filter, layer by layer, in the order in which a search visits them.

use crate::cylinder::config::BinConfig;
use crate::event::{CYLINDER_LAYERS, CylinderEvent};
use crate::kalman::reference::single::{Hit, State, atan2};
use std::f32::consts::TAU;

/// A hit and its cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub hit: Hit,
    /// Position in the event's columns.
    pub source: u32,
    row: u32,
    bin: u32,
}

pub(super) struct Layers {
    bins: BinConfig,
    /// Hits in the order of the event.
    pub hits: Vec<Hit>,
    sorted: [Vec<Placed>; CYLINDER_LAYERS],
}

impl Layers {
    pub fn new(bins: &BinConfig, event: &CylinderEvent<'_>) -> Self {
        let hit = |i: usize| {
            let (x, y) = (event.x[i], event.y[i]);
            let square = x.mul_add(x, y * y);
            let var_phi = event.var_rphi[i] / square.max(f32::MIN_POSITIVE);
            let position = [atan2(y, x), event.z[i]];
            Hit { position, variance: [var_phi, event.var_z[i]], radius: square.sqrt() }
        };
        let hits: Vec<Hit> = (0..event.len()).map(hit).collect();
        let mut out = Self { bins: bins.clone(), hits, sorted: Default::default() };
        out.sorted = std::array::from_fn(|layer| {
            let placed = |source: usize| {
                let hit = out.hits[source];
                let [phi, z] = hit.position;
                Placed { hit, source: source as u32, row: out.row(phi) % bins.phi, bin: out.bin(layer, z) }
            };
            let range = event.layer_start[layer]..event.layer_start[layer + 1];
            let mut sorted: Vec<Placed> = range.map(placed).collect();
            sorted.sort_by_key(|hit| (hit.row, hit.bin));
            sorted
        });
        out
    }

    /// Returns the row of an azimuth, not yet wrapped to a turn.
    fn row(&self, phi: f32) -> u32 {
        let rows = self.bins.phi as f32;
        phi.mul_add(rows / TAU, 1.5 * rows) as u32
    }

    fn bin(&self, layer: usize, z: f32) -> u32 {
        let (half, width) = (self.bins.z_half[layer], self.bins.z_width[layer]);
        let last = (2.0 * half / width).ceil().max(1.0) - 1.0;
        ((z + half) * (1.0 / width)).max(0.0).min(last) as u32
    }

    /// Returns the hits of the cells that a window touches, row by row.
    pub fn window(&self, layer: usize, state: &State, half: [f32; 2]) -> impl Iterator<Item = Placed> + '_ {
        let [phi, z, ..] = state.p;
        let rows = self.row(phi - half[0])..=self.row(phi + half[0]);
        let bins = self.bin(layer, z - half[1])..=self.bin(layer, z + half[1]);
        let hits = &self.sorted[layer];
        rows.flat_map(move |row| hits.iter().filter(move |hit| hit.row == row % self.bins.phi))
            .filter(move |hit| bins.contains(&hit.bin))
            .copied()
    }

    /// Returns the last hit of the outermost layer with hits, which the kernels read in lanes without a hit.
    pub fn last(&self) -> Option<Hit> {
        self.sorted.iter().rev().find_map(|layer| layer.last()).map(|placed| placed.hit)
    }
}
