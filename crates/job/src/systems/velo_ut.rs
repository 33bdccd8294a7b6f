//! Velo and UT: raw banks to Velo tracks with hits in the UT.

use super::raw::RawSource;
use super::trackers::{pool, tracker_rules};
use crate::check::{KnownHits, object, report};
use crate::system::Runs;
use crate::{Check, CheckOptions, Checked, Config, Host, Opened, Request, Summary, System, text};
use peloton::chain::{UtDetector, VeloUt};
use peloton::engine::{Sequence, Sliced, Stage};
use peloton::event::{RawBatch, TruthEvent, VeloUtTracks};
use peloton::ut::UtConfig;
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton::{Error, Result};
use peloton_io::input::Format;
use peloton_truth::{Checker, Rules};
use std::sync::Arc;

/// Velo and UT banks to tracks through both.
pub struct VeloUtSystem;

/// The detector, and which banks of the Velo are read.
pub struct VeloUtContext {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    ut: Arc<UtDetector>,
}

impl VeloUtContext {
    /// The sequence for these events.
    fn sequence(&self, config: &Config) -> Result<VeloUt> {
        let velo = Velo::new(config.level()?, config.velo.clone())?;
        let velo = velo.with_sensors(self.sensors.clone(), self.banks);
        VeloUt::new(velo, self.ut.clone(), config.ut.clone())
    }
}

impl System for VeloUtSystem {
    const NAME: &'static str = VeloUt::NAME;
    const STAGES: &'static [Stage] = VeloUt::STAGES;

    type Batch = RawBatch;
    type Results = VeloUtTracks;
    type Context = VeloUtContext;

    fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>> {
        let (source, geometry) = RawSource::open(request, Self::NAME, truth, host)?;
        let ut = UtDetector {
            geometry: geometry.ut()?,
            tables: geometry.ut_tables()?,
            polarity: geometry.polarity()?,
        };
        let context = VeloUtContext {
            sensors: Arc::new(geometry.velo()?),
            banks: request.velo_banks,
            ut: Arc::new(ut),
        };
        Ok(Opened { source: Box::new(source), context })
    }

    fn executor(request: &Request, config: &Config, context: &VeloUtContext) -> Result<Runs<Self>> {
        request.cpu_only(Self::NAME)?;
        Ok(pool(context.sequence(config)?, config)?)
    }

    fn batch_items(_config: &Config, threads: usize) -> usize {
        256.max(16 * threads)
    }

    fn reads(format: Format) -> bool {
        matches!(format, Format::Auto | Format::Mdf | Format::Banks)
    }

    fn is_preset(config: &Config) -> bool {
        config.velo == VeloConfig::preset(config.preset.velo())
            && config.ut == UtConfig::preset(config.preset.ut())
    }

    fn track_rules(_request: &Request, options: &CheckOptions, opened: &mut Opened<Self>) -> Result<Rules> {
        let rules = tracker_rules(options, Rules::LhcbUt)?;
        opened.source.check_by(rules);
        Ok(rules)
    }

    fn check(
        request: &Request,
        options: &CheckOptions,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Check<Self>>> {
        if options.losses {
            return Err(Error::Unsupported("--losses is for the sequence velo".into()));
        }
        let rules = Self::track_rules(request, options, opened)?;
        Ok(Box::new(VeloUtCheck {
            checker: Checker::new(rules),
            known: KnownHits::default(),
            tables: options.tables,
        }))
    }

    fn bank_bytes(context: &VeloUtContext, batch: &RawBatch) -> Option<u64> {
        context.sequence(&Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// Tracks against true particles.
struct VeloUtCheck {
    checker: Checker,
    known: KnownHits,
    tables: bool,
}

impl Check<VeloUtSystem> for VeloUtCheck {
    fn add(&mut self, _batch: &RawBatch, truth: &[TruthEvent], results: &Sliced<VeloUtTracks>) -> Result<()> {
        for ((tracks, event), truth) in results.events().zip(truth) {
            self.checker.event(truth, tracks.hit_lists(event));
            self.known.event(truth, tracks.hit_lists(event));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        self.known.tell(host);
        let report = report(self.checker)?;
        let mut checked =
            Checked { text: report.to_string(), json: object(&report), is_right: true, failure: None };
        if self.tables {
            checked.text.push_str(&text::tables(&report));
        }
        Ok(checked)
    }
}
