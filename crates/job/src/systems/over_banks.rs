//! [`OverBanks`]: a sequence that reads only raw banks of LHCb, as a list of algorithms.

use super::banks::NaiveDecoder;
use super::parts::{Parts, are_presets, infos};
use super::raw;
use super::rows::of_product;
use super::track_check::{Rows, TrackCheck};
use crate::display::gather::{Gather, GatherTracks};
use crate::embed::{self, ConfiguredEngine};
use crate::system::{Detector, OWN_ALGORITHMS, Runs, check_written};
use crate::truth_check::no_tracks;
use crate::{Check, CheckOptions, CheckRules, Config, Host, Opened, Preset, Request, Source, System};
use peloton::engine::{AlgorithmInfo, Batch, Engine, Pool, SLICE_EVENTS, Sequence};
use peloton::{Error, Result};
use peloton_io::input::{Format, Geometry};
use peloton_truth::{FindLosses, Rules};

/// The system of a sequence that starts from raw banks of LHCb.
pub struct OverBanks {
    /// Name of the sequence on the command line and in results.
    pub name: &'static str,
    /// Algorithms in the order in which they run, named by their products; empty when the configuration lists them.
    pub algorithms: &'static [&'static str],
    /// Presets of the sequence; empty for a sequence with a single set of parameters.
    pub presets: &'static [Preset],
    /// Function that makes the search for the causes of lost particles; none for a sequence that finds only hits.
    pub losses: Option<MakeLosses>,
}

/// Function that makes the search for the steps of a sequence at which particles were lost.
pub type MakeLosses = fn(&Parts, &Config) -> Result<Box<dyn FindLosses>>;

/// The detector that banks come from.
struct BankDetector {
    of: &'static OverBanks,
    parts: Parts,
    config: Config,
}

/// The sequence `own`: runs the algorithms that the configuration lists.
pub static OWN: OverBanks = OverBanks {
    name: "own",
    algorithms: &[],
    presets: &[Preset::Best, Preset::Fast, Preset::TwoPass, Preset::Hlt1],
    losses: None,
};

impl OverBanks {
    /// Returns the names of the algorithms, with `ut_hits` instead of `ut_cells` if the UT search reads no cells.
    fn names<'a>(&self, config: &'a Config) -> Vec<&'a str> {
        if self.algorithms.is_empty() {
            return config.algorithms.iter().map(String::as_str).collect();
        }
        let order = |name: &&'static str| match *name {
            "ut_cells" if !config.ut.reads_cells() => "ut_hits",
            name => name,
        };
        self.algorithms.iter().map(order).collect()
    }

    fn parts(&self, request: &Request, geometry: &Geometry) -> Result<Parts> {
        Parts::new(&self.names(&request.config), request, geometry)
    }

    fn sequence(&self, parts: &Parts, config: &Config) -> Result<Sequence> {
        let sequence = parts.sequence(self.name, &self.names(config), config)?;
        if config.write.is_empty() {
            return Ok(sequence);
        }
        sequence.writing(&config.write.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the rules for checking the first written product, and the function that appends its tracks.
    fn checked(&self, config: &Config) -> (Rules, Option<Rows>) {
        of_product(self.products(config)[0].name())
    }
}

impl System for OverBanks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn algorithms(&self, config: &Config) -> Vec<&'static AlgorithmInfo> {
        infos(&self.names(config)).unwrap_or_default()
    }

    fn check_products(&self, config: &Config) -> Result<()> {
        let is_own = self.algorithms.is_empty();
        let message = match (is_own, config.algorithms.is_empty()) {
            (false, false) => OWN_ALGORITHMS,
            (true, true) => {
                "needs algorithms: list them in a configuration, as algorithms = [\"velo_tracks\", ...]; `peloton describe --algorithms` lists all"
            }
            _ => return check_written(self.name, &infos(&self.names(config))?, &config.write),
        };
        Err(Error::Config(format!("the sequence {} {message}", self.name)))
    }

    fn presets(&self) -> &'static [Preset] {
        self.presets
    }

    fn open(&'static self, request: &Request, truth: bool, host: Host<'_>) -> Result<Opened> {
        let (source, geometry) = raw::open(request, self.name, truth, host)?;
        let detector =
            BankDetector { of: self, parts: self.parts(request, &geometry)?, config: request.config.clone() };
        Ok(Opened { source: Box::new(source), detector: Box::new(detector) })
    }

    fn embed(&self, request: &Request) -> Result<ConfiguredEngine> {
        let geometry = embed::geometry(request, self.name)?;
        let sequence = self.sequence(&self.parts(request, &geometry)?, &request.config)?;
        Ok(ConfiguredEngine::of(sequence, request.config.clone()))
    }

    fn batch_items(&self, _config: &Config, threads: usize) -> usize {
        256.max(16 * threads)
    }

    fn reads(&self, format: Format) -> bool {
        matches!(format, Format::Auto | Format::Mdf | Format::Banks)
    }

    fn is_preset(&self, config: &Config) -> bool {
        are_presets(&self.names(config), config)
    }
}

