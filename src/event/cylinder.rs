//! Hits, seeds and truth of the cylinder detector, as columns. Units are cm and GeV/c, as in the detector's files.

use super::Column;
use crate::Status;

/// Number of layers of the cylinder detector.
pub const CYLINDER_LAYERS: usize = 10;

/// Value that stands for a missing hit or particle in lists of indices, such as for a layer without a hit.
pub const NO_HIT: u32 = u32::MAX;

/// Hits of many events, sorted by layer. The errors of a hit along r, r-phi and z are independent.
#[derive(Debug, Clone)]
pub struct CylinderBatch {
    /// First hit of each layer of each event, then the number of hits (no unit).
    pub layer_start: Column<u32>,
    /// x, cm.
    pub x: Column<f32>,
    /// y, cm.
    pub y: Column<f32>,
    /// z, cm.
    pub z: Column<f32>,
    /// Variance along r, cm^2.
    pub var_r: Column<f32>,
    /// Variance along r-phi, cm^2.
    pub var_rphi: Column<f32>,
    /// Variance along z, cm^2.
    pub var_z: Column<f32>,
    /// Status of each event (no unit).
    pub status: Vec<Status>,
}

impl Default for CylinderBatch {
    fn default() -> Self {
        Self {
            layer_start: [0].into_iter().collect(),
            x: Column::default(),
            y: Column::default(),
            z: Column::default(),
            var_r: Column::default(),
            var_rphi: Column::default(),
            var_z: Column::default(),
            status: Vec::new(),
        }
    }
}

impl CylinderBatch {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.layer_start.set_len(1);
        self.columns_mut().into_iter().for_each(Column::clear);
        self.status.clear();
    }

    /// Appends all events of another batch.
    pub fn append(&mut self, other: &Self) {
        let first = self.x.len() as u32;
        other.layer_start[1..].iter().for_each(|start| self.layer_start.push(first + start));
        let Self { x, y, z, var_r, var_rphi, var_z, .. } = other;
        let columns = [x, y, z, var_r, var_rphi, var_z];
        self.columns_mut().into_iter().zip(columns).for_each(|(to, from)| to.extend_from_slice(from));
        self.status.extend_from_slice(&other.status);
    }

    /// Returns the columns x, y, z and the variances, to write to.
    pub fn columns_mut(&mut self) -> [&mut Column<f32>; 6] {
        [&mut self.x, &mut self.y, &mut self.z, &mut self.var_r, &mut self.var_rphi, &mut self.var_z]
    }

    /// Appends a hit to the layer that is being filled.
    pub fn push(&mut self, position: [f32; 3], variance: [f32; 3]) {
        let values = position.into_iter().chain(variance);
        self.columns_mut().into_iter().zip(values).for_each(|(column, value)| column.push(value));
    }

    /// Ends a layer; an event has [`CYLINDER_LAYERS`] layers.
    pub fn end_layer(&mut self) {
        self.layer_start.push(self.x.len() as u32);
    }

    /// Ends an event after any number of layers: missing layers are empty.
    pub fn end_event(&mut self, status: Status) {
        self.status.push(status);
        let expected = self.status.len() * CYLINDER_LAYERS + 1;
        while self.layer_start.len() < expected {
            self.end_layer();
        }
    }

    /// Removes the hits and layers that were added since the last event ended.
    pub fn drop_unfinished(&mut self) {
        self.layer_start.set_len(self.status.len() * CYLINDER_LAYERS + 1);
        let hits = self.layer_start[self.layer_start.len() - 1] as usize;
        self.columns_mut().into_iter().for_each(|column| column.set_len(hits));
    }

    /// Returns the hits of one event.
    ///
    /// # Panics
    /// Panics if `event >= len()`.
    pub fn event(&self, event: usize) -> CylinderEvent<'_> {
        let starts = &self.layer_start[event * CYLINDER_LAYERS..][..CYLINDER_LAYERS + 1];
        let first = starts[0] as usize;
        CylinderEvent {
            layer_start: std::array::from_fn(|layer| starts[layer] as usize - first),
            x: &self.x.padded()[first..],
            y: &self.y.padded()[first..],
            z: &self.z.padded()[first..],
            var_rphi: &self.var_rphi.padded()[first..],
            var_z: &self.var_z.padded()[first..],
            status: self.status[event],
        }
    }

    /// Reorders the hits of one event: hit `order[i]` of the event becomes hit i. Every hit must stay in its layer.
    pub fn permute(&mut self, event: usize, order: &[u32]) {
        let first = self.layer_start[event * CYLINDER_LAYERS] as usize;
        for column in self.columns_mut() {
            let old = column[first..first + order.len()].to_vec();
            for (value, &from) in column[first..].iter_mut().zip(order) {
                *value = old[from as usize];
            }
        }
    }
}

