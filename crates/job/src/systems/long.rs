//! Long tracks: raw banks of Velo and SciFi to tracks through both.

use super::banks::NaiveDecoder;
use super::over_banks::{OverBanks, Rows};
use super::track_check::TrackRows;
use crate::{Config, Request};
use peloton::Result;
use peloton::event::LongTracks;
use peloton::long::{Bending, Long, LongConfig};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::Geometry;
use peloton_truth::{Measured, Rules};
use std::sync::Arc;

/// Raw banks to long tracks.
pub struct LongSystem;

/// The detectors, the magnet between them, and which banks of the Velo are read.
pub struct LongContext {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    scifi: Arc<SciFiGeometry>,
    bending: Bending,
}

impl OverBanks for LongSystem {
    type Sequence = Long;
    type Context = LongContext;

    const RULES: Rules = Rules::LhcbLong;
    const ROWS: Option<Rows<LongTracks>> = Some(rows);

    fn context(request: &Request, geometry: &Geometry) -> Result<LongContext> {
        Ok(LongContext {
            sensors: Arc::new(geometry.velo()?),
            banks: request.velo_banks,
            scifi: Arc::new(geometry.scifi()?),
            bending: geometry.bending()?,
        })
    }

    fn sequence(context: &LongContext, config: &Config) -> Result<Long> {
        let (level, bending) = (config.level()?, context.bending);
        let velo =
            Velo::new(level, config.velo.clone())?.with_sensors(context.sensors.clone(), context.banks);
        let scifi = SciFi::new(level, config.scifi.clone(), context.scifi.clone(), bending.polarity)?;
        Long::new(velo, scifi, config.long.clone(), bending)
    }

    fn is_preset(config: &Config) -> bool {
        let preset = config.preset;
        config.velo == VeloConfig::preset(preset.velo())
            && config.scifi == SciFiConfig::preset(preset.scifi())
            && config.long == LongConfig::preset(preset.long())
    }

    fn decoders(context: &LongContext) -> Vec<NaiveDecoder> {
        let velo = NaiveDecoder::Velo(context.sensors.clone(), context.banks);
        vec![velo, NaiveDecoder::SciFi(context.scifi.clone())]
    }
}

/// The tracks of an event, with momenta; slopes are those at the beam line.
fn rows(tracks: &LongTracks, event: usize, rows: &mut TrackRows) {
    for track in tracks.of_event(event) {
        let slopes = [tracks.beam.tx[track], tracks.beam.ty[track]];
        let measured = Measured::new(tracks.scifi.qop[track], Some(tracks.var_qop[track]), slopes);
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured));
    }
}
