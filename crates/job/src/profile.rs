//! [`Profile`]: the fastest instruction set and gang size measured on a CPU; `peloton tune` writes it.

use crate::config::toml_error;
use crate::{Config, SequenceName};
use peloton::simd::Isa;
use peloton::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of a tuning scan, stored as TOML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Name of the sequence that the scan ran.
    pub sequence: SequenceName,
    /// Name of the preset of the scan, or `custom`; none for a sequence without presets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Name of the measured CPU, as the operating system reports it.
    pub cpu: String,
    /// Name of the fastest instruction set level.
    pub isa: String,
    /// The best gang size of each instruction set level, lanes.
    pub gangs: BTreeMap<String, usize>,
    /// The fastest sizes, such as of blocks, at this level, by configuration key; empty if the defaults are fastest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, usize>,
    /// All measurements of the scan.
    pub measured: Vec<Measurement>,
}

/// Time per event with one instruction set level and gang size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Name of the instruction set level.
    pub isa: String,
    /// Gang size, lanes.
    pub gang: usize,
    /// Wall clock of the whole sequence, ns per event.
    pub ns_per_event: f64,
    /// Time of each stage by name, ns per event.
    pub stages: BTreeMap<String, f64>,
}

impl Profile {
    /// Makes a profile from measurements. The fastest measurement gives the level; of equal times, the first.
    pub fn new(
        sequence: SequenceName,
        preset: Option<String>,
        cpu: String,
        measured: Vec<Measurement>,
    ) -> Self {
        let mut best = BTreeMap::<&str, &Measurement>::new();
        for one in &measured {
            let known = best.entry(&one.isa).or_insert(one);
            if one.ns_per_event < known.ns_per_event {
                *known = one;
            }
        }
        let fastest = best.values().min_by(|a, b| a.ns_per_event.total_cmp(&b.ns_per_event));
        let isa = fastest.map(|one| one.isa.clone()).unwrap_or_default();
        let gangs = best.iter().map(|(isa, one)| (isa.to_string(), one.gang)).collect();
        Self { sequence, preset, cpu, isa, gangs, sizes: BTreeMap::new(), measured }
    }

    /// Reads a profile from TOML text.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for text that is not a profile.
    pub fn from_toml(text: &str) -> Result<Self> {
        let profile: Self = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let message = "not a profile that `peloton tune` wrote";
            toml_error(line, &format!("{message}: {}", e.message()))
        })?;
        profile.isa.parse::<Isa>()?;
        Ok(profile)
    }

    /// Returns the profile as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile of names and finite numbers is always TOML")
    }

    /// Sets values that are `auto` in `config`: the level, and the best gang size for the level that will run. If this
    /// CPU lacks the profile's level, as with a profile from another machine, the level stays `auto`.
    ///
    /// # Errors
    /// [`Error::Config`] for a profile of another sequence, since the fastest level differs between sequences.
    pub fn apply(&self, config: &mut Config) -> Result<()> {
        if self.sequence != config.sequence {
            let (measured, wanted) = (self.sequence, config.sequence);
            let message = format!(
                "the profile was measured with the sequence {measured}, not with {wanted}: make a profile with `peloton tune --sequence {wanted}`"
            );
            return Err(Error::Config(message));
        }
        if config.isa.is_none() {
            config.isa = Some(self.isa.parse::<Isa>()?).filter(|isa| isa.is_supported());
        }
        if config.gang.is_none()
            && let Some(isa) = config.isa
        {
            config.gang = self.gangs.get(isa.name()).copied();
        }
        let system = config.sequence.system();
        match self.sizes.iter().find(|(name, value)| !system.set_size(config, name, **value)) {
            Some((name, _)) => {
                let message =
                    format!("the profile has a size `{name}`, which {} does not have", system.name());
                Err(Error::Config(message))
            }
            None => config.validate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(isa: &str, gang: usize, ns_per_event: f64) -> Measurement {
        Measurement { isa: isa.into(), gang, ns_per_event, stages: BTreeMap::from([("sort".into(), 1.5)]) }
    }

    fn profile() -> Profile {
        let measured = vec![
            measurement("scalar", 1, 90.0),
            measurement("scalar", 4, 80.0),
            measurement("portable", 4, 50.0),
            measurement("portable", 8, 60.0),
        ];
        Profile::new(SequenceName::Velo, Some("best".into()), "a CPU".into(), measured)
    }

    #[test]
    fn the_fastest_of_each_level_and_of_all_is_kept_and_read_back() {
        let profile = profile();
        assert_eq!(profile.isa, "portable");
        assert_eq!(profile.gangs, BTreeMap::from([("portable".into(), 4), ("scalar".into(), 4)]));
        assert_eq!(Profile::from_toml(&profile.to_toml()).unwrap(), profile);
        assert!(Profile::from_toml(&profile.to_toml().replace("portable", "fast")).is_err());
    }

    #[test]
    fn sizes_fill_in_what_is_open_and_unknown_or_wrong_ones_are_refused() {
        let mut profile = Profile::new(SequenceName::Timepix, None, "a CPU".into(), Vec::new());
        profile.isa = "scalar".into();
        profile.sizes = BTreeMap::from([("block_hits".into(), 1 << 14), ("sort_digit_bits".into(), 8)]);
        assert_eq!(Profile::from_toml(&profile.to_toml()).unwrap(), profile);
        let open = || Config { sequence: SequenceName::Timepix, ..Config::default() };
        let mut config = open();
        profile.apply(&mut config).unwrap();
        assert_eq!((config.timepix.block_hits, config.timepix.sort_digit_bits), (1 << 14, Some(8)));
        let mut config = open();
        config.timepix.block_hits = 1000;
        config.timepix.sort_digit_bits = Some(11);
        profile.apply(&mut config).unwrap();
        assert_eq!((config.timepix.block_hits, config.timepix.sort_digit_bits), (1000, Some(11)));
        for (name, value) in [("no_such_size", 1), ("sort_digit_bits", 40), ("block_hits", 0)] {
            profile.sizes = BTreeMap::from([(name.into(), value)]);
            assert!(profile.apply(&mut open()).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn profiles_of_other_sequences_are_refused() {
        let mut config = Config { sequence: SequenceName::Cylinder, ..Config::default() };
        let error = profile().apply(&mut config).unwrap_err().to_string();
        assert!(error.contains("sequence velo") && error.contains("tune --sequence cylinder"), "{error}");
        assert_eq!((config.isa, config.gang), (None, None));
    }

    #[test]
    fn it_fills_in_only_what_is_auto() {
        let scalar = Profile { isa: "scalar".into(), ..profile() };
        let mut config = Config::default();
        scalar.apply(&mut config).unwrap();
        assert_eq!((config.isa, config.gang), (Some(Isa::Scalar), Some(4)));
        // A level that the build or the CPU lacks leaves `isa` at `auto`.
        let portable = Some(Isa::Portable).filter(|isa| isa.is_supported());
        let mut config = Config::default();
        profile().apply(&mut config).unwrap();
        assert_eq!((config.isa, config.gang), (portable, portable.map(|_| 4)));
        let mut config = Config { isa: Some(Isa::Scalar), gang: Some(1), ..Config::default() };
        profile().apply(&mut config).unwrap();
        assert_eq!((config.isa, config.gang), (Some(Isa::Scalar), Some(1)));
        let mut config = Config { isa: Some(Isa::Scalar), ..Config::default() };
        profile().apply(&mut config).unwrap();
        assert_eq!(config.gang, Some(4));
    }
}
