//! [`CylinderFit`]: the algorithm from given tracks to smoothed states.

use super::{CylinderFitWorkspace, fit_tracks};
use crate::cylinder::config::CylinderConfig;
use crate::engine::{Algorithm, AlgorithmInfo, Events, Handle, Sequence, Slice, Stage};
use crate::event::{CylinderFits, Outcome};
use crate::simd::Level;
use crate::{Error, Result};

/// Handle of the product `cylinder_fits`: fits of given tracks in the cylinder detector.
pub const CYLINDER_FITS: Handle = Handle::of::<CylinderFits>("cylinder_fits");

/// Fits given tracks of the cylinder detector to a smoothed state at each of their hits. There is no search: the
/// input defines the hits of each track.
#[derive(Debug, Clone)]
pub struct CylinderFit {
    level: Level,
    config: CylinderConfig,
}

impl CylinderFit {
    /// Creates an algorithm for the usual gang of an instruction set.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be used, [`Error::Unsupported`] for a level with another gang.
    pub fn new(level: Level, config: CylinderConfig) -> Result<Self> {
        config.validate()?;
        if !level.is_usual() {
            let what = "the sequence cylinder-fit is built only for the usual gang of each instruction set";
            return Err(Error::Unsupported(format!("{what}, not for {level}")));
        }
        Ok(Self { level, config })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &CylinderConfig {
        &self.config
    }
}

const STAGES: &[Stage] = &[
    Stage { name: "pack", input: "tracks by layer", output: "hit lists", parts: &[] },
    Stage { name: "fit", input: "hit lists", output: "a smoothed state at each hit", parts: &[] },
];

impl From<CylinderFit> for Sequence {
    fn from(algorithm: CylinderFit) -> Self {
        Self::of_one("cylinder-fit", algorithm)
    }
}

impl Algorithm for CylinderFit {
    const INFO: &'static AlgorithmInfo = &AlgorithmInfo {
        detector: "cylinder",
        reads: &[],
        makes: CYLINDER_FITS,
        stages: STAGES,
        stages_in_chain: STAGES,
    };

    type Output = CylinderFits;
    type Scratch = CylinderFitWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn accept(&self, events: Events<'_>) -> Result<()> {
        events.cylinder_hits().map(drop)
    }

    fn run(&self, slice: Slice<'_>, scratch: &mut CylinderFitWorkspace, out: &mut Outcome<CylinderFits>) {
        let Events::CylinderHits(input) = slice.events() else { unreachable!("other events are rejected") };
        fit_tracks(self.level, &self.config, input, slice.range(), scratch, out);
    }
}
