//! Bin: sorts the hits of an event by layer, azimuth and z, with a table of the first hit of each bin.
//!
//! A counting sort puts a layer's hits into rows of azimuth, and the hits of a row into bins of z. A window covers a
//! few rows, and in each row one range of hits, which takes two look-ups. Rows are wide, so that a candidate's window
//! seldom touches more than two rows; bins of z are narrow.
//!
//! The ten layers have nearly 400,000 cells, where a cell is one bin of one row. A layer with few hits has a table of
//! the first hit of each span of 2^[`SPAN`] cells, and a look-up steps over the hits of a span. A look-up gives the
//! same ranges as with a table of all cells, which would take longer to fill than all other steps together.

use super::config::BinConfig;
use super::hit::{has_errors, is_usable, polar};
use crate::Status;
use crate::event::{CYLINDER_LAYERS, Column, CylinderEvent};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Largest number of hits of a layer that has a table of spans.
const FEW: usize = 256;
/// Logarithm to base 2 of the number of cells of a span.
const SPAN: u32 = 4;

/// The sorted hits of an event.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Azimuth (rad) and z (cm) of each hit, and their variances.
    pub hits: Column<[f32; 4]>,
    /// Radius of each hit, cm.
    pub radius: Column<f32>,
    /// Each hit's index in the event's columns.
    pub source: Column<u32>,
    /// For each hit of the event's columns, its position in the index.
    pub place: Column<u32>,
    /// Position in the index of the first hit of each layer, then the number of all hits.
    pub layer_start: [usize; CYLINDER_LAYERS + 1],
    table: Column<u32>,
    table_start: [usize; CYLINDER_LAYERS + 1],
    /// Whether each layer has a table of spans.
    has_spans: [bool; CYLINDER_LAYERS],
    bins: BinConfig,
    /// Cell of each hit; in layers with spans in the order of `hits`.
    keys: Column<u32>,
    /// Temporary memory of the sort: the polar form of each hit, and its cell and number.
    polar: [Column<f32>; 5],
    cells: Column<u64>,
}

/// One layer of an index.
#[derive(Clone, Copy)]
pub(super) struct Layer<'a> {
    pub hits: &'a [[f32; 4]],
    table: &'a [u32],
    /// Cells of the hits, for a table of spans.
    keys: &'a [u32],
    has_spans: bool,
    bins_z: u32,
    rows: u32,
    z_low: f32,
    per_z: f32,
    per_phi: f32,
}

/// Returns the number of bins in z.
pub(crate) fn bins_z(bins: &BinConfig, layer: usize) -> u32 {
    (2.0 * bins.z_half[layer] / bins.z_width[layer]).ceil().max(1.0) as u32
}

impl Index {
    /// Returns a layer to search in.
    pub fn layer(&self, layer: usize) -> Layer<'_> {
        let rows = self.bins.phi;
        Layer {
            hits: self.hits.padded(),
            table: &self.table.padded()[self.table_start[layer]..],
            keys: self.keys.padded(),
            has_spans: self.has_spans[layer],
            bins_z: bins_z(&self.bins, layer),
            rows,
            z_low: -self.bins.z_half[layer],
            per_z: 1.0 / self.bins.z_width[layer],
            per_phi: rows as f32 / std::f32::consts::TAU,
        }
    }

    /// Reserves memory to sort the hits of an event by layer, row, bin and input order. [`Sorting::sort`] then sorts the
    /// layers, in any order.
    ///
    /// # Errors
    /// The status of an event that cannot be sorted.
    pub fn start(
        &mut self,
        bins: &BinConfig,
        event: &CylinderEvent<'_>,
    ) -> Result<[Sorting<'_>; CYLINDER_LAYERS], Status> {
        if event.status != Status::Ok {
            return Err(event.status);
        }
        if event.len() >= 1 << 27 {
            return Err(Status::TooManyHits);
        }
        self.bins.clone_from(bins);
        self.layer_start = event.layer_start;
        let hits = event.len();
        self.hits.set_len(hits);
        self.radius.set_len(hits);
        self.source.set_len(hits);
        self.place.set_len(hits);
        self.keys.set_len(hits);
        self.polar.iter_mut().for_each(|column| column.set_len(hits));
        self.cells.set_len(hits);
        let mut cells = 0;
        for layer in 0..CYLINDER_LAYERS {
            self.table_start[layer] = cells;
            let is_few = self.layer_start[layer + 1] - self.layer_start[layer] <= FEW;
            self.has_spans[layer] = is_few;
            let all = (bins.phi * bins_z(bins, layer)) as usize;
            cells += if is_few { (all >> SPAN) + 2 } else { all + 1 };
        }
        self.table_start[CYLINDER_LAYERS] = cells;
        self.table.set_len(cells);

        let starts = &self.layer_start;
        let mut hits = by_layer(&mut self.hits, starts);
        let mut radius = by_layer(&mut self.radius, starts);
        let mut source = by_layer(&mut self.source, starts);
        let mut place = by_layer(&mut self.place, starts);
        let mut keys = by_layer(&mut self.keys, starts);
        let mut polar = self.polar.each_mut().map(|column| by_layer(column, starts));
        let mut cells = by_layer(&mut self.cells, starts);
        let has_spans = self.has_spans;
        let mut table = by_layer(&mut self.table, &self.table_start);
        Ok(std::array::from_fn(|layer| Sorting {
            first: starts[layer],
            bins_z: bins_z(bins, layer),
            rows: bins.phi,
            z_low: -bins.z_half[layer],
            per_z: 1.0 / bins.z_width[layer],
            per_phi: bins.phi as f32 / std::f32::consts::TAU,
            hits: std::mem::take(&mut hits[layer]),
            radius: std::mem::take(&mut radius[layer]),
            source: std::mem::take(&mut source[layer]),
            place: std::mem::take(&mut place[layer]),
            keys: std::mem::take(&mut keys[layer]),
            polar: polar.each_mut().map(|column| std::mem::take(&mut column[layer])),
            cells: std::mem::take(&mut cells[layer]),
            has_spans: has_spans[layer],
            table: std::mem::take(&mut table[layer]),
            status: Status::Ok,
        }))
    }
}

