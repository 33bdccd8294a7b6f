//! [`CylinderLosses`]: the steps at which the sequence `cylinder` lost particles, and the first layer with a missing hit.
//!
//! For each particle without a track, the step that lost it is determined. If seeds are made from hits, the search runs
//! on the particle's hits alone, first with the configured cuts of `[cylinder.seeding]` and then with each cut open, to
//! find the cut that rejected the seed. Then the track with most of the particle's hits is examined, before tracks that
//! share hits are dropped, to find the layer on which the track leaves the particle.

use crate::{LossTable, ParticleMatch, StageLosses};
use peloton::cylinder::{CylinderConfig, CylinderInput, CylinderWorkspace, SeedSource, reconstruct};
use peloton::event::{
    CYLINDER_LAYERS, CylinderBatch, CylinderSeeds, CylinderTracks, CylinderTruth, NO_HIT, Outcome,
};
use peloton::simd::Level;
use peloton::{Status, cylinder::SeedConfig};
use std::ops::Range;

/// Layers of a seed.
const SEED_LAYERS: usize = 3;
/// Hits of a track of the second category.
const LONG: usize = 7;
/// The steps; from [`FIRST_LAYER`] on, one step for each layer.
const STEPS: [&str; 18] = [
    "event not reconstructed",
    "fewer hits than a track needs",
    "no hit on one of the seed's three layers",
    "no seed: seeding.min_pt",
    "no seed: seeding.max_distance",
    "no seed: seeding.max_z",
    "no seed: seeding.max_bend_z",
    "no seed: several cuts of seeding",
    "no seed: windows for hit errors, or no path to the fourth layer",
    "no seed among all hits: seeding.max_partners",
    "track left the particle on layer 3",
    "track left the particle on layer 4",
    "track left the particle on layer 5",
    "track left the particle on layer 6",
    "track left the particle on layer 7",
    "track left the particle on layer 8",
    "track left the particle on layer 9",
    "another track took the particle's hits",
];
const FAILED: usize = 0;
const FEW_HITS: usize = 1;
const SEED_HITS: usize = 2;
const CUTS: usize = 3;
const SEVERAL: usize = CUTS + OPEN.len();
const WINDOWS: usize = SEVERAL + 1;
const PARTNERS: usize = WINDOWS + 1;
const FIRST_LAYER: usize = PARTNERS + 1;
const TAKEN: usize = STEPS.len() - 1;
/// The steps of whole tracks: no track, or the first layer on which a track lacks the particle's hit.
const WHOLE: [&str; CYLINDER_LAYERS + 1] = [
    "no track",
    "first missing hit: layer 0",
    "first missing hit: layer 1",
    "first missing hit: layer 2",
    "first missing hit: layer 3",
    "first missing hit: layer 4",
    "first missing hit: layer 5",
    "first missing hit: layer 6",
    "first missing hit: layer 7",
    "first missing hit: layer 8",
    "first missing hit: layer 9",
];

/// A change of the configuration of the seeding.
type Change = fn(&mut SeedConfig);

/// Functions that open one cut of the seeding each, in the order of the steps, for all tracks that cross the innermost layer.
const OPEN: [Change; 4] = [
    |cuts| cuts.min_pt = cuts.min_pt.min(0.05),
    |cuts| cuts.max_distance = cuts.max_distance.max(4.0),
    |cuts| cuts.max_z = cuts.max_z.max(1000.0),
    |cuts| cuts.max_bend_z = cuts.max_bend_z.max(1000.0),
];

/// Counts the losses of the sequence `cylinder`.
pub struct CylinderLosses {
    level: Level,
    config: CylinderConfig,
    workspace: CylinderWorkspace,
    /// All tracks of the current event, before tracks that share hits are dropped, and the tracks of one particle's hits.
    tracks: Outcome<CylinderTracks>,
    alone: Outcome<CylinderTracks>,
    own: CylinderBatch,
    /// Losses of particles without a track, without a track of [`LONG`] hits, and with a track that lacks hits.
    lost: [StageLosses; 2],
    whole: StageLosses,
}

impl CylinderLosses {
    /// Creates tables without particles for a configuration of the sequence.
    pub fn new(level: Level, config: &CylinderConfig) -> Self {
        let (workspace, tracks, alone, own) = Default::default();
        let lost = [StageLosses::new(&STEPS), StageLosses::new(&STEPS)];
        let whole = StageLosses::new(&WHOLE);
        Self { level, config: config.clone(), workspace, tracks, alone, own, lost, whole }
    }