/// Events of the cylinder detector: hits, and true particles, from which seeds of tracks can be made.
#[derive(Debug, Clone, Copy)]
pub struct CylinderInput<'a> {
    /// Hits (no unit).
    pub hits: &'a CylinderBatch,
    /// Particles of each event of `hits` (no unit).
    pub seeds: &'a CylinderSeeds,
}

/// The hits of one event. The columns extend beyond the last hit of the event.
#[derive(Debug, Clone, Copy)]
pub struct CylinderEvent<'a> {
    /// First hit of each layer, then the number of hits (no unit).
    pub layer_start: [usize; CYLINDER_LAYERS + 1],
    /// x, cm.
    pub x: &'a [f32],
    /// y, cm.
    pub y: &'a [f32],
    /// z, cm.
    pub z: &'a [f32],
    /// Variance along r-phi, cm^2.
    pub var_rphi: &'a [f32],
    /// Variance along z, cm^2.
    pub var_z: &'a [f32],
    /// Status of the event (no unit).
    pub status: Status,
}

impl CylinderEvent<'_> {
    /// Number of hits.
    pub fn len(&self) -> usize {
        self.layer_start[CYLINDER_LAYERS]
    }

    /// Whether there are no hits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Seeds of tracks of many events: hits on the first layers, and a state at the origin of the particle.
#[derive(Debug, Clone)]
pub struct CylinderSeeds {
    /// First seed of each event, then the number of seeds (no unit).
    pub start: Column<u32>,
    /// x, y, z (cm), charge / pT (c/GeV), phi, theta (rad) at the vertex. Units are in parentheses.
    pub vertex: [Column<f32>; 6],
    /// Index, in the event, of the seed's hit on each layer; [`NO_HIT`] for a layer without a hit (no unit).
    pub hits: [Column<u32>; CYLINDER_LAYERS],
}

impl Default for CylinderSeeds {
    fn default() -> Self {
        Self { start: [0].into_iter().collect(), vertex: Default::default(), hits: Default::default() }
    }
}

impl CylinderSeeds {
    /// Appends the seeds of all events of `other`.
    pub fn append(&mut self, other: &Self) {
        let first = self.len() as u32;
        other.start[1..].iter().for_each(|start| self.start.push(first + start));
        self.vertex.iter_mut().zip(&other.vertex).for_each(|(to, from)| to.extend_from_slice(from));
        self.hits.iter_mut().zip(&other.hits).for_each(|(to, from)| to.extend_from_slice(from));
    }

    /// Appends a seed to the event that is being filled.
    pub fn push(&mut self, vertex: [f32; 6], hits: [u32; CYLINDER_LAYERS]) {
        self.vertex.iter_mut().zip(vertex).for_each(|(column, value)| column.push(value));
        self.hits.iter_mut().zip(hits).for_each(|(column, hit)| column.push(hit));
    }

    /// Ends an event.
    pub fn end_event(&mut self) {
        self.start.push(self.len() as u32);
    }

    /// Number of seeds of all events.
    pub fn len(&self) -> usize {
        self.hits[0].len()
    }

    /// Whether there are no seeds.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.start.set_len(1);
        self.vertex.iter_mut().for_each(Column::clear);
        self.hits.iter_mut().for_each(Column::clear);
    }

    /// Removes the seeds that were added since the last event ended.
    pub fn drop_unfinished(&mut self) {
        let seeds = self.start[self.start.len() - 1] as usize;
        self.vertex.iter_mut().for_each(|column| column.set_len(seeds));
        self.hits.iter_mut().for_each(|column| column.set_len(seeds));
    }
}

/// The true particles of many events: [`CylinderSeeds`] that contain all hits of the particles.
#[derive(Debug, Clone, Default)]
pub struct CylinderTruth {
    /// The particles of each event (no unit).
    pub particles: CylinderSeeds,
    /// Index, in the event, of the particle of each hit; [`NO_HIT`] for a hit without a particle (no unit).
    pub particle_of: Vec<u32>,
}

impl CylinderTruth {
    /// Appends the truth of all events of another batch.
    pub fn append(&mut self, other: &Self) {
        self.particles.append(&other.particles);
        self.particle_of.extend_from_slice(&other.particle_of);
    }

    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.particles.clear();
        self.particle_of.clear();
    }
}
