//! The whole detector of LHCb, as tests of several of its parts need it.

use peloton::chain::{UtDetector, VeloUt};
use peloton::engine::Engine;
use peloton::scifi::SciFiGeometry;
use peloton::simd::Level;
use peloton::ut::{UtConfig, UtGeometry, UtPreset, UtTables};
use peloton::velo::{Preset, Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::Geometry;
use peloton_sim::LhcbDetector;
use std::path::Path;
use std::sync::Arc;

/// The parts that are decoded.
#[derive(Debug, Clone)]
pub struct Detector {
    pub velo: Arc<VeloSensors>,
    pub ut: Arc<UtGeometry>,
    pub tables: UtTables,
    pub scifi: Arc<SciFiGeometry>,
    pub polarity: f32,
}

impl Detector {
    /// Of the nominal detector.
    pub fn nominal() -> Self {
        Self::of(&Geometry::Nominal)
    }

    /// Of a folder of geometry files.
    pub fn open(folder: &Path) -> Self {
        Self::of(&Geometry::named(folder).expect("a folder"))
    }

    fn of(geometry: &Geometry) -> Self {
        Self {
            velo: Arc::new(geometry.velo().expect("the Velo's sensors")),
            ut: Arc::new(geometry.ut().expect("the UT")),
            tables: geometry.ut_tables().expect("tables of the UT"),
            scifi: Arc::new(geometry.scifi().expect("the SciFi")),
            polarity: geometry.polarity().expect("a polarity"),
        }
    }

    /// What simulated particles fly through.
    pub fn to_fly_through(&self) -> LhcbDetector<'_> {
        LhcbDetector { ut: &self.ut, scifi: &self.scifi, polarity: self.polarity }
    }

    /// Raw banks to Velo tracks.
    pub fn velo_engine(&self, level: Level, preset: Preset) -> Engine<Velo> {
        let velo = Velo::new(level, VeloConfig::preset(preset)).expect("a configuration");
        Engine::new(velo.with_sensors(self.velo.clone(), VeloBanks::Auto))
    }

    /// Raw banks to Velo tracks with hits in the UT.
    pub fn velo_ut_engine(&self, level: Level, preset: UtPreset) -> Engine<VeloUt> {
        let velo_preset = if preset == UtPreset::Paper { Preset::Paper } else { Preset::Best };
        let velo = Velo::new(level, VeloConfig::preset(velo_preset)).expect("a configuration");
        let velo = velo.with_sensors(self.velo.clone(), VeloBanks::Auto);
        let sequence =
            VeloUt::new(velo, self.ut_detector(), UtConfig::preset(preset)).expect("a configuration");
        Engine::new(sequence)
    }

    /// The UT, and the magnet before it.
    pub fn ut_detector(&self) -> Arc<UtDetector> {
        let (geometry, tables) = ((*self.ut).clone(), self.tables.clone());
        Arc::new(UtDetector { geometry, tables, polarity: self.polarity })
    }
}
