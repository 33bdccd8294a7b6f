//! Lists the columns and algorithms of a sequence.

use crate::{Config, SequenceName};
use peloton::engine::{AlgorithmInfo, Handle};
use peloton_io::output::ColumnRow;
use serde::Serialize;

/// Returns the columns of the results of a sequence, as output files contain them.
pub fn describe_columns(sequence: SequenceName) -> Vec<ColumnRow> {
    sequence.system().columns(&Config { sequence, ..Config::default() })
}

/// Information on an algorithm that `peloton describe` shows.
#[derive(Debug, Serialize)]
pub struct AlgorithmRow {
    /// Name of the algorithm and of its product.
    pub name: &'static str,
    /// Products that the algorithm reads; empty for an algorithm that reads raw banks or hits.
    pub reads: Vec<&'static str>,
    /// Names of the stages that are timed separately.
    pub stages: Vec<&'static str>,
    /// Section of the configuration with the parameters; empty for an algorithm without parameters.
    pub parameters: &'static str,
    /// Last algorithm that reads the product: then the product's memory is freed. None for a written product.
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
