//! Constants of a pass of the search by rows of bits, computed once: rows, windows and parabolas.

use super::sensitivity::{Crossings, Sensitivity};
use crate::scifi::config::{RowPass, RowsConfig};
use crate::scifi::layers::{SLOPE, UV_LAYERS, X_LAYERS, Z, Z_REFERENCE, bend};

/// Number of shifts in a window of bits.
pub(super) const SHIFTS: usize = 256;
/// Number of slopes in y in a window of bits of a u or v layer, and number of bits before the slope 0: tracks cross y = 0
/// by a few millimetres.
pub(super) const SLOPES: usize = 512;
pub(super) const BEFORE: usize = 8;
/// Largest |x| in a row, mm: the fibres end at 3.2 m. Rows of u and v end where tracks within this |x| may have hits.
pub(super) const REACH: f64 = 3_300.0;
const UV_REACH: f64 = REACH + 400.0;
/// y of the end of the fibres, mm; divided by z of the reference it is the largest slope in y.
const MAX_Y: f64 = 2_750.0;
/// Number of bits of a row before and after the marks of hits: windows begin there.
const X_MARGIN: f64 = 512.0;
const UV_MARGIN: f64 = 1_024.0;
/// Further bits that a hit marks, because it is anywhere within its bit.
const BIT_PARTS: f64 = 0.2;
/// Half width of the mark of a hit in u or v, in tolerances, and further bits.
const UV_MARKS: [f64; 2] = [0.8, 0.5];

/// A row of one x layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    pub(super) layer: usize,
    /// Bits that a hit sets.
    pub(super) bits: usize,
    /// First word of the row, and the word after its last one.
    pub(super) words: [usize; 2],
    /// A hit at x sets bits from `x * hit[0] + hit[1]` on.
    pub(super) hit: [f32; 2],
    /// The window of a pivot at x begins at bit `x * window[0] + window[1]`.
    pub(super) window: [f32; 2],
    /// Largest first bit of a mark or window.
    pub(super) most: f32,
    /// A track is at `ratio` times x of the pivot, plus `k` times its shift.
    pub(super) ratio: f32,
    pub(super) k: f32,
    /// Largest distance of its hit from there, mm, in the inner and in the outer part.
    pub(super) tolerance: [f32; 2],
    /// z of the layer from the reference, m, and its bend: factors of the fit.
    pub(super) u: f32,
    pub(super) v: f32,
}

/// The rows of one pivot's layer; rows of T1 are first, rows of T3 last.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub(super) pivot: usize,
    pub(super) rows: Vec<Row>,
    /// Factors by which distances at two rows give the distance at each row, for a parabola through the pivot. The two rows
    /// are, in T1 and T3, (first, last), (second, last but one), (first, last but one), (second, last).
    pub(super) parabolas: [[[f32; 2]; X_LAYERS - 1]; 4],
    /// The pivot's layer as in [`Row`].
    pub(super) u: f32,
    pub(super) v: f32,
    /// Factors from x of the pivot to the line from the origin: to x at the reference, and to the slope. Tracks are
    /// described as if the layers were at their nominal z: when all layers are moved along z, the line passes the pivot's
    /// hit at the nominal z of its layer.
    pub(super) to_reference: f32,
    pub(super) to_slope: f32,
}

/// A row of a u or v layer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UvRow {
    pub(super) bits: usize,
    pub(super) words: [usize; 2],
    /// In the upper half, a hit at x sets bits from `x * scale + hit` on, and the window of a track at x begins at `x *
    /// scale + window`. In the lower half, where y is negative, the scale has the opposite sign.
    pub(super) scale: f32,
    pub(super) hit: f32,
    pub(super) window: f32,
    /// Largest first bit of a mark or window.
    pub(super) most: f32,
    /// z from the reference, mm, and the factor of the third parameter of a track.
    pub(super) d: f32,
    pub(super) bend: f32,
    /// dx/dy, dx per slope in y, and dy/dx.
    pub(super) slope: f32,
    pub(super) per_slope: f32,
    pub(super) to_y: f32,
}

