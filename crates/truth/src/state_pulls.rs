//! Compares fitted states with true states at several places of the LHCb detector: pulls and resolutions.

use peloton::event::{Particle, SciFiStates, States, TrueState, VeloUtTracks};
use serde::Serialize;

/// The parameters of a state.
const PARAMETERS: [&str; 5] = ["x", "y", "tx", "ty", "q/p"];
/// Lower edges of the bins of momentum, GeV/c; slower particles do not count.
const P_EDGES: [f64; 4] = [3.0, 5.0, 10.0, 30.0];
/// Largest distance of a prompt particle's origin from the beam line, mm.
const PROMPT: f64 = 0.2;
/// Pulls beyond this are counted, but left out of means.
const FAR: f64 = 5.0;
/// Bins of the distribution of a pull, from -[`FAR`] to [`FAR`].
const PULL_BINS: usize = 40;
/// z of the states in the UT, mm.
const UT_Z: f64 = 2484.6;
/// z of the states in the SciFi, mm.
const SCIFI_Z: f64 = 9410.0;

/// The places at which states are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The closest approach to the beam line.
    Beam,
    /// The end of the Velo.
    VeloEnd,
    /// The middle of the UT.
    Ut,
    /// The end of the SciFi.
    SciFi,
}

impl Place {
    /// All places.
    pub(super) const ALL: [Place; 4] = [Place::Beam, Place::VeloEnd, Place::Ut, Place::SciFi];

    fn name(self) -> &'static str {
        match self {
            Place::Beam => "beam",
            Place::VeloEnd => "end",
            Place::Ut => "ut",
            Place::SciFi => "scifi",
        }
    }

    /// Returns the true state of a particle at this place; none when the particle does not reach it, or the state is unknown.
    fn truth(self, particle: &Particle) -> Option<TrueState> {
        match self {
            Place::Beam => particle.start(),
            Place::VeloEnd => particle.states.velo,
            Place::Ut => particle.states.ut,
            Place::SciFi => particle.states.scifi,
        }
    }
}

/// A fitted state of a track at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedState {
    /// The place of the state.
    pub place: Place,
    /// The state.
    pub at: TrueState,
    /// Standard deviations of x, y (mm), dx/dz and dy/dz.
    pub sigma: [f64; 4],
    /// Charge over momentum and its standard deviation, c/GeV, if known.
    pub qop: Option<[f64; 2]>,
}

impl FittedState {
    /// Returns the state of a Velo track at `place`, the beam line or the end of the Velo.
    pub fn of_velo(place: Place, states: &States, track: usize) -> Self {
        let States { x, y, z, tx, ty, cov_xx, cov_txtx, .. } = states;
        let [x, y, z, tx, ty, xx, tt] =
            [x, y, z, tx, ty, cov_xx, cov_txtx].map(|column| f64::from(column[track]));
        let [x_sigma, t_sigma] = [xx, tt].map(f64::sqrt);
        let sigma = [x_sigma, x_sigma, t_sigma, t_sigma];
        Self { place, at: TrueState { x, y, z, tx, ty }, sigma, qop: None }
    }

    /// Returns the state of a Velo-UT track in the middle of the UT.
    pub fn of_ut(tracks: &VeloUtTracks, track: usize) -> Self {
        let VeloUtTracks { x, y, tx, ty, cov_xx, cov_txtx, cov_yy, cov_tyty, .. } = tracks;
        let [x, y, tx, ty] = [x, y, tx, ty].map(|column| f64::from(column[track]));
        let sigma = [cov_xx, cov_yy, cov_txtx, cov_tyty].map(|column| f64::from(column[track]).sqrt());
        let qop = with_error(tracks.qop[track], tracks.var_qop[track]);
        Self { place: Place::Ut, at: TrueState { x, y, z: UT_Z, tx, ty }, sigma, qop: Some(qop) }
    }

    /// Returns the state of a track at the end of the SciFi; `variance` is the variance of q/p, if known.
    pub fn of_scifi(states: &SciFiStates, track: usize, variance: Option<f32>) -> Self {
        let SciFiStates { x, y, tx, ty, qop, cov_xx, cov_txtx, cov_yy, cov_tyty, .. } = states;
        let [x, y, tx, ty] = [x, y, tx, ty].map(|column| f64::from(column[track]));
        let sigma = [cov_xx, cov_yy, cov_txtx, cov_tyty].map(|column| f64::from(column[track]).sqrt());
        let qop = variance.map(|variance| with_error(qop[track], variance));
        Self { place: Place::SciFi, at: TrueState { x, y, z: SCIFI_Z, tx, ty }, sigma, qop }
    }
}

fn with_error(value: f32, variance: f32) -> [f64; 2] {
    [f64::from(value), f64::from(variance).sqrt()]
}

