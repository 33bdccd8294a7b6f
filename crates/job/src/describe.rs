//! Columns of a sequence, and positions of the sensors of a detector.

use crate::{Config, SequenceName};
use peloton::engine::{AlgorithmInfo, Handle};
use peloton::{Error, Result};
use peloton_io::input::Geometry;
use peloton_io::output::ColumnRow;
use peloton_plot::Sensor;
use serde::Serialize;
use std::path::Path;

/// The columns of the results of a sequence, as in its files.
pub fn describe_columns(sequence: SequenceName) -> Vec<ColumnRow> {
    sequence.system().columns(&Config { sequence, ..Config::default() })
}

/// An algorithm, as `peloton describe` shows it.
#[derive(Debug, Serialize)]
pub struct AlgorithmRow {
    /// Name of the algorithm and of its product.
    pub name: &'static str,
    /// Products that the algorithm reads; empty for one that reads raw banks or hits.
    pub reads: Vec<&'static str>,
    /// Stages that are timed separately.
    pub stages: Vec<&'static str>,
    /// Section of the configuration with the parameters; empty for an algorithm without parameters.
    pub parameters: &'static str,
    /// Last algorithm that reads the product; the memory of the product is free afterwards. None for a product that is written.
    pub freed_after: Option<&'static str>,
}

/// Lists the algorithms of a sequence in the order in which they run; without a sequence, all algorithms that a configuration may list.
pub fn describe_algorithms(sequence: Option<SequenceName>) -> Vec<AlgorithmRow> {
    let of = |sequence: SequenceName| {
        let config = Config { sequence, ..Config::default() };
        (sequence.system().algorithms(&config), sequence.system().products(&config))
    };
    let (algorithms, written) = match sequence {
        Some(sequence) => of(sequence),
        None => (crate::systems::ALGORITHMS.to_vec(), Vec::new()),
    };
    let is_written = |name: &str| written.iter().any(|product| product.name() == name);
    let reader = |name: &str| {
        let reads = |info: &&&AlgorithmInfo| info.reads.iter().any(|product| product.name() == name);
        algorithms.iter().rev().find(reads).map(|info| info.name())
    };
    let row = |info: &&'static AlgorithmInfo| AlgorithmRow {
        name: info.name(),
        reads: info.reads.iter().map(Handle::name).collect(),
        stages: info.stages.iter().map(|stage| stage.name).collect(),
        parameters: crate::systems::section_of(info.name()),
        freed_after: if sequence.is_none() || is_written(info.name()) { None } else { reader(info.name()) },
    };
    algorithms.iter().map(row).collect()
}

/// The sensors of LHCb from a folder of geometry files, or `nominal`: the sensors of the detectors whose files are in
/// the folder.
///
/// # Errors
/// Errors of reading the files, and an error when the folder has no geometry file.
pub fn describe_geometry(folder: &Path) -> Result<Vec<Sensor>> {
    let geometry = Geometry::named(folder)?;
    let parts = [
        geometry.velo().map(|velo| Sensor::of_velo(&velo).collect::<Vec<_>>()),
        geometry.ut().map(|ut| Sensor::of_ut(&ut).collect()),
        geometry.scifi().map(|scifi| Sensor::of_scifi(&scifi).collect()),
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

/// The sensors of a simulated detector: `sim:velo`, `sim:lhcb` or `sim:cylinder`.
///
/// # Errors
/// [`Error::Config`] for other inputs.
pub fn describe_simulation(input: &str) -> Result<Vec<Sensor>> {
    let detector = input.split(',').next().unwrap_or_default();
    match detector {
        "sim:lhcb" => describe_geometry(Path::new(peloton_io::input::NOMINAL)),
        "sim:velo" => Ok(Sensor::of_velo(&Geometry::Nominal.velo()?).collect()),
        "sim:cylinder" => Ok(Sensor::of_cylinder().collect()),
        _ => Err(Error::Config(format!(
            "`{input}`: only simulated detectors are described by name: sim:lhcb, sim:velo, sim:cylinder; others by --geometry DIR"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton_plot::sensors_as_csv;

    #[test]
    fn simulated_detectors_have_their_sensors() {
        let of = |input: &str| describe_simulation(input).unwrap();
        assert_eq!((of("sim:velo").len(), of("sim:lhcb,events=3").len()), (208, 208 + 1048 + 1024));
        let csv = sensors_as_csv(&of("sim:cylinder"));
        let lines: Vec<_> = csv.lines().collect();
        assert_eq!((lines.len(), lines[10]), (11, "cylinder,9,0,,,,,,,,,,,,,400"));
        assert!(lines.iter().all(|line| line.matches(',').count() == 15), "{csv}");
        let csv = sensors_as_csv(&of("sim:lhcb"));
        assert!(csv.lines().all(|line| line.matches(',').count() == 15));
        assert!(describe_simulation("sim:timepix").is_err() && describe_simulation("a.mdf").is_err());
    }
}
