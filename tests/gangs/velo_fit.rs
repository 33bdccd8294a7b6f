//! The straight-line fit of the Velo against the textbook's filter in f64: every state within 0.01 of its standard
//! deviation, every chi2 within 0.1 % or 0.001, every covariance within 0.1 %, on any track that a search could make, with
//! the noise of `best`, which learns, and with the noise of `paper`. [`kinds`] names the tracks that may differ more.
//!
//! `PELOTON_FIT_TRACKS` sets the number of tracks of each kind (20,000).
use crate::common::geometry::Detector;
use peloton::event::{Column, Outcome, RawBatch, States, VeloBatch, VeloTracks};
use peloton::simd::Level;
use peloton::velo::geometry::MODULE_Z;
use peloton::velo::reference::{self, Filtered, Line, fit_f64};
use peloton::velo::{
    DecodeScratch, FitConfig, Preset, VeloBanks, VeloConfig, VeloDecoder, VeloWorkspace, decode, fit_tracks,
    reconstruct,
};
use peloton_sim::{LhcbReader, SimSpec, simulate_velo};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Largest differences of a comparison with f64, in units of the limits.
#[derive(Debug, Default)]
struct Worst {
    tracks: usize,
    position: f64,
    slope: f64,
    z: f64,
    covariance: f64,
    chi2: f64,
}

/// Compares all tracks with the filter in f64; `hits_of` gives the positions of a track's hits.
fn compare(
    config: &FitConfig,
    tracks: &VeloTracks,
    mut hits_of: impl FnMut(usize) -> Vec<[f32; 3]>,
) -> Worst {
    let mut worst = Worst { tracks: tracks.tracks(), ..Worst::default() };
    for track in 0..tracks.tracks() {
        let Filtered { down, up, noise } = fit_f64(config, &hits_of(track));
        let beam = if tracks.backward[track] == 1 { up } else { down };
        let beam = beam.scattered(noise * f64::from(config.noise_beam));
        let up = up.scattered(noise * f64::from(config.noise_end));
        assert_positive(&tracks.beam, track);
        assert_positive(&tracks.end, track);
        let chi2 = f64::from(tracks.chi2[track]);
        assert!(chi2 >= 0.0, "track {track}: chi2 {chi2}");
        see(&mut worst.chi2, (chi2 - beam.chi2).abs() / (1e-3 * beam.chi2).max(1e-3));
        compare_state(&mut worst, &tracks.beam, track, beam);
        compare_state(&mut worst, &tracks.end, track, up);
        let z = beam.closest_to_beam(config);
        let slope = beam.tx.hypot(beam.ty);
        if slope > 2e-6 {
            // z depends on the slopes, too; more for a track that passes further from the beam line.
            let close = beam.at(z);
            let sigma = close.xx.sqrt() / slope + close.x.hypot(close.y) * close.tt.sqrt() / slope.powi(2);
            let allowed = 0.01 * sigma + 1e-6 * z.abs();
            see(&mut worst.z, (f64::from(tracks.beam.z[track]) - z).abs() / allowed);
        }
        assert_eq!(tracks.end.z[track], config.end_z);
    }
    worst
}

/// All columns: x, y, z, the slopes, the covariance.
fn columns(states: &States) -> [&Column<f32>; 8] {
    let States { x, y, z, tx, ty, cov_xx, cov_xtx, cov_txtx } = states;
    [x, y, z, tx, ty, cov_xx, cov_xtx, cov_txtx]
}

/// Keeps the largest value; a NaN counts as the largest.
fn see(worst: &mut f64, value: f64) {
    if value > *worst || value.is_nan() {
        *worst = value;
    }
}

fn compare_state(worst: &mut Worst, states: &States, track: usize, line: Line) {
    let column = |number: usize| f64::from(columns(states)[number][track]);
    let line = line.at(column(2));
    let (position, slope) = (0.01 * line.xx.sqrt(), 0.01 * line.tt.sqrt());
    see(&mut worst.position, (column(0) - line.x).abs() / position);
    see(&mut worst.position, (column(1) - line.y).abs() / position);
    see(&mut worst.slope, (column(3) - line.tx).abs() / slope);
    see(&mut worst.slope, (column(4) - line.ty).abs() / slope);
    // A covariance within 0.1 %; the covariance of x and slope in units of its largest possible value.
    see(&mut worst.covariance, (column(5) / line.xx - 1.0).abs() / 1e-3);
    see(&mut worst.covariance, (column(6) - line.xt).abs() / (line.xx * line.tt).sqrt() / 1e-3);
    see(&mut worst.covariance, (column(7) / line.tt - 1.0).abs() / 1e-3);
}

