//! Computations in single precision, except fits of tracks, against references in f64: scores of triplets, helices through three
//! hits, positions of decoded hits. `velo_fit` tests the fit of the Velo, `kalman` filter and smoother.
//!
//! Bounds are in units of u = 2^-24, the largest relative error of one rounding, times the rounded numbers. Each test plants a
//! fault as well, a micrometre or less, and must notice it.
use crate::common::geometry::Detector;
use crate::common::random::Random;
use peloton::Status;
use peloton::cylinder::geometry::RADII;
use peloton::event::{
    BankKind, CylinderBatch, CylinderTruth, Outcome, RawBatch, SciFiBatch, UtBatch, VeloBatch,
};
use peloton::kalman::CURVATURE_PER_TESLA;
use peloton::kalman::reference::{self as filter, single};
use peloton::scifi::{self, SciFiScratch};
use peloton::simd::Level;
use peloton::ut::{self, UtScratch};
use peloton::velo::geometry::MODULE_Z;
use peloton::velo::reference::{Judge, Scores};
use peloton::velo::{self, BestConfig, DecodeScratch, VeloBanks, VeloDecoder};
use peloton_sim::{CylinderSim, LhcbReader};

/// Largest relative error of one rounding.
const U: f64 = 1.0 / (1 << 24) as f64;

/// Hits of three pairs of modules from the largest z down, on a line or near it, in micrometres as files have them.
fn triplet(random: &mut Random) -> [[f32; 3]; 3] {
    let pair = random.between(3.0, 24.0) as usize;
    let skip = random.between(0.0, 3.0) as usize;
    let pairs = [pair + 1 + usize::from(skip == 1), pair, pair - 1 - usize::from(skip == 2)];
    let slope = 10f64.powf(random.between(-3.0, -0.3));
    let [x, y] = [0, 1].map(|_| random.between(-40.0, 40.0));
    let [tx, ty] = [0, 1].map(|_| random.between(-slope, slope));
    let off = 10f64.powf(random.between(-3.0, 0.0));
    pairs.map(|number| {
        let z =
            MODULE_Z[(2 * number + random.between(0.0, 2.0) as usize).min(51)] + random.between(-1.5, 1.5);
        let dz = z - MODULE_Z[2 * pair];
        let [dx, dy] = [0, 1].map(|_| random.between(-off, off));
        [x + tx * dz + dx, y + ty * dz + dy, z].map(|value| ((value * 1e3).round() / 1e3) as f32)
    })
}

/// Largest allowed difference between each score in f32 and in f64.
fn allowed(judge: &Judge<'_>, hits: [[f32; 3]; 3], exact: &Scores) -> [f64; 5] {
    let [a, b, c] = hits.map(|hit| hit.map(f64::from));
    let r = ((c[2] - b[2]) / (b[2] - a[2])).abs();
    let largest = |axis: usize| [a, b, c].iter().map(|hit| hit[axis].abs()).fold(0.0, f64::max);
    // A point on the line: its start, and four roundings of the way there.
    let of_point = [0, 1].map(|i| U * (2.0 * largest(i) + 4.0 * r * (b[i] - a[i]).abs()));
    let off = of_point[0].hypot(of_point[1]);
    let of_square = |square: f64, off: f64| 2.0 * square.sqrt() * off + off * off + 4.0 * U * square;
    let scatter = of_square(exact.scatter[0], off);
    // Chi2 and the variance that it is divided by; the distance to the beam is a difference of products.
    let resolution = f64::from(judge.best.hit_resolution);
    let least_variance = resolution * resolution * (1.0 + (1.0 + r).powi(2) + r * r);
    let to_beam = 8.0 * U * (largest(0) + largest(1));
    let triplet = scatter / least_variance + 8.0 * U * exact.triplet + f64::from(judge.doca_weight) * to_beam;
    // Each hit minus the mean of all hits, minus the line at this hit.
    let off = 6.0 * U * largest(0).hypot(largest(1));
    let weight = f64::from(judge.weight);
    let chi2 = weight * of_square(2.0 * exact.chi2 / weight, 2.0 * off) / 2.0 + 8.0 * U * exact.chi2;
    // The scatter divided by the sum of squared coefficients of the hits.
    let seed_chi2 = weight * scatter / (1.0 + (1.0 + r).powi(2) + r * r) / 2.0 + 8.0 * U * exact.seed_chi2;
    [triplet, scatter, scatter, chi2, seed_chi2]
}