impl Detector for BankDetector {
    fn executor(&self, request: &Request, config: &Config) -> Result<Runs> {
        request.cpu_only(self.of.name)?;
        pool(self.of.sequence(&self.parts, config)?, config)
    }

    fn track_rules(&self, request: &Request, options: &CheckOptions) -> Result<Rules> {
        tracker_rules(options, self.of.checked(&request.config).0)
    }

    fn check(
        &self,
        request: &Request,
        options: &CheckOptions,
        source: &mut dyn Source,
    ) -> Result<Box<dyn Check>> {
        let OverBanks { name, losses, .. } = self.of;
        let (own, rows) = self.of.checked(&request.config);
        let rows = rows.ok_or_else(|| no_tracks(name))?;
        let rules = self.track_rules(request, options)?;
        source.check_by(rules);
        let mut check = TrackCheck::new(request, rules, options, rows)?;
        if options.losses {
            if rules != own {
                let message = format!("--losses uses the rules {own}, not {rules}: leave out --rules");
                return Err(Error::Config(message));
            }
            if !request.config.write.is_empty() {
                let message = "--losses is for the last product of the sequence: leave out --write";
                return Err(Error::Config(message.into()));
            }
            let losses = losses.ok_or_else(|| no_tracks(name))?(&self.parts, &request.config)?;
            check = check.with_losses(losses, rules, request.config.bad_banks);
        }
        Ok(Box::new(check))
    }

    fn gather(&self, request: &Request, source: &mut dyn Source) -> Result<Box<dyn Gather>> {
        GatherTracks::of(self, request, source, self.of.checked(&request.config).1)
    }

    fn decoders(&self) -> Vec<NaiveDecoder> {
        self.parts.decoders()
    }

    fn bank_bytes(&self, batch: &dyn Batch) -> Option<u64> {
        self.of.sequence(&self.parts, &self.config).ok()?.bank_bytes(batch.events())
    }
}

/// Starts CPU threads that run a sequence.
///
/// # Errors
/// Fails when the system cannot start threads.
pub fn pool(sequence: impl Into<Sequence>, config: &Config) -> Result<Runs> {
    let slice = config.slice_events.unwrap_or(SLICE_EVENTS);
    Ok(Box::new(Pool::new(Engine::new(sequence), config.thread_count(), slice)?))
}

/// Returns the requested rules for trackers, or `default` if no rules are requested.
///
/// # Errors
/// Returns [`Error::Config`] for rules of another detector.
pub fn tracker_rules(options: &CheckOptions, default: Rules) -> Result<Rules> {
    match options.rules {
        Some(CheckRules::Tracker(rules)) => Ok(rules),
        Some(CheckRules::Cylinder) => {
            let message = "--rules cylinder is for the sequence cylinder: add --sequence cylinder";
            Err(Error::Config(message.into()))
        }
        None => Ok(default),
    }
}