    /// Adds an event of a batch, with the event's tracks and the checker's results for its particles.
    pub fn event(
        &mut self,
        (hits, truth): (&CylinderBatch, &CylinderTruth),
        event: usize,
        (found, of_event): (&CylinderTracks, Range<usize>),
        matches: &[ParticleMatch],
    ) {
        self.take(hits, &truth.particles, event);
        let first = truth.particles.start[event] as usize;
        for (number, fate) in matches.iter().enumerate() {
            let own = truth.particles.hits.each_ref().map(|column| column[first + number]);
            let best = fate.best.map(|(track, _)| found.hits_of(of_event.start + track as usize));
            let lacks = |hit: &u32| *hit != NO_HIT && best.is_some_and(|best| !best.contains(hit));
            let first_lacked = own.iter().position(lacks).map(|layer| layer + 1);
            self.whole.add(if best.is_none() { Some(0) } else { first_lacked });
            let is_lost = [best.is_none(), best.is_none_or(|best| best.len() < LONG)];
            let step = is_lost[1].then(|| self.lost_at(hits, event, (number, own)));
            for (table, is_lost) in self.lost.iter_mut().zip(is_lost) {
                table.add(step.filter(|_| is_lost));
            }
        }
    }

    /// Returns a table of losses for each category, and a table of particles whose track is missing or lacks hits.
    pub fn report(&self) -> Vec<LossTable> {
        let [all, long] = &self.lost;
        let whole = self.whole.table("every hit on a track", None);
        vec![all.table("all", None), long.table("n_found>=7", None), whole]
    }

    /// Finds all tracks of an event, including tracks that share hits.
    fn take(&mut self, hits: &CylinderBatch, seeds: &CylinderSeeds, event: usize) {
        let mut config = self.config.clone();
        (config.seeding.max_shared_hits, config.seeding.min_hits) =
            (CYLINDER_LAYERS as u32, SEED_LAYERS as u32);
        self.tracks.clear();
        let input = CylinderInput { hits, seeds };
        reconstruct(self.level, &config, input, event..event + 1, &mut self.workspace, &mut self.tracks);
    }

    /// Returns the step that lost a particle of the current event, given its number in the event and its hits.
    fn lost_at(
        &mut self,
        hits: &CylinderBatch,
        event: usize,
        (number, own): (usize, [u32; CYLINDER_LAYERS]),
    ) -> usize {
        if self.tracks.results.status[0] != Status::Ok {
            return FAILED;
        }
        let from_hits = self.config.seeds == SeedSource::Hits;
        let count = own.iter().filter(|hit| **hit != NO_HIT).count();
        if count < if from_hits { self.config.seeding.min_hits as usize } else { SEED_LAYERS } {
            return FEW_HITS;
        }
        if own[..SEED_LAYERS].contains(&NO_HIT) {
            return SEED_HITS;
        }
        if from_hits && let Some(cut) = self.refused_by(hits, event, own) {
            return cut;
        }
        let tracks = &self.tracks.results;
        let is_own = |track: &usize| match self.config.seeds {
            SeedSource::Truth => tracks.seed[*track] as usize == number,
            SeedSource::Hits => tracks.hits_of(*track).starts_with(&own[..SEED_LAYERS]),
        };
        let shared = |track: &usize| tracks.hits_of(*track).iter().filter(|hit| own.contains(hit)).count();
        let Some(best) = tracks.of_event(0).filter(is_own).max_by_key(shared) else {
            return if from_hits { PARTNERS } else { WINDOWS };
        };
        let best = tracks.hits_of(best);
        // More than three quarters of the track's hits come from the particle.
        let is_right = 4 * best.iter().filter(|hit| own.contains(hit)).count() > 3 * best.len();
        if from_hits && is_right && best.len() >= self.config.seeding.min_hits as usize {
            return TAKEN;
        }
        let left =
            (SEED_LAYERS..CYLINDER_LAYERS).find(|&layer| own[layer] != NO_HIT && !best.contains(&own[layer]));
        // A seed from the truth that is not followed further keeps its three hits.
        left.map_or(TAKEN, |layer| FIRST_LAYER + layer - SEED_LAYERS)
    }

    /// Returns the cut of the seeding that refuses a particle's own hits; none if they make a seed.
    fn refused_by(
        &mut self,
        hits: &CylinderBatch,
        event: usize,
        own: [u32; CYLINDER_LAYERS],
    ) -> Option<usize> {
        let first = hits.layer_start[event * CYLINDER_LAYERS] as usize;
        self.own.clear();
        for hit in own {
            if hit != NO_HIT {
                let at = first + hit as usize;
                let CylinderBatch { x, y, z, var_r, var_rphi, var_z, .. } = hits;
                self.own.push([x[at], y[at], z[at]], [var_r[at], var_rphi[at], var_z[at]]);
            }
            self.own.end_layer();
        }
        self.own.end_event(Status::Ok);
        if self.makes_a_seed(&[]) {
            return None;
        }
        let alone = OPEN.iter().position(|open| self.makes_a_seed(std::slice::from_ref(open)));
        let several = || if self.makes_a_seed(&OPEN) { SEVERAL } else { WINDOWS };
        Some(alone.map_or_else(several, |cut| CUTS + cut))
    }

