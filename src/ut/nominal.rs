//! A nominal UT for simulations without geometry files: sectors, sizes and overlaps of the real UT, in round numbers,
//! read out by 175 boards in the order of the sectors.
//!
//! ```text
//!    stave:  ... 14 sectors above one another ... |14|18|22 | 22|18|14| ...    9 staves a side, 8 in the first planes
//!    near the beam pipe a sector is two of half the width and pitch, and next to it these are halved in length
//! ```

use super::geometry::{Boards, LANE_STRIDE, LANES, PLANE_START, SECTORS, STRIPS, Sectors, UtGeometry};
use crate::event::UT_PLANES;
use crate::simd::with_default_float_mode;

/// z of the planes, mm.
pub(super) const PLANE_Z: [f64; UT_PLANES] = [2327.5, 2372.5, 2597.5, 2642.5];
/// Number of staves on one side of each plane.
const STAVES: [i32; UT_PLANES] = [8, 8, 9, 9];
/// Angle of the strips, degrees.
const ANGLE: [f64; UT_PLANES] = [0.0, 5.0, -5.0, 0.0];
/// Pitch and length of the strips of a full-size sector, mm.
const PITCH: f64 = 0.19;
const LENGTH: f64 = 97.28;
/// Distance between staves, and between sectors along a stave, mm: both overlap.
const STAVE_STEP: f64 = 96.275;
const SECTOR_STEP: f64 = 96.08;
/// Lower end of the lowest sector, mm.
const LOWEST: f64 = -673.16;
/// Distances of sectors from the plane's z, alternating up a stave, mm; staves are alternately before and behind the
/// plane.
const FACES: [f64; 2] = [7.2175, 2.7825];
/// Number of places for full-size sectors on a stave.
const PLACES: usize = 14;

/// Detector number in LHCbIDs, and the shift of a sector's number in them.
const DETECTOR: u32 = 3 << 28;
const SECTOR_SHIFT: u32 = 10;

/// One sector in the frame of its stave, mm: left and lower edge, length, pitch.
#[derive(Clone, Copy)]
struct Sector {
    left: f64,
    low: f64,
    length: f64,
    pitch: f64,
    place: usize,
}

/// Returns the sectors of the stave with number `distance` from the beam.
fn stave(distance: i32) -> Vec<Sector> {
    let middle = match distance {
        0 | 1 => 5..9,
        _ => 0..0,
    };
    let mut sectors = Vec::new();
    for place in 0..PLACES {
        let low = LOWEST + SECTOR_STEP * place as f64;
        let whole = Sector { left: -0.5 * LENGTH, low, length: LENGTH, pitch: PITCH, place };
        if !middle.contains(&place) {
            sectors.push(whole);
            continue;
        }
        let short = distance == 0 && (6..8).contains(&place);
        let lengths = if short { vec![0.5 * LENGTH; 2] } else { vec![LENGTH] };
        for (upper, length) in lengths.into_iter().enumerate() {
            let low = low + upper as f64 * 0.5 * LENGTH;
            let half = Sector { low, length, pitch: 0.5 * PITCH, ..whole };
            sectors.extend([half, Sector { left: 0.0, ..half }]);
        }
    }
    sectors
}

impl UtGeometry {
    /// Returns the nominal UT. Its boards have numbers 0 to 174 and send banks of version 3; its LHCbIDs have the newer
    /// format.
    pub fn nominal() -> Self {
        with_default_float_mode(Self::ideal)
    }

