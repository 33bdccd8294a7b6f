//! Fits of tracks in UT and SciFi and the momenta of long tracks against references in f64, on random tracks: steep ones, with
//! gaps, and with hits at the same place. Limits: a hundredth of the standard deviation for states; for chi2 a thousandth of
//! itself or of 1, or the effect of rounding x of hits once, in the SciFi twice; one in two hundred for variances. Each test
//! plants a fault and must notice it.
use crate::common::geometry::Detector;
use crate::common::random::Random;
use peloton::Status;
use peloton::event::{
    Column, Outcome, SCIFI_ZONES, SciFiBatch, SciFiState, SciFiTracks, States, UT_GROUPS, UtBatch,
    VeloTracks, VeloUtTracks,
};
use peloton::long::reference::{Slopes64, momentum_f64};
use peloton::long::{Bending, Long, LongConfig, LongPreset, LongWorkspace};
use peloton::scifi::reference::Fit;
use peloton::scifi::{SciFi, SciFiConfig, SciFiWorkspace};
use peloton::simd::Level;
use peloton::ut::reference::{UtHit64, VeloEnd64, by_cell, fit_f64};
use peloton::ut::{UtConfig, UtFindInput, UtFindWorkspace, UtHitsIn, UtLayout, UtPreset, find};

const TRACKS: usize = 100_000;
/// Largest relative error of one rounding.
const U: f64 = 1.0 / (1 << 24) as f64;
/// Tangent of 5 degrees, and its value in the search in the SciFi.
const TILT: f64 = 0.087_488_66;
const SEARCHED_TILT: f64 = 0.086;

fn level() -> Level {
    Level::choose(None, None).unwrap()
}

/// The largest differences, in units of the limits, and the number of noticed faults.
#[derive(Debug, Default)]
struct Worst {
    state: f64,
    chi2: f64,
    variance: f64,
    noticed: usize,
    tracks: usize,
}

/// A fit: values with their variances, sums of squares, variances; and the error of a hit's term in each sum, before it is
/// squared, from one rounding of its x.
struct Numbers {
    states: Vec<[f64; 2]>,
    chi2: Vec<f64>,
    rounding: f64,
    variances: Vec<f64>,
    /// Covariances of a position and its slope, with their largest possible values.
    covariances: Vec<[f64; 2]>,
}

/// The covariance of a position and its slope, and its bound, from the covariance matrix.
fn covariance([xx, xt, tt]: [f64; 3]) -> [f64; 2] {
    [xt, (xx * tt).sqrt()]
}

impl Worst {
    fn add(&mut self, found: &Numbers, exact: &Numbers, faulty: &Numbers) {
        let [state, chi2, variance] = differences(found, exact);
        self.state = self.state.max(state);
        self.chi2 = self.chi2.max(chi2);
        self.variance = self.variance.max(variance);
        self.noticed += usize::from(differences(found, faulty).iter().any(|off| *off > 1.0));
        self.tracks += 1;
    }

    fn check(&self, name: &str) {
        println!("{name}: {self:.3?}");
        assert!(self.tracks >= TRACKS, "{name}: {self:?}");
        assert!(self.state < 1.0 && self.chi2 < 1.0 && self.variance < 1.0, "{name}: {self:?}");
        assert!(20 * self.noticed > 19 * self.tracks, "{name}: the fault went by: {self:?}");
    }
}

/// Largest differences of states, chi2 and variances, in units of the limits; infinite for a NaN.
fn differences(found: &Numbers, exact: &Numbers) -> [f64; 3] {
    let far = |off: f64| if off.is_nan() { f64::INFINITY } else { off };
    let most = |all: &mut dyn Iterator<Item = f64>| all.map(far).fold(0.0, f64::max);
    let states = found.states.iter().zip(&exact.states);
    let mut states = states.map(|(found, exact)| (found[0] - exact[0]).abs() / (0.01 * exact[1].sqrt()));
    let chi2 = found.chi2.iter().zip(&exact.chi2);
    // The sum has at most six terms.
    let once = exact.rounding * 6f64.sqrt();
    let rounded = |chi2: f64| 2.0 * once * chi2.sqrt() + once * once;
    let allowed = |chi2: f64| (1e-3 * chi2.max(1.0)).max(rounded(chi2));
    let mut chi2 = chi2.map(|(found, exact)| (found - exact).abs() / allowed(*exact));
    let variances = found.variances.iter().zip(&exact.variances);
    let mut variances = variances.map(|(found, exact)| (found / exact - 1.0).abs() / 0.005);
    let covariances = found.covariances.iter().zip(&exact.covariances);
    let mut covariances = covariances.map(|(found, exact)| (found[0] - exact[0]).abs() / (0.005 * exact[1]));
    [most(&mut states), most(&mut chi2), most(&mut variances).max(most(&mut covariances))]
}