#[test]
fn scores_of_triplets_are_those_of_f64() {
    let (best, mut random) = (BestConfig::default(), Random::new(3));
    let paper = velo::PaperConfig::default();
    let (mut worst, mut noticed) = ([0.0f64; 5], [0; 5]);
    const TRIPLETS: usize = 200_000;
    for number in 0..TRIPLETS {
        let pass = [&best.first, &best.second][number % 2];
        let doca_weight = [pass.doca_weight, pass.gap_doca_weight][number / 2 % 2];
        let judge = Judge { best: &best, pass, doca_weight, weight: paper.weak_weight };
        let hits = triplet(&mut random);
        let scores = |scores: Scores| {
            [scores.triplet, scores.scatter[0], scores.scatter[1], scores.chi2, scores.seed_chi2]
        };
        let exact = Scores::in_f64(&judge, hits);
        let allowed = allowed(&judge, hits, &exact);
        let (found, exact) = (scores(Scores::in_f32(&judge, hits)), scores(exact));
        let mut moved = hits;
        moved[1][0] += 0.001;
        let faulty = scores(Scores::in_f32(&judge, moved));
        for i in 0..5 {
            worst[i] = worst[i].max((found[i] - exact[i]).abs() / allowed[i]);
            noticed[i] += usize::from((faulty[i] - exact[i]).abs() > allowed[i]);
        }
    }
    println!("triplet, scatter of paper, of forwarding, chi2, that of seeds: {worst:.3?} of what is allowed");
    assert!(worst.iter().all(|worst| *worst < 1.0), "{worst:?}");
    assert!(noticed.iter().all(|noticed| 10 * noticed > 9 * TRIPLETS), "a micrometre: {noticed:?}");
}

const FIELD: f64 = 3.8112 * CURVATURE_PER_TESLA as f64;

/// Three hits of a particle (azimuth, z, radius), their errors, and its true state on the cylinder of the first.
struct Start {
    hits: [[f64; 3]; 3],
    sigma: [[f64; 2]; 3],
    truth: filter::OnCylinder,
}

/// Hits of the layers asked for, of all particles of a simulated event.
fn starts(spec: &str, layers: [usize; 3]) -> Vec<Start> {
    let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    let mut sim = CylinderSim::new(spec.parse().unwrap(), 0, None);
    while sim.read(8, &mut hits, &mut truth) > 0 {}
    let particles = &truth.particles;
    let of = |particle: usize| {
        let hits_of = layers.map(|layer| particles.hits[layer][particle] as usize);
        let place = |hit: usize| {
            let (x, y) = (f64::from(hits.x[hit]), f64::from(hits.y[hit]));
            ([y.atan2(x), f64::from(hits.z[hit]), x.hypot(y)], f64::from(hits.var_rphi[hit]).sqrt())
        };
        let places = hits_of.map(place);
        let sigma = [0, 1, 2].map(|i| {
            let ([_, _, radius], sigma) = places[i];
            [sigma / radius, f64::from(hits.var_z[hits_of[i]]).sqrt()]
        });
        let vertex = particles.vertex.each_ref().map(|column| f64::from(column[particle]));
        let state = filter::from_vertex(vertex, &[[0.0; 6]; 6], FIELD, places[0].0[2], 10);
        Start { hits: places.map(|place| place.0), sigma, truth: state.p }
    };
    (0..particles.len()).map(of).collect()
}

/// Standard deviations of the parameters of the helix through three hits, from the errors of the hits.
fn spread(start: &Start) -> filter::OnCylinder {
    let mut variance = [0.0; 5];
    for hit in 0..3 {
        for axis in 0..2 {
            let moved = |by: f64| {
                let mut hits = start.hits;
                hits[hit][axis] += by * start.sigma[hit][axis];
                filter::from_three_hits(hits, FIELD)
            };
            let (above, below) = (moved(0.01), moved(-0.01));
            for i in 0..5 {
                let change = above[i] - below[i];
                variance[i] += (if i == 0 { filter::turn(change) } else { change } / 0.02).powi(2);
            }
        }
    }
    variance.map(f64::sqrt)
}

