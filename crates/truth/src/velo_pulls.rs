//! Compares fitted states in the Velo with true particles: pulls, resolutions, impact parameters.

use super::lhcb_rules;
use super::matching::Matcher;
use super::state_pulls::{FittedState, Place, PlaceValues, StatePull, bin_of, width};
use peloton::event::{Particle, TruthEvent, VeloEvent, VeloTracks};
use peloton::velo::FitConfig;
use peloton::velo::reference::{Filtered, fit_f64};
use serde::Serialize;
use std::collections::HashMap;

/// Width of the bins of 1/pT, c/GeV, and number of bins.
const INVERSE_PT_STEP: f64 = 0.5;
const INVERSE_PT_BINS: usize = 6;
/// The places of states.
const PLACES: [Place; 2] = [Place::Beam, Place::VeloEnd];

/// Positions of hits and parameters of the fit, used to separate the effects of hit errors and of scattering.
#[derive(Clone, Copy)]
pub struct VeloHits<'a> {
    /// The parameters of the fit.
    pub fit: &'a FitConfig,
    /// The hits of the event.
    pub event: VeloEvent<'a>,
}

/// Compares the states of tracks with the true states of prompt particles above 3 GeV/c, except electrons. Particles
/// without a true origin are ignored, and so are states at the end of the Velo without a true state there.
#[derive(Default)]
pub struct VeloPulls {
    matcher: Option<Matcher>,
    seen: Vec<bool>,
    /// Values by place.
    values: [PlaceValues; 2],
    /// x and y at the origin's z, by bin of 1/pT, mm.
    impact: [Vec<f64>; INVERSE_PT_BINS],
}

/// The resolution of the impact parameter in the projections x and y, in one bin of 1/pT.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImpactParameter {
    /// Lower limit of 1/pT, c/GeV.
    pub inverse_pt_from: f64,
    /// Upper limit of 1/pT, c/GeV.
    pub inverse_pt_to: f64,
    /// Number of tracks.
    pub tracks: u64,
    /// Half of the central 68 % of fitted - true x and y at the z of the particle's origin, mm.
    pub resolution: f64,
    /// Resolution of LHCb's Run 1 detector in this bin, mm: 15 um + 29 um GeV/c / pT.
    pub lhcb_run1: f64,
}

/// Results of [`VeloPulls`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VeloPullReport {
    /// Pulls and resolutions of states at the beam line and at the end of the Velo.
    pub pulls: Vec<StatePull>,
    /// Resolutions of the impact parameter in bins of 1/pT.
    pub impact_parameters: Vec<ImpactParameter>,
}

impl VeloPulls {
    /// Adds the tracks of event number `event` of `tracks`. Only the first track of a particle is used. `hits` is none
    /// for raw banks, for which positions of hits are unknown.
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

    /// Adds a track of a particle; `shares` are the shares of the hits in the variances of x and slope, by place.
    fn track(
        &mut self,
        tracks: &VeloTracks,
        track: usize,
        particle: &Particle,
        shares: Option<[[f64; 2]; 2]>,
    ) {
        let (Some(start), Some(bin)) = (particle.start(), bin_of(particle)) else { return };
        let forward = tracks.backward[track] == 0;
        let states = PLACES.into_iter().zip([&tracks.beam, &tracks.end]);
        for (number, (place, states)) in states.enumerate().take(1 + usize::from(forward)) {
            let fitted = FittedState::of_velo(place, states, track);
            self.values[number].add(bin, &fitted, particle, shares.map(|shares| shares[number]));
        }
        let inverse = (1.0 / particle.pt / INVERSE_PT_STEP) as usize;
        if inverse < INVERSE_PT_BINS {
            let fitted = FittedState::of_velo(Place::Beam, &tracks.beam, track).at.at(start.z);
            self.impact[inverse].extend([fitted.x - start.x, fitted.y - start.y]);
        }
    }

    /// Returns the results so far, or none when no particle had a state. Rows for all momenta together come first.
    pub fn report(&self) -> Option<VeloPullReport> {
        let rows = PLACES.into_iter().zip(&self.values).flat_map(|(place, values)| values.rows(place));
        let pulls: Vec<_> = rows.collect();
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

/// Returns the positions of the hits of an event by their ids.
fn places(event: &VeloEvent<'_>) -> HashMap<u32, [f32; 3]> {
    (0..event.len()).map(|i| (event.id[i], [event.x[i], event.y[i], event.z[i]])).collect()
}

/// Returns the shares of the fitted variances of x and slope that are due to the errors of the hits, by place.
fn hit_shares(fit: &FitConfig, hits: &[[f32; 3]], tracks: &VeloTracks, track: usize) -> [[f64; 2]; 2] {
    let Filtered { down, up, .. } = fit_f64(fit, hits);
    let beam = if tracks.backward[track] == 1 { up } else { down };
    [(&tracks.beam, beam), (&tracks.end, up)].map(|(states, line)| {
        let [xx, _, tt] = line.at(f64::from(states.z[track])).of_hits;
        [xx / f64::from(states.cov_xx[track]), tt / f64::from(states.cov_txtx[track])]
    })
}
