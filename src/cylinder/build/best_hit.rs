//! The builder `best-hit`: takes the hit with the smallest chi2 on each layer. Each lane builds the track of one seed,
//! whose state stays in registers from layer to layer.

use super::search::{Visit, Windows, search};
use super::{Inputs, take_hit};
use crate::cylinder::geometry::{RADII, SEED_LAYERS};
use crate::cylinder::hit::is_hit;
use crate::event::{CYLINDER_LAYERS, Column, NO_HIT, StageCounter};
use crate::kalman::{CURVATURE_PER_TESLA, to_radius, within_turn};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};
use std::ops::Range;

struct Nearest<G: Gang> {
    hit: U32<G>,
    chi2: F32<G>,
}

impl<G: Gang> Visit<G> for Nearest<G> {
    #[inline(always)]
    fn visit(&mut self, _: G, hit: U32<G>, chi2: F32<G>, found: Mask<G>) {
        // Of hits with equal chi2, the first one is kept.
        let better = chi2.lt(self.chi2) & found;
        self.hit = better.select_u(hit, self.hit);
        self.chi2 = better.select_f(chi2, self.chi2);
    }
}

/// Writes to `out` the hits of the seeds `seeded.order[range]` on each layer behind the seed layers, or [`NO_HIT`].
#[inline(always)]
pub(super) fn build<G: Gang>(
    g: G,
    &Inputs { config, index, seeded }: &Inputs<'_>,
    range: Range<usize>,
    out: &mut [Column<u32>; CYLINDER_LAYERS],
    counter: &mut StageCounter,
) {
    let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
    let max_missed = U32::splat(g, config.max_missed());
    for at in range.clone().step_by(G::LANES) {
        let mut lanes = Mask::first(g, range.end - at);
        let seed = U32::load(g, &seeded.order.padded()[at..]);
        let mut state = seeded.gather(g, seed);
        lanes = lanes & seeded.is_good(seed);
        let mut missed = U32::splat(g, 0);
        for layer in SEED_LAYERS..CYLINDER_LAYERS {
            // The states of seeds are already on the first radius.
            if layer > SEED_LAYERS {
                lanes = lanes & to_radius(g, &mut state, field, F32::splat(g, RADII[layer]));
            }
            state.p[0] = within_turn(g, state.p[0]);
            let none = U32::splat(g, NO_HIT);
            let mut nearest = Nearest { hit: none, chi2: F32::splat(g, f32::INFINITY) };
            let layers = Windows { config: &config.build, layer: index.layer(layer) };
            search(g, &layers, &state, lanes, &mut nearest, counter);
            let found = is_hit(g, nearest.hit);
            missed = found.select_u(missed, missed + U32::splat(g, 1));
            // Candidates with too few hits are not followed further.
            lanes = lanes & !max_missed.lt(missed);
            take_hit(g, config, index, &mut state, nearest.hit);
            nearest.hit.scatter(&mut out[layer], seed, Mask::first(g, range.end - at));
        }
    }
}