/// The helix through three hits in single precision, which is the start of seeds from hits and of the fit inwards.
#[test]
fn helices_through_three_hits_are_those_of_f64() {
    for layers in [[0, 1, 2], [0, 4, 9], [0, 1, 9]] {
        let (mut worst, mut noticed) = ([0.0f64; 5], 0);
        let starts = starts("sim:cylinder,events=1,tracks=6000,seed=21", layers);
        for start in &starts {
            // Both start from the hits in f32.
            let hits = start.hits.map(|hit| hit.map(|value| value as f32));
            let rounded = Start { hits: hits.map(|hit| hit.map(f64::from)), ..*start };
            let exact = filter::from_three_hits(rounded.hits, FIELD);
            let found = single::from_three_hits(hits, FIELD as f32, [1.0; 5]).p;
            let sigma = spread(&rounded);
            for i in 0..5 {
                worst[i] = worst[i].max((f64::from(found[i]) - exact[i]).abs() / sigma[i]);
            }
            let mut moved = hits;
            moved[1][0] += 0.1 * start.sigma[1][0] as f32;
            let faulty = single::from_three_hits(moved, FIELD as f32, [1.0; 5]).p;
            noticed += usize::from((f64::from(faulty[2]) - exact[2]).abs() > 0.01 * sigma[2]);
        }
        println!("layers {layers:?}: {worst:.5?} standard deviations");
        assert!(starts.len() == 6000 && worst.iter().all(|worst| *worst < 0.01), "{worst:?}");
        assert!(noticed > 5900, "a tenth of a standard deviation: {noticed}");
    }
}

/// Half of the interval between the quantiles of 16 and 84 %.
fn width(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    0.5 * (quantile(0.84) - quantile(0.16))
}

/// Seeds from hits against true particles: their errors agree with the errors of the three hits, and do not exceed the
/// covariance at the start of the fit.
#[test]
fn seeds_are_as_far_from_the_truth_as_their_hits() {
    for layers in [[0, 1, 2], [0, 4, 9]] {
        let starts = starts("sim:cylinder,events=1,tracks=12000,seed=22", layers);
        let mut pulls: [Vec<f64>; 5] = Default::default();
        let prior = peloton::cylinder::CylinderConfig::default().fit.prior.map(f64::from);
        let mut beyond = [0; 5];
        for start in &starts {
            let (found, sigma) = (filter::from_three_hits(start.hits, FIELD), spread(start));
            for i in 0..5 {
                let off = found[i] - start.truth[i];
                let off = if i == 0 { filter::turn(off) } else { off };
                pulls[i].push(off / sigma[i]);
                beyond[i] += usize::from(off.abs() > prior[i]);
            }
        }
        for (i, pulls) in pulls.iter_mut().enumerate() {
            let near: Vec<f64> = pulls.iter().copied().filter(|pull| pull.abs() < 5.0).collect();
            let mean = near.iter().sum::<f64>() / near.len() as f64;
            let width = width(pulls);
            println!(
                "layers {layers:?}, parameter {i}: mean {mean:+.3}, width {width:.3}, {} beyond",
                beyond[i]
            );
            assert!(near.len() > 11_980 && mean.abs() < 0.05 && (0.95..1.05).contains(&width), "{i}");
            assert!(beyond[i] * 1000 < starts.len(), "parameter {i}: {} beyond the start's error", beyond[i]);
        }
    }
}

/// The moment that the beam spot gives to a seed, its covariance with the charge, and its variance, with the effect of the
/// charge's error on both.
fn spot(p: [f64; 5], radius: f64, prior: f64, max_distance: f64) -> [f64; 3] {
    let half = 0.5 * FIELD * p[2];
    let own = half * radius * radius / p[2];
    let spot = (0.4 * max_distance).powi(2);
    [half * radius * radius, own * prior, own * own * prior + spot]
}

/// A whole seed from hits in f64: the helix, the beam spot, three updates, and the step to the fourth layer.
fn seed_f64(start: &Start, prior: [f64; 5], max_distance: f64) -> filter::State {
    let p = filter::from_three_hits(start.hits, FIELD);
    let mut state = filter::State { radius: start.hits[0][2], p, c: [[0.0; 5]; 5] };
    (0..5).for_each(|i| state.c[i][i] = prior[i]);
    let [moment, with_charge, variance] = spot(p, state.radius, prior[2], max_distance);
    state.p[3] = moment;
    (state.c[3][2], state.c[2][3], state.c[3][3]) = (with_charge, with_charge, variance);
    for (layer, (hit, sigma)) in start.hits.iter().zip(start.sigma).enumerate() {
        let [azimuth, z, radius] = *hit;
        if layer > 0 {
            state = filter::to_radius(&state, FIELD, radius, 10);
        }
        let variance = sigma.map(|sigma| sigma * sigma);
        state = filter::update(&state, &filter::Measured { radius, position: [azimuth, z], variance }).0;
    }
    filter::to_radius(&state, FIELD, f64::from(RADII[3]), 10)
}