    fn ideal() -> Self {
        let empty = || std::array::from_fn(|_| Vec::with_capacity(SECTORS));
        let mut all = Sectors { pitch: Vec::new(), length: Vec::new(), step: empty(), start: empty() };
        for plane in 0..UT_PLANES {
            let (sin, cos) = (libm::sin(ANGLE[plane].to_radians()), libm::cos(ANGLE[plane].to_radians()));
            for number in -STAVES[plane]..STAVES[plane] {
                let centre = STAVE_STEP * (f64::from(number) + 0.5);
                let distance = if number < 0 { -1 - number } else { number };
                for sector in stave(distance) {
                    // The stave is turned about its middle; this is the lower end of the middle of the first strip.
                    let first = sector.left + 0.5 * sector.pitch;
                    let face = FACES[sector.place % 2] * if number % 2 == 0 { 1.0 } else { -1.0 };
                    let values = [
                        centre + first / cos,
                        sector.low * cos - first * sin,
                        PLANE_Z[plane] + face,
                        sector.pitch / cos,
                        -sector.pitch * sin,
                        0.0,
                    ];
                    for (column, value) in all.start.iter_mut().chain(&mut all.step).zip(values) {
                        column.push(value as f32);
                    }
                    all.length.push((sector.length * cos) as f32);
                    all.pitch.push(sector.pitch as f32);
                }
            }
            debug_assert_eq!(all.pitch.len(), PLANE_START[plane + 1]);
        }
        let count = SECTORS.div_ceil(LANES);
        let mut sector = vec![None; LANE_STRIDE * count];
        (0..SECTORS)
            .for_each(|number| sector[LANE_STRIDE * (number / LANES) + number % LANES] = Some(number));
        let channel = (0..SECTORS as u32).map(|number| DETECTOR | number << SECTOR_SHIFT).collect();
        let boards = Boards { count, sector, channel, first_number: 0 };
        let ut = Self::assemble("the nominal UT", &boards, &all).expect("all groups of sectors");
        ut.into_nominal()
    }
}

// Strips of a sector fit below its number.
const _: () = assert!(STRIPS <= 1 << SECTOR_SHIFT);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ut::geometry::{STRIP_SLOPE, UtChannel};

    #[test]
    fn planes_are_covered_and_strips_lie_where_they_say() {
        let ut = UtGeometry::nominal();
        assert_eq!(ut.plane_groups, [0, 20, 40, 62, 84]);
        for plane in 0..UT_PLANES {
            let mut seen = 0;
            for i in 0..400 {
                // Points all over the plane, on no regular pattern of the detector.
                let x = (f64::from(i) * 137.3) % 1400.0 - 700.0;
                let y = (f64::from(i) * 77.7) % 1200.0 - 600.0;
                let hits = ut.strips_at(plane, |_| [x as f32, y as f32], 0.0).collect::<Vec<_>>();
                assert!(hits.len() <= 4 && hits.iter().all(|hit| ut.plane_of(hit) == plane));
                seen += usize::from(!hits.is_empty());
            }
            assert!(seen > 385, "plane {plane}: {seen} of 400 points are seen");
        }
    }

    /// Tests every sector of a plane.
    fn slow(ut: &UtGeometry, plane: usize, at: impl Fn(f32) -> [f32; 2]) -> Vec<UtChannel> {
        let strip = |sector: usize| {
            let ([y0, y_step, x0, x_step], [z, _, length, _]) = (ut.across[sector], ut.along[sector]);
            let [x, y] = at(z.abs());
            let s = (x - y * STRIP_SLOPE[plane] - x0) / x_step;
            let begin = y0 + s * y_step;
            let is_inside = (0.0..STRIPS as f32).contains(&s) && (begin..begin + length).contains(&y);
            ut.strip(sector, ((4.0 * s + 0.5) as u32).min(4 * STRIPS - 1)).filter(|_| is_inside)
        };
        (PLANE_START[plane]..PLANE_START[plane + 1]).filter_map(strip).collect()
    }

    #[test]
    fn no_strip_is_left_out() {
        let ut = UtGeometry::nominal();
        let (mut found, mut double) = (0, 0);
        for i in 0..20_000 {
            let (a, b) = (f64::from(i), i as usize);
            // Some lines are so steep that they pass several groups within the depth of one plane.
            let slope = [0.3, 1.4, 40.0][b / 4 % 3];
            let [tx, ty] = [(a * 0.7371) % 2.0 - 1.0, (a * 0.3177) % 2.0 - 1.0].map(|t| t * slope);
            let [x, y] = [(a * 137.3) % 1800.0 - 900.0, (a * 77.7) % 1500.0 - 750.0];
            let z0 = f64::from(ut.along[PLANE_START[b % 4]][0].abs());
            let line = |z: f32| {
                let dz = f64::from(z) - z0;
                [(x + tx * dz) as f32, (y + ty * dz) as f32]
            };
            let fast: Vec<_> = ut.strips_at(b % 4, line, 0.0).collect();
            assert_eq!(fast, slow(&ut, b % 4, line), "{b}");
            found += usize::from(!fast.is_empty());
            double += usize::from(fast.len() > 1);
        }
        assert!(found > 10_000 && double > 100, "{found} {double}");
        assert_eq!(ut.strips_at(0, |_| [f32::NAN, 0.0], 0.0).count(), 0);
    }
}
