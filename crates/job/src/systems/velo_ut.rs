//! Velo and UT: raw banks to Velo tracks with hits in the UT.

use super::banks::NaiveDecoder;
use super::over_banks::BankSequence;
use super::track_check::{Rows, TrackRows, product};
use crate::losses::{FindLosses, VeloUtLosses};
use crate::{Config, Preset, Request};
use peloton::Result;
use peloton::chain::{UtDetector, VeloUt};
use peloton::event::{Columns, VeloUtTracks};
use peloton::ut::UtConfig;
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::Geometry;
use peloton_truth::{FittedState, Measured, Rules};
use std::sync::Arc;

/// Velo and UT banks to tracks through both.
pub struct VeloUtSystem;

/// The detectors, and which banks of the Velo are read.
pub struct VeloUtContext {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    /// x and y of the beam line, mm.
    beam: [f32; 2],
    ut: Arc<UtDetector>,
}

impl BankSequence for VeloUtSystem {
    type Sequence = VeloUt;
    type Context = VeloUtContext;

    const PRESETS: &'static [Preset] =
        &[Preset::Best, Preset::Fast, Preset::TwoPass, Preset::Hlt1, Preset::Hlt1Unrestricted, Preset::Paper];
    const RULES: Rules = Rules::LhcbUt;
    const ROWS: Option<Rows> = Some(rows);

    fn context(request: &Request, geometry: &Geometry) -> Result<VeloUtContext> {
        let ut = Arc::new(ut_detector(geometry)?);
        let (sensors, beam) = (Arc::new(geometry.velo()?), geometry.beam()?);
        Ok(VeloUtContext { sensors, banks: request.velo_banks, beam, ut })
    }

    fn sequence(context: &VeloUtContext, config: &Config) -> Result<VeloUt> {
        VeloUt::new(context.velo(config)?, context.ut.clone(), config.ut.clone())
    }

    fn losses(context: &VeloUtContext, config: &Config) -> Result<Option<Box<dyn FindLosses>>> {
        let losses = VeloUtLosses::new(context.velo(config)?, context.ut.clone(), config.ut.clone())?;
        Ok(Some(Box::new(losses)))
    }

    fn is_preset(config: &Config) -> bool {
        config.velo == VeloConfig::preset(config.preset.velo())
            && config.ut == UtConfig::preset(config.preset.ut())
    }

    fn decoders(context: &VeloUtContext) -> Vec<NaiveDecoder> {
        let velo = NaiveDecoder::Velo(context.sensors.clone(), context.banks);
        vec![velo, NaiveDecoder::Ut(Arc::new(context.ut.geometry.clone()))]
    }
}

impl VeloUtContext {
    fn velo(&self, config: &Config) -> Result<Velo> {
        let velo = Velo::new(config.level()?, config.velo.clone())?;
        let velo = velo.with_sensors(self.sensors.clone(), self.banks).with_beam(self.beam);
        Ok(velo.with_bad_banks(config.bad_banks))
    }
}

/// The UT, and the magnet before it.
pub(super) fn ut_detector(geometry: &Geometry) -> Result<UtDetector> {
    let (tables, polarity) = (geometry.ut_tables()?, geometry.polarity()?);
    Ok(UtDetector { geometry: geometry.ut()?, tables, polarity })
}

/// Where states are given, the middle of the UT, mm.
const STATE_Z: f32 = 2484.6;

/// The tracks of an event, with momenta; the slope in x before the magnet is that of a line from the origin, because the
/// state is given where the magnet has bent the track already.
fn rows(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &VeloUtTracks = product(results);
    for (track, hits) in tracks.of_event(event).zip(tracks.hit_lists(event)) {
        let slopes = [tracks.x[track] / STATE_Z, tracks.ty[track]];
        let measured = Measured::new(tracks.q_over_p[track], Some(tracks.var_q_over_p[track]), slopes);
        rows.push(hits.iter().copied(), Some(measured), &[FittedState::of_ut(tracks, track)]);
    }
}
