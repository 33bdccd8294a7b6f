//! Long tracks: raw banks of Velo and SciFi to tracks through both.

use super::banks::{NaiveDecoder, blame};
use super::raw::RawSource;
use super::track_check::{TrackCheck, TrackRows};
use super::trackers::{pool, tracker_rules};
use crate::system::Runs;
use crate::{Check, CheckOptions, Config, Host, Opened, Request, System};
use peloton::engine::{Sequence, Stage};
use peloton::event::{LongTracks, RawBatch};
use peloton::long::{Bending, Long, LongConfig};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton::{Result, Status};
use peloton_io::input::Format;
use peloton_truth::{FittedState, Measured, Place, Rules};
use std::sync::Arc;

/// Raw banks to long tracks.
pub struct LongSystem;

/// What is known of the events.
pub struct LongContext {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    scifi: Arc<SciFiGeometry>,
    bending: Bending,
}

impl LongContext {
    fn sequence(&self, config: &Config) -> Result<Long> {
        let level = config.level()?;
        let velo = Velo::new(level, config.velo.clone())?.with_sensors(self.sensors.clone(), self.banks);
        let scifi = SciFi::new(level, config.scifi.clone(), self.scifi.clone(), self.bending.polarity)?;
        Long::new(velo, scifi, config.long.clone(), self.bending)
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
            bending: geometry.bending()?,
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
        let by = Self::track_rules(request, options, opened)?;
        TrackCheck::new(request, by, options, rows).map(|check| Box::new(check) as Box<_>)
    }

    fn diagnose(context: &LongContext, batch: &RawBatch, event: usize, status: Status) -> Option<String> {
        let decoders = [
            NaiveDecoder::Velo(context.sensors.clone(), context.banks),
            NaiveDecoder::SciFi(context.scifi.clone()),
        ];
        blame(&decoders, &batch.view().event(event), status)
    }

    fn bank_bytes(context: &LongContext, batch: &RawBatch) -> Option<u64> {
        context.sequence(&Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// The tracks of an event, with momenta and states; slopes are those at the beam line.
fn rows(tracks: &LongTracks, event: usize, rows: &mut TrackRows) {
    for track in tracks.of_event(event) {
        let slopes = [tracks.beam.tx[track], tracks.beam.ty[track]];
        let measured = Measured::new(tracks.scifi.qop[track], Some(tracks.var_qop[track]), slopes);
        let variance = tracks.var_qop[track];
        let states = [
            FittedState::of_velo(Place::Beam, &tracks.beam, track),
            FittedState::of_scifi(&tracks.scifi, track, Some(variance)),
        ];
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured), &states);
    }
}
