//! [`Parts`]: the parts of the detector that algorithms need, and the algorithms by name.

use super::banks::NaiveDecoder;
use crate::{Config, Request};
use peloton::chain::{UtDetector, VeloUt, VeloUtByCell};
use peloton::engine::{Algorithm, AlgorithmInfo, Sequence};
use peloton::long::{Bending, Long, LongConfig, LongUt};
use peloton::scifi::{SciFi, SciFiConfig, SciFiGeometry, SciFiHits};
use peloton::ut::{UtCells, UtConfig, UtGeometry, UtHits, UtTables};
use peloton::velo::{Velo, VeloBanks, VeloConfig, VeloSensors};
use peloton::{Error, Result};
use peloton_io::input::Geometry;
use std::sync::Arc;

/// All algorithms of sequences that start from raw banks of LHCb.
pub const ALGORITHMS: [&AlgorithmInfo; 7] =
    [Velo::INFO, UtHits::INFO, UtCells::INFO, VeloUtByCell::INFO, SciFiHits::INFO, SciFi::INFO, Long::INFO];

/// Returns the configuration section with the parameters of an algorithm; empty for an algorithm without parameters.
pub fn section_of(algorithm: &str) -> &'static str {
    match algorithm {
        "velo_tracks" => "velo",
        "velo_ut_tracks" => "ut",
        "scifi_tracks" => "scifi",
        "long_tracks" => "long",
        "cylinder_tracks" | "cylinder_fits" => "cylinder",
        _ => "",
    }
}

/// Returns information on the algorithms of these names, in this order. With `ut_hits`, long tracks get UT hits.
///
/// # Errors
/// [`Error::UnknownName`] lists all algorithms over raw banks of LHCb.
pub fn infos(names: &[&str]) -> Result<Vec<&'static AlgorithmInfo>> {
    let info = |name: &&str| match *name {
        "long_tracks" if names.contains(&"ut_hits") => Ok(LongUt::INFO),
        "velo_ut_tracks" if names.contains(&"ut_hits") && !names.contains(&"ut_cells") => Ok(<VeloUt>::INFO),
        name => ALGORITHMS.into_iter().find(|info| info.name() == name).ok_or_else(|| Error::UnknownName {
            what: "algorithm",
            given: name.into(),
            choices: ALGORITHMS.map(AlgorithmInfo::name).to_vec(),
        }),
    };
    names.iter().map(info).collect()
}

/// Whether the parameters of these algorithms equal the preset. Long tracks do not use the parameters of the UT search.
pub fn are_presets(names: &[&str], config: &Config) -> bool {
    let preset = config.preset;
    names.iter().all(|name| match *name {
        "velo_tracks" => config.velo == VeloConfig::preset(preset.velo()),
        "velo_ut_tracks" => config.ut == UtConfig::preset(preset.ut()),
        "scifi_tracks" => config.scifi == SciFiConfig::preset(preset.scifi()),
        "long_tracks" => config.long == LongConfig::preset(preset.long()),
        _ => true,
    })
}

fn has_ut(names: &[&str]) -> bool {
    names.contains(&"ut_hits")
}

/// The parts of the detector that the algorithms of a sequence need; other parts are absent.
#[derive(Default)]
pub struct Parts {
    velo: Option<VeloPart>,
    ut: Option<Arc<UtGeometry>>,
    magnet_tables: Option<(UtTables, f32)>,
    scifi: Option<Arc<SciFiGeometry>>,
    bending: Option<Bending>,
}

/// The Velo, and the kind of Velo banks to read.
struct VeloPart {
    sensors: Arc<VeloSensors>,
    banks: VeloBanks,
    /// x and y of the beam line, mm.
    beam: [f32; 2],
}

impl Parts {
    /// Makes the parts of the detector that these algorithms need, from a geometry.
    ///
    /// # Errors
    /// Fails when the geometry lacks a part of the detector.
    pub fn new(names: &[&str], request: &Request, geometry: &Geometry) -> Result<Self> {
        // Each part is read once for all algorithms. `sequence` checks later that each algorithm's input is made.
        let with_ut = has_ut(names);
        let needs = |algorithms: &[&str]| names.iter().any(|name| algorithms.contains(name));
        let long_ut = with_ut && needs(&["long_tracks"]);
        let mut parts = Self::default();
        if long_ut || needs(&["velo_tracks", "velo_ut_tracks"]) {
            let (sensors, beam) = (Arc::new(geometry.velo()?), geometry.beam()?);
            parts.velo = Some(VeloPart { sensors, banks: request.velo_banks, beam });
        }
        if with_ut || needs(&["ut_cells", "velo_ut_tracks"]) {
            parts.ut = Some(Arc::new(geometry.ut()?));
        }
        if long_ut || needs(&["ut_cells", "velo_ut_tracks"]) {
            parts.magnet_tables = Some((geometry.ut_tables()?, geometry.polarity()?));
        }
        if needs(&["scifi_hits", "scifi_tracks", "long_tracks"]) {
            parts.scifi = Some(Arc::new(geometry.scifi()?));
        }
        if needs(&["scifi_tracks", "long_tracks"]) {
            parts.bending = Some(geometry.bending()?);
        }
        Ok(parts)
    }

