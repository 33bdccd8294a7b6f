//! Seeds from hits: triplets of the first three layers that may belong to tracks from near the beam line.
//!
//! Each hit of the innermost layer is paired with hits of the second layer where tracks of sufficient momentum and
//! small distance from the axis can pass, then each pair with hits of the third layer. In three steps, lanes process
//! hits of the innermost layer, pairs, and triplets; lists between the steps keep the lanes full.

use super::build::Seeded;
use super::config::CylinderConfig;
use super::geometry::{RADII, SEED_LAYERS};
use super::index::Index;
use crate::event::Column;
use crate::kalman::axis::{AZIMUTH, CHARGE_OVER_PT, MOMENT, Z};
use crate::kalman::matriplex::Symmetric;
use crate::kalman::{CURVATURE_PER_TESLA, CylinderState, from_three_hits, scatter, to_radius, within_turn};
use crate::simd::varying::{F32, Mask, U32};
use crate::simd::{Gang, copies};

/// Number of seeds that are built at once: their states fit in the second-level cache.
pub(super) const BLOCK: usize = 1 << 12;

/// Factor on windows of pairs in azimuth, which corrects the formula for small angles (no unit).
const WINDOW_MARGIN: f32 = 1.05;
/// Allowance for scattering and the errors of hits in the windows of pairs and of triplets in azimuth, rad, and of pairs in
/// z, cm.
const PAIR_ERROR_PHI: f32 = 0.01;
const TRIPLET_ERROR_PHI: f32 = 0.012;
const PAIR_ERROR_Z: f32 = 0.7;
/// Standard deviation of the tracks' distance from the axis, in units of the largest distance (no unit).
const SPOT_OF_DISTANCE: f32 = 0.4;

/// Lists of pairs and triplets.
#[derive(Debug, Default)]
pub(super) struct Triplets {
    pairs: [Column<u32>; 2],
    /// Triplets in the windows; `triplets` are the ones that may be tracks.
    near: [Column<u32>; 3],
    triplets: [Column<u32>; 3],
    sorted: Vec<u128>,
    /// The next hit of the innermost layer.
    next: usize,
    /// Number of hits dropped by the limits `max_partners`.
    cut_off: u64,
}

/// Appends the values in the lanes of `mask`.
#[inline(always)]
fn append<G: Gang>(to: &mut Column<u32>, value: U32<G>, mask: Mask<G>) {
    let at = to.len();
    to.reserve_total(at + G::LANES);
    let count = value.store_packed(&mut to.padded_mut()[at..], mask);
    to.set_len(at + count);
}

impl Triplets {
    /// Starts at the first hit of the innermost layer.
    pub fn start(&mut self, index: &Index) {
        self.next = index.layer_start[0];
        self.triplets.iter_mut().for_each(Column::clear);
    }

    /// Returns the number of hits dropped by the limits `max_partners` since the last call.
    pub fn take_cut_off(&mut self) -> u64 {
        std::mem::take(&mut self.cut_off)
    }

    /// Computes the states of the next seeds. Returns false if no seeds are left.
    #[inline(always)]
    pub fn next_block<G: Gang>(
        &mut self,
        g: G,
        config: &CylinderConfig,
        index: &Index,
        seeded: &mut Seeded,
    ) -> bool {
        self.triplets.iter_mut().for_each(Column::clear);
        // A step adds far fewer triplets than a block.
        while self.triplets[0].len() < BLOCK && self.next < index.layer_start[1] {
            let end = index.layer_start[1].min(self.next + 64);
            self.find_pairs(g, config, index, self.next..end);
            self.find_triplets(g, config, index);
            self.select(g, config, index);
            self.next = end;
        }
        self.sort();
        self.states(g, config, index, seeded);
        !self.triplets[0].is_empty()
    }