/// Cuts a column at the beginning of each layer.
fn by_layer<'a, T>(
    mut rest: &'a mut [T],
    starts: &[usize; CYLINDER_LAYERS + 1],
) -> [&'a mut [T]; CYLINDER_LAYERS] {
    std::array::from_fn(|layer| {
        let (one, behind) = std::mem::take(&mut rest).split_at_mut(starts[layer + 1] - starts[layer]);
        rest = behind;
        one
    })
}

/// One layer of an index while its hits are sorted: the layer's part of each column.
pub(super) struct Sorting<'a> {
    /// Number of the layer's first hit in the event.
    first: usize,
    bins_z: u32,
    rows: u32,
    z_low: f32,
    per_z: f32,
    per_phi: f32,
    hits: &'a mut [[f32; 4]],
    radius: &'a mut [f32],
    source: &'a mut [u32],
    place: &'a mut [u32],
    keys: &'a mut [u32],
    polar: [&'a mut [f32]; 5],
    cells: &'a mut [u64],
    /// Whether the table has one entry per span.
    has_spans: bool,
    table: &'a mut [u32],
    /// `Ok` if all hits have finite coordinates off the axis, and valid errors; otherwise the fault of a bad hit. Bad
    /// coordinates take precedence over bad errors.
    pub status: Status,
}

impl Sorting<'_> {
    /// Sorts the hits of the layer, if all are valid.
    #[inline(always)]
    pub fn sort<G: Gang>(&mut self, g: G, event: &CylinderEvent<'_>) {
        self.status = self.convert(g, event);
        if self.status == Status::Ok {
            if self.has_spans { self.place_few() } else { self.place_all() }
        }
    }

    /// Computes the polar form and cell of each hit. Checks that all are finite, off the axis and measured.
    #[inline(always)]
    fn convert<G: Gang>(&mut self, g: G, event: &CylinderEvent<'_>) -> Status {
        let (mut fine, mut placed) = (Mask::first(g, G::LANES), Mask::first(g, G::LANES));
        let (rows, bins_z) = (self.rows, self.bins_z);
        let (z_low, per_z, per_phi) = (self.z_low, self.per_z, self.per_phi);
        let count = self.keys.len();
        for to in (0..count).step_by(G::LANES) {
            let (at, lanes) = (self.first + to, Mask::first(g, count - to));
            let position = [event.x, event.y, event.z].map(|column| &column[at..]);
            let [x, y, z] = [
                F32::load_some(position[0], lanes),
                F32::load_some(position[1], lanes),
                F32::load_some(position[2], lanes),
            ];
            let var_rphi = F32::load_some(&event.var_rphi[at..], lanes);
            let var_z = F32::load_some(&event.var_z[at..], lanes);
            let hit = polar(g, [x, y, z], var_rphi, var_z);
            let usable = is_usable(g, &hit) | !lanes;
            fine = fine & usable;
            placed = placed & (usable | !has_errors(g, [var_rphi, var_z]));
            let row = Layer::row_of(g, rows, per_phi, hit.position[0]);
            let bin = Layer::bin_of(g, bins_z, z_low, per_z, hit.position[1]);
            let key = row * U32::splat(g, bins_z) + bin;
            key.store_some(&mut self.keys[to..], lanes);
            let values = [hit.position[0], hit.position[1], hit.variance[0], hit.variance[1], hit.radius];
            for (column, value) in self.polar.iter_mut().zip(values) {
                value.store_some(&mut column[to..], lanes);
            }
        }
        match (fine.all(), placed.all()) {
            (true, _) => Status::Ok,
            (false, true) => Status::BadErrors,
            (false, false) => Status::NotFinite,
        }
    }

    /// Sorts the hits by comparison, and fills the table of spans.
    fn place_few(&mut self) {
        let first = self.first as u32;
        for (hit, (cell, key)) in self.cells.iter_mut().zip(&*self.keys).enumerate() {
            *cell = u64::from(*key) << 32 | hit as u64;
        }
        self.cells.sort_unstable();
        let [phi, z, var_phi, var_z, radius] = &self.polar;
        let mut begun = 0;
        for (to, cell) in self.cells.iter().enumerate() {
            let (key, hit) = ((cell >> 32) as u32, *cell as u32 as usize);
            let place = first + to as u32;
            self.hits[to] = [phi[hit], z[hit], var_phi[hit], var_z[hit]];
            self.radius[to] = radius[hit];
            self.source[to] = first + hit as u32;
            self.place[hit] = place;
            self.keys[to] = key;
            let span = (key >> SPAN) as usize;
            if span >= begun {
                self.table[begun..=span].fill(place);
                begun = span + 1;
            }
        }
        self.table[begun..].fill(first + self.cells.len() as u32);
    }

    /// Sorts the hits by counting.
    fn place_all(&mut self) {
        let first = self.first as u32;
        self.table.fill(0);
        for &key in self.keys.iter() {
            self.table[key as usize] += 1;
        }
        let mut end = first;
        for cell in self.table.iter_mut() {
            end += *cell;
            *cell = end;
        }
        // No `map` per hit here: some builds would compile it to a call.
        let [phi, z, var_phi, var_z, radius] = &self.polar;
        // In reverse order, so that hits with equal keys keep their order; at the end each cell of the table has its first hit.
        for hit in (0..self.keys.len()).rev() {
            let cell = &mut self.table[self.keys[hit] as usize];
            *cell -= 1;
            let place = *cell;
            let to = (place - first) as usize;
            self.hits[to] = [phi[hit], z[hit], var_phi[hit], var_z[hit]];
            self.radius[to] = radius[hit];
            self.source[to] = first + hit as u32;
            self.place[hit] = place;
        }
    }
}

