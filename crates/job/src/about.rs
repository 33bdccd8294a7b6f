//! Makes [`About`], the origin of results (command, inputs, configuration), from the request of a job.

use crate::{Config, Request, cpu_name};
use peloton_plot::{About, Changed};
use serde_json::Value;
use std::path::Path;

/// Returns the record of how the results of a job were made.
pub fn about(command: &str, request: &Request) -> About {
    about_inputs(command, &request.inputs, &request.config)
}

/// Returns the record of how results were made: command, version, CPU, names of these inputs, changed parameters.
pub fn about_inputs(command: &str, inputs: &[String], config: &Config) -> About {
    About {
        command: command.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        cpu: cpu_name(),
        inputs: inputs.iter().map(|input| input_name(input)).collect(),
        changed: changed(config),
    }
}

/// Removes the folder from the name of a file, because readers of a page must not see it; other inputs are unchanged.
pub(crate) fn input_name(input: &str) -> String {
    match Path::new(input).file_name() {
        Some(name) if !input.contains("://") && !input.starts_with("sim:") => {
            name.to_string_lossy().into_owned()
        }
        _ => input.into(),
    }
}

/// Lists the values of a configuration that differ from its preset; level, gang and threads are omitted.
fn changed(config: &Config) -> Vec<Changed> {
    let Config { sequence, isa, gang, threads, .. } = *config;
    let preset = Config { sequence, isa, gang, threads, ..Config::preset(config.preset) };
    let [own, of_preset] = [config, &preset].map(|config| serde_json::to_value(config).unwrap_or_default());
    let mut changed = Vec::new();
    compare("", &own, &of_preset, &mut changed);
    changed
}

fn compare(key: &str, own: &Value, preset: &Value, changed: &mut Vec<Changed>) {
    if let (Value::Object(own), Value::Object(of_preset)) = (own, preset) {
        for (name, value) in own {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            compare(&key, value, of_preset.get(name).unwrap_or(&Value::Null), changed);
        }
    } else if own != preset {
        // Some values are paths, such as the folder of a calibration.
        let named = |value: &Value| match value.as_str() {
            Some(text) => Value::from(input_name(text)),
            None => value.clone(),
        };
        changed.push(Changed { key: key.into(), value: named(own), preset: named(preset) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn what_differs_from_the_preset_is_told() {
        for preset in [Preset::Best, Preset::Paper] {
            assert_eq!(changed(&Config { threads: Some(3), ..Config::preset(preset) }), []);
        }
        let config = Config::from_toml("[velo.fit]\nbeam_x = 0.5", None).unwrap();
        let changed = changed(&config);
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!((&changed[0].key[..], &changed[0].value), ("velo.fit.beam_x", &Value::from(0.5)));
        assert_eq!(changed[0].preset, 0.0);
    }

    #[test]
    fn inputs_have_no_folders() {
        let inputs = ["/data/secret/events.mdf", "sim:velo,events=3", "udp://0.0.0.0:50000", "-"];
        assert_eq!(inputs.map(input_name), ["events.mdf", "sim:velo,events=3", "udp://0.0.0.0:50000", "-"]);
    }
}