/// All constants of a pass.
#[derive(Debug, Clone)]
pub(in crate::scifi) struct Plan {
    pub(super) sets: [Rows; 2],
    /// Words of all rows of a half.
    pub(super) words: usize,
    /// Shift of the first bit, and change from bit to bit, mm.
    pub(super) first_shift: f32,
    pub(super) step: f32,
    /// Bits of the shifts for which four hits are enough.
    pub(super) inner: [u64; SHIFTS / 64],
    pub(super) uv: [UvRow; UV_LAYERS],
    pub(super) uv_words: usize,
    /// Change of the slope in y from bit to bit.
    pub(super) slope_step: f32,
    pub(super) outer: f32,
}

/// Number of words after the last first bit: a window and a part of one more word.
const WORDS_BEHIND: usize = SLOPES / 64 + 1;

/// Returns the first word of a row of so many bits, and the word after its last one.
fn words(from: usize, bits: f64) -> [usize; 2] {
    [from, from + (bits / 64.0) as usize + 1 + WORDS_BEHIND]
}

fn most([from, to]: [usize; 2]) -> f32 {
    (64 * (to - from - WORDS_BEHIND)) as f32
}

fn metres(layer: usize) -> [f64; 2] {
    let d = Z[layer] - Z_REFERENCE;
    [1e-3 * d, 1e-6 * bend(d)]
}

impl Plan {
    /// Computes the constants of one pass, given z of the x layers, mm, and fixed tracks through them.
    pub(in crate::scifi) fn new(
        config: &RowsConfig,
        pass: &RowPass,
        z: &Crossings,
        tracks: &[Crossings],
    ) -> Self {
        let step = 2.0 * f64::from(pass.shift) / SHIFTS as f64;
        let first_shift = -0.5 * (SHIFTS - 1) as f64 * step;
        let shift = |bit: usize| first_shift + bit as f64 * step;
        let mut inner = [0; SHIFTS / 64];
        for bit in (0..SHIFTS).filter(|bit| shift(*bit).abs() < f64::from(pass.four_hit_shift)) {
            inner[bit / 64] |= 1 << (bit % 64);
        }
        let mut end = 0;
        let mut set = |number: usize| {
            let pivot = config.pivots[number];
            let sensitivity = Sensitivity::new(z, tracks, pivot);
            let others = (0..X_LAYERS).filter(|layer| !config.pivots[..=number].contains(layer));
            let rows = others.map(|layer| {
                let row = x_row((config, pass), z, &sensitivity, (pivot, layer), step, end);
                end = row.words[1];
                row
            });
            Rows::new(pivot, z, rows.collect())
        };
        let sets = [set(0), set(1)];
        let slope_step = MAX_Y / Z_REFERENCE / SLOPES as f64;
        let mut uv_end = 0;
        let uv = std::array::from_fn(|layer| {
            let row = uv_row(pass, layer, slope_step, uv_end);
            uv_end = row.words[1];
            row
        });
        Self {
            sets,
            words: end,
            first_shift: first_shift as f32,
            step: step as f32,
            inner,
            uv,
            uv_words: uv_end,
            slope_step: slope_step as f32,
            outer: config.outer,
        }
    }
}

/// Returns the row of a layer, given the pivot's layer, the step of the shift and the row's first word.
fn x_row(
    (config, pass): (&RowsConfig, &RowPass),
    z: &Crossings,
    sensitivity: &Sensitivity,
    (pivot, layer): (usize, usize),
    step: f64,
    from: usize,
) -> Row {
    let k = sensitivity.k[layer];
    // Width of a bit, mm; rows of layers where x falls as the shift grows are mirrored.
    let (width, sign) = ((k.abs() * step).max(0.02), k.signum());
    let [constant, factor] = config.reach.map(f64::from);
    let reach = f64::from(pass.width) * (constant + factor * sensitivity.spread[layer]);
    let bits = (2.0 * reach / width + BIT_PARTS).ceil().min(32.0);
    let middle = REACH / width + X_MARGIN;
    let ratio = z[layer] / z[pivot];
    let tolerance = reach + width;
    let [u, v] = metres(layer);
    let words = words(from, 2.0 * middle);
    Row {
        layer,
        bits: bits as usize,
        words,
        most: most(words),
        hit: [(sign / width) as f32, (middle - 0.5 * (bits - 1.0)) as f32],
        window: [(ratio * sign / width) as f32, (middle - 0.5 * (SHIFTS - 1) as f64) as f32],
        ratio: ratio as f32,
        k: k as f32,
        tolerance: [tolerance as f32, (tolerance + width) as f32],
        u: u as f32,
        v: v as f32,
    }
}

