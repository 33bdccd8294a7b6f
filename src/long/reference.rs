//! Naive reference of the matching, for tests: compares every SciFi track with every Velo track.

use super::config::LongConfig;
use super::pair_first_network::FIRST;
use super::pair_network::PAIRS;
use super::pair_ut_network::PAIRS_UT;
use crate::event::{SciFiTracks, UtBatch, VeloTracks};
use crate::lhcb::Bending;
use crate::ut::UtLayout;
use crate::ut::reference::{attach, ln};

/// Input of the matching.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Tracks in the Velo.
    pub velo: &'a VeloTracks,
    /// Tracks in the SciFi.
    pub scifi: &'a SciFiTracks,
    /// Input for adding hits in the UT to tracks, or `None` to add no hits.
    pub ut: Option<UtPart<'a>>,
}

/// Input for adding hits in the UT to tracks.
#[derive(Debug, Clone, Copy)]
pub struct UtPart<'a> {
    /// The planes of the UT, and the magnetic field between Velo and UT.
    pub layout: &'a UtLayout,
    /// Hits.
    pub hits: &'a UtBatch,
    /// The magnet.
    pub bending: &'a Bending,
}

/// Returns whether a Velo track may reach the SciFi.
fn is_accepted(config: &LongConfig, velo: &VeloTracks, track: usize) -> bool {
    let beam = &velo.beam;
    let dz = 2484.6 - beam.z[track];
    let x = dz.mul_add(beam.tx[track], beam.x[track]);
    let y = dz.mul_add(beam.ty[track], beam.y[track]);
    velo.backward[track] == 0
        && x.mul_add(x, y * y) > config.inner_radius * config.inner_radius
        && beam.tx[track].abs() <= config.max_tx
        && beam.ty[track].abs() <= config.max_ty
}

/// Number of inputs of the first network.
pub const INPUTS: usize = 11;
/// Number of inputs of the second network without hits in the UT.
pub const INPUTS_PAIR: usize = 15;
/// Number of inputs of the second network with hits in the UT.
pub const INPUTS_UT: usize = 19;

/// A Velo and a SciFi track that may belong to one particle.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Number of the Velo track in the batch.
    pub velo: usize,
    /// Number of the SciFi track in the batch.
    pub scifi: usize,
    /// Quality of the match of the two tracks: weighted sum of squared distances and differences in slope.
    pub chi2: f32,
    /// Rank of the pair (the smallest is best): one minus the second network's output, or chi2 if no network is used.
    pub rank: f32,
    /// Inputs of the first network.
    pub inputs: [f32; INPUTS],
    /// Absolute difference in dx/dz between the two tracks.
    pub bend: f32,
    /// The first network's largest output for another pair with the same Velo track, and with the same SciFi track (0
    /// if there is no other pair); logarithms of the numbers of pairs with this Velo track, and with this SciFi track.
    pub rivals: [f32; 4],
    /// LHCbIDs of the track's hits in the UT, in the order of the planes.
    pub ut_hits: Vec<u32>,
    /// Sum of the squared distances of the hits in the UT from their expected positions, mm^2.
    pub ut_distance2: f32,
}

impl Pair {
    /// Returns the inputs of the second network without hits in the UT.
    pub fn inputs_pair(&self) -> [f32; INPUTS_PAIR] {
        let mut inputs = [0.0; INPUTS_PAIR];
        inputs[..INPUTS].copy_from_slice(&self.inputs);
        inputs[INPUTS..].copy_from_slice(&self.rivals);
        inputs
    }

    /// Returns the inputs of the second network with hits in the UT.
    pub fn inputs_ut(&self) -> [f32; INPUTS_UT] {
        let mut inputs = [0.0; INPUTS_UT];
        inputs[..INPUTS_PAIR].copy_from_slice(&self.inputs_pair());
        let distance = self.ut_distance2.sqrt();
        let part = distance / self.bend.mul_add(2.0, 0.05);
        let of_all = if self.ut_hits.len() < 4 { 9.0 } else { part };
        inputs[INPUTS_PAIR..].copy_from_slice(&[self.ut_hits.len() as f32, distance, part, of_all]);
        inputs
    }