    /// Sorts the triplets by their hits: the order in which lanes find them depends on the gang.
    fn sort(&mut self) {
        let Self { triplets, sorted, .. } = self;
        sorted.clear();
        // The three indices are combined in one number, so that one comparison is enough.
        sorted.extend(
            (0..triplets[0].len())
                .map(|i| triplets.iter().fold(0, |key, column| key << 32 | u128::from(column[i]))),
        );
        sorted.sort_unstable();
        for (i, key) in sorted.iter().enumerate() {
            for (column, shift) in triplets.iter_mut().zip([64, 32, 0]) {
                column[i] = (key >> shift) as u32;
            }
        }
    }

    #[inline(always)]
    fn find_pairs<G: Gang>(
        &mut self,
        g: G,
        config: &CylinderConfig,
        index: &Index,
        hits: std::ops::Range<usize>,
    ) {
        self.pairs.iter_mut().for_each(Column::clear);
        let seeding = &config.seeding;
        let curvature = (CURVATURE_PER_TESLA * config.field / seeding.min_pt).abs();
        // A circle of curvature h turns the azimuth by h (r1 - r0) / 2. A distance d from the axis turns it by d / r.
        let [r0, r1, _] = [RADII[0], RADII[1], RADII[2]];
        let turn = 0.5 * curvature * (r1 - r0) + seeding.max_distance * (1.0 / r0 - 1.0 / r1);
        let width = WINDOW_MARGIN * turn + PAIR_ERROR_PHI;
        let layer = index.layer(1);
        let one = U32::splat(g, 1);
        let records = index.hits.padded();
        for at in hits.clone().step_by(G::LANES) {
            let lanes = Mask::first(g, hits.end - at);
            let inner = U32::iota(g) + U32::splat(g, at as u32);
            let [phi, z, _, _] = F32::gather_records(records, inner);
            let (first_row, rows) = layer.rows_of(g, phi, F32::splat(g, width));
            // z0 = 2 z_inner - z_outer for radii of 1 : 2; errors of hits are added.
            let middle = z * F32::splat(g, r1 / r0);
            let reach = F32::splat(g, seeding.max_z * (r1 / r0 - 1.0) + PAIR_ERROR_Z);
            let (first_bin, last_bin) = layer.bins(g, middle, reach);
            let mut limit = Limit::new(g, seeding.max_partners[0]);
            let mut row = U32::splat(g, 0);
            loop {
                let has_row = row.lt(rows) & lanes;
                if !has_row.any() {
                    break;
                }
                let (mut hit, end) = layer.range(g, first_row + row, first_bin, last_bin);
                loop {
                    let has = hit.lt(end) & has_row;
                    if !has.any() {
                        break;
                    }
                    let [hit_phi, hit_z, _, _] = F32::gather_records(records, hit);
                    let near = within_turn(g, hit_phi - phi).abs().lt(F32::splat(g, width))
                        & (hit_z - middle).abs().lt(reach)
                        & has;
                    let near = limit.take(near);
                    append(&mut self.pairs[0], inner, near);
                    append(&mut self.pairs[1], hit, near);
                    hit = hit + one;
                }
                row = row + one;
            }
            self.cut_off += limit.cut_off;
        }
    }

