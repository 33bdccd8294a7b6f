//! [`CylinderFit`]: the sequence from given tracks to smoothed states.

use super::{CylinderFitWorkspace, fit_tracks};
use crate::cylinder::config::CylinderConfig;
use crate::cylinder::run::CylinderInput;
use crate::cylinder::sequence::CylinderSample;
use crate::engine::{Sequence, Stage};
use crate::event::{CylinderFits, Outcome};
use crate::simd::Level;
use crate::{Error, Result};
use std::ops::Range;

/// Given tracks of the cylinder detector to a smoothed state at each of their hits. No track is searched for: which
/// hits are a track is input.
#[derive(Debug, Clone)]
pub struct CylinderFit {
    level: Level,
    config: CylinderConfig,
}

impl CylinderFit {
    /// A sequence for the usual gang of an instruction set.
    ///
    /// # Errors
    /// [`Error::Config`] for a configuration that cannot be used, [`Error::Unsupported`] for another gang.
    pub fn new(level: Level, config: CylinderConfig) -> Result<Self> {
        config.validate()?;
        if !level.is_usual() {
            let what = "the sequence cylinder-fit is built for the usual gang of each instruction set alone";
            return Err(Error::Unsupported(format!("{what}, not for {level}")));
        }
        Ok(Self { level, config })
    }

    /// The configuration.
    pub fn config(&self) -> &CylinderConfig {
        &self.config
    }
}

impl Sequence for CylinderFit {
    const NAME: &'static str = "cylinder-fit";
    const STAGES: &'static [Stage] = &[
        Stage { name: "pack", input: "tracks by layer", output: "hit lists", parts: &[] },
        Stage { name: "fit", input: "hit lists", output: "a smoothed state at each hit", parts: &[] },
    ];

    type Input<'a> = CylinderInput<'a>;
    type Batch = CylinderSample;
    type Output = CylinderFits;
    type Workspace = CylinderFitWorkspace;

    fn level(&self) -> Level {
        self.level
    }

    fn view(batch: &CylinderSample) -> CylinderInput<'_> {
        CylinderInput { hits: &batch.hits, seeds: &batch.truth.particles }
    }

    fn run_range(
        &self,
        events: CylinderInput<'_>,
        range: Range<usize>,
        workspace: &mut CylinderFitWorkspace,
        out: &mut Outcome<CylinderFits>,
    ) {
        fit_tracks(self.level, &self.config, events, range, workspace, out);
    }
}
