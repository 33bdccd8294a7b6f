//! Filter and smoother, which process a gang of tracks from the first hit to the last and back. The filter stores data
//! for the smoother in memory, hit by hit; the states of a gang are moved to the columns of the results together.

use super::lists::Lists;
use crate::cylinder::config::CylinderConfig;
use crate::cylinder::fit::store_codes;
use crate::cylinder::hit::{Hits, gather_hit, is_hit, is_usable};
use crate::event::{CYLINDER_LAYERS, CYLINDER_STATE, Column, CylinderEvent, CylinderFits};
use crate::kalman::matriplex::{Matriplex, Matrix, Symmetric, packed, similarity};
use crate::kalman::{
    CURVATURE_PER_TESLA, CylinderHit, CylinderState, Filtered, FitStatus, Output, RadiusJacobian, carry_back,
    from_three_hits, judge, noise, output, smooth, step, update, within_turn,
};
use crate::simd::Gang;
use crate::simd::varying::{F32, Mask, U32};

/// Layout of a note: the filtered state, the parameters predicted for the next hit, the six derivatives and the four
/// elements of the noise that are not constant, the hit.
const PREDICTED: usize = 21;
const JACOBIAN: usize = PREDICTED + 5;
const NOISE: usize = JACOBIAN + 6;
const HIT: usize = NOISE + 4;
const NOTE: usize = HIT + 4;
/// Layout of the output: radius, parameters, covariance, chi2 of the filter, chi2 of the smoother.
const FILTERED: usize = CYLINDER_STATE;
const SMOOTHED: usize = FILTERED + 1;
const WRITTEN: usize = SMOOTHED + 1;

/// Derivatives of a step that are not constant.
const DERIVATIVES: [[usize; 2]; 6] = [[0, 2], [0, 3], [1, 2], [1, 3], [1, 4], [3, 2]];
/// Elements of the noise that are not 0.
const SCATTERED: [[usize; 2]; 4] = [[2, 2], [3, 3], [4, 2], [4, 4]];

/// Memory for one gang of tracks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// By hit, then lane.
    notes: Matriplex,
    written: Matriplex,
    /// Position in `written` of each hit of the gang's tracks, in the order of the results.
    places: Column<u32>,
}

/// A gang of tracks: the tracks of the lists from `at` on, and the largest number of hits.
#[derive(Clone, Copy)]
struct Tracks<'a> {
    lists: &'a Lists,
    at: usize,
    most: usize,
}

impl Tracks<'_> {
    /// Returns hit `number` of each track.
    #[inline(always)]
    fn hit<G: Gang>(&self, g: G, number: usize) -> U32<G> {
        U32::load(g, &self.lists.hits[number].padded()[self.at..])
    }
}

/// State of the filter for a gang of tracks.
struct Follow<G: Gang> {
    state: CylinderState<G>,
    /// Lanes that have reached every hit.
    reached: Mask<G>,
    /// Lanes whose hits could all be added.
    measured: Mask<G>,
    chi2: F32<G>,
}

/// Fits all tracks of the lists.
#[inline(always)]
pub(super) fn fit<G: Gang>(
    g: G,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    lists: &Lists,
    scratch: &mut Scratch,
    out: &mut CylinderFits,
) {
    scratch.notes.resize(NOTE, CYLINDER_LAYERS * G::LANES);
    scratch.written.resize(WRITTEN, CYLINDER_LAYERS * G::LANES);
    scratch.places.set_len(CYLINDER_LAYERS * G::LANES);
    let [first, mut first_hit] = lists.first;
    for at in (0..lists.tracks()).step_by(G::LANES) {
        let lanes = Mask::first(g, lists.tracks() - at);
        let count = U32::load(g, &lists.count.padded()[at..]);
        let tracks = Tracks { lists, at, most: count.reduce_max(lanes) as usize };
        let mut follow = Follow {
            state: start(g, config, event, tracks),
            reached: lanes | !lanes,
            measured: lanes | !lanes,
            chi2: F32::splat(g, 0.0),
        };
        let mut ahead = Hits::read(g, event, &lists.hits[0], at);
        for number in 0..tracks.most {
            let Hits { hit, has } = ahead;
            if number + 1 < tracks.most {
                ahead = Hits::read(g, event, &lists.hits[number + 1], at);
            }
            forwards(g, config, (number, &hit, has), &mut follow, scratch);
        }
        let status = backwards(g, config, tracks, &follow, scratch);
        let chi2 = follow.chi2;
        chi2.eq(chi2).select_f(chi2, F32::splat(g, f32::NAN)).store_some(&mut out.chi2[first + at..], lanes);
        let end = lists.tracks().min(at + G::LANES);
        store_codes(status, &mut out.fit[first + at..first + end]);
        first_hit += hand_over(g, &lists.count[at..], scratch, out, first_hit);
    }
}