impl Layer<'_> {
    /// Returns the row of an azimuth that is within about a turn of -pi..pi.
    #[inline(always)]
    fn row_of<G: Gang>(g: G, rows: u32, per_phi: f32, phi: F32<G>) -> U32<G> {
        let shift = 1.5 * rows as f32;
        let row = phi.mul_add(F32::splat(g, per_phi), F32::splat(g, shift)).to_i32().to_bits();
        row & U32::splat(g, rows - 1)
    }

    /// Returns the bin of a z.
    #[inline(always)]
    fn bin_of<G: Gang>(g: G, bins: u32, z_low: f32, per_z: f32, z: F32<G>) -> U32<G> {
        let bin = (z - F32::splat(g, z_low)) * F32::splat(g, per_z);
        let last = F32::splat(g, (bins - 1) as f32);
        bin.max(F32::splat(g, 0.0)).min(last).to_i32().to_bits()
    }

    /// Returns the rows from `phi - width` to `phi + width`: the first row and the number of rows (`width` < 1 rad).
    #[inline(always)]
    pub fn rows_of<G: Gang>(&self, g: G, phi: F32<G>, width: F32<G>) -> (U32<G>, U32<G>) {
        // Rows are not wrapped yet, so that their difference is correct.
        let shift = F32::splat(g, 1.5 * self.rows as f32);
        let scale = F32::splat(g, self.per_phi);
        let first = (phi - width).mul_add(scale, shift).to_i32().to_bits();
        let last = (phi + width).mul_add(scale, shift).to_i32().to_bits();
        (first, last - first + U32::splat(g, 1))
    }

    /// Returns begin and end of the hits in the bins `first` to `last` of a row; `row` may exceed a turn.
    #[inline(always)]
    pub fn range<G: Gang>(&self, g: G, row: U32<G>, first: U32<G>, last: U32<G>) -> (U32<G>, U32<G>) {
        let cell = (row & U32::splat(g, self.rows - 1)) * U32::splat(g, self.bins_z);
        let (begin, end) = (cell + first, cell + last + U32::splat(g, 1));
        if self.has_spans {
            (self.first_from(g, begin), self.first_from(g, end))
        } else {
            (U32::gather(self.table, begin), U32::gather(self.table, end))
        }
    }

    /// Returns the first hit that is not before a cell.
    #[inline(always)]
    fn first_from<G: Gang>(&self, g: G, cell: U32<G>) -> U32<G> {
        let span = cell.shr::<SPAN>();
        let mut hit = U32::gather(self.table, span);
        let end = U32::gather(self.table, span + U32::splat(g, 1));
        // Nearly all spans have at most one hit.
        loop {
            let is_in = hit.lt(end);
            if !is_in.any() {
                return hit;
            }
            let is_before = U32::gather(self.keys, hit).lt(cell) & is_in;
            if !is_before.any() {
                return hit;
            }
            hit = hit.count(is_before);
        }
    }

    /// Returns the bins from `z - width` to `z + width`: the first and the last bin.
    #[inline(always)]
    pub fn bins<G: Gang>(&self, g: G, z: F32<G>, width: F32<G>) -> (U32<G>, U32<G>) {
        (
            Self::bin_of(g, self.bins_z, self.z_low, self.per_z, z - width),
            Self::bin_of(g, self.bins_z, self.z_low, self.per_z, z + width),
        )
    }
}