    /// Makes the sequence of these algorithms, in this order.
    ///
    /// # Errors
    /// Returns errors of the configuration, and [`Error::Config`] for an empty list and for an algorithm that reads a
    /// product that no algorithm before it makes.
    pub fn sequence(&self, name: &'static str, algorithms: &[&str], config: &Config) -> Result<Sequence> {
        let mut adding = Adding { name, sequence: None };
        for algorithm in algorithms {
            match *algorithm {
                "velo_tracks" => adding.add(self.velo(config)?)?,
                "ut_hits" => adding.add(self.ut_hits(config)?)?,
                "ut_cells" => {
                    let end_z = config.velo.fit.end_z;
                    adding.add(self.ut()?.cells(config.level()?, config.bad_banks, end_z)?)?;
                }
                "velo_ut_tracks" => {
                    let search = VeloUt::new(&self.velo(config)?, &self.ut()?, config.ut.clone())?;
                    if config.ut.reads_cells() {
                        adding.add(search.by_cell())?;
                    } else {
                        adding.add(search)?;
                    }
                }
                "scifi_hits" => adding.add(self.scifi_hits(config)?)?,
                "scifi_tracks" => adding.add(self.scifi(config)?)?,
                "long_tracks" if has_ut(algorithms) => {
                    adding.add(self.long_ut(config, config.long.clone())?)?
                }
                "long_tracks" => adding.add(self.long(config, config.long.clone())?)?,
                name => return Err(Error::Internal(format!("no algorithm {name}"))),
            }
        }
        adding.sequence.ok_or_else(|| Error::Config(format!("sequence {name}: it has no algorithm")))
    }

    /// Returns the decoders that can name the faulty bank.
    pub fn decoders(&self) -> Vec<NaiveDecoder> {
        let velo = self.velo.iter().map(|part| NaiveDecoder::Velo(part.sensors.clone(), part.banks));
        let ut = self.ut.iter().map(|geometry| NaiveDecoder::Ut(geometry.clone()));
        let scifi = self.scifi.iter().map(|geometry| NaiveDecoder::SciFi(geometry.clone()));
        velo.chain(ut).chain(scifi).collect()
    }

    /// Makes the search for tracks in the Velo.
    pub fn velo(&self, config: &Config) -> Result<Velo> {
        let VeloPart { sensors, banks, beam } = self.velo.as_ref().ok_or_else(|| missing("Velo"))?;
        let velo = Velo::new(config.level()?, config.velo.clone())?;
        Ok(velo.with_sensors(sensors.clone(), *banks).with_beam(*beam).with_bad_banks(config.bad_banks))
    }

    fn ut_hits(&self, config: &Config) -> Result<UtHits> {
        let geometry = self.ut.as_ref().ok_or_else(|| missing("UT"))?;
        Ok(UtHits::new(config.level()?, geometry.clone()).with_bad_banks(config.bad_banks))
    }

    /// Returns the UT, and the magnetic field in front of the UT.
    pub fn ut(&self) -> Result<UtDetector> {
        let geometry = self.ut.clone().ok_or_else(|| missing("UT"))?;
        let (tables, polarity) = self.magnet_tables.clone().ok_or_else(|| missing("magnet"))?;
        Ok(UtDetector { geometry, tables, polarity })
    }

    fn scifi_hits(&self, config: &Config) -> Result<SciFiHits> {
        Ok(SciFiHits::new(config.level()?, self.scifi_geometry()?).with_bad_banks(config.bad_banks))
    }

    /// Returns the geometry of the SciFi.
    pub fn scifi_geometry(&self) -> Result<Arc<SciFiGeometry>> {
        self.scifi.clone().ok_or_else(|| missing("SciFi"))
    }

    /// Returns the description of the bending of tracks in the magnet in front of the SciFi.
    pub fn bending(&self) -> Result<Bending> {
        self.bending.ok_or_else(|| missing("magnet"))
    }

    /// Makes the search for tracks in the SciFi, as configured.
    pub fn scifi(&self, config: &Config) -> Result<SciFi> {
        self.scifi_as(config, config.scifi.clone())
    }

    /// Makes the search for tracks in the SciFi, with these parameters.
    pub fn scifi_as(&self, config: &Config, parameters: SciFiConfig) -> Result<SciFi> {
        let bending = self.bending()?;
        let scifi = SciFi::new(config.level()?, parameters, self.scifi_geometry()?, bending.polarity)?;
        Ok(scifi.with_bending(bending).with_bad_banks(config.bad_banks))
    }

    /// Makes the search for long tracks (pairs of Velo and SciFi tracks), with these parameters.
    pub fn long(&self, config: &Config, parameters: LongConfig) -> Result<Long> {
        Long::new(self.scifi(config)?, parameters, self.bending()?)
    }

    /// Makes the search for long tracks that also adds UT hits, with these parameters.
    pub fn long_ut(&self, config: &Config, parameters: LongConfig) -> Result<LongUt> {
        LongUt::new(&self.velo(config)?, &self.ut()?, self.scifi(config)?, parameters, self.bending()?)
    }
}

/// A sequence under construction, to which algorithms are added one by one.
struct Adding {
    name: &'static str,
    sequence: Option<Sequence>,
}

impl Adding {
    fn add(&mut self, algorithm: impl Algorithm) -> Result<()> {
        self.sequence = Some(match self.sequence.take() {
            Some(sequence) => sequence.with(algorithm)?,
            None => Sequence::new(self.name, algorithm)?,
        });
        Ok(())
    }
}

fn missing(part: &str) -> Error {
    Error::Internal(format!("a sequence without the {part}"))
}