impl Rows {
    fn new(pivot: usize, z: &Crossings, rows: Vec<Row>) -> Self {
        let [u, v] = metres(pivot);
        let from_pivot = |row: usize| {
            let [u_there, v_there] = metres(rows[row].layer);
            [u_there - u, v_there - v]
        };
        let last = rows.len() - 1;
        let mut parabolas = [[[0.0; 2]; X_LAYERS - 1]; 4];
        for (parabola, (a, b)) in
            parabolas.iter_mut().zip([(0, last), (1, last - 1), (0, last - 1), (1, last)])
        {
            let ([ua, va], [ub, vb]) = (from_pivot(a), from_pivot(b));
            let determinant = ua * vb - ub * va;
            for (row, factors) in parabola.iter_mut().enumerate().take(rows.len()) {
                let [u, v] = from_pivot(row);
                *factors =
                    [((u * vb - v * ub) / determinant) as f32, ((v * ua - u * va) / determinant) as f32];
            }
        }
        let to_reference = (1.0 + (Z_REFERENCE - Z[pivot]) / z[pivot]) as f32;
        let to_slope = (1.0 / z[pivot]) as f32;
        Self { pivot, rows, parabolas, u: u as f32, v: v as f32, to_reference, to_slope }
    }
}

/// Returns the row of a u or v layer.
fn uv_row(pass: &RowPass, layer: usize, slope_step: f64, from: usize) -> UvRow {
    let (z, slope) = (Z[X_LAYERS + layer], SLOPE[layer]);
    let width = slope.abs() * z * slope_step;
    let [tolerances, more] = UV_MARKS;
    let bits = (2.0 * tolerances * f64::from(pass.uv_tolerance) / width + more).ceil().min(60.0);
    let middle = UV_REACH / width + UV_MARGIN;
    // x falls as y grows where the slope is positive. In the upper half y grows with the slope.
    let per_mm = -slope.signum() / width;
    let d = z - Z_REFERENCE;
    let words = words(from, 2.0 * middle);
    UvRow {
        bits: bits as usize,
        words,
        scale: per_mm as f32,
        hit: (middle - 0.5 * (bits - 1.0)) as f32,
        window: (middle + 0.5 - BEFORE as f64) as f32,
        most: most(words),
        d: d as f32,
        bend: bend(d) as f32,
        slope: slope as f32,
        per_slope: (slope * z) as f32,
        to_y: (1.0 / slope) as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scifi::rows::fixed_tracks;

    /// Regression test: lines were off by a few millimetres in the u and v layers of a SciFi that was moved, so that y was
    /// off by tens of millimetres.
    #[test]
    fn lines_through_moved_layers_pass_where_hits_are() {
        for by in [0.0, -20.0, 20.0] {
            let z: Crossings = std::array::from_fn(|layer| Z[layer] + by);
            let config = RowsConfig::default();
            let plan = Plan::new(&config, &config.passes[0], &z, &fixed_tracks(&z, 1.0));
            for set in &plan.sets {
                let slope = 0.2;
                let at_pivot = slope * z[set.pivot];
                for layer in Z {
                    let line = at_pivot * f64::from(set.to_reference);
                    let line = line + at_pivot * f64::from(set.to_slope) * (layer - Z_REFERENCE);
                    assert!((line - slope * (layer + by)).abs() < 1e-3, "{by} mm: {line} at {layer}");
                }
            }
        }
    }
}
