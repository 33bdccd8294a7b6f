//! Velo and UT: raw banks to Velo tracks with hits in the UT.

use super::banks::{NaiveDecoder, blame};
use super::raw::RawSource;
use super::track_check::{TrackCheck, TrackRows};
use super::trackers::{pool, tracker_rules};
use crate::system::Runs;
use crate::{Check, CheckOptions, Config, Host, Opened, Request, System};
use peloton::chain::{UtDetector, VeloUt};
use peloton::engine::{Sequence, Stage};
use peloton::event::{RawBatch, VeloUtTracks};
use peloton::ut::UtConfig;
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton::{Error, Result, Status};
use peloton_io::input::Format;
use peloton_truth::{FittedState, Measured, Rules};
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
        TrackCheck::new(request, rules, options, rows).map(|check| Box::new(check) as Box<_>)
    }

    fn diagnose(context: &VeloUtContext, batch: &RawBatch, event: usize, status: Status) -> Option<String> {
        let decoders = [
            NaiveDecoder::Velo(context.sensors.clone(), context.banks),
            NaiveDecoder::Ut(Arc::new(context.ut.geometry.clone())),
        ];
        blame(&decoders, &batch.view().event(event), status)
    }

    fn bank_bytes(context: &VeloUtContext, batch: &RawBatch) -> Option<u64> {
        context.sequence(&Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// Where states are given, the middle of the UT, mm.
const STATE_Z: f32 = 2484.6;

/// The tracks of an event, with momenta; the slope in x before the magnet is that of a line from the origin, because the
/// state is given where the magnet has bent the track already.
fn rows(tracks: &VeloUtTracks, event: usize, rows: &mut TrackRows) {
    for (track, hits) in tracks.of_event(event).zip(tracks.hit_lists(event)) {
        let slopes = [tracks.x[track] / STATE_Z, tracks.ty[track]];
        let measured = Measured::new(tracks.q_over_p[track], Some(tracks.var_q_over_p[track]), slopes);
        rows.push(hits.iter().copied(), Some(measured), &[FittedState::of_ut(tracks, track)]);
    }
}
