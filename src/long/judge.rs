//! Two networks judge whether the Velo and the SciFi track of a pair belong to one particle; one pair per lane. The
//! first network drops the most unlikely pairs. The second network ranks the others; its inputs include hits in the UT,
//! if used, and the first network's outputs for rivals (other pairs with the same Velo or SciFi track).

use super::config::LongConfig;
use super::pair_first_network::FIRST;
use super::pair_network::PAIRS;
use super::pair_ut_network::PAIRS_UT;
use super::pairs::{INPUTS, Pairs};
use super::parts::Parts;
use super::rivals::{RIVALS, Rivals};
use super::select::Selected;
use crate::event::Column;
use crate::simd::math::ln;
use crate::simd::varying::{F32, Mask};
use crate::simd::{Gang, array_of, inlined};
use crate::ut::Attached;

/// Number of inputs about hits in the UT.
const OF_UT: usize = 4;
/// Scale of the hits' distances in the UT: constant, mm, and part per change of the slope in x, which is proportional
/// to 1/p.
const UT_SCALE: [f32; 2] = [0.05, 2.0];
/// Number of hits of a pair with a hit in each plane, and the input in place of their distance if a hit is missing.
const ALL_PLANES: f32 = 4.0;
const NOT_ALL: f32 = 9.0;

/// Memory of this step.
#[derive(Debug, Default)]
pub(super) struct Judge {
    /// Number of pairs that every event counts as having, if set.
    pub(super) crowd: Option<usize>,
    /// Values of the pairs: inputs of the first network and its response, absolute change of the slope in x, and
    /// rivals.
    given: [Column<f32>; INPUTS],
    response: Column<f32>,
    bend: Column<f32>,
    rivals: Rivals,
}

impl Judge {
    /// Runs the first network, and drops the pairs with the smallest responses.
    #[inline(always)]
    pub(super) fn sift<G: Gang>(
        &mut self,
        g: G,
        config: &LongConfig,
        selected: &Selected,
        parts: Parts<'_>,
        pairs: &mut Pairs,
    ) {
        let Self { given, response, bend, rivals, .. } = self;
        pairs.crowd = self.crowd.unwrap_or(pairs.len);
        for column in given.iter_mut().chain([&mut *response, &mut *bend]) {
            column.set_len(pairs.len);
        }
        for at in (0..pairs.len).step_by(G::LANES) {
            let (inputs, change) = pairs.inputs(g, config, selected, parts, at);
            for (column, input) in given.iter_mut().zip(inputs) {
                input.store(&mut column.padded_mut()[at..]);
            }
            change.store(&mut bend.padded_mut()[at..]);
            FIRST.response(inputs).store(&mut response.padded_mut()[at..]);
        }
        rivals.find(pairs, response, selected.len);
        let (least, mut kept) = (F32::splat(g, config.min_response_first), 0);
        for at in (0..pairs.len).step_by(G::LANES) {
            let lanes = Mask::first(g, pairs.len - at);
            let likely = least.le(F32::load(g, &response.padded()[at..])) & lanes;
            for column in given.iter_mut().chain([&mut *bend]).chain(&mut rivals.columns) {
                let value = F32::load(g, &column.padded()[at..]);
                value.store_packed(&mut column.padded_mut()[kept..], likely);
            }
            kept = pairs.keep(g, at, kept, likely);
        }
        pairs.len = kept;
    }

    /// Ranks the pairs by the response of the second network; `ut` are their hits in the UT.
    #[inline(always)]
    pub(super) fn rank<G: Gang>(&self, g: G, config: &LongConfig, pairs: &mut Pairs, ut: Option<&Attached>) {
        let least = F32::splat(g, config.least(ut.is_some()));
        let (one, refused) = (F32::splat(g, 1.0), F32::splat(g, f32::INFINITY));
        for at in (0..pairs.len).step_by(G::LANES) {
            let load = inlined!(|column: &Column<f32>| F32::load(g, &column.padded()[at..]));
            let mut inputs = array_of!(_ => one);
            for (input, column) in inputs.iter_mut().zip(&self.given) {
                *input = load(column);
            }
            let [other_velo, other_scifi, of_velo, of_scifi] = &self.rivals.columns;
            inputs[INPUTS..].copy_from_slice(&[
                load(other_velo),
                load(other_scifi),
                ln(load(of_velo)),
                ln(load(of_scifi)),
            ]);
            let response = match ut {
                None => PAIRS.response(inputs),
                Some(ut) => {
                    PAIRS_UT.response(with_ut(inputs, load(&self.bend), load(&ut.count), load(&ut.distance2)))
                }
            };
            let rank = least.le(response).select_f(one - response, refused);
            rank.store(&mut pairs.rank.padded_mut()[at..]);
        }
    }
}

/// Returns the inputs of the second network for pairs with hits in the UT, among them number of hits, root of the sum
/// of the squares of their distances, mm, its ratio to its size due to scattering, and this ratio if no hit is missing.
#[inline(always)]
fn with_ut<G: Gang>(
    inputs: [F32<G>; INPUTS + RIVALS],
    bend: F32<G>,
    hits: F32<G>,
    distance2: F32<G>,
) -> [F32<G>; INPUTS + RIVALS + OF_UT] {
    let value = inlined!(|value: f32| F32::splat(bend.g, value));
    let distance = distance2.sqrt();
    let part = distance / bend.mul_add(value(UT_SCALE[1]), value(UT_SCALE[0]));
    let of_all = hits.lt(value(ALL_PLANES)).select_f(value(NOT_ALL), part);
    let mut all = array_of!(_ => of_all);
    all[..INPUTS + RIVALS].copy_from_slice(&inputs);
    all[INPUTS + RIVALS..].copy_from_slice(&[hits, distance, part, of_all]);
    all
}
