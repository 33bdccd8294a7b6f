//! Long tracks: raw banks of Velo and SciFi to tracks through both, and with the UT to tracks through all three.

use super::banks::NaiveDecoder;
use super::over_banks::BankSequence;
use super::scifi::{scifi, scifi_losses};
use super::track_check::{Rows, TrackRows, product};
use super::velo_ut::ut_detector;
use crate::losses::{FindLosses, LongLosses, Matching};
use crate::{Config, Preset, Request};
use peloton::Result;
use peloton::chain::UtDetector;
use peloton::event::{Columns, LongTracks};
use peloton::long::{Bending, Long, LongConfig, LongUt};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::Geometry;
use peloton_truth::{FittedState, Measured, Place, Rules};
use std::sync::Arc;

/// Raw banks to long tracks.
pub struct LongSystem;

/// Raw banks to long tracks with their hits in the UT.
pub struct LongUtSystem;

/// The detectors, the magnet between them, and which banks of the Velo are read.
pub struct LongContext {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    /// x and y of the beam line, mm.
    beam: [f32; 2],
    scifi: Arc<SciFiGeometry>,
    bending: Bending,
}

impl BankSequence for LongSystem {
    type Sequence = Long;
    type Context = LongContext;

    const PRESETS: &'static [Preset] = &[Preset::Best, Preset::Fast, Preset::TwoPass, Preset::Hlt1];
    const RULES: Rules = Rules::LhcbLong;
    const ROWS: Option<Rows> = Some(rows);

    fn context(request: &Request, geometry: &Geometry) -> Result<LongContext> {
        Ok(LongContext {
            sensors: Arc::new(geometry.velo()?),
            banks: request.velo_banks,
            beam: geometry.beam()?,
            scifi: Arc::new(geometry.scifi()?),
            bending: geometry.bending()?,
        })
    }

    fn sequence(context: &LongContext, config: &Config) -> Result<Long> {
        let (velo, scifi) = context.parts(config)?;
        Long::new(velo, scifi, config.long.clone(), context.bending)
    }

    fn losses(context: &LongContext, config: &Config) -> Result<Option<Box<dyn FindLosses>>> {
        let (velo, scifi) = context.parts(config)?;
        let make = |config| {
            let long = Long::new(velo.clone(), scifi.clone(), config, context.bending)?;
            Ok(Matching::Long(Box::new(long), Box::default()))
        };
        let seeds = scifi_losses(&context.scifi, context.bending, config)?;
        Ok(Some(Box::new(LongLosses::new(velo.clone(), seeds, None, &config.long, make)?)))
    }

    fn is_preset(config: &Config) -> bool {
        are_presets(config)
    }

    fn decoders(context: &LongContext) -> Vec<NaiveDecoder> {
        let velo = NaiveDecoder::Velo(context.sensors.clone(), context.banks);
        vec![velo, NaiveDecoder::SciFi(context.scifi.clone())]
    }
}

/// What [`LongContext`] says, and the UT.
pub struct LongUtContext {
    long: LongContext,
    ut: Arc<UtDetector>,
}

impl BankSequence for LongUtSystem {
    type Sequence = LongUt;
    type Context = LongUtContext;

    const PRESETS: &'static [Preset] = &[Preset::Best, Preset::Fast, Preset::TwoPass, Preset::Hlt1];
    const RULES: Rules = Rules::LhcbLong;
    const ROWS: Option<Rows> = Some(rows);

    fn context(request: &Request, geometry: &Geometry) -> Result<LongUtContext> {
        let ut = Arc::new(ut_detector(geometry)?);
        Ok(LongUtContext { long: LongSystem::context(request, geometry)?, ut })
    }

    fn sequence(LongUtContext { long, ut }: &LongUtContext, config: &Config) -> Result<LongUt> {
        let (velo, scifi) = long.parts(config)?;
        LongUt::new(velo, ut.clone(), scifi, config.long.clone(), long.bending)
    }

    fn losses(
        LongUtContext { long, ut }: &LongUtContext,
        config: &Config,
    ) -> Result<Option<Box<dyn FindLosses>>> {
        let (velo, scifi) = long.parts(config)?;
        let make = |config| {
            let long = LongUt::new(velo.clone(), ut.clone(), scifi.clone(), config, long.bending)?;
            Ok(Matching::LongUt(Box::new(long), Box::default()))
        };
        let seeds = scifi_losses(&long.scifi, long.bending, config)?;
        Ok(Some(Box::new(LongLosses::new(velo.clone(), seeds, Some(ut.clone()), &config.long, make)?)))
    }

    fn is_preset(config: &Config) -> bool {
        are_presets(config)
    }

    fn decoders(LongUtContext { long, ut }: &LongUtContext) -> Vec<NaiveDecoder> {
        let mut all = LongSystem::decoders(long);
        all.insert(1, NaiveDecoder::Ut(Arc::new(ut.geometry.clone())));
        all
    }
}

impl LongContext {
    /// The sequences of Velo and SciFi.
    fn parts(&self, config: &Config) -> Result<(Velo, SciFi)> {
        let level = config.level()?;
        let velo = Velo::new(level, config.velo.clone())?.with_sensors(self.sensors.clone(), self.banks);
        let velo = velo.with_beam(self.beam).with_bad_banks(config.bad_banks);
        Ok((velo, scifi(level, config.scifi.clone(), &self.scifi, self.bending)?))
    }
}

/// Whether all parameters are those of the preset; long tracks take none of the UT's search.
fn are_presets(config: &Config) -> bool {
    let preset = config.preset;
    config.velo == VeloConfig::preset(preset.velo())
        && config.scifi == SciFiConfig::preset(preset.scifi())
        && config.long == LongConfig::preset(preset.long())
}

/// The tracks of an event, with momenta and states; slopes are those at the beam line.
fn rows(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &LongTracks = product(results);
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
