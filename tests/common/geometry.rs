//! The whole detector of LHCb, for tests of several of its parts.

use peloton::chain::{UtDetector, VeloUt};
use peloton::engine::{Engine, Sequence};
use peloton::event::RawBatch;
use peloton::long::{Bending, Long, LongConfig, LongPreset, LongUt};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry, SciFiPreset};
use peloton::simd::Level;
use peloton::ut::{UtConfig, UtGeometry, UtPreset, UtTables};
use peloton::velo::{Preset, Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton_io::input::{EventNote, Geometry};
use peloton_sim::{LhcbDetector, LhcbReader};
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
    pub bending: Bending,
}

impl Detector {
    /// Returns the nominal detector.
    pub fn nominal() -> Self {
        Self::of(&Geometry::Nominal)
    }

    /// Reads a folder of geometry files.
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
            bending: geometry.bending().expect("a magnet"),
        }
    }

    /// Returns the detector for the simulation of particles.
    pub fn to_fly_through(&self) -> LhcbDetector<'_> {
        LhcbDetector { ut: &self.ut, scifi: &self.scifi, polarity: self.polarity }
    }

    /// Returns simulated events with their truth.
    pub fn simulated(&self, events: u64, seed: u64) -> (RawBatch, Vec<EventNote>) {
        let (mut raw, mut notes) = (RawBatch::default(), Vec::new());
        self.simulate(events, seed, &mut raw, &mut notes);
        (raw, notes)
    }

    /// Appends simulated events with their truth.
    pub fn simulate(&self, events: u64, seed: u64, raw: &mut RawBatch, notes: &mut Vec<EventNote>) {
        let spec = format!("sim:lhcb,events={events},seed={seed}").parse().expect("a simulation");
        let mut reader = LhcbReader::new(spec, 0, None);
        reader.read(events as usize, &self.to_fly_through(), raw, notes).expect("events");
    }

    /// Raw banks to Velo tracks.
    pub fn velo_engine(&self, level: Level, preset: Preset) -> Engine {
        let velo = Velo::new(level, VeloConfig::preset(preset)).expect("a configuration");
        Engine::new(velo.with_sensors(self.velo.clone(), VeloBanks::Auto))
    }

    /// Raw banks to Velo tracks with hits in the UT.
    pub fn velo_ut_engine(&self, level: Level, preset: UtPreset) -> Engine {
        Engine::new(self.velo_ut(level, preset))
    }

    /// Raw banks to Velo tracks with hits in the UT, as a sequence.
    pub fn velo_ut(&self, level: Level, preset: UtPreset) -> Sequence {
        let velo_preset = if preset == UtPreset::Paper { Preset::Paper } else { Preset::Best };
        let velo = Velo::new(level, VeloConfig::preset(velo_preset)).expect("a configuration");
        let velo = velo.with_sensors(self.velo.clone(), VeloBanks::Auto);
        VeloUt::sequence(velo, &self.ut_detector(), UtConfig::preset(preset)).expect("a configuration")
    }

    /// Raw banks to tracks in the SciFi.
    pub fn scifi(&self, level: Level, preset: SciFiPreset) -> SciFi {
        let config = SciFiConfig::preset(preset);
        let scifi = SciFi::new(level, config, self.scifi.clone(), self.polarity).expect("a configuration");
        scifi.with_bending(self.bending)
    }

    /// Raw banks to long tracks.
    pub fn long(&self, level: Level, preset: LongPreset) -> Sequence {
        let (velo, scifi) = self.parts_of_long(level, preset);
        let (config, bending) = (LongConfig::preset(preset), Bending::lhcb(self.polarity));
        Long::sequence(velo, scifi, config, bending).expect("a configuration")
    }

    /// Tracks in Velo and SciFi to long tracks.
    pub fn matcher(&self, level: Level, preset: LongPreset) -> Long {
        let (config, bending) = (LongConfig::preset(preset), Bending::lhcb(self.polarity));
        Long::new(self.parts_of_long(level, preset).1, config, bending).expect("a configuration")
    }

    /// Raw banks to long tracks with hits in the UT.
    pub fn long_ut(&self, level: Level, preset: LongPreset) -> Sequence {
        let (velo, scifi) = self.parts_of_long(level, preset);
        let (config, bending) = (LongConfig::preset(preset), Bending::lhcb(self.polarity));
        LongUt::sequence(velo, &self.ut_detector(), scifi, config, bending).expect("a configuration")
    }

    /// Tracks in Velo and SciFi, and hits in the UT, to long tracks.
    pub fn matcher_ut(&self, level: Level, preset: LongPreset) -> LongUt {
        let (velo, scifi) = self.parts_of_long(level, preset);
        let (config, bending) = (LongConfig::preset(preset), Bending::lhcb(self.polarity));
        LongUt::new(&velo, &self.ut_detector(), scifi, config, bending).expect("a configuration")
    }

    /// Velo and SciFi sequences, whose tracks are matched.
    pub fn parts_of_long(&self, level: Level, preset: LongPreset) -> (Velo, SciFi) {
        let (velo, scifi) = match preset {
            LongPreset::Best => (Preset::Best, SciFiPreset::Best),
            LongPreset::Fast => (Preset::Fast, SciFiPreset::Fast),
            LongPreset::Hlt1 => (Preset::Best, SciFiPreset::Hlt1),
        };
        let velo = Velo::new(level, VeloConfig::preset(velo)).expect("a configuration");
        (velo.with_sensors(self.velo.clone(), VeloBanks::Auto), self.scifi(level, scifi))
    }

    /// The UT, and the magnet before it.
    pub fn ut_detector(&self) -> UtDetector {
        let (geometry, tables) = (self.ut.clone(), self.tables.clone());
        UtDetector { geometry, tables, polarity: self.polarity }
    }
}
