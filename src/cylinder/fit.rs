//! Fit: a Kalman filter from the outermost hit of a track inwards, one lane per track. The fit starts with the helix
//! through the track's first, middle and last hit, transported outwards, with a wide covariance.

use super::config::CylinderConfig;
use super::hit::{Follow, Hits, is_hit, load_ahead};
use super::index::Index;
use crate::event::{CYLINDER_LAYERS, Column, CylinderTracks, NO_HIT, PAD};
use crate::kalman::matriplex::{Symmetric, packed};
use crate::kalman::{CURVATURE_PER_TESLA, CylinderHit, CylinderState, Output, from_three_hits, step};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, inlined, prefetch};
use std::ops::Range;

/// Tracks to fit: their hits by layer.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    /// Hit of each track on each layer: a position in the sorted index, or [`NO_HIT`].
    pub hits: [Column<u32>; CYLINDER_LAYERS],
}

impl Tracks {
    /// Removes all tracks.
    pub fn clear(&mut self) {
        self.hits.iter_mut().for_each(Column::clear);
    }

    /// Returns the number of tracks.
    pub fn len(&self) -> usize {
        self.hits[0].len()
    }
}

/// Tracks, with the configuration and the index of their hits.
#[derive(Clone, Copy)]
pub(super) struct Fit<'a> {
    pub config: &'a CylinderConfig,
    pub index: &'a Index,
    pub tracks: &'a Tracks,
}

/// Returns the hits that start the fits of a gang: first, middle and last hit of each track from `at` on.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
fn ends<G: Gang>(g: G, tracks: &Tracks, at: usize) -> [U32<G>; 3] {
    let (zero, one) = (U32::splat(g, 0), U32::splat(g, 1));
    let mut count = zero;
    for column in &tracks.hits {
        let place = U32::load(g, &column.padded()[at..]);
        count = count + is_hit(g, place).select_u(one, zero);
    }
    let last = count - zero.lt(count).select_u(one, zero);
    let mut ends = [
        (zero, U32::splat(g, NO_HIT)),
        (last.shr::<1>(), U32::splat(g, NO_HIT)),
        (last, U32::splat(g, NO_HIT)),
    ];
    let mut number = zero;
    for column in &tracks.hits {
        let place = U32::load(g, &column.padded()[at..]);
        let has = is_hit(g, place);
        for (wanted, end) in &mut ends {
            *end = (has & number.eq(*wanted)).select_u(place, *end);
        }
        number = number + has.select_u(one, zero);
    }
    ends.map(|(_, end)| end)
}

/// Returns hits of the sorted index.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
fn hit_at<G: Gang>(index: &Index, place: U32<G>) -> CylinderHit<G> {
    let [phi, z, var_phi, var_z] = F32::gather_records(index.hits.padded(), place);
    let radius = F32::gather(&index.radius, place);
    CylinderHit { position: [phi, z], variance: [var_phi, var_z], radius }
}

/// Prefetches the records that the next gang will read with [`hit_at`]: there are too many records to stay in the caches.
#[inline(always)]
fn prefetch_places<G: Gang>(index: &Index, places: &Column<u32>, at: usize) {
    let next = places.padded().get(at + G::LANES..at + 2 * G::LANES).unwrap_or(&[]);
    for &place in next {
        prefetch(&index.hits, place);
        prefetch(&index.radius, place);
    }
}

/// Replaces all NaNs by one NaN: the NaN that an operation returns may depend on the gang.
#[inline(always)]
fn same_nan<G: Gang>(value: F32<G>) -> F32<G> {
    value.eq(value).select_f(value, F32::splat(value.g, f32::NAN))
}

/// A gang of states in their output form.
pub(super) struct Fitted<G: Gang> {
    pub radius: F32<G>,
    pub state: Output<G>,
    pub chi2: F32<G>,
    pub status: U32<G>,
}

/// A filter that follows hits inwards, with its own choice of parameters.
pub(super) trait Form<G: Gang> {
    /// Starts the filter before any hit.
    fn start(g: G, config: &CylinderConfig, state: &CylinderState<G>, reached: Mask<G>) -> Self;

    /// Transports the state to the hit and adds the hit, in the lanes that have one.
    fn take(&mut self, g: G, field: F32<G>, hit: &CylinderHit<G>, has: Mask<G>);

    fn fitted(&self, g: G) -> Fitted<G>;
}

impl<G: Gang> Form<G> for Follow<G> {
    #[inline(always)]
    fn start(g: G, config: &CylinderConfig, state: &CylinderState<G>, reached: Mask<G>) -> Self {
        Self::inwards(g, *state, reached, config.material)
    }

    #[inline(always)]
    fn take(&mut self, g: G, field: F32<G>, hit: &CylinderHit<G>, has: Mask<G>) {
        self.take(g, field, hit, has);
    }

