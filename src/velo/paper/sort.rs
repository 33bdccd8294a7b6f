//! Sort by phi: the hits of each module by angle around the beam.

use crate::Status;
use crate::event::{Column, VELO_MODULES, VeloEvent};
use crate::simd::Gang;
use crate::simd::math::atan2;
use crate::simd::sort::{float_key, sort_segment};
use crate::simd::varying::{F32, Mask};
use crate::velo::config::LimitConfig;
use crate::velo::index::{Index, check_sizes, why_not_sane};
use std::f32::consts::TAU;
use std::ops::Range;

/// phi of the sorted hits and where each module begins; the hits themselves are in the [`Index`].
#[derive(Debug)]
pub(super) struct Modules {
    pub(super) phi: Column<f32>,
    start: [u32; VELO_MODULES + 1],
    /// phi of the hits in their input order.
    unsorted: Column<f32>,
}

impl Default for Modules {
    fn default() -> Self {
        Self { phi: Column::default(), start: [0; VELO_MODULES + 1], unsorted: Column::default() }
    }
}

/// Angle around the beam, rad, on a scale without a step within the module's side: an even module (x < 0) has
/// the angles 0..2 pi, an odd one -pi..pi.
#[inline(always)]
pub(super) fn phi_on_side<G: Gang>(g: G, x: F32<G>, y: F32<G>, module: usize) -> F32<G> {
    // The same operations for both sides, so that a loop over sides has one body.
    let turn = if module.is_multiple_of(2) { TAU } else { 0.0 };
    let phi = atan2(y, x);
    phi.lt(F32::splat(g, 0.0)).select_f(phi + F32::splat(g, turn), phi)
}

/// Puts the hits of one module into the index in the order of `order` (places in the module).
#[inline(always)]
pub(in crate::velo) fn arrange(
    index: &mut Index,
    event: &VeloEvent<'_>,
    module: Range<usize>,
    order: &[u32],
) {
    for (place, &from) in module.clone().zip(order) {
        let hit = module.start + from as usize;
        let [x, y, z] = [event.x[hit], event.y[hit], event.z[hit]];
        index.hits[place] = [x, y, z, x];
        index.source[place] = hit as u32;
    }
}

impl Modules {
    /// The places of a module's hits.
    #[inline(always)]
    pub(super) fn range(&self, module: usize) -> Range<usize> {
        self.start[module] as usize..self.start[module + 1] as usize
    }

    /// Sorts the hits of an event by (module, phi, input order). The status tells when it cannot be
    /// reconstructed.
    #[inline(always)]
    pub(super) fn sort<G: Gang>(
        &mut self,
        g: G,
        event: &VeloEvent<'_>,
        limits: &LimitConfig,
        index: &mut Index,
        [keys, order]: [&mut Column<u32>; 2],
    ) -> Status {
        let status = check_sizes(event, limits);
        if status != Status::Ok {
            return status;
        }
        let hits = event.len();
        keys.set_len(hits);
        order.set_len(hits);
        self.phi.set_len(hits);
        self.unsorted.set_len(hits);
        self.start.copy_from_slice(event.module_start);
        self.start.iter_mut().for_each(|start| *start -= event.module_start[0]);

        let reach = F32::splat(g, limits.coordinate);
        let mut sane = true;
        for module in 0..VELO_MODULES {
            let range = self.range(module);
            for at in range.clone().step_by(G::LANES) {
                let lanes = Mask::first(g, range.end - at);
                let x = F32::load_some(&event.x[at..], lanes);
                let y = F32::load_some(&event.y[at..], lanes);
                let z = F32::load_some(&event.z[at..], lanes);
                sane &= (x.abs().le(reach) & y.abs().le(reach) & z.abs().le(reach)).all();
                let phi = phi_on_side(g, x, y, module);
                phi.store(&mut self.unsorted.padded_mut()[at..]);
                float_key(phi).store(&mut keys.padded_mut()[at..]);
            }
        }
        if !sane {
            return why_not_sane(event);
        }
        index.hits.set_len(hits);
        index.source.set_len(hits);
        for module in 0..VELO_MODULES {
            let range = self.range(module);
            sort_segment(g, &keys[range.clone()], &mut order[range.clone()]);
            for place in range.clone() {
                self.phi[place] = self.unsorted[range.start + order[place] as usize];
            }
            arrange(index, event, range.clone(), &order[range]);
        }
        Status::Ok
    }
}
