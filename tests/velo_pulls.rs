//! Fitted states of simulated events against true ones: errors that are what they say.

use peloton::event::{Outcome, TruthEvent, VeloBatch, VeloTracks};
use peloton::simd::Level;
use peloton::velo::{Preset, VeloConfig, VeloWorkspace, reconstruct};
use peloton_sim::SimReader;
use peloton_truth::{VeloPullReport, VeloPulls};

fn pulls(config: &VeloConfig, batch: &VeloBatch, truth: &[TruthEvent]) -> Option<VeloPullReport> {
    let mut out = Outcome::default();
    let (level, mut workspace) = (Level::choose(None, None).unwrap(), VeloWorkspace::default());
    reconstruct(level, config, batch.view(), 0..batch.len(), &mut workspace, &mut out);
    let tracks: VeloTracks = out.results;
    let mut pulls = VeloPulls::default();
    truth.iter().enumerate().for_each(|(event, truth)| pulls.event(truth, &tracks, event));
    pulls.report()
}

fn simulated() -> (VeloBatch, Vec<TruthEvent>) {
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    // Not the seed that the noise was tuned on.
    let spec = "sim:velo,events=150,seed=2024".parse().unwrap();
    SimReader::new(spec).read(150, &mut batch, &mut truth).unwrap();
    (batch, truth)
}

#[test]
fn errors_of_all_particles_above_3_gev_are_right() {
    let (batch, truth) = simulated();
    let report = pulls(&VeloConfig::preset(Preset::Best), &batch, &truth).expect("true states");
    let mut seen = 0;
    for pull in report.pulls.iter().filter(|pull| pull.p_to.is_none() && pull.p_from == 3.0) {
        println!("{pull:?}");
        assert!(pull.tracks > 5_000 && pull.mean.abs() < 0.05, "{pull:?}");
        assert!((0.9..1.1).contains(&pull.width), "{pull:?}");
        // Hits of others, and particles that scattered more than most.
        assert!(pull.far < 0.01, "{pull:?}");
        seen += 1;
    }
    assert_eq!(seen, 8, "four parameters at two places");
    // A state at the beam line must be known better than the distance of tracks that do not come from there.
    let impact: Vec<_> = report.impact_parameters.iter().map(|bin| bin.resolution).collect();
    assert!(impact.len() == 6 && impact.iter().all(|value| (0.01..0.1).contains(value)), "{impact:?}");
    assert!(impact[5] > impact[0], "slow particles scatter: {impact:?}");
}

/// The test above would notice scattering that is left out, or hits taken for better than they are.
#[test]
fn wrong_errors_are_noticed() {
    let (batch, truth) = simulated();
    let mut wrong = VeloConfig::preset(Preset::Best);
    (wrong.fit.noise_beam, wrong.fit.noise_end) = (0.0, 0.0);
    let report = pulls(&wrong, &batch, &truth).expect("true states");
    let widths: Vec<_> =
        report.pulls.iter().filter(|pull| pull.p_to.is_none() && pull.p_from == 3.0).collect();
    let slopes = widths.iter().filter(|pull| pull.parameter.starts_with('t'));
    assert!(slopes.clone().count() == 4 && slopes.clone().all(|pull| pull.width > 1.15), "{widths:?}");
}

#[test]
fn truth_without_states_says_nothing() {
    let (batch, mut truth) = simulated();
    for particle in truth.iter_mut().flat_map(|event| &mut event.particles) {
        particle.origin = None;
    }
    assert_eq!(pulls(&VeloConfig::default(), &batch, &truth), None);
}
