//! A nominal SciFi for simulations without geometry files: mats, sizes and angles of the real SciFi, in round numbers.
//! All fibres begin near y = 0; real fibres next to the beam pipe do not.

use super::geometry::{Boards, FIRST_QUARTER, Mat, QUARTER_SHIFT, QUARTERS, SciFiGeometry};
use crate::simd::with_default_float_mode;

/// z of the layers, mm.
const LAYER_Z: [f64; 12] = [
    7826.106, 7895.919, 7966.104, 8035.905, 8508.106, 8577.869, 8648.154, 8717.904, 9193.106, 9262.982,
    9333.041, 9402.904,
];
/// Angle of the fibres in the layers of a station, degrees.
const ANGLE: [f64; 4] = [0.0, 5.0, -5.0, 0.0];
/// dz/dy: the layers stand upright, and the beam is slightly inclined.
const LEAN: f64 = 0.0036;
/// Distance between modules, between the mats in a module, and of the first mat from the beam, mm.
const MODULE_STEP: f64 = 530.0;
const MAT_STEP: f64 = 130.8;
const FIRST_X: f64 = 68.8;
/// Number of mats of a module, and of modules of a quarter in each station.
const MATS_IN_MODULE: usize = 4;
const MODULES: [usize; 3] = [5, 5, 6];
/// y of the fibres' ends, mm.
const MIRROR_Y: f64 = 1.5;
/// Common values of all mats, mm: the first channel, half the pitch, the gap of a SiPM, the distance between SiPMs.
const COMMON: [f32; 4] = [-65.16, 0.125, 0.22, 32.7];
/// Detector number in LHCbIDs.
const DETECTOR: u32 = 5 << 28;
/// Number of boards of a quarter, and number of bits of a channel number below its SiPM number.
const BOARDS_IN_QUARTER: u32 = 5;
const SIPM_SHIFT: u32 = 7;

/// Returns a mat by its number from the first one on, if it exists.
fn mat(number: usize) -> Option<Mat> {
    let (layer, quarter, module, mat) = (number >> 7, number >> 5 & 3, number >> 2 & 7, number & 3);
    if module >= MODULES[layer / 4] {
        return None;
    }
    // Quarters 0 and 2 are at x < 0; x rises from mat to mat everywhere.
    let (left, upper) = (quarter % 2 == 0, quarter >= 2);
    let middle = FIRST_X + 0.5 * MAT_STEP * (MATS_IN_MODULE - 1) as f64 + MODULE_STEP * module as f64;
    let middle = if left { -middle } else { middle };
    let angle = ANGLE[layer % 4].to_radians();
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    // A module is rotated about its middle at y = 0; fibres end at the line y = MIRROR_Y.
    let across = MAT_STEP * (mat as f64 - 0.5 * (MATS_IN_MODULE - 1) as f64);
    let y = if upper { MIRROR_Y } else { -MIRROR_Y };
    let (y, x) = (y * cos - across * sin, middle + across * cos + y * sin);
    Some(Mat {
        mirror: [x as f32, y as f32, (LAYER_Z[layer] + LEAN * y) as f32],
        step: [cos as f32, -sin as f32, (-sin * LEAN) as f32],
        slope: [(sin / cos) as f32, LEAN as f32],
    })
}

/// Returns the first channel of each board: whole SiPMs, shared evenly among the boards of a quarter.
fn boards() -> Vec<u32> {
    let board = |quarter: u32, number: u32| {
        let modules = MODULES[quarter as usize / 16] as u32;
        let sipm = modules * 16 * number / BOARDS_IN_QUARTER / 4 * 4;
        (FIRST_QUARTER + quarter) << QUARTER_SHIFT | sipm << SIPM_SHIFT
    };
    (0..QUARTERS as u32).flat_map(|quarter| (0..BOARDS_IN_QUARTER).map(move |n| board(quarter, n))).collect()
}

impl SciFiGeometry {
    /// Returns the nominal SciFi. Its boards have numbers 0 to 239 and send banks of versions 4 to 6; its LHCbIDs have
    /// the newer format.
    pub fn nominal() -> Self {
        let scifi =
            with_default_float_mode(|| Self::assemble(DETECTOR, Boards::Consecutive(boards()), COMMON, mat));
        scifi.into_nominal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scifi::SciFiChannel;

    #[test]
    fn layers_are_covered_and_channels_lie_where_they_say() {
        let scifi = SciFiGeometry::nominal();
        assert!(scifi.board_quarter.is_some(), "boards stand in the order of their channels");
        for layer in 0..12 {
            let mut seen = 0;
            for i in 0..400 {
                // The points cover the layer and do not follow the detector's structure.
                let x = (f64::from(i) * 1370.3) % 5000.0 - 2500.0;
                let y = (f64::from(i) * 777.7) % 4000.0 - 2000.0;
                let Some(hit) = scifi.channel_at(layer, |_| [x as f32, y as f32]) else { continue };
                assert_eq!((hit.id >> 16 & 0xF) as usize, layer + 4);
                assert_eq!(scifi.channel(hit.id & 0x0FFF_FFFF, hit.half), Some(hit));
                seen += 1;
            }
            // There is a gap in each SiPM, between SiPMs, and between modules.
            assert!((370..400).contains(&seen), "layer {layer}: {seen} of 400 points are seen");
        }
    }

    /// Finds the channel by testing every mat of a layer.
    fn slow(scifi: &SciFiGeometry, layer: usize, at: impl Fn(f32) -> [f32; 2]) -> Option<SciFiChannel> {
        (512 + 128 * layer..640 + 128 * layer).find_map(|mat| {
            let ([mx, ux, my, uy], [z, _, slope_x, slope_z]) = (scifi.across[mat], scifi.along[mat]);
            let [_, y] = at(z);
            if slope_z.is_nan() || (y > 0.0) != (mat >> 6 & 1 == 1) {
                return None;
            }
            let [x, y] = at(z + y * slope_z);
            let u = (x - slope_x * (y - my) - mx) / (ux - slope_x * uy) - scifi.begin;
            let sipm = (u / scifi.sipm_pitch).floor();
            let within = u - sipm * scifi.sipm_pitch;
            let die = 128.0 * scifi.half_pitch;
            if !(0.0..4.0).contains(&sipm) || (die..die + scifi.die_gap).contains(&within) {
                return None;
            }
            let across = if within < die { within } else { within - scifi.die_gap };
            let halves = ((across / scifi.half_pitch + 0.5) as u32).clamp(1, 256) - 1;
            let number = ((mat as u32) << 9) + ((sipm as u32) << 7) + halves / 2;
            scifi.channel(number, halves % 2 == 1)
        })
    }

    #[test]
    fn no_channel_is_left_out() {
        let scifi = SciFiGeometry::nominal();
        let mut found = 0;
        for i in 0..20_000 {
            let (a, layer) = (f64::from(i), i as usize % 12);
            let [tx, ty] = [(a * 0.7371) % 2.0 - 1.0, (a * 0.3177) % 0.6 - 0.3];
            let [x, y] = [(a * 137.3) % 6400.0 - 3200.0, (a * 77.7) % 5000.0 - 2500.0];
            let line = |z: f32| {
                let dz = f64::from(z) - LAYER_Z[layer];
                [(x + tx * dz) as f32, (y + ty * dz) as f32]
            };
            let fast = scifi.channel_at(layer, line);
            assert_eq!(fast, slow(&scifi, layer, line), "{i}");
            found += usize::from(fast.is_some());
        }
        assert!(found > 10_000, "{found}");
    }
}