    #[inline(always)]
    fn fitted(&self, g: G) -> Fitted<G> {
        Fitted::new(g, self)
    }
}

impl<G: Gang> Fitted<G> {
    #[inline(always)]
    pub fn new(g: G, follow: &Follow<G>) -> Self {
        let (state, status) = follow.finish(g);
        Self { radius: follow.state.radius, state, chi2: follow.chi2, status }
    }
}

/// Writes states of lanes to the tracks `to`.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub(super) fn store<G: Gang>(
    g: G,
    Fitted { radius, state, chi2, status }: &Fitted<G>,
    out: &mut CylinderTracks,
    to: Range<usize>,
) {
    let (at, lanes) = (to.start, Mask::first(g, to.len()));
    same_nan(*radius).store_some(&mut out.state[0][at..], lanes);
    for i in 0..5 {
        same_nan(state.p[i]).store_some(&mut out.state[1 + i][at..], lanes);
        for j in 0..=i {
            same_nan(state.c.at(i, j)).store_some(&mut out.state[6 + packed(i) + j][at..], lanes);
        }
    }
    same_nan(*chi2).store_some(&mut out.chi2[at..], lanes);
    store_codes(*status, &mut out.fit[to]);
}

/// Writes the codes of the lanes to `to`; lanes beyond its end are ignored.
#[inline(always)]
pub(super) fn store_codes<G: Gang>(codes: U32<G>, to: &mut [u8]) {
    let mut values = [0; PAD];
    codes.store(&mut values);
    for (to, code) in to.iter_mut().zip(&values[..G::LANES]) {
        *to = *code as u8;
    }
}

/// Reserves memory for `tracks` more tracks in the columns of states.
pub(super) fn make_room(out: &mut CylinderTracks, tracks: usize) {
    let end = out.fit.len() + tracks;
    out.state.iter_mut().for_each(|column| column.set_len(end));
    out.chi2.set_len(end);
    out.fit.set_len(end);
}

/// Copies the states of the tracks at `range` to tracks from `at` on.
pub(super) fn copy(from: &CylinderTracks, range: Range<usize>, to: &mut CylinderTracks, at: usize) {
    let end = at + range.len();
    for (from, to) in from.state.iter().zip(&mut to.state) {
        to[at..end].copy_from_slice(&from[range.clone()]);
    }
    to.chi2[at..end].copy_from_slice(&from.chi2[range.clone()]);
    to.fit[at..end].copy_from_slice(&from.fit[range]);
}

/// Fits the tracks of `range` in the parameters of `F` and writes their states to tracks from `first` on.
#[inline(always)]
pub(super) fn fit<G: Gang, F: Form<G>>(
    g: G,
    Fit { config, index, tracks }: Fit<'_>,
    range: Range<usize>,
    out: &mut CylinderTracks,
    first: usize,
) {
    const LAST: usize = CYLINDER_LAYERS - 1;
    if range.is_empty() {
        return;
    }
    let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
    let read = inlined!(|layer: usize, at: usize| {
        let place = load_ahead(g, &tracks.hits[layer], at);
        Hits { hit: hit_at(index, place), has: is_hit(g, place) }
    });
    let mut ahead = read(LAST, range.start);
    for (number, at) in range.clone().enumerate().step_by(G::LANES) {
        let next = (at + G::LANES).min(range.end - 1);
        let mut three = [[F32::splat(g, 0.0); 3]; 3];
        let mut last_radius = three[0][0];
        for (hit_of, place) in three.iter_mut().zip(ends(g, tracks, at)) {
            let hit = hit_at(index, place);
            *hit_of = [hit.position[0], hit.position[1], hit.radius];
            last_radius = hit.radius;
        }
        let mut prior = [F32::splat(g, 0.0); 5];
        for (variance, sigma) in prior.iter_mut().zip(config.fit.prior) {
            *variance = F32::splat(g, sigma * sigma);
        }
        let mut state = from_three_hits(g, three, field, prior);
        let outer = step(g, &state, field, last_radius);
        (state.p, state.c, state.radius) = (outer.p, Symmetric::diagonal(g, prior), last_radius);
        let mut follow = F::start(g, config, &state, outer.reached);
        for layer in (0..CYLINDER_LAYERS).rev() {
            let Hits { hit, has } = ahead;
            prefetch_places::<G>(index, &tracks.hits[layer], at);
            // After the innermost layer, read the outermost layer of the next gang.
            let (before, from) = if layer > 0 { (layer - 1, at) } else { (LAST, next) };
            ahead = read(before, from);
            follow.take(g, field, &hit, has);
        }
        store(g, &follow.fitted(g), out, first + number..first + range.len().min(number + G::LANES));
    }
}
