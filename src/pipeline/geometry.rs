//! [`Geometry`]: everything about the detector that decoding raw banks needs, from a folder of files.

use crate::scifi::SciFiGeometry;
use crate::simd::with_default_float_mode;
use crate::ut::{UtGeometry, UtTables};
use crate::velo::VeloSensors;
use crate::{Error, Result};
use std::path::Path;

use crate::bytes::Fields;

/// Longest geometry file, bytes: far above any real one.
const MAX_FILE: u64 = 16 << 20;

/// Geometry and conditions of LHCb.
#[derive(Debug, Clone, PartialEq)]
pub struct Geometry {
    /// Sensors of the Velo.
    pub velo: VeloSensors,
    /// Sectors and boards of the UT.
    pub ut: UtGeometry,
    /// Bending before the UT.
    pub ut_tables: UtTables,
    /// Mats and boards of the SciFi.
    pub scifi: SciFiGeometry,
    /// x and y of the beam line, mm.
    pub beam: [f32; 2],
    /// The magnet's polarity: -1 down, +1 up.
    pub polarity: f32,
}

impl Geometry {
    /// A nominal detector, magnet down: what simulations without geometry files fly through.
    pub fn nominal() -> Self {
        with_default_float_mode(|| Self {
            velo: VeloSensors::nominal(),
            ut: UtGeometry::nominal(),
            ut_tables: UtTables::nominal(),
            scifi: SciFiGeometry::nominal(),
            beam: [0.0; 2],
            polarity: -1.0,
        })
    }

    /// Reads `velo_geometry.bin`, `ut_boards.bin`, `ut_geometry.bin`, `ut_tables.bin`, `scifi_geometry.bin`,
    /// `beamline.bin` and `polarity.bin` of a folder.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read, [`Error::Format`] names file, field and offset.
    pub fn open(folder: &Path) -> Result<Self> {
        with_default_float_mode(|| Self::read(folder))
    }

    fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            let meta = std::fs::metadata(&path).map_err(|e| Error::io(&path, e))?;
            if !meta.is_file() || meta.len() > MAX_FILE {
                return Err(Error::format(path.display().to_string(), "no geometry file"));
            }
            let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
            Ok((path.display().to_string(), bytes))
        };
        let [velo, boards, ut, tables, scifi, beam, polarity] = [
            "velo_geometry.bin",
            "ut_boards.bin",
            "ut_geometry.bin",
            "ut_tables.bin",
            "scifi_geometry.bin",
            "beamline.bin",
            "polarity.bin",
        ]
        .map(read);
        let (velo, boards, ut, tables, scifi) = (velo?, boards?, ut?, tables?, scifi?);
        Ok(Self {
            velo: VeloSensors::parse(&velo.0, &velo.1)?,
            ut: UtGeometry::parse((&boards.0, &boards.1), (&ut.0, &ut.1))?,
            ut_tables: UtTables::parse(&tables.0, &tables.1)?,
            scifi: SciFiGeometry::parse(&scifi.0, &scifi.1)?,
            beam: parse_beam(&beam?)?,
            polarity: parse_polarity(&polarity?)?,
        })
    }
}

fn parse_beam((name, bytes): &(String, Vec<u8>)) -> Result<[f32; 2]> {
    let mut fields = Fields::new(name, bytes);
    let xy = fields.f32s("x and y", 2)?;
    fields.end()?;
    Ok([xy[0], xy[1]])
}

fn parse_polarity((name, bytes): &(String, Vec<u8>)) -> Result<f32> {
    let mut fields = Fields::new(name, bytes);
    let polarity = fields.f32("polarity")?;
    if polarity.abs() != 1.0 {
        return Err(fields.wrong("polarity", &format!("{polarity}, neither -1 nor 1")));
    }
    fields.end()?;
    Ok(polarity)
}
