//! [`Geometry`]: the geometry of the LHCb detector; each file is read when a sequence needs it.

use peloton::bytes::{Fields, File};
use peloton::lhcb::Bending;
use peloton::scifi::SciFiGeometry;
use peloton::ut::{UtGeometry, UtTables};
use peloton::velo::VeloSensors;
use peloton::{Error, Result};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Longest geometry file, bytes: far above any real one.
const MAX_FILE: u64 = 16 << 20;

/// The name that selects the nominal detector instead of a geometry folder.
pub const NOMINAL: &str = "nominal";

/// The name that selects the nominal detector even for events that are not marked as simulated with this detector.
pub const NOMINAL_FORCED: &str = "nominal-forced";

/// Largest distance of the beam line from the z axis, mm: far inside the edges of the innermost modules.
const MAX_BEAM: f32 = 50.0;

/// The files of a folder.
const FILES: [&str; 7] = [
    "beamline.bin",
    "polarity.bin",
    "scifi_geometry.bin",
    "ut_boards.bin",
    "ut_geometry.bin",
    "ut_tables.bin",
    "velo_geometry.bin",
];

/// Geometry, beam line and magnet polarity of LHCb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Geometry {
    /// The nominal detector, magnet down, without geometry files; only for events marked as simulated with it.
    Nominal,
    /// The nominal detector, even for events that are not marked as simulated with this detector.
    NominalForced,
    /// A folder with the files `velo_geometry.bin`, `ut_boards.bin`, `ut_geometry.bin`, `ut_tables.bin`,
    /// `scifi_geometry.bin`, `beamline.bin` and `polarity.bin`; only the files that a sequence needs must exist.
    Folder(PathBuf),
}

impl Geometry {
    /// The geometry with the name that a user gave: a folder, `nominal` or `nominal-forced`.
    ///
    /// # Errors
    /// [`Error::Config`] when there is no such folder.
    pub fn named(folder: &Path) -> Result<Self> {
        if folder == Path::new(NOMINAL) {
            return Ok(Self::Nominal);
        }
        if folder == Path::new(NOMINAL_FORCED) {
            return Ok(Self::NominalForced);
        }
        if !folder.is_dir() {
            let place = folder.display();
            return Err(Error::Config(format!("--geometry {place}: there is no such folder")));
        }
        Ok(Self::Folder(folder.into()))
    }

    /// Whether only events marked as simulated with the nominal detector may be reconstructed.
    pub fn wants_nominal_events(&self) -> bool {
        matches!(self, Self::Nominal)
    }

    /// XXH3-64 of the names and contents of the files in the folder; none for the nominal detector.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn hash(&self) -> Result<Option<u64>> {
        let Self::Folder(folder) = self else { return Ok(None) };
        let mut hasher = Xxh3::new();
        for name in FILES.into_iter().filter(|name| folder.join(name).exists()) {
            let (_, bytes) = read(folder, name)?;
            hasher.update(name.as_bytes());
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
        }
        Ok(Some(hasher.digest()))
    }

    /// The geometry of the Velo sensors.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read, [`Error::Format`] for a damaged file, with field and offset.
    pub fn velo(&self) -> Result<VeloSensors> {
        match self {
            Self::Nominal | Self::NominalForced => Ok(VeloSensors::nominal()),
            Self::Folder(folder) => {
                let (name, bytes) = read(folder, "velo_geometry.bin")?;
                VeloSensors::parse(&name, &bytes)
            }
        }
    }

    /// The geometry of the UT: its sectors and readout boards.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn ut(&self) -> Result<UtGeometry> {
        match self {
            Self::Nominal | Self::NominalForced => Ok(UtGeometry::nominal()),
            Self::Folder(folder) => {
                let (boards, sectors) = (read(folder, "ut_boards.bin")?, read(folder, "ut_geometry.bin")?);
                UtGeometry::parse(File::new(&boards.0, &boards.1), File::new(&sectors.0, &sectors.1))
            }
        }
    }

    /// Tables of the magnetic field before the UT.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn ut_tables(&self) -> Result<UtTables> {
        match self {
            Self::Nominal | Self::NominalForced => Ok(UtTables::nominal()),
            Self::Folder(folder) => {
                let (name, bytes) = read(folder, "ut_tables.bin")?;
                UtTables::parse(&name, &bytes)
            }
        }
    }

    /// The geometry of the SciFi: its mats and readout boards.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn scifi(&self) -> Result<SciFiGeometry> {
        match self {
            Self::Nominal | Self::NominalForced => Ok(SciFiGeometry::nominal()),
            Self::Folder(folder) => {
                let (name, bytes) = read(folder, "scifi_geometry.bin")?;
                SciFiGeometry::parse(&name, &bytes)
            }
        }
    }

    /// x and y of the beam line, mm.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn beam(&self) -> Result<[f32; 2]> {
        let Self::Folder(folder) = self else { return Ok([0.0; 2]) };
        let (name, bytes) = read(folder, "beamline.bin")?;
        let mut fields = Fields::new(&name, &bytes);
        let before = fields.clone();
        let xy = fields.f32s("x and y", 2)?;
        fields.end()?;
        if !xy.iter().all(|value| value.abs() <= MAX_BEAM) {
            let message =
                format!("{} and {} mm: a beam line is at most {MAX_BEAM} mm from the z axis", xy[0], xy[1]);
            return Err(before.wrong("x and y", &message));
        }
        Ok([xy[0], xy[1]])
    }

    /// The magnet's polarity, and the coefficients that give a momentum from the bending of a track.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn bending(&self) -> Result<Bending> {
        let polarity = self.polarity()?;
        Ok(match self {
            Self::Nominal | Self::NominalForced => Bending::nominal(polarity),
            Self::Folder(_) => Bending::lhcb(polarity),
        })
    }

    /// The magnet's polarity: -1 down, +1 up.
    ///
    /// # Errors
    /// As [`Geometry::velo`].
    pub fn polarity(&self) -> Result<f32> {
        let Self::Folder(folder) = self else { return Ok(-1.0) };
        let (name, bytes) = read(folder, "polarity.bin")?;
        let mut fields = Fields::new(&name, &bytes);
        let polarity = fields.f32("polarity")?;
        if polarity.abs() != 1.0 {
            return Err(fields.wrong("polarity", &format!("{polarity}, neither -1 nor 1")));
        }
        fields.end()?;
        Ok(polarity)
    }
}

/// The name and the content of a file.
fn read(folder: &Path, name: &str) -> Result<(String, Vec<u8>)> {
    let path = folder.join(name);
    let meta = std::fs::metadata(&path).map_err(|e| Error::io(&path, e))?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err(Error::format(path.display().to_string(), "this is not a geometry file"));
    }
    let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
    Ok((path.display().to_string(), bytes))
}