/// End of Velo tracks in z, and length of the strips of the UT, mm.
const VELO_Z: f64 = 770.0;
const STRIP: f64 = 97.28;
const UT_Z: [f64; 4] = [2327.5, 2372.5, 2597.5, 2642.5];
const UT_SLOPE: [f64; 4] = [0.0, 0.087_488_67, -0.087_488_6, 0.0];
/// First group of sectors of each plane.
const UT_FIRST: [usize; 4] = [0, 20, 40, 62];

/// Random variance of a position, covariance with its slope, and variance of the slope, in the range of fits of the Velo.
fn velo_covariance(random: &mut Random) -> [f64; 3] {
    let (place, slope) = (10f64.powf(random.between(-2.0, -0.5)), 10f64.powf(random.between(-5.0, -3.0)));
    let correlation = random.between(-0.95, 0.95);
    [place * place, correlation * place * slope, slope * slope]
}

fn put(states: &mut States, values: [f64; 8]) {
    let put = |(column, value): (&mut Column<f32>, f64)| column.push(value as f32);
    states.columns_mut().into_iter().zip(values).for_each(put);
}

/// A Velo track from this z on the beam line, with this covariance.
fn push_velo(velo: &mut VeloTracks, from: f64, [tx, ty]: [f64; 2], [xx, xt, tt]: [f64; 3]) {
    let way = VELO_Z - from;
    put(&mut velo.beam, [0.0, 0.0, from, tx, ty, xx, xt, tt]);
    put(&mut velo.end, [tx * way, ty * way, VELO_Z, tx, ty, xx, xt, tt]);
    velo.chi2.push(1.0);
    velo.backward.push(0);
    velo.hits.extend_from_slice(&[1, 2, 3]);
    velo.hit_start.push(velo.hits.len() as u32);
}

/// An event of tracks into the UT, and their hits.
fn ut_event(random: &mut Random, velo: &mut VeloTracks, hits: &mut UtBatch) {
    let mut strips: Vec<(usize, f64, f64, f64, f64)> = Vec::new();
    for number in 0..8 {
        let steepness = [0.03, 0.1, 0.3][number % 3];
        let [tx, ty] = [steepness, 0.8 * steepness].map(|most| random.between(-most, most));
        // Not at a node of the field's table, where single precision may use the neighbouring cell.
        let from = 50.0 * (random.between(-3.0, 3.0).floor() + random.between(0.05, 0.95));
        push_velo(velo, from, [tx, ty], velo_covariance(random));
        let kick = random.between(-0.012, 0.012);
        let missing = random.between(0.0, 20.0) as usize;
        for plane in (0..4).filter(|plane| *plane != missing) {
            let z = UT_Z[plane] + random.between(-7.0, 7.0);
            let pitch = [0.19, 0.095][number % 2];
            let off = pitch / 12f64.sqrt() * random.between(-2.0, 2.0);
            let (x, y) = (tx * (z - from) + kick * (z - 1835.0) + off, ty * (z - from));
            let low = ((y + 673.16) / 96.08).floor() * 96.08 - 673.16;
            let weight = 12.0 / (pitch * pitch);
            let strip = (plane, low, x - UT_SLOPE[plane] * y, z, weight);
            strips.push(strip);
            // A second hit at the same place.
            if random.between(0.0, 1.0) < 0.1 {
                strips.push(strip);
            }
        }
    }
    strips.sort_by(|a, b| (a.0, a.1, a.2).partial_cmp(&(b.0, b.1, b.2)).unwrap());
    let first = hits.id.len();
    for &(_, low, x, z, weight) in &strips {
        hits.x.push(x as f32);
        hits.z.push(z as f32);
        hits.y_begin.push(low as f32);
        hits.y_end.push((low + STRIP) as f32);
        hits.weight.push(weight as f32);
        hits.id.push(hits.id.len() as u32);
    }
    for group in 0..UT_GROUPS {
        let upto = strips.iter().filter(|strip| UT_FIRST[strip.0] <= group).count();
        hits.group_start.push((first + upto) as u32);
    }
    hits.status.push(Status::Ok);
    velo.track_start.push(velo.tracks() as u32);
    velo.status.push(Status::Ok);
}