/// Fails unless all values are finite and the covariance is positive definite, in single and in double precision.
fn assert_positive(states: &States, track: usize) {
    let values = columns(states).map(|column| column[track]);
    assert!(values.iter().all(|value| value.is_finite()), "track {track}: {values:?}");
    let [.., xx, xt, tt] = values;
    assert!(xx > 0.0 && tt > 0.0 && xx * tt > xt * xt, "track {track}: {values:?}");
    assert!(f64::from(xx) * f64::from(tt) > f64::from(xt).powi(2), "track {track}: {values:?}");
}

#[track_caller]
fn assert_close(name: &str, worst: &Worst, [most, most_covariance]: [f64; 2]) {
    println!("{name}: of what is allowed, {worst:.3?}");
    let all = [worst.position, worst.slope, worst.z, worst.chi2];
    assert!(worst.tracks > 0 && all.iter().all(|value| *value <= most), "{name}: {worst:?}");
    assert!(worst.covariance <= most_covariance, "{name}: {worst:?}");
}

/// Random numbers for tracks.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        self.between(0.0, count as f64) as usize
    }

    /// A number with a nearly normal distribution: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.between(-0.5, 0.5)).sum()
    }
}

/// Tracks of one kind.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    /// Smallest and largest number of pairs of modules that a track crosses.
    pairs: [usize; 2],
    /// Largest slope.
    slope: f64,
    /// Spread of hits around the track, mm.
    spread: f64,
    /// Share of the pairs in between without a hit of the track.
    missed: f64,
    /// The last change of the hits.
    turn: fn(&mut Random, &mut [[f64; 3]], f64),
    /// Distance of hits that `turn` puts at one z, mm.
    apart: f64,
    /// Largest difference of a state and of chi2, and of a covariance, in units of the limits.
    most: [f64; 2],
}

fn as_they_are(_: &mut Random, _: &mut [[f64; 3]], _: f64) {}

/// Hits anywhere in the detector, in any order.
fn anywhere(random: &mut Random, hits: &mut [[f64; 3]], _: f64) {
    for hit in hits {
        *hit = [random.between(-60.0, 60.0), random.between(-60.0, 60.0), random.between(-300.0, 760.0)];
    }
}

/// Moves some hits to the z of the hit before them, and some to its place.
fn on_one_another(random: &mut Random, hits: &mut [[f64; 3]], apart: f64) {
    for i in 1..hits.len() {
        let [x, y, z] = hits[i - 1];
        match random.below(4) {
            0 => hits[i] = [x + apart * random.normal(), y + apart * random.normal(), z],
            1 => hits[i] = [x, y, z],
            _ => {}
        }
    }
}

/// Moves all hits but the last to one place.
fn in_one_place(_: &mut Random, hits: &mut [[f64; 3]], _: f64) {
    let last = hits.len() - 1;
    let place = hits[0];
    hits[..last].fill(place);
}

/// Moves all hits to one plane, or so close to it that the ends do not determine slopes.
fn on_one_plane(random: &mut Random, hits: &mut [[f64; 3]], apart: f64) {
    let [x, y, z] = hits[0];
    for hit in hits {
        let off = random.between(0.0, 1.0) * random.below(2) as f64;
        *hit = [x + apart * random.normal(), y + apart * random.normal(), z + off];
    }
}

const USUAL: Kind = Kind {
    name: "usual",
    pairs: [3, 26],
    slope: 0.3,
    spread: 0.0125,
    missed: 0.0,
    turn: as_they_are,
    apart: 1.0,
    most: [1.0; 2],
};

