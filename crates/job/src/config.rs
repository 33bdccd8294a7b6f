//! [`Config`]: all parameters of a job, read from TOML.

use crate::{Preset, SequenceName};
use peloton::cylinder::CylinderConfig;
use peloton::engine::{Handle, Stage};
use peloton::event::{BadBanks, Schema};
use peloton::long::LongConfig;
use peloton::scifi::SciFiConfig;
use peloton::simd::{Isa, Level, with_default_float_mode};
use peloton::timepix::TimepixConfig;
use peloton::ut::UtConfig;
use peloton::velo::VeloConfig;
use peloton::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use std::str::FromStr;

/// Maximum number of threads: no machine has so many cores, so a larger number is a typing error.
const MAX_THREADS: usize = 4096;

/// The configuration of a job.
///
/// In TOML every key is optional; unknown keys are errors. `isa`, `gang`, `threads` and `slice_events` accept `"auto"`
/// and change the speed, never the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    /// Name of the sequence.
    pub sequence: SequenceName,
    /// Algorithms of the sequence `own` in the order in which they run, each named by its product; empty for other
    /// sequences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<String>,
    /// Names of the products to write; if empty, the last product of the sequence is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Preset that gives the defaults of all stages.
    pub preset: Preset,
    /// Instruction set level; `None` is `"auto"`: the level of `PELOTON_ISA`, else the best level of this CPU.
    #[serde(serialize_with = "auto_or_text")]
    pub isa: Option<Isa>,
    /// Gang size in lanes; `None` is `"auto"`: the usual gang of the instruction set.
    #[serde(serialize_with = "auto_or_number")]
    pub gang: Option<usize>,
    /// Threads; `None` is `"auto"`: one per core.
    #[serde(serialize_with = "auto_or_number")]
    pub threads: Option<usize>,
    /// Events that a thread, or a stream of a device, processes at once; `None` is `"auto"`.
    #[serde(serialize_with = "auto_or_number")]
    pub slice_events: Option<usize>,
    /// Treatment of an event with a damaged raw bank. With `event`, the event is lost; with `bank`, the event is
    /// reconstructed without that bank, with the status `partial`.
    pub bad_banks: BadBanks,
    /// Parameters of the Velo stages.
    pub velo: VeloConfig,
    /// Parameters of the search for tracks in the SciFi.
    pub scifi: SciFiConfig,
    /// Parameters of the search for long tracks.
    pub long: LongConfig,
    /// Parameters of the search for UT hits of Velo tracks.
    pub ut: UtConfig,
    /// Parameters of the clustering of pixel hits.
    pub timepix: TimepixConfig,
    /// Parameters of the sequences of the cylinder detector.
    pub cylinder: CylinderConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self::preset(Preset::default())
    }
}

impl Config {
    /// Returns the configuration of a preset.
    pub fn preset(preset: Preset) -> Self {
        Self {
            sequence: SequenceName::default(),
            algorithms: Vec::new(),
            write: Vec::new(),
            preset,
            isa: None,
            gang: None,
            threads: None,
            slice_events: None,
            bad_banks: BadBanks::default(),
            velo: VeloConfig::preset(preset.velo()),
            scifi: SciFiConfig::preset(preset.scifi()),
            long: LongConfig::preset(preset.long()),
            ut: UtConfig::preset(preset.ut()),
            timepix: TimepixConfig::default(),
            cylinder: cylinder(preset),
        }
    }

    /// Reads a TOML text. `preset` takes precedence over the `preset` key of the text; the keys of the text's sections
    /// override the parameters of that preset.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for text that is not TOML, unknown keys, and values that cannot be used.
    pub fn from_toml(text: &str, preset: Option<Preset>) -> Result<Self> {
        // Parsing numbers takes floating-point arithmetic.
        with_default_float_mode(|| Self::parse(text, preset))
    }