/// Returns the tracks at their first hits, on the helix through the first, middle and last hit.
#[inline(always)]
fn start<G: Gang>(
    g: G,
    config: &CylinderConfig,
    event: &CylinderEvent<'_>,
    Tracks { lists, at, .. }: Tracks<'_>,
) -> CylinderState<G> {
    let mut ends = [[F32::splat(g, 0.0); 3]; 3];
    for (end, column) in ends.iter_mut().zip(&lists.ends) {
        let hit = gather_hit(event, U32::load(g, &column.padded()[at..]));
        *end = [hit.position[0], hit.position[1], hit.radius];
    }
    let mut prior = [F32::splat(g, 0.0); 5];
    for (variance, sigma) in prior.iter_mut().zip(config.fit.prior) {
        *variance = F32::splat(g, sigma * sigma);
    }
    from_three_hits(g, ends, F32::splat(g, CURVATURE_PER_TESLA * config.field), prior)
}

/// Moves one hit outwards, in the lanes that have one.
#[inline(always)]
fn forwards<G: Gang>(
    g: G,
    config: &CylinderConfig,
    (number, hit, has): (usize, &CylinderHit<G>, Mask<G>),
    follow: &mut Follow<G>,
    Scratch { notes, written, .. }: &mut Scratch,
) {
    let lane = number * G::LANES;
    let Follow { state, reached, measured, chi2 } = follow;
    if number > 0 {
        let field = F32::splat(g, CURVATURE_PER_TESLA * config.field);
        let step = step(g, state, field, hit.radius);
        *reached = *reached & (step.reached | !has);
        let before = lane - G::LANES;
        for (row, value) in (PREDICTED..).zip(step.p) {
            value.store(&mut notes.row_mut(row)[before..]);
        }
        for (row, [i, j]) in (JACOBIAN..).zip(DERIVATIVES) {
            step.jacobian.0[i][j].store(&mut notes.row_mut(row)[before..]);
        }
        state.c = similarity::<RadiusJacobian, G, 5, 5>(g, &step.jacobian, &state.c);
        (state.p, state.radius) = (step.p, hit.radius);
    }
    let residual = [within_turn(g, hit.position[0] - state.p[0]), hit.position[1] - state.p[1]];
    let v = Symmetric::diagonal(g, hit.variance);
    let taken = update(g, &mut state.p, &mut state.c, residual, &v, has);
    *measured = *measured & ((taken.sane & is_usable(g, hit)) | !has);
    *chi2 = *chi2 + taken.chi2;
    taken.chi2.store(&mut written.row_mut(FILTERED)[lane..]);
    state.store(notes, lane);
    for (row, value) in (HIT..).zip([hit.position, hit.variance].as_flattened()) {
        value.store(&mut notes.row_mut(row)[lane..]);
    }
    if config.material > 0.0 {
        let noise = noise(g, state, config.material);
        for (row, [i, j]) in (NOISE..).zip(SCATTERED) {
            noise.at(i, j).store(&mut notes.row_mut(row)[lane..]);
            state.c.set(i, j, state.c.at(i, j) + noise.at(i, j));
        }
    }
}

/// Moves from the last hit back to the first: writes a state for each hit and returns the codes of [`FitStatus`].
#[inline(always)]
fn backwards<G: Gang>(
    g: G,
    config: &CylinderConfig,
    tracks: Tracks<'_>,
    follow: &Follow<G>,
    Scratch { notes, written, .. }: &mut Scratch,
) -> U32<G> {
    let fine = code(g, FitStatus::Ok);
    let mut status = fine;
    let mut state = follow.state;
    let (mut measured, mut has_next) = (follow.measured, Mask::first(g, 0));
    for number in (0..tracks.most).rev() {
        let lane = number * G::LANES;
        let has = is_hit(g, tracks.hit(g, number));
        let filtered = load(g, notes, lane, config.material > 0.0);
        let smoothed = match config.material > 0.0 {
            true => {
                let (smoothed, sane) = smooth(g, &filtered, &state);
                measured = measured & (sane | !has_next);
                smoothed
            }
            false => carry_back(g, &filtered, &state),
        };
        state = select(has_next, &smoothed, &filtered.state);
        let Matrix([[phi, z, var_phi, var_z]]) = notes.load(g, HIT, lane);
        let residual = [within_turn(g, phi - state.p[0]), z - state.p[1]];
        chi2_of_rest(g, &state.c, residual, [var_phi, var_z]).store(&mut written.row_mut(SMOOTHED)[lane..]);
        let shown = output(g, &state);
        let found = judge(g, &shown, follow.reached, measured);
        status = (has & status.eq(fine)).select_u(found, status);
        write(&state.radius, &shown, written, lane);
        has_next = has;
    }
    // A chi2 is a sum of squares: any other value means that the state is no longer valid.
    let sane = F32::splat(g, -1.0).lt(follow.chi2) & follow.chi2.lt(F32::splat(g, f32::INFINITY));
    let status = (status.eq(fine).and_not(sane)).select_u(code(g, FitStatus::NotFinite), status);
    // Lanes without `has_next` are tracks without hits.
    has_next.select_u(status, code(g, FitStatus::NotReached))
}