fn kinds() -> Vec<Kind> {
    vec![
        USUAL,
        Kind { name: "three hits", pairs: [3, 3], ..USUAL },
        Kind { name: "all pairs", pairs: [26, 26], ..USUAL },
        Kind { name: "gaps", pairs: [5, 26], missed: 0.6, ..USUAL },
        Kind { name: "steep", slope: 0.6, ..USUAL },
        // The edges of the detector bend these tracks by up to 2 rad: a chi2 of 10^7. Learning raises the noise a million times,
        // then lowers it over tens of hits, each by a factor with its own rounding.
        Kind { name: "very steep", pairs: [3, 8], slope: 2.0, most: [1.0, 1.0], ..USUAL },
        Kind { name: "bent", slope: 2.0, most: [1.0, 20.0], ..USUAL },
        Kind { name: "along the beam", slope: 1e-4, ..USUAL },
        Kind { name: "exactly straight", spread: 0.0, ..USUAL },
        Kind { name: "off", spread: 1.0, ..USUAL },
        Kind { name: "on one another", turn: on_one_another, ..USUAL },
        Kind { name: "in one place", turn: in_one_place, ..USUAL },
        Kind { name: "on one plane", turn: on_one_plane, ..USUAL },
        Kind { name: "anywhere", turn: anywhere, ..USUAL },
        // No search makes such tracks: hits at one z that lie apart by half a sensor, or by the whole detector, 500 to 5,000 of
        // their errors. One rounding of 50 mm is 3e-6 mm; a hundredth of the error of 26 hits is 2.4e-5 mm, which a few
        // of them reach. The bounds are about twice what a million tracks showed.
        Kind {
            name: "on one another, 7 mm apart",
            turn: on_one_another,
            apart: 7.0,
            most: [1.0; 2],
            ..USUAL
        },
        Kind { name: "on one plane, 7 mm apart", turn: on_one_plane, apart: 7.0, most: [4.0, 1.0], ..USUAL },
        Kind {
            name: "on one another, 50 mm apart",
            turn: on_one_another,
            apart: 50.0,
            most: [12.0, 20.0],
            ..USUAL
        },
        Kind {
            name: "on one plane, 50 mm apart",
            turn: on_one_plane,
            apart: 50.0,
            most: [10.0, 1.0],
            ..USUAL
        },
    ]
}

impl Kind {
    /// A track: hits in pairs of modules from the largest z down, in the detector.
    fn track(&self, random: &mut Random) -> Vec<[f32; 3]> {
        let pairs = self.pairs[0] + random.below(self.pairs[1] - self.pairs[0] + 1);
        let first = random.below(27 - pairs);
        let (tx, ty) = (random.between(-self.slope, self.slope), random.between(-self.slope, self.slope));
        // Through any point of the middle pair, which the sensors' corners bound.
        let middle = MODULE_Z[2 * (first + pairs / 2)];
        let (x, y) = (random.between(-50.0, 50.0), random.between(-50.0, 50.0));
        let mut hits = Vec::new();
        for pair in (first..first + pairs).rev() {
            let at_end = pair == first || pair == first + pairs - 1 || hits.is_empty();
            if !at_end && random.between(0.0, 1.0) < self.missed {
                continue;
            }
            let z = MODULE_Z[2 * pair + random.below(2)] + random.between(-1.5, 1.5);
            let mut place =
                |at: f64, t: f64| (at + t * (z - middle) + self.spread * random.normal()).clamp(-60.0, 60.0);
            hits.push([place(x, tx), place(y, ty), z]);
        }
        (self.turn)(random, &mut hits, self.apart);
        // In micrometres, as files have them.
        hits.iter().map(|hit| hit.map(|value| ((value * 1e3).round() / 1e3) as f32)).collect()
    }
}

fn tracks_of_each_kind() -> usize {
    std::env::var("PELOTON_FIT_TRACKS").map_or(20_000, |text| text.parse().expect("a number of tracks"))
}

#[test]
fn any_track_is_fitted_as_in_f64() {
    for preset in [Preset::Best, Preset::Paper] {
        fitted_as_in_f64(&VeloConfig::preset(preset).fit, preset);
    }
}

fn fitted_as_in_f64(config: &FitConfig, preset: Preset) {
    let level = Level::choose(None, None).unwrap();
    for kind in kinds() {
        let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(1));
        let mut left = tracks_of_each_kind();
        let mut sum = Worst::default();
        while left > 0 {
            let lists: Vec<_> = (0..left.min(10_000)).map(|_| kind.track(&mut random)).collect();
            left -= lists.len();
            let mut fitted = VeloTracks::default();
            fit_tracks(level, config, &lists, &mut fitted).unwrap();
            let worst = compare(config, &fitted, |track| lists[track].clone());
            sum.tracks += worst.tracks;
            see(&mut sum.position, worst.position);
            see(&mut sum.slope, worst.slope);
            see(&mut sum.z, worst.z);
            see(&mut sum.covariance, worst.covariance);
            see(&mut sum.chi2, worst.chi2);
        }
        assert_close(&format!("{preset}, {}", kind.name), &sum, kind.most);
    }
}

