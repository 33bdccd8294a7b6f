//! Ideal geometry of the upgraded Velo: 52 modules along the beam, each an L of four pixel sensors.
//!
//! An even module is an L that opens towards +x: sensors 0 and 1 form the arm below the beam, sensors 2 and 3 the arm
//! at -x, all turned by 45 degrees. The beam passes through x = y = 0, 5.1 mm from the nearest pixels. An odd module is
//! an even module turned by 180 degrees about the beam, so that a pair closes around the beam. Sensors 0 and 3 are
//! 0.581 mm before the nominal z of their module (at smaller z), sensors 1 and 2 behind it.
//!
//! A sensor is three chips of 256 x 256 pixels in a row. In the local frame of a sensor, u runs along the row of chips
//! (columns 0..767) and v across (rows 0..255). Source of the numbers: the geometry of LHCb's simulated events, in
//! which all modules are alike to 1e-5 mm.

use crate::event::VELO_MODULES;

/// Number of pairs of modules: pair k has the modules 2k (x < 0 side) and 2k + 1 (x > 0 side), 12.5 mm apart in z.
pub const PAIRS: usize = VELO_MODULES / 2;
/// Half the distance between the first and the last sensor plane of a pair, rounded up, mm.
pub const PAIR_HALF_DEPTH: f32 = 7.0;

/// Distances from the beam axis between which a point in a pair is on a sensor in most cases, mm.
pub(crate) const MOST_ON_SENSORS: [f32; 2] = [6.0, 42.0];

/// Returns z of the middle of a pair, to which lines are extrapolated, mm.
pub const fn pair_middle(pair: usize) -> f32 {
    ((MODULE_Z[2 * pair] + MODULE_Z[2 * pair + 1]) / 2.0) as f32
}

/// [`pair_middle`] of all pairs, mm.
pub(crate) static PAIR_MIDDLES: [f32; PAIRS] = {
    let mut middles = [0.0; PAIRS];
    let mut pair = 0;
    while pair < PAIRS {
        middles[pair] = pair_middle(pair);
        pair += 1;
    }
    middles
};

/// Nominal z of the modules, mm.
pub const MODULE_Z: [f64; VELO_MODULES] = [
    -287.5, -275.0, -262.5, -250.0, -237.5, -225.0, -212.5, -200.0, -137.5, -125.0, -62.5, -50.0, -37.5,
    -25.0, -12.5, 0.0, 12.5, 25.0, 37.5, 50.0, 62.5, 75.0, 87.5, 100.0, 112.5, 125.0, 137.5, 150.0, 162.5,
    175.0, 187.5, 200.0, 212.5, 225.0, 237.5, 250.0, 262.5, 275.0, 312.5, 325.0, 387.5, 400.0, 487.5, 500.0,
    587.5, 600.0, 637.5, 650.0, 687.5, 700.0, 737.5, 750.0,
];

/// Distance of the two sensor planes of a module from its nominal z, mm.
pub const PLANE_OFFSET: f64 = 0.581;
/// Number of sensors of a module.
pub const SENSORS: usize = 4;
/// Edge of a pixel, mm.
pub const PITCH: f64 = 0.055;
/// Number of columns of pixels of a sensor.
pub const COLUMNS: u32 = 768;
/// Number of rows of pixels of a sensor.
pub const ROWS: u32 = 256;
/// Number of columns of pixels of one chip.
pub const CHIP_COLUMNS: u32 = 256;
/// Width along u of the pixels in the two columns at each border between chips, mm.
pub const WIDE_PITCH: f64 = 0.1375;
/// Length of a sensor along u, with four wide columns, mm.
pub const SENSOR_LENGTH: f64 = COLUMNS as f64 * PITCH + 4.0 * (WIDE_PITCH - PITCH);
/// Width of a sensor along v, mm.
pub const SENSOR_WIDTH: f64 = ROWS as f64 * PITCH;

