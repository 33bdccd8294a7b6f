//! Arguments of the Velo kernels: the configuration, and the positions of all data.

use crate::Status;
use crate::event::VELO_MODULES;
use crate::gpu::mirror::{Arguments, definition, mirrored};
use crate::velo::geometry::{MOST_ON_SENSORS, PAIR_HALF_DEPTH, PAIRS, pair_middle};
use crate::velo::{MAX_SLOPE2, MAX_WINDOW, MIN_LENGTH, PassConfig, VeloConfig, XX_ROUNDED_UP};

mirrored! {
    /// A sorted hit, and its index in the event's columns.
    aligned 16 struct VeloHit {
        x: f32 = "float",
        y: f32 = "float",
        z: f32 = "float",
        source: u32 = "u32",
    }
}

mirrored! {
    /// A triplet of a middle hit.
    aligned 16 struct VeloTriplet {
        outer: u32 = "u32",
        inner: u32 = "u32",
        score: f32 = "float",
        /// Shape of the triplet, or a value for no triplet.
        shape: u32 = "u32",
    }
}

mirrored! {
    /// A candidate: the line through its last two hits, its score, and the state of its search.
    aligned 16 struct VeloRow {
        x: f32 = "float",
        y: f32 = "float",
        z: f32 = "float",
        tx: f32 = "float",
        ty: f32 = "float",
        inverse: f32 = "float",
        score: f32 = "float",
        /// Number of the candidate within its pass.
        order: u32 = "u32",
        hits: u32 = "u32",
        /// Number of consecutive pairs without a hit.
        missed: u32 = "u32",
        pass: u32 = "u32",
        /// Whether the candidate was accepted with three hits.
        weak: u32 = "u32",
        /// Pair of the first hit; `low` is the pair of the last hit.
        high: u32 = "u32",
        low: u32 = "u32",
        unused: [u32; 2] = "u32"[2],
    }
}

mirrored! {
    /// [`PassConfig`].
    struct VeloPass {
        window: f32 = "float",
        doublet_doca: f32 = "float",
        score: f32 = "float",
        scatter_slope: f32 = "float",
        doca_weight: f32 = "float",
        weak_score: f32 = "float",
        gaps: u32 = "u32",
        gap_window: f32 = "float",
        gap_doublet_doca: f32 = "float",
        gap_score: f32 = "float",
        gap_doca_weight: f32 = "float",
    }
}

mirrored! {
    /// Arguments of all kernels: addresses, sizes of the slice, and the configuration.
    struct VeloArgs {
        x: u64 = "const float*",
        y: u64 = "const float*",
        z: u64 = "const float*",
        id: u64 = "const u32*",
        module_start: u64 = "const u32*",
        status: u64 = "const u16*",
        state: u64 = "u32*",
        unsorted: u64 = "u32*",
        sorted: u64 = "VeloHit*",
        used: u64 = "u8*",
        taken: u64 = "u8*",
        cells: u64 = "u32*",
        claim: u64 = "u64*",
        other_claim: u64 = "u64*",
        triplets: u64 = "VeloTriplet*",
        row: u64 = "VeloRow*",
        row_hits: u64 = "u32*",
        active: u64 = "u32*",
        other_active: u64 = "u32*",
        accepted: u64 = "u32*",
        order: u64 = "u32*",
        first_hit: u64 = "u32*",
        row_count: u64 = "u32*",
        first_row_of_pass: u64 = "u32*",
        accepted_count: u64 = "u32*",
        cut_short: u64 = "u32*",
        track_count: u64 = "u32*",
        hit_count: u64 = "u32*",
        sums: u64 = "u32*",
        summary: u64 = "u32*",
        row_of_track: u64 = "u32*",
        event_of_track: u64 = "u32*",
        out_track_end: u64 = "u32*",
        out_hit_end: u64 = "u32*",
        out_hits: u64 = "u32*",
        out_status: u64 = "u16*",
        out_backward: u64 = "u8*",
        out_chi2: u64 = "float*",
        out_beam: u64 = "float*",
        out_end: u64 = "float*",
        events: u32 = "u32",
        hits_in_all: u32 = "u32",
        rows: u32 = "u32",
        /// Number of the pass.
        pass: u32 = "u32",
        /// Number of values from one column of states to the next.
        out_stride: u32 = "u32",
        hits_in_event: u32 = "u32",
        hits_in_module: u32 = "u32",
        candidates_in_window: u32 = "u32",
        coordinate: f32 = "float",
        max_window: u32 = "u32",
        two_hit_variances: f32 = "float",
        scatter_constant: f32 = "float",
        scatter_slope: f32 = "float",
        forward_chi2: f32 = "float",
        join_chi2: f32 = "float",
        /// Squares of the inner and outer radius between which most hits of sensors lie, mm^2.
        sensors_inner2: f32 = "float",
        sensors_outer2: f32 = "float",
        inner_radius: f32 = "float",
        forward_inner_radius: f32 = "float",
        outer_radius: f32 = "float",
        skipped_pairs: u32 = "u32",
        shared_hits: f32 = "float",
        hit_weight: f32 = "float",
        hit_variance: f32 = "float",
        /// Variance of a hit, slightly enlarged, by which the variance of x is multiplied for the output, mm^2.
        xx_variance: f32 = "float",
        /// Smallest distance in z between the ends of a track from which its first slopes are computed, mm.
        min_length: f32 = "float",
        /// Limit on tx^2 + ty^2 of the line through the ends, below which slopes are counted from this line (no unit).
        max_slope2: f32 = "float",
        unused: u32 = "u32",
        noise_constant: f32 = "float",
        noise_slope: f32 = "float",
        noise_steep: f32 = "float",
        noise_gain: f32 = "float",
        /// chi2 in units of a hit's variance, mm^2.
        noise_usual: f32 = "float",
        noise_largest: f32 = "float",
        noise_beam: f32 = "float",
        noise_end: f32 = "float",
        end_z: f32 = "float",
        beam_x: f32 = "float",
        beam_y: f32 = "float",
        pair_half_depth: f32 = "float",
        pair_middle: [f32; 26] = "float"[26],
        passes: [VeloPass; 2] = "VeloPass"[2],
    }
}

