//! SciFi: raw banks to tracks in it.

use super::banks::{NaiveDecoder, blame};
use super::raw::RawSource;
use super::track_check::{TrackCheck, TrackRows};
use super::trackers::{pool, tracker_rules};
use crate::system::Runs;
use crate::{Check, CheckOptions, Config, Host, Opened, Request, System};
use peloton::engine::{Sequence, Stage};
use peloton::event::{RawBatch, SciFiTracks};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::{Result, Status};
use peloton_io::input::Format;
use peloton_truth::{FittedState, Measured, Rules};
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
        TrackCheck::new(request, rules, options, rows).map(|check| Box::new(check) as Box<_>)
    }

    fn diagnose(context: &SciFiContext, batch: &RawBatch, event: usize, status: Status) -> Option<String> {
        blame(&[NaiveDecoder::SciFi(context.geometry.clone())], &batch.view().event(event), status)
    }

    fn bank_bytes(context: &SciFiContext, batch: &RawBatch) -> Option<u64> {
        context.sequence(&Config::default()).ok()?.bank_bytes(batch.view())
    }
}

/// Where the magnet bends, mm, and where states are.
const MAGNET_Z: f32 = 5290.0;
const STATE_Z: f32 = 9410.0;

/// The tracks of an event, with momenta; slopes before the magnet are those of a line from the origin to where it bends.
fn rows(tracks: &SciFiTracks, event: usize, rows: &mut TrackRows) {
    let state = &tracks.state;
    for track in tracks.of_event(event) {
        let before = |at: f32, slope: f32| (at + slope * (MAGNET_Z - STATE_Z)) / MAGNET_Z;
        let slopes = [before(state.x[track], state.tx[track]), before(state.y[track], state.ty[track])];
        let measured = Measured::new(state.qop[track], None, slopes);
        let states = [FittedState::of_scifi(state, track, None)];
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured), &states);
    }
}
