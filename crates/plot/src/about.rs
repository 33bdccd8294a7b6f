//! [`About`]: the origin of results: program, machine, inputs, configuration.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Origin of results, which the JSON of the results contains under the key `about`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The subcommand.
    pub command: String,
    /// Version of the program.
    pub version: String,
    /// Name of the CPU, from the operating system.
    pub cpu: String,
    /// Names of the inputs, without their folders.
    pub inputs: Vec<String>,
    /// Parameters that differ from the preset.
    pub changed: Vec<Changed>,
}

/// A parameter that differs from the preset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    /// Name of the parameter in a TOML configuration, such as `velo.find.max_gap`.
    pub key: String,
    /// Value of the parameter.
    pub value: Value,
    /// Value of the parameter in the preset.
    pub preset: Value,
}

/// Results with their origin.
#[derive(Debug, Clone, Serialize)]
pub struct WithAbout<T> {
    /// The results.
    #[serde(flatten)]
    pub results: T,
    /// Origin of the results.
    pub about: About,
}