    #[inline(always)]
    fn find_triplets<G: Gang>(&mut self, g: G, config: &CylinderConfig, index: &Index) {
        let seeding = &config.seeding;
        let [r0, r1, r2] = [RADII[0], RADII[1], RADII[2]];
        // Effect of a distance d from the axis on the azimuth on the third layer, relative to the line through the
        // other two layers.
        let lever = (r2 - r1) / (r1 - r0);
        let bend = (1.0 / r1 - 1.0 / r2) - lever * (1.0 / r0 - 1.0 / r1);
        let width = F32::splat(g, (seeding.max_distance * bend).abs() + TRIPLET_ERROR_PHI);
        let reach = F32::splat(g, seeding.max_bend_z);
        let layer = index.layer(2);
        let one = U32::splat(g, 1);
        let records = index.hits.padded();
        let Self { pairs, near: found, cut_off, .. } = self;
        found.iter_mut().for_each(Column::clear);
        for at in (0..pairs[0].len()).step_by(G::LANES) {
            let lanes = Mask::first(g, pairs[0].len() - at);
            let inner = U32::load(g, &pairs[0].padded()[at..]);
            let outer = U32::load(g, &pairs[1].padded()[at..]);
            let [phi0, z0, _, _] = F32::gather_records(records, inner);
            let [phi1, z1, _, _] = F32::gather_records(records, outer);
            let lever = F32::splat(g, lever);
            let phi = lever.mul_add(within_turn(g, phi1 - phi0), phi1);
            let z = lever.mul_add(z1 - z0, z1);
            let (first_row, rows) = layer.rows_of(g, phi, width);
            let (first_bin, last_bin) = layer.bins(g, z, reach);
            let mut limit = Limit::new(g, seeding.max_partners[1]);
            let mut row = U32::splat(g, 0);
            loop {
                let has_row = row.lt(rows) & lanes;
                if !has_row.any() {
                    break;
                }
                let (mut hit, end) = layer.range(g, first_row + row, first_bin, last_bin);
                loop {
                    let has = hit.lt(end) & has_row;
                    if !has.any() {
                        break;
                    }
                    let [hit_phi, hit_z, _, _] = F32::gather_records(records, hit);
                    let near =
                        within_turn(g, hit_phi - phi).abs().lt(width) & (hit_z - z).abs().lt(reach) & has;
                    let near = limit.take(near);
                    append(&mut found[0], inner, near);
                    append(&mut found[1], outer, near);
                    append(&mut found[2], hit, near);
                    hit = hit + one;
                }
                row = row + one;
            }
            *cut_off += limit.cut_off;
        }
    }

    /// Appends the triplets that may be tracks of sufficient momentum from near the axis: a small part of all triplets.
    #[inline(always)]
    fn select<G: Gang>(&mut self, g: G, config: &CylinderConfig, index: &Index) {
        let Self { near, triplets, .. } = self;
        for at in (0..near[0].len()).step_by(G::LANES) {
            let lanes = Mask::first(g, near[0].len() - at);
            let mut places = [U32::splat(g, 0); SEED_LAYERS];
            for (place, column) in places.iter_mut().zip(&*near) {
                *place = U32::load(g, &column.padded()[at..]);
            }
            let good = Triplet::new(g, config, index, places).good & lanes;
            for (column, place) in triplets.iter_mut().zip(places) {
                append(column, place, good);
            }
        }
    }

    /// Fits the triplets and transports them to the next layer; seeds that do not reach it are not good.
    #[inline(always)]
    fn states<G: Gang>(&mut self, g: G, config: &CylinderConfig, index: &Index, seeded: &mut Seeded) {
        let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
        let seeding = &config.seeding;
        let count = self.triplets[0].len();
        seeded.resize(count);
        for at in (0..count).step_by(G::LANES) {
            let lanes = Mask::first(g, count - at);
            let mut places = [U32::splat(g, 0); SEED_LAYERS];
            for (place, column) in places.iter_mut().zip(&self.triplets) {
                *place = U32::load(g, &column.padded()[at..]);
            }
            let Triplet { hits, radii, mut state, distance, half, .. } =
                Triplet::new(g, config, index, places);
            let prior = prior(g, config);
            let charge_over_pt = state.p[CHARGE_OVER_PT];
            let mut good = lanes;
            // The beam spot is a measurement of the moment: it gives the expected distance of tracks from the axis.
            let spot = SPOT_OF_DISTANCE * seeding.max_distance;
            let spot = F32::splat(g, spot * spot);
            state.p[MOMENT] = state.p[MOMENT] - distance;
            let own = half * state.radius * state.radius / charge_over_pt;
            state.c.set(MOMENT, CHARGE_OVER_PT, own * prior[CHARGE_OVER_PT]);
            state.c.set(MOMENT, MOMENT, own.mul_add(own * prior[CHARGE_OVER_PT], spot));
            for layer in 0..SEED_LAYERS {
                if layer > 0 {
                    good = good & to_radius(g, &mut state, field, radii[layer]);
                }
                let [phi, z, var_phi, var_z] = hits[layer];
                let residual = [within_turn(g, phi - state.p[AZIMUTH]), z - state.p[Z]];
                let v = Symmetric::diagonal(g, [var_phi, var_z]);
                crate::kalman::update(g, &mut state.p, &mut state.c, residual, &v, lanes);
                if config.material > 0.0 {
                    scatter(g, &mut state, config.material);
                }
            }
            good = good & to_radius(g, &mut state, field, F32::splat(g, RADII[SEED_LAYERS]));
            for (place, column) in places.iter().zip(&mut seeded.hits) {
                place.store_some(&mut column.padded_mut()[at..], lanes);
            }
            seeded.store(&state, at);
            let flag = good.select_u(U32::splat(g, 1), U32::splat(g, 0));
            flag.store_some(&mut seeded.good.padded_mut()[at..], lanes);
        }
        seeded.sort();
    }
}

