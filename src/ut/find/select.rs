//! Select: selects Velo tracks that fly forward and hit the UT, outside its hole for the beam.

use super::MIDDLE;
use crate::event::{Column, States, VeloTracks};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Radius of the hole for the beam, mm, and the largest slopes.
const HOLE: f32 = 33.0;
const MAX_TX: f32 = 0.35;
const MAX_TY: f32 = 0.30;

/// Selects tracks by their states at the beam line. Writes their numbers in the event, and x, y, tx, ty at the end of
/// the Velo, which the later steps use.
#[inline(always)]
pub(super) fn select<G: Gang>(
    g: G,
    velo: &VeloTracks,
    event: usize,
    number: &mut Column<u32>,
    line: &mut Column<[f32; 4]>,
) {
    let range = velo.of_event(event);
    let States { x, y, z, tx, ty, .. } = &velo.beam;
    let real = inlined!(|value: f32| F32::splat(g, value));
    number.reserve_total(range.len());
    let mut kept = 0;
    for at in range.clone().step_by(G::LANES) {
        let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
        let (tx, ty) = (load(tx), load(ty));
        let dz = real(MIDDLE) - load(z);
        let (x, y) = (dz.mul_add(tx, load(x)), dz.mul_add(ty, load(y)));
        let mut backward = 0;
        for (lane, &flag) in velo.backward.padded()[at..at + G::LANES].iter().enumerate() {
            backward |= u64::from(flag & 1) << lane;
        }
        let inside = real(HOLE * HOLE).lt(x.mul_add(x, y * y))
            & tx.abs().le(real(MAX_TX))
            & ty.abs().le(real(MAX_TY))
            & Mask::first(g, range.end - at);
        let accepted = inside.and_not(Mask::from_bits(g, backward));
        let of_event = U32::iota(g) + U32::splat(g, (at - range.start) as u32);
        kept += of_event.store_packed(&mut number.padded_mut()[kept..], accepted);
    }
    number.set_len(kept);
    line.set_len(kept);
    let States { x, y, tx, ty, .. } = &velo.end;
    for (line, &number) in line.iter_mut().zip(number.iter()) {
        let track = range.start + number as usize;
        *line = [x[track], y[track], tx[track], ty[track]];
    }
}