    /// Returns whether the particle's own hits make a seed, with some cuts open.
    fn makes_a_seed(&mut self, open: &[Change]) -> bool {
        let mut config = self.config.clone();
        config.seeding.min_hits = SEED_LAYERS as u32;
        open.iter().for_each(|open| open(&mut config.seeding));
        self.alone.clear();
        let seeds = CylinderSeeds::default();
        let input = CylinderInput { hits: &self.own, seeds: &seeds };
        reconstruct(self.level, &config, input, 0..1, &mut self.workspace, &mut self.alone);
        self.alone.results.tracks() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CylinderChecker;
    use peloton_sim::CylinderSim;

    /// Steps with lost particles of the categories, and how many, for a change of the configuration.
    fn lost(text: &str, change: impl Fn(&mut CylinderConfig)) -> Vec<Vec<(&'static str, u64)>> {
        let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
        let mut sim = CylinderSim::new(text.parse().unwrap(), 0, None);
        while sim.read(8, &mut hits, &mut truth) > 0 {}
        let level = Level::choose(None, None).unwrap();
        let mut config = CylinderConfig::best();
        change(&mut config);
        let (mut out, mut workspace) = (Outcome::<CylinderTracks>::default(), CylinderWorkspace::default());
        let input = CylinderInput { hits: &hits, seeds: &truth.particles };
        reconstruct(level, &config, input, 0..hits.len(), &mut workspace, &mut out);
        let (mut checker, mut losses) = (CylinderChecker::default(), CylinderLosses::new(level, &config));
        for event in 0..hits.len() {
            checker.event(&hits, &truth, event, out.results.hit_lists(event));
            let found = (&out.results, out.results.of_event(event));
            losses.event((&hits, &truth), event, found, &checker.last_event().particles);
        }
        let report = checker.report();
        let tables = losses.report();
        for (category, table) in report.categories.iter().zip(&tables) {
            let not_found = category.reconstructible - category.reconstructed;
            assert_eq!(
                (category.name, category.reconstructible, not_found),
                (table.category, table.particles, table.lost)
            );
        }
        let of_table = |table: &LossTable| {
            let stages = table.stages.iter().filter(|stage| stage.lost > 0);
            stages.map(|stage| (stage.stage, stage.lost)).collect()
        };
        tables.iter().map(of_table).collect()
    }

    const SIM: &str = "sim:cylinder,events=3,tracks=100,seed=31";

    #[test]
    fn the_cut_that_refuses_a_seed_is_named() {
        let cuts: [(Change, &str); 3] = [
            (|cuts| cuts.min_pt = 5.0, "no seed: seeding.min_pt"),
            (|cuts| cuts.max_distance = 0.02, "no seed: seeding.max_distance"),
            (|cuts| cuts.max_z = 0.05, "no seed: seeding.max_z"),
        ];
        for (tighten, step) in cuts {
            let lost = lost(SIM, |config| {
                config.seeds = SeedSource::Hits;
                tighten(&mut config.seeding);
            });
            let (most, count) = *lost[0].iter().max_by_key(|(_, count)| *count).unwrap();
            assert!(most == step && count > 30, "{lost:?}");
        }
        let both = lost(SIM, |config| {
            config.seeds = SeedSource::Hits;
            (config.seeding.min_pt, config.seeding.max_z) = (9.0, 0.01);
        });
        assert!(
            both[0].iter().any(|(step, count)| *step == "no seed: several cuts of seeding" && *count > 100),
            "{both:?}"
        );
    }

    #[test]
    fn the_layer_on_which_a_track_leaves_a_particle_is_named() {
        let [all, long, whole]: [_; 3] = lost(SIM, |config| config.build.chi2 = 1e-9).try_into().unwrap();
        assert!(all.is_empty(), "{all:?}");
        assert_eq!(long, [("track left the particle on layer 3", 300)]);
        assert_eq!(whole, [("first missing hit: layer 3", 300)]);
        let short = lost("sim:cylinder,events=1,tracks=200,seed=32,inefficiency=0.3", |config| {
            config.seeds = SeedSource::Hits;
        });
        let steps: Vec<_> = short[0].iter().map(|(step, _)| *step).collect();
        assert!(steps.starts_with(&STEPS[FEW_HITS..=SEED_HITS]), "{short:?}");
    }

    #[test]
    fn tracks_that_share_hits_are_lost_to_others() {
        let lost = lost("sim:cylinder,events=1,tracks=4000,seed=33", |config| {
            config.seeds = SeedSource::Hits;
            config.seeding.max_shared_hits = 0;
        });
        assert!(lost[0].iter().any(|(step, _)| *step == STEPS[TAKEN]), "{lost:?}");
    }
}
