//! SciFi: raw banks to tracks in it.

use super::raw::RawSource;
use super::trackers::{pool, tracker_rules};
use crate::check::{KnownHits, object, report};
use crate::system::Runs;
use crate::{Check, CheckOptions, Checked, Config, Host, Opened, Request, Summary, System, text};
use peloton::Result;
use peloton::engine::{Sequence, Sliced, Stage};
use peloton::event::{RawBatch, SciFiTracks, TruthEvent};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton_io::input::Format;
use peloton_truth::{Checker, Rules};
use std::sync::Arc;

/// SciFi banks to tracks in the SciFi.
pub struct SciFiTracksSystem;

/// What is known of the events.
pub struct SciFiContext {
    geometry: Arc<SciFiGeometry>,
    polarity: f32,
}

impl SciFiContext {
    fn sequence(&self, config: &Config) -> Result<SciFi> {
        SciFi::new(config.level()?, config.scifi.clone(), self.geometry.clone(), self.polarity)
    }
}

impl System for SciFiTracksSystem {
    const NAME: &'static str = SciFi::NAME;
    const STAGES: &'static [Stage] = SciFi::STAGES;

    type Batch = RawBatch;
    type Results = SciFiTracks;
    type Context = SciFiContext;

    fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Opened<Self>> {
        let (source, geometry) = RawSource::open(request, Self::NAME, truth, host)?;
        let context = SciFiContext { geometry: Arc::new(geometry.scifi()?), polarity: geometry.polarity()? };
        Ok(Opened { source: Box::new(source), context })
    }

    fn executor(request: &Request, config: &Config, context: &SciFiContext) -> Result<Runs<Self>> {
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
        config.scifi == SciFiConfig::preset(config.preset.scifi())
    }

    fn track_rules(_request: &Request, options: &CheckOptions, opened: &mut Opened<Self>) -> Result<Rules> {
        let rules = tracker_rules(options, Rules::LhcbSeed)?;
        opened.source.check_by(rules);
        Ok(rules)
    }

    fn check(
        request: &Request,
        options: &CheckOptions,
        opened: &mut Opened<Self>,
    ) -> Result<Box<dyn Check<Self>>> {
        let rules = Self::track_rules(request, options, opened)?;
        let checker = Checker::new(rules);
        Ok(Box::new(SciFiCheck { checker, known: KnownHits::default(), tables: options.tables }))
    }

    fn bank_bytes(context: &SciFiContext, batch: &RawBatch) -> Option<u64> {
        context.sequence(&Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// Tracks against true particles.
struct SciFiCheck {
    checker: Checker,
    known: KnownHits,
    tables: bool,
}

impl Check<SciFiTracksSystem> for SciFiCheck {
    fn add(&mut self, _batch: &RawBatch, truth: &[TruthEvent], results: &Sliced<SciFiTracks>) -> Result<()> {
        for ((tracks, event), truth) in results.events().zip(truth) {
            self.checker.event(truth, tracks.hit_lists(event));
            self.known.event(truth, tracks.hit_lists(event));
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, host: Host<'_>) -> Result<Checked> {
        self.known.tell(host);
        let report = report(self.checker)?;
        let mut text = report.to_string();
        if self.tables {
            text.push_str(&text::tables(&report));
        }
        Ok(Checked { text, json: object(&report), is_right: true, failure: None })
    }
}
