//! Fitted states of simulated events against true states: the estimated errors are right.

use peloton::event::{Outcome, TruthEvent, VeloBatch, VeloTracks};
use peloton::simd::Level;
use peloton::velo::{Preset, VeloConfig, VeloWorkspace, reconstruct};
use peloton_sim::SimReader;
use peloton_truth::{StatePull, VeloHits, VeloPullReport, VeloPulls};

fn pulls(config: &VeloConfig, batch: &VeloBatch, truth: &[TruthEvent]) -> Option<VeloPullReport> {
    let mut out = Outcome::default();
    let (level, mut workspace) = (Level::choose(None, None).unwrap(), VeloWorkspace::default());
    reconstruct(level, config, batch.view(), 0..batch.len(), &mut workspace, &mut out);
    let tracks: VeloTracks = out.results;
    let mut pulls = VeloPulls::default();
    for (event, truth) in truth.iter().enumerate() {
        let hits = VeloHits { fit: &config.fit, event: batch.view().event(event) };
        pulls.event(truth, &tracks, event, Some(hits));
    }
    pulls.report()
}

fn simulated(events: usize) -> (VeloBatch, Vec<TruthEvent>) {
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    // Another seed than the seed for tuning the noise.
    let spec = format!("sim:velo,events={events},seed=2024").parse().unwrap();
    SimReader::new(spec).read(events, &mut batch, &mut truth).unwrap();
    (batch, truth)
}

/// Widths in bins of momentum, which the fit does not know.
#[test]
fn errors_of_all_particles_above_3_gev_are_right() {
    let (batch, truth) = simulated(600);
    let report = pulls(&VeloConfig::preset(Preset::Best), &batch, &truth).expect("true states");
    for pull in &report.pulls {
        println!("{pull:?}");
        assert!(pull.tracks > 5_000 && pull.mean.abs() < 0.05, "{pull:?}");
        assert!((0.9..1.1).contains(&pull.width), "{pull:?}");
        // Hits of other particles, and particles that scattered more than most.
        let most = if pull.p_to.is_none() && pull.p_from == 3.0 { 0.01 } else { 0.02 };
        assert!(pull.far < most, "{pull:?}");
        let shares = [pull.hit_share, pull.true_hit_share].map(|share| share.expect("hits are known"));
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{pull:?}");
    }
    assert_eq!(report.pulls.len(), 40, "four parameters at two places, all momenta and four bins");
    // Where scattering is negligible, hits make the error, and the reverse.
    let share = |place, parameter, p| {
        let is = |pull: &&StatePull| (pull.place, pull.parameter, pull.p_from) == (place, parameter, p);
        report.pulls.iter().rfind(is).and_then(|pull| pull.hit_share).expect("this bin")
    };
    let (slow, fast) = (share("beam", "tx", 5.0), share("beam", "tx", 30.0));
    assert!(slow < 0.3 && fast > 2.0 * slow, "{slow} {fast}");
    // A state at the beam line must be known better than the distance of tracks that do not come from there.
    let impact: Vec<_> = report.impact_parameters.iter().map(|bin| bin.resolution).collect();
    assert!(impact.len() == 6 && impact.iter().all(|value| (0.01..0.1).contains(value)), "{impact:?}");
    assert!(impact[5] > impact[0], "slow particles scatter: {impact:?}");
}

/// The share of the hits is a separate variance: sigma^2 without scattering.
#[test]
fn without_scattering_hits_make_all_of_the_error() {
    let (batch, truth) = simulated(20);
    let mut straight = VeloConfig::preset(Preset::Paper);
    (straight.preset, straight.fit.noise_constant, straight.fit.noise_slope) = (Preset::Best, 0.0, 0.0);
    let report = pulls(&straight, &batch, &truth).expect("true states");
    for pull in &report.pulls {
        let share = pull.hit_share.expect("hits are known");
        assert!((share - 1.0).abs() < 1e-3, "{pull:?}");
    }
}

/// Noise that depends on the slope alone cannot be right in all bins: the fit uses the observed scattering of a track.
#[test]
fn slopes_alone_do_not_tell_momenta() {
    let (batch, truth) = simulated(150);
    let mut blind = VeloConfig::preset(Preset::Best);
    blind.fit.noise_gain = 0.0;
    let report = pulls(&blind, &batch, &truth).expect("true states");
    let wrong = report.pulls.iter().filter(|pull| !(0.9..1.1).contains(&pull.width));
    assert!(wrong.count() >= 8, "{:?}", report.pulls);
}

/// The test above notices missing scattering, and overestimated accuracy of hits.
#[test]
fn wrong_errors_are_noticed() {
    let (batch, truth) = simulated(150);
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
    let (batch, mut truth) = simulated(10);
    for particle in truth.iter_mut().flat_map(|event| &mut event.particles) {
        particle.origin = None;
    }
    assert_eq!(pulls(&VeloConfig::default(), &batch, &truth), None);
}
