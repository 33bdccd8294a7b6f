//! Positions of the Velo's sensors, read from the detector's geometry file `velo_geometry.bin`:
//!
//! ```text
//! u64 52, f32 z of the modules | u64 768, f32 x of the columns | u64 768, f32 pitch of the columns
//! u64 208, u64 12, f32 per sensor: rotation row by row, then translation
//! ```
//! All lengths in the file are in mm.

use super::geometry::{COLUMNS, MODULE, MODULE_Z, PITCH, SENSOR_WIDTH, SENSORS, column_edge, side};
use crate::Result;
use crate::bytes::Fields;
use crate::event::{BankKind, VELO_MODULES};
use crate::simd::with_default_float_mode;

/// Number of sensors of the Velo.
pub const ALL_SENSORS: usize = VELO_MODULES * SENSORS;
/// Version of retina banks in which each bank belongs to a pair of sensors.
const PAIRED_VERSION: u8 = 4;
/// The numbers of all sensors.
static NUMBERS: [u16; ALL_SENSORS] = {
    let mut numbers = [0; ALL_SENSORS];
    let mut sensor = 0;
    while sensor < ALL_SENSORS {
        numbers[sensor] = sensor as u16;
        sensor += 1;
    }
    numbers
};

/// Returns the boards that send a bank in every event: one for each sensor, or, in version 4 of retina banks, one for
/// each pair of sensors.
pub fn boards(kind: BankKind, version: u8) -> &'static [u16] {
    let is_paired = kind == BankKind::VeloRetina && version == PAIRED_VERSION;
    &NUMBERS[..if is_paired { ALL_SENSORS / 2 } else { ALL_SENSORS }]
}

/// The Velo's sensors and their pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct VeloSensors {
    /// z of the modules, mm.
    pub module_z: Vec<f32>,
    /// Middle of each column along the sensor, mm.
    pub(super) column_x: Vec<f32>,
    /// Width that the fraction of a column is multiplied by, mm.
    pub(super) column_pitch: Vec<f32>,
    /// Three rows per sensor, for x, y and z: factors of the two local coordinates, a factor of the third, which is 0,
    /// and the translation, mm.
    pub(super) rows: Vec<[f32; 4]>,
}

impl VeloSensors {
    /// Parses the bytes of a geometry file; `file` is its name in error messages.
    ///
    /// # Errors
    /// Returns [`Error::Format`](crate::Error::Format) with file, field and offset if the file is not valid.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        with_default_float_mode(|| Self::read(file, bytes))
    }

    fn read(file: &str, bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(file, bytes);
        let mut list = |name: &str, len: usize| {
            fields.expect_u64(name, len as u64)?;
            fields.f32s(name, len)
        };
        let module_z = list("module_z", VELO_MODULES)?;
        let column_x = list("local_x", COLUMNS as usize)?;
        let column_pitch = list("x_pitch", COLUMNS as usize)?;
        fields.expect_u64("sensors", ALL_SENSORS as u64)?;
        fields.expect_u64("numbers per sensor", 12)?;
        let mut rows = Vec::with_capacity(3 * ALL_SENSORS);
        for _ in 0..ALL_SENSORS {
            let t = fields.f32s("transformation", 12)?;
            rows.extend((0..3).map(|row| [t[3 * row], t[3 * row + 1], t[3 * row + 2], t[9 + row]]));
        }
        fields.end()?;
        Ok(Self { module_z, column_x, column_pitch, rows })
    }

    /// Returns the corners of the pixel area of a sensor, in order around the area, mm; sensors are numbered module by
    /// module.
    ///
    /// # Panics
    /// Panics if `sensor >= ALL_SENSORS`.
    pub fn corners(&self, sensor: usize) -> [[f32; 3]; 4] {
        let rows = &self.rows[3 * sensor..3 * sensor + 3];
        let half = 0.5 * PITCH as f32;
        let (first, last) = (self.column_x[0] - half, self.column_x[COLUMNS as usize - 1] + half);
        let width = SENSOR_WIDTH as f32;
        [[first, 0.0], [last, 0.0], [last, width], [first, width]]
            .map(|[u, v]| [0, 1, 2].map(|axis| rows[axis][0] * u + rows[axis][1] * v + rows[axis][3]))
    }

    /// Returns the ideal sensors that [`super::geometry`] describes.
    pub fn nominal() -> Self {
        with_default_float_mode(Self::ideal)
    }

    fn ideal() -> Self {
        let middle = |column: u32| 0.5 * (column_edge(column) + column_edge(column + 1));
        // A fraction of a column is a fraction of the way to the next column; the last column has no next.
        let pitch = |column: u32| match column + 1 {
            COLUMNS => PITCH,
            next => middle(next) - middle(column),
        };
        let row = |module: usize, sensor: usize| {
            let (place, side) = (MODULE[sensor], side(module));
            let ([x0, y0], [xu, yu], [xv, yv]) =
                (place.global(0.0, 0.0), place.global(1.0, 0.0), place.global(0.0, 1.0));
            let of =
                |origin: f64, u: f64, v: f64| [side * (u - origin), side * (v - origin), 0.0, side * origin];
            [of(x0, xu, xv), of(y0, yu, yv), [0.0, 0.0, 1.0, MODULE_Z[module] + place.z]]
        };
        let rows = (0..ALL_SENSORS).flat_map(|sensor| row(sensor / SENSORS, sensor % SENSORS));
        Self {
            module_z: MODULE_Z.map(|z| z as f32).to_vec(),
            column_x: (0..COLUMNS).map(|column| middle(column) as f32).collect(),
            column_pitch: (0..COLUMNS).map(|column| pitch(column) as f32).collect(),
            rows: rows.map(|row| row.map(|value| value as f32)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_those_of_the_ideal_sensors() {
        let sensors = VeloSensors::nominal();
        for number in 0..ALL_SENSORS {
            let (module, place) = (number / SENSORS, &MODULE[number % SENSORS]);
            let wanted = place.global(crate::velo::geometry::SENSOR_LENGTH, SENSOR_WIDTH);
            let [_, _, [x, y, z], _] = sensors.corners(number).map(|corner| corner.map(f64::from));
            let [dx, dy] = [x - side(module) * wanted[0], y - side(module) * wanted[1]];
            assert!(dx.abs() < 1e-4 && dy.abs() < 1e-4, "{number}: {dx} {dy}");
            assert!((z - MODULE_Z[module] - place.z).abs() < 1e-4);
        }
    }
}