    fn parse(text: &str, preset: Option<Preset>) -> Result<Self> {
        let file = File::read(text)?;
        let mut config = Self::preset(preset.or(file.preset).unwrap_or_default());
        config.sequence = file.named_sequence().unwrap_or(config.sequence);
        config.algorithms = file.algorithms;
        config.write = file.write;
        config.isa = auto(file.isa, |isa| isa.parse())?;
        config.gang = auto(file.gang, number)?;
        config.threads = auto(file.threads, number)?;
        config.slice_events = auto(file.slice_events, number)?;
        config.bad_banks = file.bad_banks.unwrap_or_default();
        let preset = config.preset;
        config.velo = of_preset(text, "velo", file.velo, preset.velo(), VeloConfig::preset)?;
        config.ut = of_preset(text, "ut", file.ut, preset.ut(), UtConfig::preset)?;
        config.scifi = of_preset(text, "scifi", file.scifi, preset.scifi(), SciFiConfig::preset)?;
        config.long = of_preset(text, "long", file.long, preset.long(), LongConfig::preset)?;
        config.timepix = merged(text, "timepix", &config.timepix, file.timepix)?;
        config.cylinder = merged(text, "cylinder", &config.cylinder, file.cylinder)?;
        config.validate()?;
        Ok(config)
    }

    /// Whether a text for [`Config::from_toml`] names a sequence.
    pub fn names_sequence(text: &str) -> bool {
        File::read(text).is_ok_and(|file| file.named_sequence().is_some())
    }

    /// Returns the configuration as TOML that [`Config::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        let text =
            toml::to_string(self).expect("a configuration of numbers, names and tables is always TOML");
        let preset = self.preset;
        // A section needs no `preset` key if the key at the top implies the same preset.
        [
            ("velo", self.velo.preset.to_string(), preset.velo().to_string()),
            ("ut", self.ut.preset.to_string(), preset.ut().to_string()),
            ("scifi", self.scifi.preset.to_string(), preset.scifi().to_string()),
            ("long", self.long.preset.to_string(), preset.long().to_string()),
        ]
        .into_iter()
        .filter(|(_, own, implied)| own == implied)
        .fold(text, |text, (section, own, _)| {
            text.replacen(&format!("[{section}]\npreset = \"{own}\"\n"), &format!("[{section}]\n"), 1)
        })
    }

    /// Returns the configuration as TOML, with the meaning and unit of each key as comments.
    pub fn to_commented_toml(&self) -> String {
        crate::config_text::commented(self)
    }

    /// Checks all values.
    ///
    /// # Errors
    /// [`Error::Config`] names the value that cannot be used, and the reason.
    pub fn validate(&self) -> Result<()> {
        if self.slice_events == Some(0) {
            return Err(Error::Config("slice_events must be at least 1".into()));
        }
        if self.threads.is_some_and(|threads| !(1..=MAX_THREADS).contains(&threads)) {
            return Err(Error::Config(format!("threads must be 1 to {MAX_THREADS}, or auto")));
        }
        self.scifi.validate()?;
        self.long.validate()?;
        self.ut.validate()?;
        self.timepix.validate()?;
        self.cylinder.validate()?;
        self.velo.validate()
    }

    /// Returns the instruction set level and gang size that run.
    ///
    /// # Errors
    /// Returns [`Error::Unsupported`] or [`Error::Config`] when this CPU or build lacks the level.
    pub fn level(&self) -> Result<Level> {
        Level::choose(self.isa, self.gang)
    }

    /// Returns a copy without options that change only the speed, and without the path of a calibration, which differs
    /// between machines; parts of a plan record the hash of its files instead.
    pub fn of_results(&self) -> Self {
        let timepix = TimepixConfig { calibration: None, ..self.timepix.clone() };
        let cylinder = CylinderConfig { event_threads: 1, ..self.cylinder.clone() };
        Self { isa: None, gang: None, threads: None, slice_events: None, timepix, cylinder, ..self.clone() }
    }

    /// Returns the products to write.
    pub fn products(&self) -> Vec<Handle> {
        self.sequence.system().products(self)
    }

    /// Returns the schema (the columns) of the first product to write.
    pub fn schema(&self) -> &'static Schema {
        self.products()[0].schema()
    }

    /// Returns the stages in the order in which they run.
    pub fn stages(&self) -> Vec<Stage> {
        self.sequence.system().stages(self)
    }

    /// Rejects a configuration that writes several products, for a job that can use only one; `user` names the job.
    pub(crate) fn one_product(&self, user: &str) -> Result<()> {
        if self.write.len() <= 1 {
            return Ok(());
        }
        let message = format!("write = {:?}: {user} takes one product; `run` writes several", self.write);
        Err(Error::Config(message))
    }

    /// Returns the number of threads that run.
    pub fn thread_count(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
    }

    /// Returns the preset; none for a sequence without presets.
    pub fn preset_of_sequence(&self) -> Option<Preset> {
        (!self.sequence.presets().is_empty()).then_some(self.preset)
    }

    /// Returns the name of the preset, or `custom` when any parameter differs from the preset; none for a sequence
    /// without presets.
    pub(crate) fn preset_name(&self) -> Option<String> {
        let is_preset = self.sequence.system().is_preset(self);
        let name = |preset: Preset| if is_preset { preset.to_string() } else { "custom".into() };
        self.preset_of_sequence().map(name)
    }

    /// Returns a copy with the parameters of another preset.
    pub fn with_preset(&self, preset: Preset) -> Self {
        let Self { velo, ut, scifi, long, cylinder, .. } = Self::preset(preset);
        // Builder, seeds and threads do not belong to a preset.
        let CylinderConfig { builder, seeds, event_threads, .. } = self.cylinder;
        let cylinder = CylinderConfig { builder, seeds, event_threads, ..cylinder };
        Self { preset, velo, ut, scifi, long, cylinder, ..self.clone() }
    }
}

