//! Seeds of simulated particles: fits of the hits on the first layers, from the true vertex outwards
//! (`docs/algorithms.md`, "Cylinder: seeds from truth").

use super::build::Seeded;
use super::config::{CylinderConfig, StartConfig, StartCovariance};
use super::geometry::{RADII, SEED_LAYERS};
use super::hit::{Follow, Hits, is_hit, prefetch_later};
use super::index::Index;
use crate::event::{CylinderEvent, CylinderSeeds};
use crate::kalman::{CURVATURE_PER_TESLA, VertexState, from_vertex, to_radius};
use crate::simd::math::sincos;
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};
use std::ops::Range;

/// Returns the starts of the particles from `at` on.
#[inline(always)]
fn vertex<G: Gang>(g: G, config: &StartConfig, seeds: &CylinderSeeds, at: usize) -> VertexState<G> {
    let mut p = [F32::splat(g, 0.0); 6];
    for (value, column) in p.iter_mut().zip(&seeds.vertex) {
        *value = F32::load(g, &column.padded()[at..]);
        prefetch_later::<G, _>(column, at);
    }
    let is_published = config.covariance == StartCovariance::Published;
    let published = Mask::first(g, if is_published { G::LANES } else { 0 });
    let mut prior = [F32::splat(g, 0.0); 6];
    for (variance, sigma) in prior.iter_mut().zip(config.prior) {
        *variance = F32::splat(g, sigma * sigma);
    }
    start(g, p, published, prior)
}

/// Returns the start at the true vertex. Variances are `prior`; in the lanes of `published` they are the variances of mkFit:
/// the squares of the vertex's coordinates and of the Cartesian momentum (in place of the variances of 1/pT, phi and theta).
#[inline(always)]
pub(crate) fn start<G: Gang>(g: G, p: [F32<G>; 6], published: Mask<G>, prior: [F32<G>; 6]) -> VertexState<G> {
    let pt = F32::splat(g, 1.0) / p[3].abs();
    let (sine, cosine) = sincos(p[4]);
    let (sine_theta, cosine_theta) = sincos(p[5]);
    let (px, py, pz) = (pt * cosine, pt * sine, pt * cosine_theta / sine_theta);
    let squares = [p[0] * p[0], p[1] * p[1], p[2] * p[2], px * px, py * py, pz * pz];
    let mut variance = prior;
    for (variance, square) in variance.iter_mut().zip(squares) {
        *variance = published.select_f(square, *variance);
    }
    VertexState { p, variance }
}

/// Filters that start at the vertices of particles and add their hits on the first layers.
#[derive(Clone, Copy)]
pub(super) struct FromVertices<'a> {
    pub config: &'a CylinderConfig,
    pub event: &'a CylinderEvent<'a>,
    pub seeds: &'a CylinderSeeds,
    pub layers: usize,
}

impl FromVertices<'_> {
    /// Calls `done` for each gang of particles of `range`, with the number of its first particle and its filter.
    #[inline(always)]
    pub fn each<G: Gang>(self, g: G, range: Range<usize>, mut done: impl FnMut(usize, Follow<G>)) {
        if range.is_empty() {
            return;
        }
        let Self { event, seeds, layers, .. } = self;
        let mut ahead = Hits::read(g, event, &seeds.hits[0], range.start);
        for at in range.clone().step_by(G::LANES) {
            let next = (at + G::LANES).min(range.end - 1);
            let read = inlined!(|layer: usize| {
                let (layer, at) = if layer < layers { (layer, at) } else { (0, next) };
                Hits::read(g, event, &seeds.hits[layer], at)
            });
            done(at, self.follow(g, at, &mut ahead, read));
        }
    }

    /// Filters one gang. `ahead` has the hits on the first layer; afterwards it has the result of `read` for the layer
    /// after the last.
    #[inline(always)]
    fn follow<G: Gang>(
        self,
        g: G,
        at: usize,
        ahead: &mut Hits<G>,
        read: impl Fn(usize) -> Hits<G>,
    ) -> Follow<G> {
        let field = F32::splat(g, CURVATURE_PER_TESLA * self.config.field);
        let Hits { mut hit, has } = *ahead;
        *ahead = read(1);
        hit.radius = has.select_f(hit.radius, F32::splat(g, RADII[0]));
        let started = from_vertex(g, &vertex(g, &self.config.start, self.seeds, at), field, &hit, has);
        let mut follow = Follow::behind_first(g, started, has, self.config.material);
        for layer in 1..self.layers {
            let Hits { hit, has } = *ahead;
            *ahead = read(layer + 1);
            follow.take(g, field, &hit, has);
        }
        follow
    }
}

/// The particles of one event within all particles, and the part of them to process.
#[derive(Debug, Clone)]
pub(super) struct EventParticles<'a> {
    pub all: &'a CylinderSeeds,
    pub range: Range<usize>,
    pub part: Range<usize>,
}

impl<'a> EventParticles<'a> {
    pub fn new(all: &'a CylinderSeeds, event: usize) -> Self {
        let range = all.start[event] as usize..all.start[event + 1] as usize;
        Self { all, part: 0..range.len(), range }
    }

    /// Returns the particles `part` of the event.
    pub fn part(&self, part: Range<usize>) -> Self {
        Self { part, ..self.clone() }
    }
}

/// Makes the seeds of particles of one event; `seeded` has room for all particles, and is not sorted yet.
#[inline(always)]
pub(super) fn from_truth<G: Gang>(
    g: G,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    index: &Index,
    EventParticles { all: seeds, range, part }: EventParticles<'_>,
    seeded: &mut Seeded,
) {
    let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
    let (first, end) = (range.start, range.start + part.end);
    let filters = FromVertices { config, event, seeds, layers: SEED_LAYERS };
    filters.each(
        g,
        first + part.start..end,
        inlined!(|particle: usize, mut follow: Follow<G>| {
            let (at, lanes) = (particle - first, Mask::first(g, end - particle));
            let reached = to_radius(g, &mut follow.state, field, F32::splat(g, RADII[SEED_LAYERS]));
            let mut good = reached & follow.reached & follow.measured;
            for layer in 0..SEED_LAYERS {
                let hit = U32::load(g, &seeds.hits[layer].padded()[particle..]);
                good = good & is_hit(g, hit);
                let place = is_hit(g, hit).select_u(U32::gather(&index.place, hit), hit);
                place.store_some(&mut seeded.hits[layer].padded_mut()[at..], lanes);
            }
            seeded.store(&follow.state, at);
            let flag = good.select_u(U32::splat(g, 1), U32::splat(g, 0));
            flag.store_some(&mut seeded.good.padded_mut()[at..], lanes);
        }),
    );
}