#[test]
fn levels_and_the_naive_fit_give_the_same_bits() {
    let config = FitConfig::default();
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(2));
    let lists: Vec<_> = (0..130).flat_map(|_| kinds()).map(|kind| kind.track(&mut random)).collect();
    let bits = |tracks: &VeloTracks| {
        let states = [&tracks.beam, &tracks.end].map(|states| columns(states).map(|column| column.to_vec()));
        let columns = states.into_iter().flatten().chain([tracks.chi2.to_vec()]);
        let bits: Vec<Vec<u32>> =
            columns.map(|column| column.iter().map(|value| value.to_bits()).collect()).collect();
        (bits, tracks.backward.to_vec(), tracks.hit_start.to_vec(), tracks.hits.to_vec())
    };
    let expected = reference::fit_tracks(&config, &lists);
    assert_eq!(expected.tracks(), lists.len());
    for level in Level::supported() {
        let mut fitted = VeloTracks::default();
        fit_tracks(level, &config, &lists, &mut fitted).unwrap();
        assert!(bits(&fitted) == bits(&expected), "{level}");
    }
}

#[test]
fn tracks_that_cannot_be_fitted_are_refused() {
    let level = Level::choose(None, None).unwrap();
    for (hits, words) in [(0, "track 1 has 0 hits"), (30, "track 1 has 30 hits: 1 to 29")] {
        let lists = [vec![[1.0, 2.0, 3.0]; 29], vec![[1.0, 2.0, 3.0]; hits]];
        let error = fit_tracks(level, &FitConfig::default(), &lists, &mut VeloTracks::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// Ends of a track at a denormal distance once gave infinite slopes.
#[test]
fn nothing_but_numbers_comes_of_numbers() {
    let tiny = f32::from_bits(1);
    let lists = [
        vec![[10.0, 5.0, 0.0], [9.0, 4.5, -12.5], [8.0, 4.0, -25.0], [-10.0, 5.0, tiny]],
        vec![[1000.0, -1000.0, 1000.0], [0.0, 0.0, 0.0], [-1000.0, 1000.0, 998.9]],
        vec![[0.0; 3]; 26],
        vec![[1000.0, 1000.0, -1000.0]],
    ];
    let mut fitted = VeloTracks::default();
    fit_tracks(Level::choose(None, None).unwrap(), &FitConfig::default(), &lists, &mut fitted).unwrap();
    for track in 0..lists.len() {
        assert_positive(&fitted.beam, track);
        assert_positive(&fitted.end, track);
        assert!(fitted.chi2[track] >= 0.0 && fitted.chi2[track].is_finite(), "{}", fitted.chi2[track]);
    }
}

/// All tracks of a sample, found by a preset.
fn compare_events(name: &str, batch: &VeloBatch) {
    for preset in Preset::ALL {
        let config = VeloConfig::preset(preset);
        let mut out = Outcome::default();
        let (level, mut workspace) = (Level::choose(None, None).unwrap(), VeloWorkspace::default());
        reconstruct(level, &config, batch.view(), 0..batch.len(), &mut workspace, &mut out);
        let tracks: VeloTracks = out.results;
        let mut places = std::collections::HashMap::new();
        let mut of_event = usize::MAX;
        let worst = compare(&config.fit, &tracks, |track| {
            let event = tracks.track_start.partition_point(|start| *start as usize <= track) - 1;
            if of_event != event {
                let hits = batch.view().event(event);
                let positions = (0..hits.len()).map(|i| (hits.id[i], [hits.x[i], hits.y[i], hits.z[i]]));
                (places, of_event) = (positions.collect(), event);
            }
            tracks.hits_of(track).iter().map(|hit| places[hit]).collect()
        });
        assert_close(&format!("{name}, {preset}"), &worst, [1.0; 2]);
    }
}

#[test]
fn tracks_of_simulated_events_are_fitted_as_in_f64() {
    let spec: SimSpec = "sim:velo,events=60,seed=5".parse().unwrap();
    let mut batch = VeloBatch::default();
    (0..60).for_each(|number| drop(simulate_velo(&spec, number, &mut batch)));
    compare_events("sim:velo", &batch);
}

/// Hits of the LHCb-like detector, decoded from its banks.
#[test]
fn tracks_of_simulated_banks_are_fitted_as_in_f64() {
    let geometry = Detector::nominal();
    let detector = geometry.to_fly_through();
    for velo in ["retina", "superpixel"] {
        let spec = format!("sim:lhcb,events=30,seed=5,velo={velo}").parse().unwrap();
        let (mut reader, mut raw) = (LhcbReader::new(spec, 0, None), RawBatch::default());
        while let Some(event) = reader.next(&detector) {
            event.push(&mut raw);
        }
        assert_eq!(raw.len(), 30);
        let mut hits = Outcome::<VeloBatch>::default();
        let (level, scratch) = (Level::choose(None, None).unwrap(), &mut DecodeScratch::default());
        let decoder = VeloDecoder { sensors: &geometry.velo, banks: VeloBanks::Auto };
        decode(level, decoder, raw.view(), 0..raw.len(), scratch, &mut hits);
        compare_events(&format!("sim:lhcb, {velo}"), &hits.results);
    }
}

#[test]
fn tracks_of_real_events_are_fitted_as_in_f64() {
    let Some(data) = crate::common::data() else { return };
    compare_events("public200", &crate::common::read_all(&data.join("velo/public200.ndjson.zst")).0);
}

/// The line through n hits by the normal equations in f64: its position and slope at the mean z, and chi2; weights are equal.
struct LeastSquares {
    z: f64,
    zz: f64,
    at: [f64; 2],
    slope: [f64; 2],
    chi2: f64,
}

fn least_squares(hits: &[[f32; 3]], weight: f64) -> LeastSquares {
    let n = hits.len() as f64;
    let sum = |term: &dyn Fn([f64; 3]) -> f64| hits.iter().map(|hit| term(hit.map(f64::from))).sum::<f64>();
    let z = sum(&|hit| hit[2]) / n;
    let zz = sum(&|hit| (hit[2] - z).powi(2));
    let at = [0, 1].map(|i| sum(&|hit| hit[i]) / n);
    let slope = [0, 1].map(|i| sum(&|hit| (hit[2] - z) * hit[i]) / zz);
    let of = |i: usize| sum(&|hit| (hit[i] - at[i] - slope[i] * (hit[2] - z)).powi(2));
    LeastSquares { z, zz, at, slope, chi2: weight * (of(0) + of(1)) }
}

#[test]
fn the_fit_of_the_paper_is_a_least_squares_line() {
    let config = VeloConfig::preset(Preset::PaperLiteral).fit;
    let weight = f64::from(config.weight);
    let mut random = Xoshiro256PlusPlus::from_seed([9; 32]);
    let mut between =
        |low: f64, high: f64| low + (high - low) * f64::from(random.next_u32()) / 4_294_967_296.0;
    let track = |_| -> Vec<[f32; 3]> {
        let (last, hits) = (between(2.0, 25.0) as usize, between(3.0, 15.0) as usize);
        let [x, y, tx, ty] = [1.0, 1.0, 0.3, 0.3].map(|reach| between(-reach, reach));
        let pairs = (0..=last).rev().take(hits.min(last + 1));
        let hit = |pair: usize| {
            let z = MODULE_Z[2 * pair];
            [x + tx * z + between(-0.05, 0.05), y + ty * z + between(-0.05, 0.05), z].map(|v| v as f32)
        };
        pairs.map(hit).collect()
    };
    let tracks: Vec<_> = (0..2000).map(track).collect();
    let level = Level::choose(None, None).unwrap();
    let (mut fitted, mut kalman) = (VeloTracks::default(), VeloTracks::default());
    fit_tracks(level, &config, &tracks, &mut fitted).unwrap();
    fit_tracks(level, &VeloConfig::preset(Preset::Paper).fit, &tracks, &mut kalman).unwrap();
    let mut noticed = 0;
    for (track, hits) in tracks.iter().enumerate() {
        let line = least_squares(hits, weight);
        // The largest difference of states, in standard deviations, and of variances, relative.
        let off = |fitted: &VeloTracks| {
            let mut off: f64 = (f64::from(fitted.chi2[track]) - line.chi2).abs() / (0.1 * line.chi2 + 0.1);
            for states in [&fitted.beam, &fitted.end] {
                let value = |column: &Column<f32>| f64::from(column[track]);
                let dz = value(&states.z) - line.z;
                let (xx, tt) =
                    (1.0 / weight / hits.len() as f64 + dz * dz / weight / line.zz, 1.0 / weight / line.zz);
                let positions = [value(&states.x), value(&states.y)];
                let slopes = [value(&states.tx), value(&states.ty)];
                for i in 0..2 {
                    off = off.max((positions[i] - line.at[i] - line.slope[i] * dz).abs() / xx.sqrt());
                    off = off.max((slopes[i] - line.slope[i]).abs() / tt.sqrt());
                }
                off = off.max((value(&states.cov_xx) / xx - 1.0).abs());
                off = off.max((value(&states.cov_txtx) / tt - 1.0).abs());
            }
            off
        };
        assert!(off(&fitted) < 0.01, "track {track}: {}", off(&fitted));
        noticed += usize::from(off(&kalman) > 0.01);
    }
    assert!(noticed > 1900, "the fit with scattering is as good: {noticed}");
}