    /// Adds the hits in the UT.
    fn with_ut(self, velo: &VeloTracks, scifi: &SciFiTracks, ut: &UtPart<'_>, event: usize) -> Self {
        let end = &velo.end;
        let [x, y, tx, ty] = [&end.x, &end.y, &end.tx, &end.ty].map(|column| column[self.velo]);
        let behind = scifi.searched.tx[self.scifi];
        let bend = ut.bending.qop([tx, ty], behind).abs();
        let bend = if behind < tx { -bend } else { bend };
        let attached = attach(ut.layout, ut.hits, event, [x, y, tx, ty], bend);
        let ut_hits = attached.hits.into_iter().map(|hit| ut.hits.id[hit]).collect();
        Self { ut_hits, ut_distance2: attached.distance2, ..self }
    }
}

/// Returns the pair of two tracks, or `None` if they are not within the windows.
fn pair(
    config: &LongConfig,
    velo: &VeloTracks,
    scifi: &SciFiTracks,
    track: usize,
    other: usize,
) -> Option<Pair> {
    let (end, state) = (&velo.end, &scifi.searched);
    let (tx, ty) = (end.tx[track], end.ty[track]);
    let (change_x, change_y) = (tx - state.tx[other], ty - state.ty[other]);
    let change2 = change_x * change_x;
    let of_change = 317.683f32.mul_add(change2, (-7.98878f32).mul_add(change_x.abs(), 5287.6));
    let magnet = of_change + 0.0119379f32.mul_add(state.x[other].abs(), -1418.42 * (tx * tx));
    let before = (magnet - end.z[track]).mul_add(tx, end.x[track]);
    let behind = (magnet - 9410.0).mul_add(state.tx[other], state.x[other]);
    let y_before = config.scale_y * (10_000.0 - end.z[track]).mul_add(ty, end.y[track]);
    let y_behind = 590.0f32.mul_add(state.ty[other], state.y[other]);
    let (distance_x, distance_y) = (behind - before, y_behind - y_before);
    let variance_x = (101.0f32 * 101.0).mul_add(change2, 10.12 * 10.12);
    let slope2 = tx.mul_add(tx, ty * ty);
    let variance_y = (212.1f32 * 212.1).mul_add(slope2, 1.59 * 1.59);
    let [wx, wy, wty, wtx] = config.weights;
    let chi2 = wx * (distance_x * distance_x) / variance_x
        + wy * (distance_y * distance_y) / variance_y
        + wtx.mul_add(change2, wty * (change_y * change_y));
    let fits = change_x.abs() <= config.max_change_tx
        && change_y.abs() <= config.max_change_ty
        && distance_x.abs() <= config.max_distance_x
        && distance_y.abs() <= config.max_distance_y
        && chi2 <= config.max_chi2;
    let along = |sign: f32, of: f32| if sign < 0.0 { 0.0 - of } else { of };
    let bend = change_x.abs();
    let inputs = [
        along(change_x, distance_x) / bend.mul_add(26.0, 0.7),
        along(ty, distance_y) / bend.mul_add(50.0, 2.0),
        along(ty, change_y) / bend.mul_add(0.012, 0.001),
        ln(bend + 0.01),
        ln(slope2.sqrt() + 0.005),
        scifi.hits_of(other).len() as f32,
        scifi.chi2_y[other].sqrt(),
        ln(chi2 + 0.01),
        velo.hits_of(track).len() as f32,
        ln(velo.chi2[track] + 1.0),
        0.0,
    ];
    let (ut_hits, ut_distance2) = (Vec::new(), 0.0);
    let (rank, rivals) = (chi2, [0.0; 4]);
    let pair = Pair { velo: track, scifi: other, chi2, rank, inputs, bend, rivals, ut_hits, ut_distance2 };
    fits.then_some(pair)
}

/// Returns [`Pair::rivals`] for each pair of an event; `responses` are the first network's outputs for the pairs.
pub fn rivals(pairs: &[Pair], responses: &[f32]) -> Vec<[f32; 4]> {
    let of = |at: usize, is_same: &dyn Fn(&Pair) -> bool| {
        let same = || (0..pairs.len()).filter(|other| is_same(&pairs[*other]));
        let others = same().filter(|other| *other != at).map(|other| responses[other]);
        (others.fold(0.0, |best, other| if best < other { other } else { best }), ln(same().count() as f32))
    };
    let of_pair = |(at, pair): (usize, &Pair)| {
        let (other_velo, of_velo) = of(at, &|other| other.velo == pair.velo);
        let (other_scifi, of_scifi) = of(at, &|other| other.scifi == pair.scifi);
        [other_velo, other_scifi, of_velo, of_scifi]
    };
    pairs.iter().enumerate().map(of_pair).collect()
}

