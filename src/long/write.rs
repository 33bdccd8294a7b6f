//! Writes the chosen tracks as columns: hits track by track, all other columns with one track per lane.

use super::choose::Choice;
use super::matcher::{Matcher, Matching};
use super::parts::Parts;
use crate::event::{Column, LongTracks};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined};

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Variances of the slope behind the magnet relative to a track that does not scatter: from the errors of hits, and
    /// from scattering at 1 GeV/c.
    by_hits: Column<f32>,
    by_scattering: Column<f32>,
}

/// Appends the chosen tracks of an event.
#[inline(always)]
pub(super) fn append<G: Gang>(
    g: G,
    of: &Matcher,
    parts: Parts<'_>,
    event: usize,
    matching: &mut Matching,
    out: &mut LongTracks,
) {
    append_hits(of, parts, event, matching, out);
    let Parts { velo, scifi, .. } = parts;
    let Matching { pairs, choice, turns, .. } = matching;
    let Choice { velo: chosen, pair, .. } = choice;
    let first = out.chi2.len();
    let all = first + chosen.len();
    out.beam.columns_mut().into_iter().for_each(|column| column.set_len(all));
    out.scifi.columns_mut().into_iter().for_each(|column| column.set_len(all));
    out.var_qop.set_len(all);
    out.chi2.set_len(all);
    for at in (0..chosen.len()).step_by(G::LANES) {
        let (lanes, to) = (Mask::first(g, chosen.len() - at), first + at);
        let index = inlined!(|column: &[u32]| lanes.select_u(U32::load(g, &column[at..]), U32::splat(g, 0)));
        let (track, pair) = (index(chosen.padded()), index(pair.padded()));
        let other = U32::gather(pairs.scifi.padded(), pair);
        for (column, from) in out.beam.columns_mut().into_iter().zip(velo.beam.columns()) {
            F32::gather(from, track).store(&mut column.padded_mut()[to..]);
        }
        for (column, from) in out.scifi.columns_mut().into_iter().zip(scifi.state.columns()) {
            F32::gather(from, other).store(&mut column.padded_mut()[to..]);
        }
        F32::gather(pairs.chi2.padded(), pair).store(&mut out.chi2.padded_mut()[to..]);

        let before = [F32::gather(&velo.end.tx, track), F32::gather(&velo.end.ty, track)];
        // The formula was fitted for the slopes of the search.
        let behind = F32::gather(&scifi.searched.tx, other);
        let change = behind - before[0];
        let qop = of.bending.qop_of_lanes(g, before, behind);
        // The momentum has the relative error of the change of slope. It comes from the errors of the slopes before and
        // behind, and from scattering in between, which turns slopes as the field does.
        let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
        let qop2 = qop * qop;
        let scattering = (F32::splat(g, of.scattering) + load(&turns.by_scattering)) * qop2;
        let of_slopes =
            (F32::gather(&velo.end.cov_txtx, track) + load(&turns.by_hits) + scattering) / (change * change);
        let (error, one) = (F32::splat(g, of.config.momentum_error), F32::splat(g, 1.0));
        let relative = error.mul_add(error, of_slopes);
        // With an error above 100 % the sign is not known, either.
        let relative = relative.lt(one).select_f(relative, one);
        qop.store(&mut out.scifi.qop.padded_mut()[to..]);
        (qop2 * relative).store(&mut out.var_qop.padded_mut()[to..]);
    }
}

/// Writes the hits of the chosen tracks, and the variances of the slope behind the magnet from the hits in the SciFi.
#[inline(always)]
fn append_hits(
    of: &Matcher,
    Parts { velo, scifi, ut }: Parts<'_>,
    event: usize,
    matching: &mut Matching,
    out: &mut LongTracks,
) {
    let Matching { pairs, choice, attached, turns, .. } = matching;
    let Turns { by_hits, by_scattering } = turns;
    by_hits.clear();
    by_scattering.clear();
    for (&track, &pair) in choice.velo.iter().zip(&choice.pair[..]) {
        let other = pairs.scifi.padded()[pair as usize] as usize;
        // Velo tracks list their hits from the largest z down.
        let (in_velo, in_scifi) = (velo.hits_of(track as usize), scifi.hits_of(other));
        let start = out.hits.len();
        out.hits.set_len(start + in_velo.len());
        out.hits[start..].iter_mut().zip(in_velo.iter().rev()).for_each(|(to, hit)| *to = *hit);
        if let Some(ut) = ut {
            let first = ut.of_event(event).start;
            attached.hits_of(pair as usize).for_each(|hit| out.hits.push(ut.id[first + hit as usize]));
        }
        out.hits.extend_from_slice(in_scifi);
        out.hit_start.push(out.hits.len() as u32);
        let [hits, scattering] = of.scifi.turn(in_scifi);
        by_hits.push(hits);
        by_scattering.push(scattering);
    }
}
