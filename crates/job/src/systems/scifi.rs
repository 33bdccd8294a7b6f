//! SciFi: raw banks to hits, and to tracks in it.

use super::banks::NaiveDecoder;
use super::over_banks::BankSequence;
use super::track_check::{Rows, TrackRows, product};
use crate::losses::{FindLosses, SciFiLosses};
use crate::{Config, Preset, Request};
use peloton::Result;
use peloton::event::{Columns, SciFiTracks};
use peloton::long::Bending;
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry, SciFiHits};
use peloton::simd::Level;
use peloton_io::input::Geometry;
use peloton_truth::{FittedState, Measured, Rules};
use std::sync::Arc;

/// SciFi banks to SciFi hits.
pub struct SciFiHitsSystem;

impl BankSequence for SciFiHitsSystem {
    type Sequence = SciFiHits;
    type Context = Arc<SciFiGeometry>;

    const RULES: Rules = Rules::Lhcb;
    const ROWS: Option<Rows> = None;

    fn context(_request: &Request, geometry: &Geometry) -> Result<Self::Context> {
        geometry.scifi().map(Arc::new)
    }

    fn sequence(context: &Self::Context, config: &Config) -> Result<SciFiHits> {
        Ok(SciFiHits::new(config.level()?, context.clone()).with_bad_banks(config.bad_banks))
    }

    fn is_preset(_config: &Config) -> bool {
        true
    }

    fn decoders(context: &Self::Context) -> Vec<NaiveDecoder> {
        vec![NaiveDecoder::SciFi(context.clone())]
    }
}

/// SciFi banks to tracks in the SciFi.
pub struct SciFiSystem;

/// The detector, and the magnet before it.
pub struct SciFiContext {
    geometry: Arc<SciFiGeometry>,
    bending: Bending,
}

impl BankSequence for SciFiSystem {
    type Sequence = SciFi;
    type Context = SciFiContext;

    const PRESETS: &'static [Preset] = &[Preset::Best, Preset::Fast, Preset::Hlt1];
    const RULES: Rules = Rules::LhcbSeed;
    const ROWS: Option<Rows> = Some(rows);

    fn context(_request: &Request, geometry: &Geometry) -> Result<SciFiContext> {
        Ok(SciFiContext { geometry: Arc::new(geometry.scifi()?), bending: geometry.bending()? })
    }

    fn sequence(context: &SciFiContext, config: &Config) -> Result<SciFi> {
        let scifi = scifi(config.level()?, config.scifi.clone(), &context.geometry, context.bending)?;
        Ok(scifi.with_bad_banks(config.bad_banks))
    }

    fn losses(context: &SciFiContext, config: &Config) -> Result<Option<Box<dyn FindLosses>>> {
        let losses = scifi_losses(&context.geometry, context.bending, config)?;
        Ok(Some(Box::new(losses)))
    }

    fn is_preset(config: &Config) -> bool {
        config.scifi == SciFiConfig::preset(config.preset.scifi())
    }

    fn decoders(context: &SciFiContext) -> Vec<NaiveDecoder> {
        vec![NaiveDecoder::SciFi(context.geometry.clone())]
    }
}

/// The sequence, with the momenta of a magnet.
pub(super) fn scifi(
    level: Level,
    config: SciFiConfig,
    geometry: &Arc<SciFiGeometry>,
    bending: Bending,
) -> Result<SciFi> {
    Ok(SciFi::new(level, config, geometry.clone(), bending.polarity)?.with_bending(bending))
}

/// What finds out where tracks in the SciFi were lost.
pub(super) fn scifi_losses(
    geometry: &Arc<SciFiGeometry>,
    bending: Bending,
    config: &Config,
) -> Result<SciFiLosses> {
    let level = config.level()?;
    let make = |config| scifi(level, config, geometry, bending);
    SciFiLosses::new(geometry.clone(), &config.scifi, make)
}

/// Where the magnet bends, mm, and where states are.
const MAGNET_Z: f32 = 5290.0;
const STATE_Z: f32 = 9410.0;

/// The tracks of an event, with momenta; slopes before the magnet are those of a line from the origin to where it bends.
fn rows(results: &Columns, event: usize, rows: &mut TrackRows) {
    let tracks: &SciFiTracks = product(results);
    let state = &tracks.state;
    for track in tracks.of_event(event) {
        let before = |at: f32, slope: f32| (at + slope * (MAGNET_Z - STATE_Z)) / MAGNET_Z;
        let slopes = [before(state.x[track], state.tx[track]), before(state.y[track], state.ty[track])];
        let variance = Some(tracks.var_qop[track]);
        let measured = Measured::new(state.qop[track], variance, slopes);
        let states = [FittedState::of_scifi(state, track, variance)];
        rows.push(tracks.hits_of(track).iter().copied(), Some(measured), &states);
    }
}