/// Returns the pairs of an event that pass the cuts and the networks, in the order of SciFi tracks.
pub fn pairs(config: &LongConfig, Parts { velo, scifi, ut }: &Parts<'_>, event: usize) -> Vec<Pair> {
    let mut all: Vec<Pair> = Vec::new();
    for other in scifi.of_event(event) {
        let accepted = velo.of_event(event).filter(|track| is_accepted(config, velo, *track));
        all.extend(accepted.filter_map(|track| pair(config, velo, scifi, track, other)));
    }
    let count = all.len() as f32;
    all.iter_mut().for_each(|pair| pair.inputs[INPUTS - 1] = ln(count));
    let least = if ut.is_some() { config.min_response_ut } else { config.min_response };
    if least > 0.0 {
        let responses: Vec<f32> = all.iter().map(|pair| FIRST.reference(pair.inputs)).collect();
        let rivals = rivals(&all, &responses);
        all.iter_mut().zip(rivals).for_each(|(pair, rivals)| pair.rivals = rivals);
        let mut responses = responses.into_iter();
        all.retain(|_| responses.next().is_some_and(|response| config.min_response_first <= response));
    }
    if let Some(ut) = ut {
        all = all.into_iter().map(|pair| pair.with_ut(velo, scifi, ut, event)).collect();
    }
    if least > 0.0 {
        all.retain_mut(|pair| {
            let response = match ut {
                Some(_) => PAIRS_UT.reference(pair.inputs_ut()),
                None => PAIRS.reference(pair.inputs_pair()),
            };
            pair.rank = 1.0 - response;
            response >= least
        });
    }
    all
}

/// Returns the pairs of an event that become long tracks, in the order of Velo tracks.
pub fn match_tracks(config: &LongConfig, parts: &Parts<'_>, event: usize) -> Vec<Pair> {
    let mut pairs = pairs(config, parts, event);
    if !config.all_pairs {
        let best = |of: &[Pair]| {
            of.iter().reduce(|best, one| if one.rank < best.rank { one } else { best }).cloned()
        };
        pairs = pairs.chunk_by(|a, b| a.scifi == b.scifi).filter_map(best).collect();
    }
    // The best pair becomes a track; then the best of the pairs that share no track with it, and so on.
    let mut tracks = Vec::new();
    while let Some(best) = pairs
        .iter()
        .min_by(|a, b| a.rank.total_cmp(&b.rank).then(a.velo.cmp(&b.velo)).then(a.scifi.cmp(&b.scifi)))
        .cloned()
    {
        pairs.retain(|pair| pair.velo != best.velo && pair.scifi != best.scifi);
        tracks.push(best);
    }
    tracks.sort_by_key(|track| track.velo);
    tracks
}

/// The slopes that determine the momentum of a long track, and their variances.
#[derive(Debug, Clone, Copy)]
pub struct Slopes64 {
    /// dx/dz and dy/dz at the end of the Velo.
    pub velo: [f64; 2],
    /// dx/dz in the SciFi.
    pub scifi: f64,
    /// Variances of dx/dz in the Velo and in the SciFi, the latter relative to a track that does not scatter there.
    pub variances: [f64; 2],
    /// Variance of the scattering angle between Velo and SciFi, multiplied by the squared momentum, (GeV/c)^2.
    pub scattering: f64,
}

/// Returns charge over momentum, c/GeV, and its variance, computed in f64; `error` is the formula's relative error.
pub fn momentum_f64(bending: &Bending, slopes: &Slopes64, error: f64) -> [f64; 2] {
    let Slopes64 { velo: [v, y], scifi: t, variances, scattering } = *slopes;
    let [p0, p1, p2, p3, p4, p5, p6, p7] = bending.coefficients.map(f64::from);
    let change = t - v;
    let all =
        p1 + p2 * t.powi(2) + p3 * t.powi(4) + p4 * t * v + p5 * y.powi(2) + p6 * y.powi(4) + p7 * v * v;
    let momentum = p0 + all / change.abs().max(1e-6);
    // Positive particles bend to larger x where the polarity is negative.
    let sign = if change < 0.0 { f64::from(bending.polarity) } else { -f64::from(bending.polarity) };
    let qop = sign * 1000.0 / momentum;
    let angle = variances[0] + variances[1] + scattering * qop * qop;
    let relative = angle / (change * change) + error * error;
    [qop, qop * qop * relative.min(1.0)]
}