#[test]
fn fits_of_tracks_into_the_ut_are_those_of_f64() {
    let (detector, mut random) = (Detector::nominal(), Random::new(11));
    let layout =
        UtLayout::new(&detector.ut, detector.tables.clone(), detector.polarity, VELO_Z as f32).unwrap();
    let (mut velo, mut hits) = (VeloTracks::default(), UtBatch::default());
    (0..TRACKS / 5).for_each(|_| ut_event(&mut random, &mut velo, &mut hits));
    let cells = by_cell(&layout, &hits);
    for preset in [UtPreset::Best, UtPreset::Hlt1, UtPreset::Paper] {
        let mut config = UtConfig::preset(preset);
        // Cuts that keep every track.
        (config.min_momentum, config.min_pt) = (300.0, 20.0);
        (config.final_momentum, config.final_pt) = (0.0, 0.0);
        (config.discriminant, config.line.max_cost) = (f32::NEG_INFINITY, f32::INFINITY);
        config.line.pair_kink = 1e6;
        // No limit on sectors: all hits of a plane are in one sector here.
        config.sectors = 0;
        let mut out = Outcome::<VeloUtTracks>::default();
        let hits_in = if config.reads_cells() { UtHitsIn::Cells(&cells) } else { UtHitsIn::Groups(&hits) };
        let input = UtFindInput { velo: &velo, hits: hits_in };
        find(level(), &config, &layout, input, &mut UtFindWorkspace::default(), &mut out);
        let tracks = out.results;
        let mut worst = Worst::default();
        for event in 0..tracks.status.len() {
            for (track, ids) in tracks.of_event(event).zip(tracks.hit_lists(event)) {
                let own = velo.of_event(event).start + tracks.velo_track[track] as usize;
                let end = |column: &Column<f32>| f64::from(column[own]);
                let States { x, y, z, tx, ty, cov_xx, cov_xtx, cov_txtx } = &velo.end;
                let end = VeloEnd64 {
                    position: [end(x), end(y), end(z)],
                    slope: [end(tx), end(ty)],
                    covariance: [end(cov_xx), end(cov_xtx), end(cov_txtx)],
                };
                let hit = |id: &u32| {
                    let at = *id as usize;
                    let [x, z, weight] = [hits.x[at], hits.z[at], hits.weight[at]].map(f64::from);
                    let plane = UT_Z.iter().position(|plane| (z - plane).abs() < 10.0).expect("a plane");
                    UtHit64 { x, z, weight, plane }
                };
                let mut own: Vec<UtHit64> = ids[..tracks.ut_hits[track].into()].iter().map(hit).collect();
                let numbers = |own: &[UtHit64]| {
                    let fit = fit_f64(&config, &layout, &end, own);
                    let [qop, variance] = fit.qop;
                    Numbers {
                        states: vec![[fit.x[0], fit.cov_x[0]], [fit.x[1], fit.cov_x[2]], [qop, variance]],
                        chi2: vec![fit.chi2],
                        rounding: 1000.0 * U * own.iter().map(|hit| hit.weight.sqrt()).fold(0.0, f64::max),
                        variances: vec![fit.cov_x[0], fit.cov_x[2], fit.cov_y[0], fit.cov_y[2], variance],
                        covariances: [fit.cov_x, fit.cov_y].map(covariance).to_vec(),
                    }
                };
                let exact = numbers(&own);
                own[0].x += 0.01;
                let faulty = numbers(&own);
                let found = |column: &Column<f32>| f64::from(column[track]);
                let VeloUtTracks { var_qop, cov_xx, cov_xtx, cov_txtx, cov_yy, cov_yty, cov_tyty, .. } =
                    &tracks;
                let found = Numbers {
                    states: vec![
                        [found(&tracks.x), 0.0],
                        [found(&tracks.tx), 0.0],
                        [found(&tracks.qop), 0.0],
                    ],
                    chi2: vec![found(&tracks.chi2)],
                    rounding: 0.0,
                    variances: [cov_xx, cov_txtx, cov_yy, cov_tyty, var_qop].map(found).to_vec(),
                    covariances: vec![[found(cov_xtx), 0.0], [found(cov_yty), 0.0]],
                };
                worst.add(&found, &exact, &faulty);
            }
        }
        worst.check(&format!("Velo-UT, {preset}"));
    }
}

