//! Momenta of long tracks against those of the particles that they are.

use super::lhcb_tracks::{associate, part_of};
use super::matching::Matcher;
use peloton::event::{LongTracks, TruthEvent};
use serde::Serialize;

/// Lower edges of the bins of momentum, GeV/c; slower particles do not count.
const P_EDGES: [f64; 5] = [3.0, 5.0, 10.0, 20.0, 50.0];
/// Pseudorapidities of the particles that count.
const ETA: std::ops::Range<f64> = 2.0..5.0;

/// Compares the momenta of long tracks with those of the long particles, no electrons, above 3 GeV/c, that they are.
#[derive(Default)]
pub struct Momenta {
    matcher: Option<Matcher>,
    /// (p - true p) / true p, the same of q/p over its error, and whether the charge is right; by bin of momentum.
    values: [Vec<(f64, f64, bool)>; P_EDGES.len()],
}

/// Momenta in one range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MomentumResolution {
    /// Momentum from this on, GeV/c.
    pub p_from: f64,
    /// Below this, GeV/c; nothing when there is no limit.
    pub p_to: Option<f64>,
    /// Tracks.
    pub tracks: u64,
    /// Median of (p - true p) / true p.
    pub median: f64,
    /// Half of its central 68 %.
    pub resolution: f64,
    /// Half of the central 68 % of (q/p - true q/p) / sigma.
    pub pull_width: f64,
    /// Share of tracks with the right charge.
    pub right_charge: f64,
}

impl Momenta {
    /// Adds the tracks of event number `event` of `tracks`.
    pub fn event(&mut self, truth: &TruthEvent, tracks: &LongTracks, event: usize) {
        let matcher = self.matcher.get_or_insert_with(|| Matcher::new(part_of));
        matcher.index(truth);
        for track in tracks.of_event(event) {
            let hits = tracks.hits_of(track);
            let parts = matcher.parts_of(hits);
            for (number, _) in associate(matcher.shares(hits), parts, truth) {
                let particle = &truth.particles[number as usize];
                let counts = particle.is_long && !particle.is_electron() && ETA.contains(&particle.eta);
                let bin = P_EDGES.iter().rposition(|edge| particle.p >= *edge);
                let Some(bin) = bin.filter(|_| counts) else { continue };
                let qop = f64::from(tracks.scifi.qop[track]);
                let true_qop = particle.charge.signum() / particle.p;
                let pull = (qop - true_qop) / f64::from(tracks.var_qop[track]).sqrt();
                let relative = (1.0 / qop.abs() - particle.p) / particle.p;
                self.values[bin].push((relative, pull, qop * particle.charge > 0.0));
            }
        }
    }

    /// What was seen so far: all momenta first, then bin by bin; nothing when there was no track.
    pub fn report(&self) -> Vec<MomentumResolution> {
        let bins = std::iter::once(0..P_EDGES.len()).chain((0..P_EDGES.len()).map(|bin| bin..bin + 1));
        bins.filter_map(|bins| {
            let values: Vec<_> = self.values[bins.clone()].iter().flatten().collect();
            let sorted = |of: &dyn Fn(&(f64, f64, bool)) -> f64| {
                let mut sorted: Vec<f64> = values.iter().map(|value| of(value)).collect();
                sorted.sort_unstable_by(f64::total_cmp);
                sorted
            };
            let (relative, pulls) = (sorted(&|value| value.0), sorted(&|value| value.1));
            (!values.is_empty()).then(|| MomentumResolution {
                p_from: P_EDGES[bins.start],
                p_to: P_EDGES.get(bins.end).copied(),
                tracks: values.len() as u64,
                median: quantile(&relative, 0.5),
                resolution: 0.5 * (quantile(&relative, 0.84) - quantile(&relative, 0.16)),
                pull_width: 0.5 * (quantile(&pulls, 0.84) - quantile(&pulls, 0.16)),
                right_charge: values.iter().filter(|value| value.2).count() as f64 / values.len() as f64,
            })
        })
        .collect()
    }
}

/// The value below which this share of sorted values lies.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::event::{Particle, SciFiState};

    #[test]
    fn momentum_and_charge_are_those_of_the_particle() {
        let ids: Vec<u32> = (0..5).map(|hit| 2 << 28 | hit).chain((0..10).map(|hit| 5 << 28 | hit)).collect();
        let particle = Particle {
            p: 10.0,
            eta: 3.0,
            charge: -1.0,
            is_long: true,
            hits: ids.clone(),
            ..Particle::default()
        };
        let slow = Particle { p: 2.0, ..particle.clone() };
        let mut tracks = LongTracks::default();
        for qop in [-0.1 / 1.01, 0.1] {
            tracks.hits.extend_from_slice(&ids);
            tracks.hit_start.push(tracks.hits.len() as u32);
            tracks.scifi.push(&SciFiState { qop, ..SciFiState::default() });
            tracks.var_qop.push(1e-6);
        }
        tracks.track_start.push(2);
        let mut momenta = Momenta::default();
        momenta.event(&TruthEvent { particles: vec![particle] }, &tracks, 0);
        momenta.event(&TruthEvent { particles: vec![slow] }, &tracks, 0);
        let report = momenta.report();
        assert_eq!(report.len(), 2);
        assert_eq!((report[0].p_to, report[1].p_from, report[1].p_to), (None, 10.0, Some(20.0)));
        for resolution in &report {
            assert_eq!((resolution.tracks, resolution.right_charge), (2, 0.5));
            assert!((resolution.resolution - 0.005).abs() < 1e-6, "{resolution:?}");
        }
    }
}
