//! Writes accepted tracks to the output columns.

use super::Search;
use super::errors::Errors;
use crate::event::{States, UT_PLANES, VeloTracks, VeloUtTracks};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// MeV in a GeV.
const GEV: f32 = 1000.0;

/// Fitted tracklets, one per lane.
pub(super) struct Fitted<G: Gang> {
    /// Index of the first tracklet among the chosen tracklets.
    pub(super) at: usize,
    /// Numbers of the Velo tracks in the event.
    pub(super) number: U32<G>,
    /// Lanes of the tracks that are kept.
    pub(super) good: Mask<G>,
    /// 1/MeV.
    pub(super) qop: F32<G>,
    pub(super) chi2: F32<G>,
    /// Ratio of the true momentum to the fitted momentum.
    pub(super) scale: f32,
    /// Factor from the angle to q/p in 1/MeV.
    pub(super) per_kick: F32<G>,
    /// State in the middle of the UT, mm; y is extrapolated from the Velo track, and the hits measure the offset from
    /// it.
    pub(super) x: F32<G>,
    pub(super) y: F32<G>,
    pub(super) offset: F32<G>,
    pub(super) tx: F32<G>,
    pub(super) ty: F32<G>,
    pub(super) errors: Errors<G>,
}

/// Appends the tracks that are kept; `ids` writes the LHCbIDs of the hits of a chosen tracklet, given the tracklet's
/// index, and returns their number.
#[inline(always)]
pub(super) fn append<G: Gang>(
    g: G,
    search: &Search<'_>,
    event: usize,
    fitted: &Fitted<G>,
    ids: impl FnMut(usize, &mut [u32]) -> usize,
    out: &mut VeloUtTracks,
) {
    let first = out.tracks();
    let end = first + fitted.good.count();
    let velo = search.velo.of_event(event).start;
    let track = fitted.number + U32::splat(g, velo as u32);
    out.velo_track.set_len(end);
    fitted.number.store_packed(&mut out.velo_track.padded_mut()[first..], fitted.good);

    let States { cov_xx, cov_xtx, cov_txtx, .. } = &search.velo.end;
    let cov = F32::gather_columns([&cov_xx[..], &cov_xtx[..], &cov_txtx[..]], track);
    let gev = F32::splat(g, GEV / fitted.scale);
    let Fitted { qop, chi2, x, y, tx, ty, ref errors, .. } = *fitted;
    let qop = qop * gev;
    let cov = errors.with(g, search.layout, cov, qop);
    let per_angle = errors.change * fitted.per_kick * gev;
    let var_qop = per_angle * per_angle * cov.angle;
    let ([xx, xt, tt], [yy, ys, ss]) = (cov.x, cov.y);
    let values = [qop, var_qop, chi2, x, y, tx, ty, xx, xt, tt, yy, ys, ss];
    for (value, column) in values.into_iter().zip(out.floats_mut()) {
        column.set_len(end);
        same_nan(value).store_packed(&mut column.padded_mut()[first..], fitted.good);
    }
    append_hits(g, search, event, (fitted.at, fitted.good.bits()), ids, out);
}

/// Replaces every NaN by the same NaN: gangs do not define which NaN an operation gives.
#[inline(always)]
fn same_nan<G: Gang>(value: F32<G>) -> F32<G> {
    value.eq(value).select_f(value, F32::splat(value.g, f32::NAN))
}

/// Appends the LHCbIDs of the hits.
#[inline(always)]
fn append_hits<G: Gang>(
    g: G,
    search: &Search<'_>,
    event: usize,
    (at, mut good): (usize, u64),
    mut ids: impl FnMut(usize, &mut [u32]) -> usize,
    out: &mut VeloUtTracks,
) {
    let VeloTracks { hits, hit_start, .. } = search.velo;
    let first_track = search.velo.of_event(event).start;
    while good != 0 {
        let track = first_track + out.velo_track[out.ut_hits.len()] as usize;
        let (begin, end) = (hit_start[track] as usize, hit_start[track + 1] as usize);
        let before = out.hits.len();
        out.hits.reserve_total(before + UT_PLANES + (end - begin));
        let to = &mut out.hits.padded_mut()[before..];
        let count = ids(at + good.trailing_zeros() as usize, to);
        good &= good - 1;
        // Whole registers are written: the values beyond the end are padding.
        for step in (0..end - begin).step_by(G::LANES) {
            U32::load(g, &hits.padded()[begin + step..]).store(&mut to[count + step..]);
        }
        out.hits.set_len(before + count + end - begin);
        out.ut_hits.push(count as u8);
        out.hit_start.push(out.hits.len() as u32);
    }
}