/// z of the layers of the SciFi, mm, the layers with upright fibres, and the signs of the slopes of the others.
const SCIFI_Z: [f64; 12] = [
    7826.106, 7895.9189, 7966.1035, 8035.9048, 8508.1064, 8577.8691, 8648.1543, 8717.9043, 9193.1064,
    9262.9824, 9333.041, 9402.9043,
];
const SIGN: [f64; 4] = [0.0, 1.0, -1.0, 0.0];

/// An event of tracks in the SciFi.
fn scifi_event(random: &mut Random, hits: &mut SciFiBatch) {
    let mut all: Vec<(usize, f32, u32)> = Vec::new();
    let mut number = 0;
    for _ in 0..4 {
        // From the centre of the magnet, with any momentum.
        let slope = random.between(-0.3, 0.3);
        let bend = random.between(-1.0, 1.0) * 10f64.powf(random.between(-8.5, -6.3));
        let [x, y] = [slope * 3300.0 + random.between(-200.0, 200.0), random.between(-1800.0, 1800.0)];
        let ty = y / 8520.0 * random.between(0.9, 1.1);
        let missing = [(); 2].map(|()| random.between(0.0, 24.0) as usize);
        for (layer, z) in SCIFI_Z.into_iter().enumerate().filter(|(layer, _)| !missing.contains(layer)) {
            let d = z - 8520.0;
            let tilt = SEARCHED_TILT * SIGN[layer % 4];
            let x = x + slope * d + bend * d * d * (1.0 - 0.00028 * d) + random.between(-0.15, 0.15);
            let x = (x - tilt * (y + ty * d)) as f32;
            for _ in 0..if random.between(0.0, 1.0) < 0.1 { 2 } else { 1 } {
                number += 1;
                all.push((2 * layer + usize::from(y > 0.0), x, (layer as u32 + 4) << 16 | number));
            }
        }
    }
    all.sort_by(|a, b| (a.0, a.1, a.2).partial_cmp(&(b.0, b.1, b.2)).unwrap());
    let first = hits.id.len();
    for &(_, x, id) in &all {
        hits.x.push(x);
        hits.z.push(0.0);
        hits.y_end.push(0.0);
        hits.id.push(id);
        hits.width.push(0);
    }
    for zone in 0..SCIFI_ZONES {
        hits.zone_start.push((first + all.iter().filter(|hit| hit.0 <= zone).count()) as u32);
    }
    hits.status.push(Status::Ok);
}

