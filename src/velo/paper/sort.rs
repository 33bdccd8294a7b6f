//! Sorts the hits of each module by phi, the angle around the beam.

use super::scratch::PaperScratch;
use crate::Status;
use crate::event::{Column, VELO_MODULES, VeloEvent};
use crate::simd::Gang;
use crate::simd::math::atan2;
use crate::simd::sort::{float_key, sort_segment};
use crate::simd::varying::{F32, Mask};
use crate::velo::config::LimitConfig;
use crate::velo::index::{check_sizes, status_of_bad_hits};
use crate::velo::modules::Modules;
use std::f32::consts::TAU;

/// Returns the angle around the beam, rad, on a scale without a jump on the module's side: 0..2 pi in an even module (x
/// < 0), -pi..pi in an odd module.
#[inline(always)]
pub(super) fn phi_on_side<G: Gang>(g: G, x: F32<G>, y: F32<G>, module: usize) -> F32<G> {
    // The same operations for both sides, so that a loop over sides has one body.
    let turn = if module.is_multiple_of(2) { TAU } else { 0.0 };
    let phi = atan2(y, x);
    phi.lt(F32::splat(g, 0.0)).select_f(phi + F32::splat(g, turn), phi)
}

/// Sorts the hits of an event by (module, phi, input order).
#[inline(always)]
pub(super) fn sort<G: Gang>(
    g: G,
    event: &VeloEvent<'_>,
    limits: &LimitConfig,
    modules: &mut Modules,
    scratch: &mut PaperScratch,
    [keys, order]: [&mut Column<u32>; 2],
) -> Status {
    let status = check_sizes(event, limits);
    if status != Status::Ok {
        return status;
    }
    let PaperScratch { phi, unsorted, .. } = scratch;
    for column in [&mut *keys, &mut *order] {
        column.set_len(event.len());
    }
    phi.set_len(event.len());
    unsorted.set_len(event.len());
    let reach = F32::splat(g, limits.coordinate);
    let mut sane = Mask::first(g, G::LANES);
    for module in 0..VELO_MODULES {
        let range = event.module(module);
        for at in range.clone().step_by(G::LANES) {
            let lanes = Mask::first(g, range.end - at);
            let x = F32::load_some(&event.x[at..], lanes);
            let y = F32::load_some(&event.y[at..], lanes);
            let z = F32::load_some(&event.z[at..], lanes);
            sane = sane & x.abs().le(reach) & y.abs().le(reach) & z.abs().le(reach);
            let phi = phi_on_side(g, x, y, module);
            phi.store(&mut unsorted.padded_mut()[at..]);
            float_key(phi).store(&mut keys.padded_mut()[at..]);
        }
    }
    if !sane.all() {
        return status_of_bad_hits(event);
    }
    modules.open(event);
    for module in 0..VELO_MODULES {
        let range = event.module(module);
        sort_segment(g, &keys[range.clone()], &mut order[range.clone()]);
        for index in range.clone() {
            phi[index] = unsorted[range.start + order[index] as usize];
        }
        modules.arrange(event, module, &order[range]);
    }
    Status::Ok
}