impl Arguments for VeloArgs {
    const ADDRESSES: usize = std::mem::offset_of!(VeloArgs, events) / 8;
    const KERNELS: &'static [&'static str] = &super::KERNELS;
}

/// Constants and structs of the kernels.
pub(in crate::gpu) fn definitions() -> String {
    let constants = [
        ("PAIRS", PAIRS),
        ("MODULES", VELO_MODULES),
        ("OK", Status::Ok as usize),
        ("NOT_FINITE", Status::NotFinite as usize),
        ("TOO_MANY_HITS", Status::TooManyHits as usize),
        ("TOO_MANY_HITS_IN_MODULE", Status::TooManyHitsInModule as usize),
        ("TOO_MANY_TRACKS", Status::TooManyTracks as usize),
        ("OUT_OF_RANGE", Status::OutOfRange as usize),
        ("BINS", BINS),
        ("ROW", ROW),
    ];
    let mut text: String =
        constants.iter().map(|(name, value)| format!("constexpr u32 {name} = {value};\n")).collect();
    text.push_str(&definition::<VeloHit>());
    text.push_str(&definition::<VeloTriplet>());
    text.push_str(&definition::<VeloRow>());
    text.push_str(&definition::<VeloPass>());
    text.push_str(&definition::<VeloArgs>());
    text
}

/// Number of bins in a full turn.
pub(super) const BINS: usize = 256;
/// Largest number of hits of a candidate: one per pair.
pub(super) const ROW: usize = PAIRS;

impl VeloArgs {
    /// Arguments with the configuration; the caller fills in addresses and sizes.
    pub(super) fn new(config: &VeloConfig) -> Self {
        let VeloConfig { limits, best, fit, .. } = config;
        Self {
            hits_in_event: limits.hits,
            hits_in_module: limits.hits_in_module,
            candidates_in_window: limits.candidates_in_window,
            coordinate: limits.coordinate,
            max_window: MAX_WINDOW,
            two_hit_variances: 2.0 * (best.hit_resolution * best.hit_resolution),
            scatter_constant: best.scatter_constant,
            scatter_slope: best.scatter_slope,
            forward_chi2: best.forward_chi2,
            join_chi2: best.join_chi2,
            sensors_inner2: MOST_ON_SENSORS[0] * MOST_ON_SENSORS[0],
            sensors_outer2: MOST_ON_SENSORS[1] * MOST_ON_SENSORS[1],
            inner_radius: best.inner_radius,
            forward_inner_radius: best.forward_inner_radius,
            outer_radius: best.outer_radius,
            skipped_pairs: best.skipped_pairs,
            shared_hits: best.shared_hits,
            hit_weight: fit.weight,
            hit_variance: 1.0 / fit.weight,
            xx_variance: 1.0 / fit.weight * XX_ROUNDED_UP,
            min_length: MIN_LENGTH,
            max_slope2: MAX_SLOPE2,
            noise_constant: fit.noise_constant * fit.weight,
            noise_slope: fit.noise_slope * fit.weight,
            noise_steep: fit.noise_steep * fit.weight,
            noise_gain: fit.noise_gain * fit.weight,
            noise_usual: fit.noise_chi2 / fit.weight,
            noise_largest: fit.noise_largest_chi2 / fit.weight,
            noise_beam: fit.noise_beam,
            noise_end: fit.noise_end,
            end_z: fit.end_z,
            beam_x: fit.beam_x,
            beam_y: fit.beam_y,
            pair_half_depth: PAIR_HALF_DEPTH,
            pair_middle: std::array::from_fn(pair_middle),
            passes: [pass(&best.first), pass(&best.second)],
            ..bytemuck::Zeroable::zeroed()
        }
    }
}

fn pass(config: &PassConfig) -> VeloPass {
    VeloPass {
        window: config.window,
        doublet_doca: config.doublet_doca,
        score: config.score,
        scatter_slope: config.scatter_slope,
        doca_weight: config.doca_weight,
        weak_score: config.weak_score,
        gaps: config.gaps.into(),
        gap_window: config.gap_window,
        gap_doublet_doca: config.gap_doublet_doca,
        gap_score: config.gap_score,
        gap_doca_weight: config.gap_doca_weight,
    }
}
