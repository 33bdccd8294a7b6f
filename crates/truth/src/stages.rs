//! [`StageLosses`]: counts lost particles by the stage of a sequence that lost them.

use super::efficiency::clopper_pearson;
use serde::Serialize;

/// Counts lost particles by the stage that lost them. The caller gives the names of the stages, and for each lost
/// particle the first stage that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageLosses {
    stages: &'static [&'static str],
    lost: Vec<u64>,
    particles: u64,
}

impl StageLosses {
    /// Creates counts without particles; `stages` are names in the order in which the stages run.
    pub fn new(stages: &'static [&'static str]) -> Self {
        Self { stages, lost: vec![0; stages.len()], particles: 0 }
    }

    /// Adds a particle; `lost_at` is the index of the stage that lost the particle, or none for a found particle.
    ///
    /// # Panics
    /// When `lost_at` is not below the number of stages.
    pub fn add(&mut self, lost_at: Option<usize>) {
        self.particles += 1;
        if let Some(stage) = lost_at {
            self.lost[stage] += 1;
        }
    }

    /// Adds the counts of other particles, with the same stages.
    pub fn merge(&mut self, later: &Self) {
        debug_assert_eq!(self.stages, later.stages);
        self.particles += later.particles;
        self.lost.iter_mut().zip(&later.lost).for_each(|(lost, later)| *lost += later);
    }

    /// Returns the counts of each stage.
    pub fn report(&self) -> Vec<StageLoss> {
        let mut left = self.particles;
        let line = |(&stage, &lost): (&&'static str, &u64)| {
            let entered = left;
            left -= lost;
            let interval = clopper_pearson(lost, entered);
            StageLoss {
                stage,
                entered,
                lost,
                low: interval.map(|(low, _)| low),
                high: interval.map(|(_, high)| high),
            }
        };
        self.stages.iter().zip(&self.lost).map(line).collect()
    }
}

/// Losses of one stage of a sequence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StageLoss {
    /// Name of the stage.
    pub stage: &'static str,
    /// Number of particles that no earlier stage lost.
    pub entered: u64,
    /// Number of particles that this stage lost.
    pub lost: u64,
    /// Lower end of the 68 % Clopper-Pearson interval of lost over entered particles.
    pub low: Option<f64>,
    /// Upper end of the interval of lost over entered particles.
    pub high: Option<f64>,
}

/// Losses of the particles of one category, stage by stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LossTable {
    /// The category.
    pub category: &'static str,
    /// Part of the detector that contains the particles; none for all parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// Number of particles of the category.
    pub particles: u64,
    /// Number of particles without a track.
    pub lost: u64,
    /// Losses of each stage, in the order of stages.
    pub stages: Vec<StageLoss>,
}

impl StageLosses {
    /// Returns the counts as a table with the names of a category and, if any, of a part of the detector.
    pub fn table(&self, category: &'static str, part: Option<&'static str>) -> LossTable {
        let Self { lost, particles, .. } = self;
        LossTable { category, part, particles: *particles, lost: lost.iter().sum(), stages: self.report() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_particle_is_lost_once() {
        let mut losses = StageLosses::new(&["acceptance", "window", "fit"]);
        for lost_at in [None, Some(0), Some(2), Some(2), None] {
            losses.add(lost_at);
        }
        let mut twice = losses.clone();
        twice.merge(&losses);
        let counts: Vec<_> =
            twice.report().iter().map(|line| (line.stage, line.entered, line.lost)).collect();
        assert_eq!(counts, [("acceptance", 10, 2), ("window", 8, 0), ("fit", 8, 4)]);
        let table = twice.table("all", None);
        assert_eq!((table.particles, table.lost, table.stages.len()), (10, 6, 3));
        assert_eq!(StageLosses::new(&["a"]).report()[0].low, None);
    }
}