/// Position of one sensor of an even module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensor {
    /// x of the corner u = v = 0, mm.
    pub x: f64,
    /// y of the corner u = v = 0, mm.
    pub y: f64,
    /// Distance from the nominal z of the module, mm.
    pub z: f64,
    /// Signs of the direction of u, which is `(u[0], u[1]) / sqrt(2)`.
    pub u: [f64; 2],
    /// Signs of the direction of v, which is `(v[0], v[1]) / sqrt(2)`.
    pub v: [f64; 2],
}

/// The four sensors of an even module. Sensors of an odd module are at (-x, -y) instead of (x, y).
pub const MODULE: [Sensor; SENSORS] = [
    Sensor { x: 12.9330, y: -40.0576, z: -PLANE_OFFSET, u: [-1.0, 1.0], v: [1.0, 1.0] },
    Sensor { x: -26.3397, y: -20.5415, z: PLANE_OFFSET, u: [1.0, -1.0], v: [1.0, 1.0] },
    Sensor { x: -9.9561, y: 17.1686, z: PLANE_OFFSET, u: [-1.0, -1.0], v: [1.0, -1.0] },
    Sensor { x: -49.9359, y: -3.0547, z: -PLANE_OFFSET, u: [1.0, 1.0], v: [1.0, -1.0] },
];

impl Sensor {
    /// Converts (x, y) in the frame of an even module to local coordinates (u, v), which may be outside the sensor, mm.
    pub fn local(&self, x: f64, y: f64) -> [f64; 2] {
        let (x, y) = (x - self.x, y - self.y);
        let along = |axis: [f64; 2]| (x * axis[0] + y * axis[1]) * std::f64::consts::FRAC_1_SQRT_2;
        [along(self.u), along(self.v)]
    }

    /// Converts local coordinates (u, v) to (x, y) in the frame of an even module, mm.
    pub fn global(&self, u: f64, v: f64) -> [f64; 2] {
        let (u, v) = (u * std::f64::consts::FRAC_1_SQRT_2, v * std::f64::consts::FRAC_1_SQRT_2);
        [self.x + u * self.u[0] + v * self.v[0], self.y + u * self.u[1] + v * self.v[1]]
    }

    /// Returns whether the point with local coordinates (u, v) is on the sensor.
    pub fn contains(u: f64, v: f64) -> bool {
        (0.0..SENSOR_LENGTH).contains(&u) && (0.0..SENSOR_WIDTH).contains(&v)
    }
}

