//! Fitted states of the Velo against true particles: pulls, resolutions, impact parameters.

use super::lhcb_rules;
use super::matching::Matcher;
use peloton::event::{Particle, States, TrueState, TruthEvent, VeloEvent, VeloTracks};
use peloton::velo::FitConfig;
use peloton::velo::reference::{Filtered, fit_f64};
use serde::Serialize;
use std::collections::HashMap;

/// The parameters of a state.
const PARAMETERS: [&str; 4] = ["x", "y", "tx", "ty"];
/// Lower edges of the bins of momentum, GeV/c; slower particles do not count.
const P_EDGES: [f64; 4] = [3.0, 5.0, 10.0, 30.0];
/// Bins of 1/pT are so wide, c/GeV, and so many.
const INVERSE_PT_STEP: f64 = 0.5;
const INVERSE_PT_BINS: usize = 6;
/// A particle is prompt when it was made as near to the beam line as this, mm.
const PROMPT: f64 = 0.2;
/// Pulls beyond this are counted, and left out of means.
const FAR: f64 = 5.0;

/// (fitted - true) / sigma, and fitted - true; which share of sigma^2 is due to the errors of the hits.
#[derive(Debug, Clone, Default)]
struct Values {
    pulls: Vec<f64>,
    residuals: Vec<f64>,
    hit_shares: Vec<f64>,
}

/// Where hits were measured, and how tracks were fitted: what tells hit errors from scattering.
#[derive(Clone, Copy)]
pub struct VeloHits<'a> {
    /// The parameters of the fit.
    pub fit: &'a FitConfig,
    /// The hits of the event.
    pub event: VeloEvent<'a>,
}

/// Compares states with those of the particles that tracks are: prompt ones, no electrons, above 3 GeV/c. Truth without
/// states adds nothing: those at the beam line need an origin, those at the end of the Velo an exit.
#[derive(Default)]
pub struct VeloPulls {
    matcher: Option<Matcher>,
    seen: Vec<bool>,
    /// By place, by bin of momentum, by parameter.
    values: [[[Values; 4]; P_EDGES.len()]; 2],
    /// x and y at the origin's z, by bin of 1/pT, mm.
    impact: [Vec<f64>; INVERSE_PT_BINS],
}

/// One parameter in one bin of momentum. A width is half of the central 68 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VeloPull {
    /// `beam` (closest approach to the beam line) or `end` (of the Velo).
    pub place: &'static str,
    /// Which parameter.
    pub parameter: &'static str,
    /// Momentum from this on, GeV/c.
    pub p_from: f64,
    /// Below this, GeV/c; nothing when there is no limit.
    pub p_to: Option<f64>,
    /// Tracks.
    pub tracks: u64,
    /// Mean of (fitted - true) / sigma, of those within 5.
    pub mean: f64,
    /// Width of (fitted - true) / sigma.
    pub width: f64,
    /// Share of those beyond 5.
    pub far: f64,
    /// Width of fitted - true, mm and rad.
    pub resolution: f64,
    /// Share of sigma^2 that is due to the errors of the hits; the rest is scattering as the fit reckons with it. Of
    /// each track, the textbook's filter in f64 goes over the same hits with the same noise, and carries along what the
    /// variances of the hits alone make of the covariance. Nothing when positions of hits are not known.
    pub hit_share: Option<f64>,
    /// The same of the real variance, which is `width`^2 in units of sigma^2; the rest is real scattering.
    pub true_hit_share: Option<f64>,
}

/// The resolution of the impact parameter in one projection, in one bin of 1/pT.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImpactParameter {
    /// 1/pT from this on, c/GeV.
    pub inverse_pt_from: f64,
    /// Below this, c/GeV.
    pub inverse_pt_to: f64,
    /// Tracks.
    pub tracks: u64,
    /// Half of the central 68 % of fitted - true x, and y, at the z of the origin, mm.
    pub resolution: f64,
    /// What LHCb's first detector had there: 15 um + 29 um GeV/c / pT, mm.
    pub lhcb_run1: f64,
}