/// A whole seed from hits in single precision, by the steps that give the same bits as the kernels.
fn seed_f32(start: &Start, prior: [f64; 5], max_distance: f64) -> single::State {
    let hits = start.hits.map(|hit| hit.map(|value| value as f32));
    let mut state = single::from_three_hits(hits, FIELD as f32, prior.map(|variance| variance as f32));
    let p = state.p.map(f64::from);
    let [moment, with_charge, variance] =
        spot(p, hits[0][2].into(), prior[2], max_distance).map(|value| value as f32);
    state.p[3] = moment;
    (state.c[3][2], state.c[3][3]) = (with_charge, variance);
    for (layer, ([azimuth, z, radius], sigma)) in hits.into_iter().zip(start.sigma).enumerate() {
        if layer > 0 {
            state = single::to_radius(&state, FIELD as f32, radius).0;
        }
        let variance = sigma.map(|sigma| (sigma * sigma) as f32);
        single::update(&mut state, Some(&single::Hit { position: [azimuth, z], variance, radius }));
    }
    single::to_radius(&state, FIELD as f32, RADII[3]).0
}

#[test]
fn whole_seeds_from_hits_are_those_of_f64() {
    let config = peloton::cylinder::CylinderConfig::default();
    let prior = config.fit.prior.map(|sigma| f64::from(sigma).powi(2));
    let distance = f64::from(config.seeding.max_distance);
    let (mut worst, mut noticed) = ([0.0f64; 2], 0);
    let starts = starts("sim:cylinder,events=1,tracks=12000,seed=23", [0, 1, 2]);
    for start in &starts {
        let hits = start.hits.map(|hit| hit.map(|value| f64::from(value as f32)));
        let rounded = Start { hits, ..*start };
        let (exact, found) = (seed_f64(&rounded, prior, distance), seed_f32(&rounded, prior, distance));
        let off = |found: &single::State| {
            let mut off = [0.0f64; 2];
            for i in 0..5 {
                let change = f64::from(found.p[i]) - exact.p[i];
                let change = if i == 0 { filter::turn(change) } else { change };
                off[0] = off[0].max(change.abs() / exact.c[i][i].sqrt() / 0.01);
                off[1] = off[1].max((f64::from(found.c[i][i]) / exact.c[i][i] - 1.0).abs() / 0.005);
            }
            off
        };
        let both = off(&found);
        (0..2).for_each(|i| worst[i] = if both[i].is_nan() { f64::INFINITY } else { worst[i].max(both[i]) });
        let mut moved = Start { hits, ..*start };
        moved.hits[1][0] += 0.1 * start.sigma[1][0];
        noticed += usize::from(off(&seed_f32(&moved, prior, distance))[0] > 1.0);
    }
    println!("states, variances: {worst:.4?} of what is allowed");
    assert!(starts.len() == 12_000 && worst.iter().all(|worst| *worst < 1.0), "{worst:?}");
    assert!(noticed > 11_800, "a tenth of a standard deviation: {noticed}");
}

fn banks(spec: &str, geometry: &Detector) -> RawBatch {
    let detector = geometry.to_fly_through();
    let (mut reader, mut raw) = (LhcbReader::new(spec.parse().unwrap(), 0, None), RawBatch::default());
    while let Some(event) = reader.next(&detector) {
        event.push(&mut raw);
    }
    raw
}

/// Largest difference in units of `roundings` roundings of numbers of this size.
fn see(worst: &mut f64, found: f32, exact: f64, size: f64, roundings: f64) {
    let off = (f64::from(found) - exact).abs() / (roundings * U * size);
    *worst = if off > *worst || off.is_nan() { off } else { *worst };
}

/// Sizes of coordinates in the trackers, mm: positions are rounded at these sizes.
const UT_SIZE: [f64; 3] = [1000.0, 1000.0, 2700.0];
const SCIFI_SIZE: [f64; 3] = [4000.0, 9500.0, 2500.0];
const VELO_SIZE: [f64; 3] = [64.0, 64.0, 800.0];