#[test]
fn fits_of_tracks_in_the_scifi_are_those_of_f64() {
    let (detector, mut random) = (Detector::nominal(), Random::new(12));
    let mut hits = SciFiBatch::default();
    (0..TRACKS / 2).for_each(|_| scifi_event(&mut random, &mut hits));
    let mut config = SciFiConfig::default();
    config.rows.passes.iter_mut().for_each(|pass| pass.choice.min_score = -1e9);
    let errors = [config.resolution, config.scattering].map(f64::from);
    let scifi = SciFi::new(level(), config, detector.scifi.clone(), detector.polarity).unwrap();
    let mut out = Outcome::<SciFiTracks>::default();
    scifi.find(&hits, 0..hits.status.len(), &mut SciFiWorkspace::default(), &mut out);
    let tracks = out.results;
    let mut worst = Worst::default();
    for event in 0..tracks.events() {
        let of_id = |id: u32| hits.of_event(event).find(|hit| hits.id[*hit] == id).expect("a hit");
        for track in tracks.of_event(event) {
            let (mut upright, mut tilted) = (Vec::new(), Vec::new());
            for id in tracks.hits_of(track) {
                let layer = ((id >> 16) - 4) as usize;
                let (z, x, sign) = (SCIFI_Z[layer], f64::from(hits.x[of_id(*id)]), SIGN[layer % 4]);
                if sign == 0.0 { upright.push((z, x)) } else { tilted.push((z, sign, x)) }
            }
            let state = tracks.state.get(track);
            let numbers = |upright: &[(f64, f64)]| numbers_of(upright, &tilted, errors, &state);
            let exact = numbers(&upright);
            upright[0].1 += 0.02;
            let faulty = numbers(&upright);
            let SciFiState { position: [x, y], slope: [tx, ty], cov_x, cov_y, .. } = state;
            let found = Numbers {
                states: [x, y, tx, ty].map(|value| [f64::from(value), 0.0]).to_vec(),
                chi2: [tracks.chi2_x[track], tracks.chi2_y[track]].map(f64::from).to_vec(),
                rounding: 0.0,
                variances: [cov_x[0], cov_x[2], cov_y[0], cov_y[2]].map(f64::from).to_vec(),
                covariances: [cov_x, cov_y].map(|cov| covariance(cov.map(f64::from))).to_vec(),
            };
            worst.add(&found, &exact, &faulty);
        }
    }
    worst.check("SciFi");
}

/// Fits a track in f64. `upright` has z and x of hits, `tilted` z, sign of the slope and x. Sums of squares are computed with
/// the tilt of the search; q/p is taken from `state`.
fn numbers_of(
    upright: &[(f64, f64)],
    tilted: &[(f64, f64, f64)],
    [resolution, scattering]: [f64; 2],
    state: &SciFiState,
) -> Numbers {
    let zs: Vec<f64> = upright.iter().map(|hit| hit.0).collect();
    let (x, uv): (Vec<f64>, Vec<f64>) =
        (upright.iter().map(|hit| hit.1).collect(), tilted.iter().map(|hit| hit.2).collect());
    let fit = |tilt: f64| {
        let tilted: Vec<[f64; 2]> = tilted.iter().map(|hit| [hit.0, tilt * hit.1]).collect();
        Fit::new(&zs, &tilted)
    };
    let real = fit(TILT);
    let [cov_x, cov_y] = real.covariance(resolution, f64::from(state.qop) * scattering.sqrt());
    let [x_state, y_state, tx, ty] = real.state(&real.track(&x, &uv));
    let variances = vec![cov_x[0], cov_x[2], cov_y[0], cov_y[2]];
    let states = [[x_state, cov_x[0]], [y_state, cov_y[0]], [tx, cov_x[2]], [ty, cov_y[2]]].to_vec();
    let chi2 = fit(SEARCHED_TILT).track(&x, &uv).chi2.to_vec();
    let covariances = [cov_x, cov_y].map(covariance).to_vec();
    // x is rounded twice: x of a hit relative to the line from the origin, with a rounded slope, and x of the track in the layer.
    Numbers { states, chi2, rounding: 2.0 * 2000.0 * U / SEARCHED_TILT, variances, covariances }
}