/// Values of (fitted - true) / sigma, of fitted - true, and of the share of sigma^2 from the errors of the hits.
#[derive(Debug, Clone, Default)]
struct Values {
    pulls: Vec<f64>,
    residuals: Vec<f64>,
    hit_shares: Vec<f64>,
}

/// Histogram of pulls with bins of equal width; pulls beyond the ends are not counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PullHistogram {
    /// Lower edge of the first bin, in units of sigma.
    pub low: f64,
    /// Upper edge of the last bin, in units of sigma.
    pub high: f64,
    /// Number of tracks in each bin.
    pub counts: Vec<u64>,
}

impl Default for PullHistogram {
    fn default() -> Self {
        Self { low: -FAR, high: FAR, counts: vec![0; PULL_BINS] }
    }
}

impl PullHistogram {
    /// Counts a pull.
    pub(super) fn add(&mut self, pull: f64) {
        let place = (pull - self.low) / (self.high - self.low) * self.counts.len() as f64;
        if place >= 0.0
            && let Some(count) = self.counts.get_mut(place as usize)
        {
            *count += 1;
        }
    }
}

/// Pulls of one parameter at one place in one bin of momentum. Widths are half of the central 68 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatePull {
    /// `beam` (closest approach to the beam line), `end` (of the Velo), `ut` (middle of the UT), `scifi` (its end).
    pub place: &'static str,
    /// Name of the parameter. Fitted and true q/p are multiplied by the true charge, so that a positive mean stands for
    /// fitted momenta that are too small.
    pub parameter: &'static str,
    /// Lower limit of the true momentum, GeV/c.
    pub p_from: f64,
    /// Upper limit of the true momentum, GeV/c; none for the last bin and for all momenta.
    pub p_to: Option<f64>,
    /// Number of tracks.
    pub tracks: u64,
    /// Mean of (fitted - true) / sigma, over pulls between -5 and 5.
    pub mean: f64,
    /// Width of (fitted - true) / sigma.
    pub width: f64,
    /// Share of pulls below -5 or above 5.
    pub far: f64,
    /// Width of fitted - true, mm or rad; for q/p relative to the true value.
    pub resolution: f64,
    /// Share of sigma^2 that hit errors cause; the rest is the scattering assumed in the fit. A plain Kalman filter in
    /// f64 processes the hits of each track with the same noise, and propagates the contribution of hit errors to the
    /// covariance separately. None when positions of hits are unknown.
    pub hit_share: Option<f64>,
    /// Share of the real variance (`width`^2 in units of sigma^2) that hit errors cause; the rest is real scattering.
    pub true_hit_share: Option<f64>,
    /// Distribution of (fitted - true) / sigma; only in the row of all momenta.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<PullHistogram>,
}

/// Returns the bin of momentum of a particle that counts: prompt, no electron, above 3 GeV/c.
pub(super) fn bin_of(particle: &Particle) -> Option<usize> {
    let bin = P_EDGES.iter().rposition(|edge| particle.p >= *edge);
    bin.filter(|_| is_prompt(particle))
}

/// Returns whether a particle was made at a collision, not in a decay or in material, and is no electron.
pub(super) fn is_prompt(particle: &Particle) -> bool {
    let Some([x, y, _]) = particle.origin else { return false };
    let decayed = particle.from_beauty || particle.from_charm || particle.from_strange;
    !decayed && !particle.is_electron() && f64::from(x).hypot(f64::from(y)) < PROMPT
}

/// Values at one place, by bin of momentum and parameter.
#[derive(Debug, Clone, Default)]
pub(super) struct PlaceValues([[Values; PARAMETERS.len()]; P_EDGES.len()]);

impl PlaceValues {
    /// Adds a state of a particle in a bin of momentum; `shares` of the variances of x and slope come from hit errors.
    pub fn add(&mut self, bin: usize, fitted: &FittedState, particle: &Particle, shares: Option<[f64; 2]>) {
        let Some(truth) = fitted.place.truth(particle) else { return };
        let FittedState { at, sigma, qop, .. } = *fitted;
        let truth = truth.at(at.z);
        let residuals = [at.x - truth.x, at.y - truth.y, at.tx - truth.tx, at.ty - truth.ty];
        let mut all: Vec<[f64; 2]> = residuals.into_iter().zip(sigma).map(|pair| pair.into()).collect();
        if let Some([value, sigma]) = qop {
            let (sign, p) = (particle.charge.signum(), particle.p);
            all.push([sign * value * p - 1.0, sigma * p]);
        }
        let of_parameters = self.0[bin].iter_mut().zip(all).enumerate();
        for (number, (values, [residual, sigma])) in of_parameters {
            values.pulls.push(residual / sigma);
            values.residuals.push(residual);
            // x and y of the Velo are equally well known, and so are their slopes.
            values.hit_shares.extend(shares.map(|shares| shares[number / 2]));
        }
    }

