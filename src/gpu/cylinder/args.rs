//! Arguments of the cylinder kernels: the configuration, and the positions of all data.

use super::formulas;
use crate::Status;
use crate::cylinder::geometry::{RADII, SEED_LAYERS};
use crate::cylinder::index::bins_z;
use crate::cylinder::{CylinderConfig, StartCovariance};
use crate::event::CYLINDER_LAYERS;
use crate::gpu::mirror::{Arguments, definition, mirrored};
use crate::kalman::CURVATURE_PER_TESLA;

mirrored! {
    /// Arguments of all kernels: addresses, sizes of the slice, and the configuration.
    struct CylinderArgs {
        layer_start: u64 = "const u32*",
        x: u64 = "const float*",
        y: u64 = "const float*",
        z: u64 = "const float*",
        var_rphi: u64 = "const float*",
        var_z: u64 = "const float*",
        status: u64 = "const u16*",
        seed_start: u64 = "const u32*",
        vertex: u64 = "const float*",
        seed_hits: u64 = "const u32*",
        state: u64 = "u32*",
        keys: u64 = "u64*",
        other_keys: u64 = "u64*",
        values: u64 = "u32*",
        other_values: u64 = "u32*",
        counts: u64 = "u32*",
        sums: u64 = "u32*",
        polar: u64 = "Record*",
        polar_radius: u64 = "float*",
        record: u64 = "Record*",
        radius: u64 = "float*",
        source: u64 = "u32*",
        index: u64 = "u32*",
        table: u64 = "u32*",
        helix: u64 = "float*",
        good: u64 = "u8*",
        indices: u64 = "u32*",
        hit_count: u64 = "u32*",
        first_hit: u64 = "u32*",
        first_track: u64 = "u32*",
        lost: u64 = "u64*",
        out_summary: u64 = "u32*",
        out_track_end: u64 = "u32*",
        out_status: u64 = "u16*",
        out_hit_end: u64 = "u32*",
        out_seed: u64 = "u32*",
        out_chi2: u64 = "float*",
        out_fit: u64 = "u8*",
        out_state: u64 = "float*",
        out_hits: u64 = "u32*",
        events: u32 = "u32",
        hits: u32 = "u32",
        seeds: u32 = "u32",
        /// Number of values from one column of seeds to the next.
        stride: u32 = "u32",
        out_stride: u32 = "u32",
        /// Lowest bit of the digit by which the pass sorts.
        shift: u32 = "u32",
        /// Number of counts to sum.
        count: u32 = "u32",
        rows: u32 = "u32",
        cells_of_event: u32 = "u32",
        table_start: [u32; 10] = "u32"[10],
        bins_z: [u32; 10] = "u32"[10],
        z_low: [f32; 10] = "float"[10],
        per_z: [f32; 10] = "float"[10],
        radii: [f32; 10] = "float"[10],
        per_phi: f32 = "float",
        shift_phi: f32 = "float",
        field: f32 = "float",
        chi2: f32 = "float",
        window: f32 = "float",
        window_phi: f32 = "float",
        window_z: f32 = "float",
        hole_penalty: f32 = "float",
        candidates: u32 = "u32",
        holes: u32 = "u32",
        hits_in_window: u32 = "u32",
        prior: [f32; 5] = "float"[5],
        /// Variances of seeds at the vertex; `published` selects the variances of mkFit instead.
        start: [f32; 6] = "float"[6],
        published: u32 = "u32",
    }
}

impl Arguments for CylinderArgs {
    const ADDRESSES: usize = std::mem::offset_of!(CylinderArgs, events) / 8;
    const KERNELS: &'static [&'static str] = &super::KERNELS;
}

/// Constants, formulas and structs of the kernels.
pub(in crate::gpu) fn definitions() -> String {
    let constants = [
        ("LAYERS", CYLINDER_LAYERS),
        ("SEED_LAYERS", SEED_LAYERS),
        ("BAD_ERRORS", Status::BadErrors as usize),
    ];
    let mut text: String =
        constants.iter().map(|(name, value)| format!("constexpr u32 {name} = {value};\n")).collect();
    text.push_str(&formulas::text());
    text.push_str(&definition::<CylinderArgs>());
    text
}

/// Number of entries in the table of one event: its cells, and one end for each layer.
pub(super) fn cells_of_event(config: &CylinderConfig) -> usize {
    let cells = |layer| (config.bins.phi * bins_z(&config.bins, layer)) as usize + 1;
    (0..CYLINDER_LAYERS).map(cells).sum()
}

impl CylinderArgs {
    /// Arguments with the configuration; the caller fills in addresses and sizes.
    pub(super) fn new(config: &CylinderConfig) -> Self {
        let CylinderConfig { bins, build, start, fit, .. } = config;
        let of_bins = std::array::from_fn(|layer| bins_z(bins, layer));
        let mut table_start = [0; CYLINDER_LAYERS];
        for layer in 1..CYLINDER_LAYERS {
            table_start[layer] = table_start[layer - 1] + bins.phi * of_bins[layer - 1] + 1;
        }
        Self {
            rows: bins.phi,
            cells_of_event: cells_of_event(config) as u32,
            table_start,
            bins_z: of_bins,
            z_low: bins.z_half.map(|half| -half),
            per_z: bins.z_width.map(|width| 1.0 / width),
            radii: RADII,
            per_phi: bins.phi as f32 / std::f32::consts::TAU,
            shift_phi: 1.5 * bins.phi as f32,
            field: CURVATURE_PER_TESLA * config.field,
            chi2: build.chi2,
            window: build.window,
            window_phi: build.window_phi,
            window_z: build.window_z,
            hole_penalty: build.hole_penalty,
            candidates: build.candidates,
            holes: build.holes,
            hits_in_window: build.hits_in_window,
            prior: fit.prior.map(|sigma| sigma * sigma),
            start: start.prior.map(|sigma| sigma * sigma),
            published: u32::from(start.covariance == StartCovariance::Published),
            ..bytemuck::Zeroable::zeroed()
        }
    }
}