#[test]
fn momenta_of_long_tracks_are_those_of_f64() {
    let (detector, mut random) = (Detector::nominal(), Random::new(13));
    let (mut velo, mut scifi) = (VeloTracks::default(), SciFiTracks::default());
    let mut covariances = Vec::new();
    for _ in 0..TRACKS {
        let [tx, ty] = [random.between(-0.3, 0.3), random.between(-0.25, 0.25)];
        let covariance = velo_covariance(&mut random);
        push_velo(&mut velo, 0.0, [tx, ty], covariance);
        velo.track_start.push(velo.tracks() as u32);
        velo.status.push(Status::Ok);
        covariances.push(covariance);
        // Also nearly straight tracks, whose charge is unknown.
        let change = random.between(-1.0, 1.0) * 10f64.powf(random.between(-4.0, -0.6));
        let state = SciFiState { slope: [(tx + change) as f32, ty as f32], ..SciFiState::default() };
        scifi.state.push(&state);
        scifi.searched.push([0.0, 0.0, state.slope[0], ty as f32]);
        (0..12u32).for_each(|layer| scifi.hits.push((layer + 4) << 16));
        scifi.hit_start.push(scifi.hits.len() as u32);
        scifi.track_start.push(scifi.tracks() as u32);
        scifi.status.push(Status::Ok);
        scifi.chi2_x.push(0.1);
        scifi.chi2_y.push(1.0);
    }
    let config = LongConfig {
        inner_radius: 0.0,
        max_distance_x: 1e6,
        max_distance_y: 1e6,
        max_change_ty: 1.0,
        max_chi2: 1e6,
        min_response: 0.0,
        ..LongConfig::preset(LongPreset::Hlt1)
    };
    let (bending, seeds) = (Bending::nominal(detector.polarity), SciFiConfig::default());
    let (resolution, error) = (f64::from(seeds.resolution), f64::from(config.momentum_error));
    let seeds = SciFi::new(level(), seeds, detector.scifi.clone(), detector.polarity).unwrap();
    let long = Long::new(seeds, config, bending).unwrap();
    let mut out = Outcome::default();
    long.match_tracks(&velo, &scifi, 0..TRACKS, &mut LongWorkspace::default(), &mut out);
    let tracks = out.results;
    let upright: Vec<f64> =
        SCIFI_Z.into_iter().enumerate().filter(|(at, _)| SIGN[at % 4] == 0.0).map(|(_, z)| z).collect();
    let fit = Fit::new(&upright, &[[7895.9189, TILT], [9333.041, -TILT]]);
    let by_hits = fit.variance_of_turn(resolution, 0.0);
    let scattering =
        fit.variance_of_turn(resolution, 1.0) - by_hits + BEFORE_SCIFI.map(angle2).iter().sum::<f64>();
    let mut worst = Worst::default();
    for event in 0..TRACKS {
        for track in tracks.of_event(event) {
            let slope = |column: &Column<f32>| f64::from(column[event]);
            let mut slopes = Slopes64 {
                velo: [slope(&velo.end.tx), slope(&velo.end.ty)],
                scifi: slope(&scifi.searched.tx),
                variances: [slope(&velo.end.cov_txtx), by_hits],
                scattering,
            };
            let numbers = |slopes: &Slopes64| {
                let [qop, variance] = momentum_f64(&bending, slopes, error);
                Numbers {
                    states: vec![[qop, variance]],
                    chi2: Vec::new(),
                    rounding: 0.0,
                    variances: vec![variance],
                    covariances: Vec::new(),
                }
            };
            let exact = numbers(&slopes);
            slopes.scifi += 0.02 * (slopes.variances[0] + by_hits + 1e-5 * scattering).sqrt();
            slopes.scattering *= 1.05;
            slopes.variances = slopes.variances.map(|variance| 1.05 * variance);
            let faulty = numbers(&slopes);
            let [qop, variance] = [tracks.scifi.qop[track], tracks.var_qop[track]].map(f64::from);
            let found = Numbers {
                states: vec![[qop, 0.0]],
                chi2: Vec::new(),
                rounding: 0.0,
                variances: vec![variance],
                covariances: Vec::new(),
            };
            worst.add(&found, &exact, &faulty);
        }
    }
    worst.check("long");
}

/// Radiation lengths between Velo and SciFi: two before the UT, its four planes, two in the magnet.
const BEFORE_SCIFI: [f64; 8] = [0.094, 0.094, 0.012, 0.012, 0.012, 0.012, 0.024, 0.024];

/// Highland's formula at 1 GeV/c, squared.
fn angle2(thickness: f64) -> f64 {
    (0.0136 * (1.0 + 0.038 * thickness.ln())).powi(2) * thickness
}