#[test]
fn decoded_hits_are_where_f64_puts_them() {
    let geometry = Detector::nominal();
    let raw = banks("sim:lhcb,events=20,seed=8", &geometry);
    let (level, all, view) = (Level::choose(None, None).unwrap(), 0..raw.len(), raw.view());
    let (mut ut, mut scifi) = (Outcome::<UtBatch>::default(), Outcome::<SciFiBatch>::default());
    ut::decode(level, &geometry.ut, view, all.clone(), &mut UtScratch::default(), &mut ut);
    scifi::decode(level, &geometry.scifi, view, all.clone(), &mut SciFiScratch::default(), &mut scifi);
    let decoder = VeloDecoder { sensors: &geometry.velo, banks: VeloBanks::Auto };
    let mut velo = Outcome::<VeloBatch>::default();
    velo::decode(level, decoder, view, all, &mut DecodeScratch::default(), &mut velo);
    let (ut, scifi, velo) = (ut.results, scifi.results, velo.results);

    let mut worst = [0.0f64; 3];
    let version = view.event(0).banks(peloton::event::BankKind::Ut)[0].version;
    for hit in 0..ut.id.len() {
        // LHCbIDs have no quarters of a strip; these are 0.02 mm apart, much more than a rounding.
        let found = [ut.x[hit], ut.y_begin[hit], ut.z[hit]];
        let at =
            |quarter| ut::decode_position_f64(&geometry.ut, version, ut.id[hit], quarter).expect("a strip");
        let near = |at: &[f64; 3]| (at[0] - f64::from(found[0])).abs() + (at[1] - f64::from(found[1])).abs();
        let exact = (0..4).map(at).min_by(|a, b| near(a).total_cmp(&near(b))).expect("four");
        (0..3).for_each(|i| see(&mut worst[0], found[i], exact[i], UT_SIZE[i], 1.0));
        assert!(ut.weight[hit] > 0.0);
    }
    for hit in 0..scifi.id.len() {
        let found = [scifi.x[hit], scifi.z[hit], scifi.y_end[hit]];
        let exact = scifi::decode_position_f64(&geometry.scifi, scifi.id[hit], scifi.width[hit] & 1);
        let exact = exact.expect("a mat");
        (0..3).for_each(|i| see(&mut worst[1], found[i], exact[i], SCIFI_SIZE[i], 3.0));
    }
    let event = velo.view();
    for event in (0..event.len()).map(|number| event.event(number)) {
        for hit in 0..event.len() {
            let found = [event.x[hit], event.y[hit], event.z[hit]];
            let at = |part: usize| {
                let part = [part / 4, part % 4].map(|quarters| quarters as f64 / 4.0);
                velo::decode_position_f64(&geometry.velo, event.id[hit], part).expect("a pixel")
            };
            let off = |at: &[f64; 3]| (0..2).map(|i| (at[i] - f64::from(found[i])).abs()).sum::<f64>();
            let exact = (0..16).map(at).min_by(|a, b| off(a).total_cmp(&off(b))).expect("sixteen");
            (0..3).for_each(|i| see(&mut worst[2], found[i], exact[i], VELO_SIZE[i], 2.0));
        }
    }
    println!("UT, SciFi, Velo: {worst:.3?} of what is allowed");
    assert!(ut.id.len() > 10_000 && scifi.id.len() > 40_000 && velo.view().len() == 20);
    assert!(worst.iter().all(|worst| *worst < 1.0), "{worst:?}");
    // The next strip, or the other half of a channel, is far beyond the limit.
    let mut wrong = [0.0; 2];
    let other = ut::decode_position_f64(&geometry.ut, version, ut.id[0] ^ 1, 0).expect("a strip");
    see(&mut wrong[0], ut.x[0], other[0], UT_SIZE[0], 1.0);
    let other = scifi::decode_position_f64(&geometry.scifi, scifi.id[0], !scifi.width[0] & 1).expect("a mat");
    see(&mut wrong[1], scifi.x[0], other[0], SCIFI_SIZE[0], 3.0);
    assert!(wrong.iter().all(|wrong| *wrong > 10.0), "{wrong:?}");
}

/// Strips that straight lines cross, decoded: to the nearest quarter of a strip. A line over the last eighth of a sector is
/// taken for its last quarter.
#[test]
fn decoded_strips_are_on_the_lines_that_made_them() {
    let (geometry, mut random) = (Detector::nominal(), Random::new(7));
    let mut strips = Vec::new();
    for _ in 0..20_000 {
        let [tx, ty] = [0.2, 0.15].map(|most| random.between(-most, most));
        let line = |z: f32| [tx * f64::from(z), ty * f64::from(z)].map(|value| value as f32);
        for plane in [0, 3] {
            for strip in geometry.ut.strips_at(plane, line, 0.0) {
                let at =
                    |quarter| ut::decode_position_f64(&geometry.ut, 4, strip.id, quarter).expect("a strip");
                let [x, _, z] = at(strip.quarter.into());
                let step = at(u32::from(strip.quarter) + 1)[0] - x;
                strips.push((tx * z - x) / step);
            }
        }
    }
    let (low, high) = strips.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    println!("{} strips: {low:.3} to {high:.3} quarters", strips.len());
    assert!(strips.len() > 20_000 && low > -0.52 && high < 1.02, "{low} {high}");
}

