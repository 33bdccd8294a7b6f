//! Long tracks: raw banks of Velo and SciFi to tracks through both.

use super::raw::RawSource;
use super::trackers::{pool, tracker_rules};
use crate::check::{KnownHits, object, report};
use crate::system::Runs;
use crate::{Check, CheckOptions, Checked, Config, Host, Opened, Request, Summary, System, text};
use peloton::Result;
use peloton::engine::{Sequence, Sliced, Stage};
use peloton::event::{LongTracks, RawBatch, TruthEvent};
use peloton::long::{Bending, Long, LongConfig};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::Format;
use peloton_truth::{Checker, Momenta, Rules};
use serde_json::json;
use std::sync::Arc;

/// Raw banks to long tracks.
pub struct LongSystem;

/// What is known of the events.
pub struct LongContext {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    scifi: Arc<SciFiGeometry>,
    polarity: f32,
}

impl LongContext {
    fn sequence(&self, config: &Config) -> Result<Long> {
        let level = config.level()?;
        let velo = Velo::new(level, config.velo.clone())?.with_sensors(self.sensors.clone(), self.banks);
        let scifi = SciFi::new(level, config.scifi.clone(), self.scifi.clone(), self.polarity)?;
        Long::new(velo, scifi, config.long.clone(), Bending::lhcb(self.polarity))
    }
}

impl System for LongSystem {
    const NAME: &'static str = Long::NAME;
    const STAGES: &'static [Stage] = Long::STAGES;

    type Batch = RawBatch;
    type Results = LongTracks;
    type Context = LongContext;

    fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>> {
        let (source, geometry) = RawSource::open(request, Self::NAME, truth, host)?;
        let context = LongContext {
            sensors: Arc::new(geometry.velo()?),
            banks: request.velo_banks,
            scifi: Arc::new(geometry.scifi()?),
            polarity: geometry.polarity()?,
        };
        Ok(Opened { source: Box::new(source), context })
    }

    fn executor(request: &Request, config: &Config, context: &LongContext) -> Result<Runs<Self>> {
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
        let preset = config.preset;
        config.velo == VeloConfig::preset(preset.velo())
            && config.scifi == SciFiConfig::preset(preset.scifi())
            && config.long == LongConfig::preset(preset.long())
    }

    fn track_rules(_request: &Request, options: &CheckOptions, opened: &mut Opened<Self>) -> Result<Rules> {
        let rules = tracker_rules(options, Rules::LhcbLong)?;
        opened.source.check_by(rules);
        Ok(rules)
    }

    fn check(
        request: &Request,
        options: &CheckOptions,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Check<Self>>> {
        let rules = Self::track_rules(request, options, opened)?;
        Ok(Box::new(LongCheck {
            checker: Checker::new(rules),
            known: KnownHits::default(),
            momenta: Momenta::default(),
            tables: options.tables,
        }))
    }

    fn bank_bytes(context: &LongContext, batch: &RawBatch) -> Option<u64> {
        context.sequence(&Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// Tracks against true particles.
struct LongCheck {
    checker: Checker,
    known: KnownHits,
    momenta: Momenta,
    tables: bool,
}

impl Check<LongSystem> for LongCheck {
    fn add(&mut self, _batch: &RawBatch, truth: &[TruthEvent], results: &Sliced<LongTracks>) -> Result<()> {
        for ((tracks, event), truth) in results.events().zip(truth) {
            self.checker.event(truth, tracks.hit_lists(event));
            self.known.event(truth, tracks.hit_lists(event));
            self.momenta.event(truth, tracks, event);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        self.known.tell(host);
        let report = report(self.checker)?;
        let momenta = self.momenta.report();
        let mut text = report.to_string();
        if self.tables {
            text.push_str(&text::tables(&report));
        }
        text.push_str(&text::momenta(&momenta));
        let mut json = object(&report);
        json.insert("momenta".into(), json!(momenta));
        Ok(Checked { text, json, is_right: true, failure: None })
    }
}