/// Number of further partners of each lane. A lane meets partners in the order of the index, on every gang.
struct Limit<G: Gang> {
    left: U32<G>,
    cut_off: u64,
}

impl<G: Gang> Limit<G> {
    #[inline(always)]
    fn new(g: G, max: u32) -> Self {
        Self { left: U32::splat(g, max), cut_off: 0 }
    }

    /// Returns the lanes of `wanted` that are below their limit.
    #[inline(always)]
    fn take(&mut self, wanted: Mask<G>) -> Mask<G> {
        let g = self.left.g;
        let taken = wanted & U32::splat(g, 0).lt(self.left);
        self.cut_off += (wanted.count() - taken.count()) as u64;
        self.left = taken.select_u(self.left - U32::splat(g, 1), self.left);
        taken
    }
}

/// Returns the variances of the helix through three hits.
#[inline(always)]
fn prior<G: Gang>(g: G, config: &CylinderConfig) -> [F32<G>; 5] {
    let mut prior = [F32::splat(g, 0.0); 5];
    for (variance, sigma) in prior.iter_mut().zip(config.fit.prior) {
        *variance = F32::splat(g, sigma * sigma);
    }
    prior
}

/// Three hits and the helix through them.
struct Triplet<G: Gang> {
    hits: [[F32<G>; 4]; SEED_LAYERS],
    radii: [F32<G>; SEED_LAYERS],
    /// State at the innermost hit.
    state: CylinderState<G>,
    /// Distance from the axis.
    distance: F32<G>,
    half: F32<G>,
    /// Lanes that pass the cuts.
    good: Mask<G>,
}

impl<G: Gang> Triplet<G> {
    #[inline(always)]
    fn new(g: G, config: &CylinderConfig, index: &Index, places: [U32<G>; SEED_LAYERS]) -> Self {
        let seeding = &config.seeding;
        let zero = F32::splat(g, 0.0);
        let mut hits: [[_; 4]; SEED_LAYERS] = copies(copies(zero));
        let mut radii: [_; SEED_LAYERS] = copies(zero);
        let mut points: [[_; 3]; SEED_LAYERS] = copies(copies(zero));
        for layer in 0..SEED_LAYERS {
            hits[layer] = F32::gather_records(index.hits.padded(), places[layer]);
            radii[layer] = F32::gather(&index.radius, places[layer]);
            points[layer] = [hits[layer][0], hits[layer][1], radii[layer]];
        }
        let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
        let state = from_three_hits(g, points, field, prior(g, config));
        // Distance from the axis, and z there: moment and z at the point that is nearest to the axis.
        let [_, z, charge_over_pt, moment, slope] = state.p;
        let half = F32::splat(g, 0.5) * field * charge_over_pt;
        let distance = half.neg_mul_add(state.radius * state.radius, moment);
        let origin = slope.neg_mul_add(state.radius, z);
        let good = charge_over_pt.abs().lt(F32::splat(g, 1.0 / seeding.min_pt))
            & distance.abs().lt(F32::splat(g, seeding.max_distance))
            & origin.abs().lt(F32::splat(g, seeding.max_z));
        Self { hits, radii, state, distance, half, good }
    }
}