/// What [`VeloPulls`] saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VeloPullReport {
    /// Pulls and resolutions of the states.
    pub pulls: Vec<VeloPull>,
    /// Resolutions of the impact parameter.
    pub impact_parameters: Vec<ImpactParameter>,
}

impl VeloPulls {
    /// Adds the tracks of event number `event` of `tracks`. Of several tracks that are a particle the first counts.
    /// Where hits are is known of events of hits, and not of raw banks.
    pub fn event(
        &mut self,
        truth: &TruthEvent,
        tracks: &VeloTracks,
        event: usize,
        hits: Option<VeloHits<'_>>,
    ) {
        let matcher = self.matcher.get_or_insert_with(|| Matcher::new(|_| 0));
        matcher.index(truth);
        self.seen.clear();
        self.seen.resize(truth.particles.len(), false);
        let mut found = Vec::new();
        for track in tracks.of_event(event) {
            let hits = tracks.hits_of(track);
            let is = |&&(_, common): &&(u32, [u32; 3])| lhcb_rules::accepts(common[0], hits.len() as u32);
            let owner = matcher.shares(hits).iter().find(is).map(|&(owner, _)| owner as usize);
            let Some(owner) = owner else { continue };
            if !std::mem::replace(&mut self.seen[owner], true) {
                found.push((track, &truth.particles[owner]));
            }
        }
        let places = hits.map(|hits| (hits.fit, places(&hits.event)));
        for (track, particle) in found {
            let shares = places.as_ref().map(|(fit, places)| {
                let hits: Option<Vec<_>> =
                    tracks.hits_of(track).iter().map(|hit| places.get(hit).copied()).collect();
                hits.map(|hits| hit_shares(fit, &hits, tracks, track))
            });
            self.track(tracks, track, particle, shares.flatten());
        }
    }

    /// Adds a track of a particle; `shares` are those of the hits in the variances of x and slope, by place.
    fn track(
        &mut self,
        tracks: &VeloTracks,
        track: usize,
        particle: &Particle,
        shares: Option<[[f64; 2]; 2]>,
    ) {
        let Some(start) = particle.start() else { return };
        let bin = P_EDGES.iter().rposition(|edge| particle.p >= *edge);
        let Some(bin) = bin.filter(|_| is_prompt(particle)) else { return };
        let shares = shares.map_or([None; 2], |shares| shares.map(Some));
        self.state((0, bin, shares[0]), (&tracks.beam, track), start);
        let inverse = (1.0 / particle.pt / INVERSE_PT_STEP) as usize;
        if inverse < INVERSE_PT_BINS {
            let fitted = fitted(&tracks.beam, track).at(start.z);
            self.impact[inverse].extend([fitted.x - start.x, fitted.y - start.y]);
        }
        if let Some(exit) = particle.exit.filter(|_| tracks.backward[track] == 0) {
            self.state((1, bin, shares[1]), (&tracks.end, track), exit);
        }
    }

    fn state(
        &mut self,
        (place, bin, shares): (usize, usize, Option<[f64; 2]>),
        (states, track): (&States, usize),
        truth: TrueState,
    ) {
        let fitted = fitted(states, track);
        let truth = truth.at(fitted.z);
        let sigma_x = f64::from(states.cov_xx[track]).sqrt();
        let sigma_t = f64::from(states.cov_tt[track]).sqrt();
        let residuals = [
            (fitted.x - truth.x, sigma_x),
            (fitted.y - truth.y, sigma_x),
            (fitted.tx - truth.tx, sigma_t),
            (fitted.ty - truth.ty, sigma_t),
        ];
        let of_parameters = self.values[place][bin].iter_mut().zip(residuals).enumerate();
        for (number, (values, (residual, sigma))) in of_parameters {
            values.pulls.push(residual / sigma);
            values.residuals.push(residual);
            // x and y are equally well known, and so are their slopes.
            values.hit_shares.extend(shares.map(|shares| shares[number / 2]));
        }
    }