/// A configuration file: all keys are optional, and some accept `"auto"` in place of a number or name.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    sequence: Option<SequenceName>,
    algorithms: Vec<String>,
    write: Vec<String>,
    preset: Option<Preset>,
    isa: Option<toml::Value>,
    gang: Option<toml::Value>,
    threads: Option<toml::Value>,
    slice_events: Option<toml::Value>,
    bad_banks: Option<BadBanks>,
    velo: toml::Table,
    ut: toml::Table,
    scifi: toml::Table,
    long: toml::Table,
    timepix: toml::Table,
    cylinder: toml::Table,
}

/// Returns the parameters of the cylinder detector for a preset: the best parameters, or the published parameters.
pub(crate) fn cylinder(preset: Preset) -> CylinderConfig {
    match preset {
        Preset::Best | Preset::Fast | Preset::TwoPass | Preset::Hlt1 | Preset::Hlt1Unrestricted => {
            CylinderConfig::best()
        }
        Preset::Paper | Preset::PaperLiteral | Preset::Forwarding => CylinderConfig::default(),
    }
}

impl File {
    /// Returns the name of the sequence; a file that lists algorithms and names no sequence means `own`.
    fn named_sequence(&self) -> Option<SequenceName> {
        self.sequence.or((!self.algorithms.is_empty()).then_some(SequenceName::Own))
    }

    fn read(text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|e| {
            let line = e.span().map(|span| 1 + text[..span.start].matches('\n').count());
            toml_error(line, e.message())
        })
    }
}

/// Makes the error for a fault in a text, with its line if known.
pub(crate) fn toml_error(line: Option<usize>, message: &str) -> Error {
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    Error::Config(match line {
        Some(line) => format!("line {line}: {message}"),
        None => message,
    })
}

/// Overrides the values of `base` by `top`, a section of `text`; `text` gives the lines of errors.
fn merged<T: Serialize + DeserializeOwned>(
    text: &str,
    section: &str,
    base: &T,
    top: toml::Table,
) -> Result<T> {
    let wrong = |e: &dyn std::fmt::Display| {
        let message = e.to_string();
        toml_error(line_of(text, section, &message), &format!("[{section}] {}", message.trim_end()))
    };
    let mut table = toml::Table::try_from(base).map_err(|e| wrong(&e))?;
    override_with(&mut table, top);
    table.try_into().map_err(|e: toml::de::Error| wrong(&e))
}

/// Finds the line of the key that an error message names in backquotes, since merged values have no line numbers.
fn line_of(text: &str, section: &str, message: &str) -> Option<usize> {
    let name = message.split('`').nth(1)?;
    let key = name.rsplit('.').next()?;
    let mut inside = false;
    text.lines().enumerate().find_map(|(number, line)| {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            inside = header.trim_start_matches('[').trim_start().starts_with(section);
        }
        let is_key = line.split('=').next().is_some_and(|word| word.trim() == key) && line.contains('=');
        (is_key && (inside || line.starts_with(section))).then_some(number + 1)
    })
}

