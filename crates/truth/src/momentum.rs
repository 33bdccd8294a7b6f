//! Compares measured momenta with true momenta, in bins of the true momentum.

use super::efficiency::{clopper_pearson, ratio};
use super::state_pulls::is_prompt;
use peloton::event::Particle;
use serde::Serialize;

/// Edges of the bins, GeV/c; values beyond them are in the first or the last bin.
const EDGES: [f64; 9] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 200.0];
/// Lower limit of the true momenta in the line for all particles, GeV/c.
const LEAST: f64 = 3.0;
/// Probability beyond one standard deviation of a normal distribution, on either side.
const TAIL: f64 = 0.158_655_253_931_457_05;

/// The measured momentum of a track.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Momentum, GeV/c.
    pub p: f64,
    /// Transverse momentum, GeV/c.
    pub pt: f64,
    /// Charge, of which only the sign is used.
    pub charge: f64,
    /// Standard deviation of q/p, e c/GeV, if known.
    pub qop_error: Option<f64>,
}

impl Measured {
    /// Creates a momentum from charge over momentum (c/GeV), its variance, and dx/dz and dy/dz near the beam.
    pub fn new(qop: f32, variance: Option<f32>, [tx, ty]: [f32; 2]) -> Self {
        let [qop, tx, ty] = [qop, tx, ty].map(f64::from);
        let (p, slope2) = (1.0 / qop.abs(), tx * tx + ty * ty);
        let pt = p * (slope2 / (1.0 + slope2)).sqrt();
        let qop_error = variance.map(|variance| f64::from(variance).sqrt());
        Self { p, pt, charge: qop.signum(), qop_error }
    }
}

/// A measured momentum against the true momentum.
#[derive(Debug, Clone, Copy)]
struct Compared {
    /// p / true p - 1.
    deviation: f64,
    /// (q/p - true q/p) over its standard deviation, of a particle from a collision.
    pull: Option<f64>,
    /// Whether the charge is right.
    is_right: bool,
}

/// Measured momenta of matched tracks.
#[derive(Debug, Clone, Default)]
pub(super) struct Momenta {
    bins: [Vec<Compared>; EDGES.len() - 1],
}

impl Momenta {
    /// Adds the track of a particle. Electrons, which radiate, and particles outside of 2 < eta < 5 are ignored.
    pub fn add(&mut self, particle: &Particle, track: Measured) {
        let inside = particle.eta > 2.0 && particle.eta < 5.0;
        let deviation = track.p / particle.p - 1.0;
        if inside && !particle.is_electron() && deviation.is_finite() {
            let above = EDGES.partition_point(|edge| *edge <= particle.p);
            let bin = above.saturating_sub(1).min(self.bins.len() - 1);
            let residual = track.charge.signum() / track.p - particle.charge.signum() / particle.p;
            // Errors hold for particles from the collisions: the SciFi alone assumes this origin for all tracks.
            let error = track.qop_error.filter(|_| particle.origin.is_none() || is_prompt(particle));
            let pull = error.map(|error| residual / error).filter(|pull| pull.is_finite());
            let is_right = track.charge * particle.charge > 0.0;
            self.bins[bin].push(Compared { deviation, pull, is_right });
        }
    }

    pub fn merge(&mut self, later: &Self) {
        self.bins.iter_mut().zip(&later.bins).for_each(|(bin, later)| bin.extend_from_slice(later));
    }

    /// Returns the results; none if no track had a momentum.
    pub fn report(&self) -> Option<MomentumReport> {
        let bins: Vec<_> = (EDGES.windows(2).zip(&self.bins))
            .map(|(edges, tracks)| MomentumBin::new([edges[0], edges[1]], tracks))
            .collect();
        let from = EDGES.partition_point(|edge| *edge < LEAST);
        let all = MomentumBin::new([LEAST, EDGES[EDGES.len() - 1]], &self.bins[from..].concat());
        bins.iter().any(|bin| bin.tracks > 0).then_some(MomentumReport { all, bins })
    }
}

/// Measured momenta of tracks that match a particle with 2 < eta < 5, except electrons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MomentumReport {
    /// Tracks of all particles above 3 GeV/c.
    pub all: MomentumBin,
    /// Tracks in bins of the true momentum.
    pub bins: Vec<MomentumBin>,
}

