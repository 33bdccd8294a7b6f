//! Kalman filters that follow the hits of a track.

use super::layers::Layers;
use super::{Track, field};
use crate::cylinder::config::{CylinderConfig, FitForm, StartCovariance};
use crate::cylinder::geometry::RADII;
use crate::event::{CYLINDER_LAYERS, CylinderSeeds, NO_HIT};
use crate::kalman::FitStatus;
use crate::kalman::reference::single::{
    GlobalState, Hit, State, from_three_hits, from_vertex, judge, scatter, sincos, take, to_global,
    to_radius, update, written, written_global,
};

/// State of a filter.
pub(super) struct Follow {
    pub state: State,
    pub reached: bool,
    pub measured: bool,
    chi2: f32,
}

impl Follow {
    /// Starts at the vertex of a particle and adds its hits on the first `count` layers. The published variances at the
    /// vertex are the squares of the coordinates and of the Cartesian momentum.
    pub fn from_vertex(
        config: &CylinderConfig,
        layers: &Layers,
        seeds: &CylinderSeeds,
        particle: usize,
        count: usize,
    ) -> Self {
        let p: [f32; 6] = seeds.vertex.each_ref().map(|column| column[particle]);
        let pt = 1.0 / p[3].abs();
        let ((sine, cosine), (sine_theta, cosine_theta)) = (sincos(p[4]), sincos(p[5]));
        let sigma = match config.start.covariance {
            StartCovariance::Published => {
                [p[0], p[1], p[2], pt * cosine, pt * sine, pt * cosine_theta / sine_theta]
            }
            StartCovariance::Prior => config.start.prior,
        };
        let hits = seeds.hits.each_ref().map(|column| column[particle]);
        let first = hit_of(layers, hits[0]);
        let radius = first.map_or(RADII[0], |hit| hit.radius);
        let before = sigma.map(|sigma| sigma * sigma);
        let (mut state, reached, (chi2, sane)) =
            from_vertex(p, before, field(config), radius, first.as_ref());
        if config.material > 0.0 && first.is_some() {
            scatter(&mut state, config.material);
        }
        let mut out = Self { state, reached, measured: sane || first.is_none(), chi2 };
        for hit in &hits[1..count] {
            out.take(config, hit_of(layers, *hit).as_ref(), false);
        }
        out
    }

    /// Transports the state to a hit and adds it; does not move without a hit.
    fn take(&mut self, config: &CylinderConfig, hit: Option<&Hit>, inwards: bool) {
        let radius = hit.map_or(self.state.radius, |hit| hit.radius);
        let (state, reached) = to_radius(&self.state, field(config), radius);
        self.state = state;
        let scatters = config.material > 0.0 && hit.is_some();
        if scatters && inwards {
            scatter(&mut self.state, config.material);
        }
        let (chi2, sane) = update(&mut self.state, hit);
        if scatters && !inwards {
            scatter(&mut self.state, config.material);
        }
        self.reached &= reached || hit.is_none();
        self.measured &= sane || hit.is_none();
        self.chi2 += chi2;
    }

    pub fn finish(self, hits: [u32; CYLINDER_LAYERS]) -> Track {
        track(hits, written(&self.state), self.chi2, [self.reached, self.measured])
    }
}

/// Creates a track with a state in its output form.
fn track(hits: [u32; CYLINDER_LAYERS], state: State, chi2: f32, [reached, measured]: [bool; 2]) -> Track {
    let mut fit = judge(&state, reached, measured);
    if fit == FitStatus::Ok && !(-1.0 < chi2 && chi2 < f32::INFINITY) {
        fit = FitStatus::NotFinite;
    }
    Track { hits, state, chi2, fit }
}

/// Fits the hits from outside in with six parameters.
fn global_inwards(
    config: &CylinderConfig,
    layers: &Layers,
    hits: [u32; CYLINDER_LAYERS],
    mut state: GlobalState,
    mut reached: bool,
) -> Track {
    let radial = config.fit.radial_error * config.fit.radial_error;
    let (mut measured, mut sum) = (true, 0.0);
    for hit in hits.iter().rev().filter_map(|hit| hit_of(layers, *hit)) {
        let (chi2, there, sane) = take(&mut state, field(config), config.material, radial, &hit);
        reached &= there;
        measured &= sane;
        sum += chi2;
    }
    track(hits, written_global(&state), sum, [reached, measured])
}

fn hit_of(layers: &Layers, hit: u32) -> Option<Hit> {
    (hit != NO_HIT).then(|| layers.hits[hit as usize])
}

/// Fits the hits from outside in, from the helix through the first, middle and last hit.
pub(super) fn inwards(config: &CylinderConfig, layers: &Layers, hits: [u32; CYLINDER_LAYERS]) -> Track {
    let found: Vec<Hit> = hits.iter().filter_map(|hit| hit_of(layers, *hit)).collect();
    let last = found.len().saturating_sub(1);
    let end = |at: usize| {
        let hit = found.get(at).copied().or_else(|| layers.last());
        hit.map_or([0.0; 3], |hit| [hit.position[0], hit.position[1], hit.radius])
    };
    let ends = [0, last / 2, last].map(end);
    let prior = config.fit.prior.map(|sigma| sigma * sigma);
    let start = from_three_hits(ends, field(config), prior);
    let (outer, reached) = to_radius(&start, field(config), ends[2][2]);
    let state = State { c: start.c, ..outer };
    if config.fit.form == FitForm::Global {
        return global_inwards(config, layers, hits, to_global(&state), reached);
    }
    let mut follow = Follow { state, reached, measured: true, chi2: 0.0 };
    for hit in hits.iter().rev() {
        follow.take(config, hit_of(layers, *hit).as_ref(), true);
    }
    follow.finish(hits)
}
