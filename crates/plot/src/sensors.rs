//! [`Sensor`]: positions of the sensors of detectors, for displays and other programs.

use peloton::cylinder::geometry::RADII;
use peloton::event::UT_PLANES;
use peloton::scifi::SciFiGeometry;
use peloton::scifi::geometry::LAYERS;
use peloton::ut::UtGeometry;
use peloton::velo::geometry::SENSORS;
use peloton::velo::{ALL_SENSORS, VeloSensors};
use serde::Serialize;

/// The shape of a sensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A flat sensor: its corners in order around it, x, y and z, mm.
    Corners([[f32; 3]; 4]),
    /// A cylinder around the z axis: its radius, mm.
    Radius(f32),
}

/// A sensor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sensor {
    /// `Velo`, `UT`, `SciFi` or `cylinder`.
    pub detector: &'static str,
    /// Module of the Velo, plane of the UT, layer of the SciFi or of the cylinder, from 0.
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

    /// Returns the sectors of the UT, in the order of hits.
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
}

/// The cylinder's files and columns are in cm.
const MM_PER_CM: f32 = 10.0;

/// Returns sensors as CSV: a line of names, then a line for each sensor, lengths in mm.
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