/// Pixels that touch, columns and rows of one sensor.
fn cluster(random: &mut Random) -> Vec<[u32; 2]> {
    let mut pixels = vec![[random.between(20.0, 748.0), random.between(20.0, 236.0)].map(|at| at as u32)];
    while pixels.len() < random.between(1.0, 9.0) as usize {
        let [column, row] = pixels[random.between(0.0, pixels.len() as f64) as usize];
        let next = [column, row].map(|at| at + random.between(0.0, 3.0) as u32 - 1);
        if !pixels.contains(&next) {
            pixels.push(next);
        }
    }
    pixels
}

/// A bank of superpixels with these pixels.
fn superpixels(pixels: &[[u32; 2]]) -> Vec<u8> {
    let mut patterns = std::collections::BTreeMap::<(u32, u32), u32>::new();
    for &[column, row] in pixels {
        *patterns.entry((column / 2, row / 4)).or_default() |= 1 << (column % 2 * 4 + row % 4);
    }
    let alone = u32::from(patterns.len() == 1) << 31;
    let words = patterns.iter().map(|((column, row), pattern)| alone | column << 14 | row << 8 | pattern);
    let count = patterns.len() as u32;
    std::iter::once(count).chain(words).flat_map(u32::to_le_bytes).collect()
}

/// Clusters of superpixels of any shape, one a sensor: their centre in f64, by the tables of the sensors.
#[test]
fn clusters_of_superpixels_are_where_f64_puts_them() {
    let (geometry, mut random) = (Detector::nominal(), Random::new(9));
    let (mut raw, mut clusters) = (RawBatch::default(), Vec::new());
    const EVENTS: u64 = 500;
    for number in 0..EVENTS {
        for sensor in 0..208 {
            let pixels = cluster(&mut random);
            raw.push_bank(BankKind::VeloSuperpixel, sensor, 2, &superpixels(&pixels)).unwrap();
            clusters.push(pixels);
        }
        raw.close_event(number, Status::Ok);
    }
    let (mut out, level) = (Outcome::<VeloBatch>::default(), Level::choose(None, None).unwrap());
    let decoder = VeloDecoder { sensors: &geometry.velo, banks: VeloBanks::Auto };
    velo::decode(level, decoder, raw.view(), 0..raw.len(), &mut DecodeScratch::default(), &mut out);
    let (mut worst, mut noticed, mut seen) = (0.0, 0, 0);
    for (number, clusters) in clusters.chunks(208).enumerate() {
        let event = out.results.view().event(number);
        assert_eq!(event.len(), clusters.len(), "one cluster a sensor");
        for hit in 0..event.len() {
            let pixels = &clusters[(event.id[hit] >> 18 & 0xFF) as usize];
            let n = pixels.len() as u32;
            let [column, row] = [0, 1].map(|axis| pixels.iter().map(|pixel| pixel[axis]).sum::<u32>());
            assert_eq!(event.id[hit] & 0x3_FFFF, ((column / n) << 8) | (row / n));
            let part = [column % n, row % n].map(|rest| f64::from(rest) / f64::from(n));
            let at = |part| velo::decode_position_f64(&geometry.velo, event.id[hit], part).expect("a pixel");
            let (exact, found) = (at(part), [event.x[hit], event.y[hit], event.z[hit]]);
            (0..3).for_each(|i| see(&mut worst, found[i], exact[i], VELO_SIZE[i], 2.0));
            // A hundredth of a pixel.
            let (wrong, mut off) = (at(part.map(|part| part + 0.01)), 0.0);
            (0..3).for_each(|i| see(&mut off, found[i], wrong[i], VELO_SIZE[i], 2.0));
            noticed += usize::from(off > 1.0);
            seen += 1;
        }
    }
    println!("{seen} clusters: {worst:.3} of what is allowed");
    assert!(seen == 208 * EVENTS as usize && worst < 1.0, "{worst}");
    assert!(noticed == seen, "a hundredth of a pixel: {noticed} of {seen}");
}