/// Measured momenta of tracks of particles in a range of true momentum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MomentumBin {
    /// Smallest true momentum, GeV/c.
    pub low: f64,
    /// Beginning of the next bin, GeV/c; the last bin includes all larger momenta.
    pub high: f64,
    /// Number of tracks.
    pub tracks: u64,
    /// Median of measured p / true p - 1.
    pub median: Option<f64>,
    /// Half of the central 68 % of measured p / true p - 1.
    pub half_width: Option<f64>,
    /// Half of the central 68 % of (q/p - true q/p) / sigma, if sigma is known, for prompt particles and for particles
    /// of unknown origin.
    pub pull_width: Option<f64>,
    /// Number of tracks with the right charge.
    pub right_charge: u64,
    /// Share of tracks with the right charge.
    pub right_charge_rate: Option<f64>,
    /// Lower end of the 68 % Clopper-Pearson interval of the share with the right charge.
    pub right_charge_low: Option<f64>,
    /// Upper end of the interval of the share with the right charge.
    pub right_charge_high: Option<f64>,
}

impl MomentumBin {
    fn new([low, high]: [f64; 2], tracks: &[Compared]) -> Self {
        let deviations = sorted(tracks.iter().map(|track| track.deviation));
        let pulls = sorted(tracks.iter().filter_map(|track| track.pull));
        let right = tracks.iter().filter(|track| track.is_right).count() as u64;
        let count = tracks.len() as u64;
        let interval = clopper_pearson(right, count);
        Self {
            low,
            high,
            tracks: count,
            median: quantile(&deviations, 0.5),
            half_width: half_width(&deviations),
            pull_width: half_width(&pulls),
            right_charge: right,
            right_charge_rate: ratio(right as f64, count as f64),
            right_charge_low: interval.map(|(low, _)| low),
            right_charge_high: interval.map(|(_, high)| high),
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Returns half of the central 68 % of sorted values.
fn half_width(sorted: &[f64]) -> Option<f64> {
    Some(0.5 * (quantile(sorted, 1.0 - TAIL)? - quantile(sorted, TAIL)?))
}

/// Returns the value below which a share of the sorted values lies, interpolated between the two nearest.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let index = share * sorted.len().checked_sub(1)? as f64;
    let (below, part) = (index as usize, index.fract());
    let above = sorted.get(below + 1).or(sorted.last())?;
    Some(sorted[below] * (1.0 - part) + above * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momenta_follow_from_slopes() {
        let track = Measured::new(-0.1, Some(0.04), [0.3, 0.4]);
        assert!((track.p - 10.0).abs() < 1e-6 && track.charge == -1.0);
        assert!((track.qop_error.unwrap() - 0.2).abs() < 1e-6);
        assert!((track.pt - 10.0 * 0.5 / 1.25f64.sqrt()).abs() < 1e-6, "{track:?}");
    }

    #[test]
    fn medians_widths_and_charges_are_those_of_what_went_in() {
        let mut momenta = Momenta::default();
        assert_eq!(momenta.report(), None);
        let particle = |p: f64| Particle { p, eta: 3.0, charge: 1.0, pid: 211, ..Particle::default() };
        // 10 GeV particles measured from -1 % to +1 %, every tenth with the wrong charge.
        for i in 0..=1000 {
            let deviation = 0.01 * (f64::from(i) / 500.0 - 1.0);
            let charge = if i % 10 == 0 { -1.0 } else { 1.0 };
            let track = Measured { p: 10.0 * (1.0 + deviation), pt: 1.0, charge, qop_error: Some(0.001) };
            momenta.add(&particle(10.0), track);
        }
        // Electrons and particles outside the detector do not count.
        for particle in [Particle { pid: -11, ..particle(10.0) }, Particle { eta: 5.5, ..particle(10.0) }] {
            momenta.add(&particle, Measured { p: 1.0, pt: 1.0, charge: 1.0, qop_error: None });
        }
        momenta.add(&particle(2.5), Measured { p: 5.0, pt: 1.0, charge: 1.0, qop_error: None });
        let report = momenta.report().unwrap();
        assert_eq!((report.all.tracks, report.all.right_charge), (1001, 900));
        assert!(report.all.median.unwrap().abs() < 1e-12);
        assert!((report.all.half_width.unwrap() - 0.006_827).abs() < 1e-6, "{report:?}");
        // One in ten has the wrong charge: its q/p is 0.2 e c/GeV or 200 standard deviations off, to one side.
        assert!(report.bins[2].pull_width.is_none());
        assert!((0.6..0.9).contains(&report.all.pull_width.unwrap()), "{report:?}");
        let counts: Vec<_> = report.bins.iter().map(|bin| bin.tracks).collect();
        assert_eq!(counts, [0, 0, 1, 0, 0, 1001, 0, 0]);
        assert_eq!((report.bins[2].median, report.bins[2].half_width), (Some(1.0), Some(0.0)));
        let mut both = momenta.clone();
        both.merge(&momenta);
        assert_eq!(both.report().unwrap().all.tracks, 2002);
    }
}