#[inline(always)]
fn code<G: Gang>(g: G, status: FitStatus) -> U32<G> {
    U32::splat(g, status as u32)
}

/// Returns chi2 of a hit with a state that includes the hit: its residual has the variance V - C. NaN where V - C is not
/// positive.
#[inline(always)]
fn chi2_of_rest<G: Gang>(g: G, c: &Symmetric<G, 5>, residual: [F32<G>; 2], variance: [F32<G>; 2]) -> F32<G> {
    let zero = F32::splat(g, 0.0);
    let (a, b, d) = (variance[0] - c.at(0, 0), -c.at(1, 0), variance[1] - c.at(1, 1));
    let determinant = b.neg_mul_add(b, a * d);
    let sane = zero.lt(determinant) & zero.lt(a);
    let first = residual[1].neg_mul_add(b, residual[0] * d);
    let second = residual[0].neg_mul_add(b, residual[1] * a);
    let chi2 = residual[1].mul_add(second, residual[0] * first) / determinant;
    sane.select_f(chi2, F32::splat(g, f32::NAN))
}

/// Loads the note of a hit.
#[inline(always)]
fn load<G: Gang>(g: G, notes: &Matriplex, lane: usize, scatters: bool) -> Filtered<G> {
    let mut jacobian = Matrix::splat(g, 0.0);
    for (row, [i, j]) in (JACOBIAN..).zip(DERIVATIVES) {
        jacobian.0[i][j] = F32::load(g, &notes.row(row)[lane..]);
    }
    let mut noise = Symmetric::splat(g, 0.0);
    if scatters {
        for (row, [i, j]) in (NOISE..).zip(SCATTERED) {
            noise.set(i, j, F32::load(g, &notes.row(row)[lane..]));
        }
    }
    let Matrix([predicted]) = notes.load(g, PREDICTED, lane);
    Filtered { state: CylinderState::load(g, notes, lane), noise, jacobian, predicted }
}

#[inline(always)]
fn select<G: Gang>(lanes: Mask<G>, a: &CylinderState<G>, b: &CylinderState<G>) -> CylinderState<G> {
    let mut out = *b;
    for i in 0..5 {
        out.p[i] = lanes.select_f(a.p[i], b.p[i]);
        for j in 0..=i {
            out.c.set(i, j, lanes.select_f(a.c.at(i, j), b.c.at(i, j)));
        }
    }
    out
}

#[inline(always)]
fn write<G: Gang>(radius: &F32<G>, shown: &Output<G>, written: &mut Matriplex, lane: usize) {
    radius.store(&mut written.row_mut(0)[lane..]);
    for i in 0..5 {
        shown.p[i].store(&mut written.row_mut(1 + i)[lane..]);
        for j in 0..=i {
            shown.c.at(i, j).store(&mut written.row_mut(6 + packed(i) + j)[lane..]);
        }
    }
}

/// Moves the output of a gang of tracks, with `counts` hits each, to the results' hits from `first` on. Returns the number
/// of hits.
#[inline(always)]
fn hand_over<G: Gang>(
    g: G,
    counts: &[u32],
    Scratch { written, places, .. }: &mut Scratch,
    out: &mut CylinderFits,
    first: usize,
) -> usize {
    let mut hits = 0;
    for (lane, &count) in counts.iter().take(G::LANES).enumerate() {
        for number in 0..count as usize {
            places[hits] = (number * G::LANES + lane) as u32;
            hits += 1;
        }
    }
    let columns = out.state.iter_mut().chain([&mut out.chi2_filtered, &mut out.chi2_smoothed]);
    for (row, column) in columns.enumerate() {
        let (from, to) = (written.row(row), &mut column.padded_mut()[first..]);
        for at in (0..hits).step_by(G::LANES) {
            let value = F32::gather(from, U32::load(g, &places.padded()[at..]));
            // Replace all NaNs by one NaN: the NaN that an operation returns may depend on the gang.
            let value = value.eq(value).select_f(value, F32::splat(g, f32::NAN));
            value.store(&mut to[at..]);
        }
    }
    hits
}