/// Returns the factor, 1 or -1, that converts a module's x and y to the frame of an even module.
pub fn side(module: usize) -> f64 {
    if module.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Difference between the width of a wide pixel and [`PITCH`], mm.
const EXTRA: f64 = WIDE_PITCH - PITCH;

/// Lower edges of all columns, and the sensor's end.
static COLUMN_EDGES: [f64; COLUMNS as usize + 1] = {
    let mut edges = [0.0; COLUMNS as usize + 1];
    // Columns 255, 256, 511 and 512 are wide.
    let (mut column, mut wide) = (0, 0);
    while column < edges.len() {
        edges[column] = column as f64 * PITCH + wide as f64 * EXTRA;
        wide += matches!(column, 255 | 256 | 511 | 512) as u32;
        column += 1;
    }
    edges
};

/// Returns the lower edge along u of a column of pixels, mm; for `COLUMNS`, the end of the sensor.
pub fn column_edge(column: u32) -> f64 {
    COLUMN_EDGES[column as usize]
}

/// Returns the column of pixels at the local coordinate u, mm, which must be on the sensor.
pub fn column_of(u: f64) -> u32 {
    // Two wide columns shift the columns behind them by three pitches, four by six; one pitch less leaves room for
    // rounding.
    let pushed = match u {
        _ if u >= COLUMN_EDGES[513] => 5,
        _ if u >= COLUMN_EDGES[257] => 2,
        _ => 0,
    };
    let mut column = ((u / PITCH) as u32).saturating_sub(pushed).min(COLUMNS - 1);
    while column > 0 && column_edge(column) > u {
        column -= 1;
    }
    column
}

/// Returns the row of pixels at the local coordinate v, mm, which must be on the sensor.
pub fn row_of(v: f64) -> u32 {
    ((v / PITCH) as u32).min(ROWS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_rise_in_pairs() {
        assert!(MODULE_Z.windows(2).all(|pair| pair[1] > pair[0]));
        assert!(MODULE_Z.chunks(2).all(|pair| pair[1] - pair[0] == 12.5));
    }

    #[test]
    fn frames_are_inverse_to_each_other() {
        for sensor in &MODULE {
            for (u, v) in [(0.0, 0.0), (10.0, 3.0), (SENSOR_LENGTH, SENSOR_WIDTH)] {
                let [x, y] = sensor.global(u, v);
                let [again_u, again_v] = sensor.local(x, y);
                assert!((again_u - u).abs() < 1e-12 && (again_v - v).abs() < 1e-12);
            }
        }
    }

    /// Returns the smallest distance of the pixels of a module from a point.
    fn distance(x: f64, y: f64) -> f64 {
        let of = |sensor: &Sensor| {
            let [u, v] = sensor.local(x, y);
            let outside = |at: f64, size: f64| (-at).max(at - size).max(0.0);
            let (du, dv) = (outside(u, SENSOR_LENGTH), outside(v, SENSOR_WIDTH));
            (du * du + dv * dv).sqrt()
        };
        MODULE.iter().map(of).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_module_is_an_l_around_the_beam() {
        assert!((distance(0.0, 0.0) - 5.1).abs() < 0.01, "{}", distance(0.0, 0.0));
        let corners = MODULE.iter().flat_map(|sensor| {
            let ends = [(0.0, 0.0), (SENSOR_LENGTH, 0.0), (0.0, SENSOR_WIDTH), (SENSOR_LENGTH, SENSOR_WIDTH)];
            ends.map(|(u, v)| sensor.global(u, v)[0])
        });
        let (low, high) = corners.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        // The pixels of real events reach from -49.7 to 22.4; the limits here are the sensors' corners.
        assert!((low + 49.94).abs() < 0.01 && (high - 22.89).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn pixels_tile_the_sensor() {
        assert!((SENSOR_LENGTH - 42.57).abs() < 1e-9 && (SENSOR_WIDTH - 14.08).abs() < 1e-9);
        assert_eq!(column_edge(0), 0.0);
        assert!((column_edge(COLUMNS) - SENSOR_LENGTH).abs() < 1e-9);
        assert_eq!(4 * 192, COLUMNS);
        for column in 0..COLUMNS {
            let (low, high) = (column_edge(column), column_edge(column + 1));
            let wide = matches!(column % CHIP_COLUMNS, 0 | 255) && !matches!(column, 0 | 767);
            assert!((high - low - if wide { WIDE_PITCH } else { PITCH }).abs() < 1e-9, "{column}");
            assert_eq!(column_of(0.5 * (low + high)), column);
            assert_eq!(column_of(low + 1e-6), column);
        }
        assert_eq!((row_of(0.0), row_of(14.07), row_of(0.0551)), (0, 255, 1));
    }

    #[test]
    fn columns_are_found_up_to_the_last_bit() {
        // Searches down from the column for a sensor without wide columns to the first column that begins at u or
        // before.
        let slow = |u: f64| {
            let from = ((u / PITCH) as u32).min(COLUMNS - 1);
            (0..=from).rev().find(|column| column_edge(*column) <= u).unwrap_or(0)
        };
        let edges = (0..COLUMNS).map(column_edge).chain((0..=774).map(|pitches| f64::from(pitches) * PITCH));
        for edge in edges.chain([SENSOR_LENGTH]) {
            let mut u = edge.next_down().next_down().next_down().max(0.0);
            for _ in 0..7 {
                assert_eq!(column_of(u), slow(u), "{u:e}");
                u = u.next_up();
            }
        }
    }
}