/// Returns the parameters of a section: the parameters of its `preset` (default: the preset of the configuration),
/// overridden by the section's other keys.
fn of_preset<T, P>(text: &str, section: &str, top: toml::Table, preset: P, of: fn(P) -> T) -> Result<T>
where
    T: Serialize + DeserializeOwned,
    P: FromStr<Err = Error>,
{
    let preset = match top.get("preset").and_then(toml::Value::as_str) {
        Some(name) => name.parse()?,
        None => preset,
    };
    merged(text, section, &of(preset), top)
}

/// Reads `"auto"` as none, and other values with `parse`.
fn auto<T>(value: Option<toml::Value>, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    match value {
        None => Ok(None),
        Some(toml::Value::String(text)) if text == "auto" => Ok(None),
        Some(toml::Value::String(text)) => parse(&text).map(Some),
        Some(other) => parse(&other.to_string()).map(Some),
    }
}

fn number(text: &str) -> Result<usize> {
    text.parse().map_err(|_| Error::Config(format!("`{text}` is neither a number nor auto")))
}

/// Replaces the values of `base` by the values of `top`, table by table.
pub fn override_with(base: &mut toml::Table, top: toml::Table) {
    for (key, value) in top {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(top)) => override_with(base, top),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn auto_or_text<S: Serializer, T: std::fmt::Display>(
    value: &Option<T>,
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_str("auto"),
    }
}

fn auto_or_number<S: Serializer>(value: &Option<usize>, to: S) -> std::result::Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.serialize_u64(*value as u64),
        None => to.serialize_str("auto"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_round_trips() {
        let mut config = Config::preset(Preset::Best);
        assert_eq!(Config::from_toml(&config.to_toml(), None).unwrap(), config);
        config.isa = Some(Isa::Scalar);
        config.gang = Some(8);
        config.threads = Some(3);
        config.slice_events = Some(7);
        assert_eq!(Config::from_toml(&config.to_toml(), None).unwrap(), config);
    }

    #[test]
    fn an_empty_file_is_the_default_and_the_flag_goes_before_the_file() {
        assert_eq!(Config::from_toml("", None).unwrap(), Config::default());
        let config = Config::from_toml("preset = 'paper'", Some(Preset::Best)).unwrap();
        assert_eq!(config, Config::default());
    }

    #[test]
    fn what_is_unknown_or_useless_is_refused() {
        for text in [
            "speed = 1",
            "[velo]\nno_such_key = 1",
            "isa = 'fast'",
            "gang = 'many'",
            "gang = -4",
            "threads = 0",
            "threads = 1000000",
            "slice_events = 0",
            "sequence = 'muon'",
            "preset = 'worst'",
            "not toml",
        ] {
            assert!(matches!(Config::from_toml(text, None), Err(Error::Config(_))), "{text}");
        }
    }

    #[test]
    fn errors_name_their_line() {
        for (text, words) in [
            ("# one\nspeed = 1", "line 2: unknown field `speed`"),
            ("preset = 'best'\n\n[velo]\nno_such_key = 1", "line 4: [velo] unknown field `no_such_key`"),
            ("[timepix]\nblock_hits = 'many'", "line 2: [timepix] "),
            ("[velo\n", "line 1: "),
        ] {
            let error = Config::from_toml(text, None).unwrap_err().to_string();
            assert!(error.contains(words) && error.lines().count() == 1, "{text}: {error}");
        }
        assert!(Config::names_sequence("sequence = 'ut'") && !Config::names_sequence("threads = 2"));
    }

    #[test]
    fn parameters_off_the_preset_are_called_custom() {
        let config = Config::default();
        assert_eq!(config.preset_name().as_deref(), Some("best"));
        let mut table = toml::Table::try_from(&config).unwrap();
        let number = first_integer(&mut table["velo"]).expect("an integer parameter");
        *number += 1;
        let changed = Config::from_toml(&table.to_string(), None).unwrap();
        assert_eq!(changed.preset_name().as_deref(), Some("custom"));
    }

    fn first_integer(value: &mut toml::Value) -> Option<&mut i64> {
        match value {
            toml::Value::Integer(number) => Some(number),
            toml::Value::Table(table) => table.iter_mut().find_map(|(_, value)| first_integer(value)),
            _ => None,
        }
    }
}