    /// Returns the rows for all momenta together, then the rows of each bin.
    pub fn rows(&self, place: Place) -> Vec<StatePull> {
        let mut rows = Vec::new();
        let all = std::iter::once(0..P_EDGES.len()).chain((0..P_EDGES.len()).map(|bin| bin..bin + 1));
        for bins_of in all {
            for (number, parameter) in PARAMETERS.into_iter().enumerate() {
                let p = [bins_of.start, bins_of.end].map(|edge| P_EDGES.get(edge).copied());
                let values = self.0[bins_of.clone()].iter().map(|parameters| &parameters[number]);
                let with_histogram = bins_of.len() == P_EDGES.len();
                rows.extend(pull(place.name(), parameter, (p, with_histogram), values));
            }
        }
        rows
    }
}

/// Compares the states of tracks with the true states of prompt particles above 3 GeV/c, except electrons. Particles
/// without true states are ignored.
#[derive(Debug, Default)]
pub struct StatePulls {
    values: [PlaceValues; Place::ALL.len()],
    seen: Vec<bool>,
}

impl StatePulls {
    /// Adds an event. `matches` are pairs of indices (track, matched particle), sorted by track; `states` returns the
    /// states of a track. Only the first track of a particle, and the first particle of a track, are used.
    pub fn event<'a>(
        &mut self,
        particles: &[Particle],
        matches: impl Iterator<Item = (usize, usize)>,
        states: impl Fn(usize) -> &'a [FittedState],
    ) {
        self.seen.clear();
        self.seen.resize(particles.len(), false);
        let mut last = None;
        for (track, owner) in matches {
            if last.replace(track) == Some(track) || std::mem::replace(&mut self.seen[owner], true) {
                continue;
            }
            let particle = &particles[owner];
            let Some(bin) = bin_of(particle) else { continue };
            for state in states(track) {
                self.values[state.place as usize].add(bin, state, particle, None);
            }
        }
    }

    /// Returns the results so far for each place where both tracks and their particles had states.
    pub fn report(&self) -> Vec<StatePull> {
        Place::ALL.into_iter().zip(&self.values).flat_map(|(place, values)| values.rows(place)).collect()
    }
}

fn pull<'a>(
    place: &'static str,
    parameter: &'static str,
    ([p_from, p_to], with_histogram): ([Option<f64>; 2], bool),
    values: impl Iterator<Item = &'a Values>,
) -> Option<StatePull> {
    let (mut pulls, mut residuals) = (Vec::new(), Vec::new());
    let (mut shares, mut shared) = (0.0, 0);
    for value in values {
        shares += value.hit_shares.iter().sum::<f64>();
        shared += value.hit_shares.len();
        pulls.extend_from_slice(&value.pulls);
        residuals.extend_from_slice(&value.residuals);
    }
    let near: Vec<f64> = pulls.iter().copied().filter(|pull| pull.abs() <= FAR).collect();
    if pulls.is_empty() {
        return None;
    }
    let (tracks, width_of_pulls) = (pulls.len() as f64, width(&mut pulls));
    let hit_share = (shared > 0).then(|| shares / shared as f64);
    let histogram = with_histogram.then(|| {
        let mut histogram = PullHistogram::default();
        pulls.iter().for_each(|pull| histogram.add(*pull));
        histogram
    });
    Some(StatePull {
        place,
        parameter,
        p_from: p_from.unwrap_or_default(),
        p_to,
        tracks: pulls.len() as u64,
        mean: near.iter().sum::<f64>() / near.len().max(1) as f64,
        width: width_of_pulls,
        far: 1.0 - near.len() as f64 / tracks,
        resolution: width(&mut residuals),
        hit_share,
        // A share above 1 comes from chance, or from hits that are more precise than their errors.
        true_hit_share: hit_share.map(|share| (share / width_of_pulls.powi(2)).min(1.0)),
        histogram,
    })
}

/// Returns half of the interval between the quantiles of 16 and 84 %.
pub(super) fn width(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    0.5 * (quantile(0.84) - quantile(0.16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_are_counted_where_they_lie_and_far_ones_nowhere() {
        let mut histogram = PullHistogram::default();
        for pull in [-5.0, -4.8, 0.0, 4.99, 5.0, -5.01, f64::NAN, f64::INFINITY] {
            histogram.add(pull);
        }
        let filled: Vec<_> = histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        assert_eq!(filled, [(0, &2), (20, &1), (39, &1)]);
    }

    #[test]
    fn widths_are_those_of_the_middle() {
        let mut values: Vec<f64> = (-1000..=1000).map(f64::from).collect();
        values.extend([1e9; 20]);
        values.extend([-1e9; 20]);
        assert!((width(&mut values) - 694.0).abs() < 2.0, "{}", width(&mut values));
        assert_eq!(width(&mut [7.0]), 0.0);
    }
}
