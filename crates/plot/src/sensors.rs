//! [`Sensor`]: the shape and position of each sensor of a detector, for displays and other programs.

use peloton::cylinder::geometry::RADII;
use peloton::event::UT_PLANES;
use peloton::scifi::SciFiGeometry;
use peloton::scifi::geometry::LAYERS;
use peloton::ut::UtGeometry;
use peloton::velo::geometry::SENSORS;
use peloton::velo::{ALL_SENSORS, VeloSensors};
use peloton::{Error, Result};
use peloton_io::input::{Geometry, NOMINAL};
use serde::Serialize;
use std::path::Path;

/// The shape of a sensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A flat sensor: x, y and z of its four corners in order around the sensor, mm.
    Corners([[f32; 3]; 4]),
    /// A cylinder around the z axis, with this radius, mm.
    Radius(f32),
}

/// A sensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sensor {
    /// Name of the detector: `Velo`, `UT`, `SciFi` or `cylinder`.
    pub detector: &'static str,
    /// Number of the Velo module, UT plane, SciFi layer or layer of the cylinder detector, from 0.
    pub plane: usize,
    /// Number of the sensor, sector or mat in its plane, from 0.
    pub sensor: usize,
    /// Position and size of the sensor.
    #[serde(flatten)]
    pub shape: Shape,
}

impl Sensor {
    fn flat(detector: &'static str, plane: usize, sensor: usize, corners: [[f32; 3]; 4]) -> Self {
        Self { detector, plane, sensor, shape: Shape::Corners(corners) }
    }

    /// Returns the sensors of the Velo.
    pub fn of_velo(sensors: &VeloSensors) -> impl Iterator<Item = Self> + '_ {
        let sensor = |at: usize| Self::flat("Velo", at / SENSORS, at % SENSORS, sensors.corners(at));
        (0..ALL_SENSORS).map(sensor)
    }

    /// Returns the sectors of the UT, in the order in which hits are stored.
    pub fn of_ut(geometry: &UtGeometry) -> impl Iterator<Item = Self> + '_ {
        (0..UT_PLANES).flat_map(|plane| {
            let sectors = geometry.corners(plane).enumerate();
            sectors.map(move |(sector, corners)| Self::flat("UT", plane, sector, corners))
        })
    }

    /// Returns the mats of the SciFi.
    pub fn of_scifi(geometry: &SciFiGeometry) -> impl Iterator<Item = Self> + '_ {
        (0..LAYERS).flat_map(|layer| {
            geometry.corners(layer).map(move |(mat, corners)| Self::flat("SciFi", layer, mat, corners))
        })
    }

    /// Returns the layers of the cylinder detector.
    pub fn of_cylinder() -> impl Iterator<Item = Self> {
        let layer = |(plane, radius): (usize, &f32)| Self {
            detector: "cylinder",
            plane,
            sensor: 0,
            shape: Shape::Radius(MM_PER_CM * radius),
        };
        RADII.iter().enumerate().map(layer)
    }

    /// Returns the sensors of LHCb's detectors whose geometry files are in a folder; the folder `nominal` stands for
    /// the built-in geometry.
    ///
    /// # Errors
    /// Errors of reading the files, and an error when the folder has no geometry file.
    pub fn of_geometry(folder: &Path) -> Result<Vec<Self>> {
        let geometry = Geometry::named(folder)?;
        let parts = [
            geometry.velo().map(|velo| Self::of_velo(&velo).collect::<Vec<_>>()),
            geometry.ut().map(|ut| Self::of_ut(&ut).collect()),
            geometry.scifi().map(|scifi| Self::of_scifi(&scifi).collect()),
        ];
        let (mut sensors, mut missing) = (Vec::new(), None);
        for part in parts {
            match part {
                Ok(part) => sensors.extend(part),
                Err(error @ Error::Io { .. }) => missing = missing.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match missing {
            Some(error) if sensors.is_empty() => Err(error),
            _ => Ok(sensors),
        }
    }

    /// Returns the sensors of a simulated detector: `sim:velo`, `sim:lhcb` or `sim:cylinder`.
    ///
    /// # Errors
    /// [`Error::Config`] for other inputs.
    pub fn of_simulation(input: &str) -> Result<Vec<Self>> {
        let detector = input.split(',').next().unwrap_or_default();
        match detector {
            "sim:lhcb" => Self::of_geometry(Path::new(NOMINAL)),
            "sim:velo" => Ok(Self::of_velo(&Geometry::Nominal.velo()?).collect()),
            "sim:cylinder" => Ok(Self::of_cylinder().collect()),
            _ => Err(Error::Config(format!(
                "`{input}` is no simulated detector: choose sim:lhcb, sim:velo, sim:cylinder, or give the geometry files of a real detector by --geometry DIR"
            ))),
        }
    }
}

/// The cylinder's files and columns are in cm.
const MM_PER_CM: f32 = 10.0;

/// Returns sensors as CSV: a line of column names, then a line for each sensor, with lengths in mm.
pub fn sensors_as_csv(sensors: &[Sensor]) -> String {
    let corner = |number: usize| ["x", "y", "z"].map(|axis| format!("{axis}{number}_mm")).join(",");
    let mut text = format!("detector,plane,sensor,{},radius_mm\n", [0, 1, 2, 3].map(corner).join(","));
    for sensor in sensors {
        let Sensor { detector, plane, sensor, shape } = sensor;
        let shape = match shape {
            Shape::Corners(corners) => {
                let values: Vec<_> = corners.iter().flatten().map(f32::to_string).collect();
                format!("{},", values.join(","))
            }
            Shape::Radius(radius) => format!("{}{radius}", ",".repeat(12)),
        };
        text.push_str(&format!("{detector},{plane},{sensor},{shape}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_detectors_have_their_sensors() {
        let of = |input: &str| Sensor::of_simulation(input).unwrap();
        assert_eq!((of("sim:velo").len(), of("sim:lhcb,events=3").len()), (208, 208 + 1048 + 1024));
        let csv = sensors_as_csv(&of("sim:cylinder"));
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!((lines.len(), lines[10]), (11, "cylinder,9,0,,,,,,,,,,,,,400"));
        assert!(lines.iter().all(|line| line.matches(',').count() == 15), "{csv}");
        let csv = sensors_as_csv(&of("sim:lhcb"));
        assert!(csv.lines().all(|line| line.matches(',').count() == 15));
        assert!(Sensor::of_simulation("sim:timepix").is_err() && Sensor::of_simulation("a.mdf").is_err());
    }
}