    /// What was seen so far; nothing when no particle had a state. The rows of all momenta come first.
    pub fn report(&self) -> Option<VeloPullReport> {
        let mut pulls = Vec::new();
        for (place, bins) in ["beam", "end"].into_iter().zip(&self.values) {
            let all = std::iter::once(0..P_EDGES.len()).chain((0..P_EDGES.len()).map(|bin| bin..bin + 1));
            for bins_of in all {
                for (number, parameter) in PARAMETERS.into_iter().enumerate() {
                    let p = [bins_of.start, bins_of.end].map(|edge| P_EDGES.get(edge).copied());
                    let values = bins[bins_of.clone()].iter().map(|parameters| &parameters[number]);
                    pulls.extend(pull(place, parameter, p, values));
                }
            }
        }
        let impact = self.impact.iter().enumerate().filter(|(_, values)| !values.is_empty());
        let impact_parameters = impact.map(|(bin, values)| {
            let inverse_pt_from = INVERSE_PT_STEP * bin as f64;
            ImpactParameter {
                inverse_pt_from,
                inverse_pt_to: inverse_pt_from + INVERSE_PT_STEP,
                tracks: values.len() as u64 / 2,
                resolution: width(&mut values.clone()),
                lhcb_run1: 0.015 + 0.029 * (inverse_pt_from + 0.5 * INVERSE_PT_STEP),
            }
        });
        let impact_parameters = impact_parameters.collect();
        (!pulls.is_empty()).then_some(VeloPullReport { pulls, impact_parameters })
    }
}

/// Made at a collision, not in a decay or in material, and no electron.
fn is_prompt(particle: &Particle) -> bool {
    let Some([x, y, _]) = particle.origin else { return false };
    let decayed = particle.from_beauty || particle.from_charm || particle.from_strange;
    !decayed && !particle.is_electron() && f64::from(x).hypot(f64::from(y)) < PROMPT
}

/// Where the hits of an event are, by their names.
fn places(event: &VeloEvent<'_>) -> HashMap<u32, [f32; 3]> {
    (0..event.len()).map(|i| (event.id[i], [event.x[i], event.y[i], event.z[i]])).collect()
}

/// Which share of the variances of x and slope that the fit states is due to the errors of the hits, by place.
fn hit_shares(fit: &FitConfig, hits: &[[f32; 3]], tracks: &VeloTracks, track: usize) -> [[f64; 2]; 2] {
    let Filtered { down, up, .. } = fit_f64(fit, hits);
    let beam = if tracks.backward[track] == 1 { up } else { down };
    [(&tracks.beam, beam), (&tracks.end, up)].map(|(states, line)| {
        let [xx, _, tt] = line.at(f64::from(states.z[track])).of_hits;
        [xx / f64::from(states.cov_xx[track]), tt / f64::from(states.cov_tt[track])]
    })
}

fn fitted(states: &States, track: usize) -> TrueState {
    let [x, y, z, tx, ty] = [&states.x, &states.y, &states.z, &states.tx, &states.ty];
    let [x, y, z, tx, ty] = [x, y, z, tx, ty].map(|column| f64::from(column[track]));
    TrueState { x, y, z, tx, ty }
}

fn pull<'a>(
    place: &'static str,
    parameter: &'static str,
    [p_from, p_to]: [Option<f64>; 2],
    values: impl Iterator<Item = &'a Values>,
) -> Option<VeloPull> {
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
    Some(VeloPull {
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
        // More than all is due to chance, and to hits that are better than their errors.
        true_hit_share: hit_share.map(|share| (share / width_of_pulls.powi(2)).min(1.0)),
    })
}

/// Half of the interval between the quantiles of 16 and 84 %.
fn width(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    0.5 * (quantile(0.84) - quantile(0.16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_middle() {
        let mut values: Vec<f64> = (-1000..=1000).map(f64::from).collect();
        values.extend([1e9; 20]);
        values.extend([-1e9; 20]);
        assert!((width(&mut values) - 694.0).abs() < 2.0, "{}", width(&mut values));
        assert_eq!(width(&mut [7.0]), 0.0);
    }
}
