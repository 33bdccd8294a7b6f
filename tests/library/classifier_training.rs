//! The trainer of small classifiers: the same file from the same table, byte for byte, and a network that separates
//! true candidates from false ones.

use crate::common::best_level;
use crate::common::geometry::Detector;
use peloton::event::{Outcome, RawBatch, VeloTracks};
use peloton::velo::Preset;
use peloton_sim::LhcbReader;
use peloton_truth::train::{Table, Trained, Training, train, train_with_noise};
use peloton_truth::{Checker, HitsOf, Rules, decode_mc};

/// The stored output of [`retrained`]. After an intended change (of the simulation, the Velo, the trainer) the test prints the
/// path of the new output.
#[path = "../refs/small_network.rs"]
mod small_network;

const FEATURES: [&str; 4] = ["hits", "chi2", "beam_tt", "distance"];

/// Velo tracks of small samples as candidates: whether they are particles.
fn candidates() -> Vec<(u64, [f32; 4], bool)> {
    let geometry = Detector::nominal();
    let detector = geometry.to_fly_through();
    let engine = geometry.velo_engine(best_level(), Preset::Paper);
    let mut all = Vec::new();
    for seed in (1..=12).chain(800..=807) {
        let mut reader = LhcbReader::new(format!("sim:lhcb,events=4,seed={seed}").parse().unwrap(), 0, None);
        let (mut raw, mut notes, mut out) =
            (RawBatch::default(), Vec::new(), Outcome::<VeloTracks>::default());
        reader.read(4, &detector, &mut raw, &mut notes).unwrap();
        engine.try_run(raw.view(), &mut engine.workspace(), &mut out).unwrap();
        let tracks = &out.results;
        let mut checker = Checker::new(Rules::Lhcb);
        for (event, note) in notes.iter().enumerate() {
            checker.event(
                &decode_mc(note.truth.as_ref().unwrap(), HitsOf::Velo).unwrap(),
                tracks.hit_lists(event),
            );
            let is_true: Vec<usize> = checker.true_tracks().collect();
            for (number, track) in tracks.of_event(event).enumerate() {
                let beam = &tracks.beam;
                let distance = beam.x[track].hypot(beam.y[track]).min(10.0);
                let features = [
                    tracks.hits_of(track).len() as f32,
                    tracks.chi2[track],
                    beam.cov_txtx[track] * 1e6,
                    distance,
                ];
                all.push((seed, features, is_true.contains(&number)));
            }
        }
    }
    all
}

fn table(candidates: &[(u64, [f32; 4], bool)]) -> Table {
    let mut table = Table::new(&FEATURES);
    for (seed, features, is_true) in candidates {
        table.push(*seed, features, *is_true).unwrap();
    }
    table
}

fn retrained(table: &Table) -> Trained {
    train(table, &Training { hidden: 4, epochs: 6, keep: 0.98, ..Training::default() }).unwrap()
}

#[test]
fn a_network_that_is_trained_again_is_the_same_file() {
    let candidates = candidates();
    let trained = retrained(&table(&candidates));
    assert!(trained.weight_rows[1] > 20 && trained.threshold_rows[1] > 10, "{trained:?}");
    let made = "`cargo test --release --test library classifier_training`.";
    let file =
        trained.to_rust("SMALL", "Whether a Velo track is a particle: small, for tests", made, "peloton");
    let stored = include_str!("../refs/small_network.rs");
    if file != stored {
        let place = std::env::temp_dir().join("small_network.rs");
        std::fs::write(&place, &file).unwrap();
        panic!("the network has changed: {} is the new one", place.display());
    }
    // The constant in the file is the trained network: it keeps the same share of the true candidates.
    let thresholds: Vec<_> = candidates.iter().filter(|(seed, ..)| *seed >= 800).collect();
    let columns: [Vec<f32>; 4] =
        std::array::from_fn(|at| thresholds.iter().map(|(_, features, _)| features[at]).collect());
    let mut responses = Vec::new();
    small_network::SMALL.responses(best_level(), columns.each_ref().map(Vec::as_slice), &mut responses);
    let kept = [true, false].map(|label| {
        let of = responses.iter().zip(&thresholds).filter(|(_, (.., is_true))| *is_true == label);
        let kept = of.clone().filter(|(response, _)| **response >= small_network::SMALL.threshold).count();
        kept as f64 / of.count() as f64
    });
    println!("kept {kept:?}, told {:?}, ordered {}", trained.kept, trained.ordered);
    assert!((kept[0] - trained.kept[0]).abs() < 2e-3 && (kept[1] - trained.kept[1]).abs() < 0.05, "{kept:?}");
    assert!(trained.ordered > 0.8 && kept[0] > 0.97 && kept[1] < kept[0] - 0.1, "{trained:?}");
}

/// Points in a ring are true, points inside and outside are false: no line separates them, but a small network does.
#[test]
fn what_no_line_can_tell_apart_is_learnt() {
    let mut rows = Table::new(&["x", "y"]);
    let mut state = 3u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    for row in 0..8000 {
        let (x, y) = (30.0 * random() + 5.0, 0.01 * random());
        let r2 = ((x - 5.0) / 30.0).powi(2) + (y / 0.01).powi(2);
        rows.push(if row % 4 == 0 { 900 } else { 1 }, &[x, y], (0.2..0.7).contains(&r2)).unwrap();
    }
    let training = Training { hidden: 12, epochs: 60, rate: 0.03, keep: 0.95, ..Training::default() };
    let trained = train(&rows, &training).unwrap();
    println!("{} in order, kept {:?}", trained.ordered, trained.kept);
    assert!(trained.ordered > 0.98 && trained.kept[0] >= 0.95 && trained.kept[1] < 0.15, "{trained:?}");
}

/// A feature that separates candidates in the table, but is noise in the fit of weights, is not learnt.
#[test]
fn noise_hides_what_it_covers() {
    let mut table = Table::new(&["first", "second"]);
    for row in 0..4000u32 {
        let (is_true, spread) = (row % 2 == 0, (row % 101) as f32 / 101.0);
        let side = if is_true { 1.0 } else { -1.0 };
        table.push(if row % 4 < 2 { 1 } else { 800 }, &[side + spread, side - spread], is_true).unwrap();
    }
    let training = Training { hidden: 3, epochs: 10, ..Training::default() };
    let mut looks = 0u32;
    let noisy = train_with_noise(&table, &training, &mut |features| {
        looks += 1;
        features[0] = (looks % 7) as f32 - 3.0;
    });
    let noisy = noisy.unwrap();
    // In each epoch, once for each candidate that weights are fitted to.
    assert_eq!(looks, 10 * 2000);
    let by = |trained: &Trained, at: usize| {
        let mut features = [[0.0; 2]; 2];
        (features[0][at], features[1][at]) = (-1.0, 1.0);
        (trained.response(&features[1]) - trained.response(&features[0])).abs()
    };
    let clean = train(&table, &training).unwrap();
    assert!(by(&clean, 0) > 0.2 && by(&noisy, 0) < 0.1, "{} {}", by(&clean, 0), by(&noisy, 0));
    assert!(by(&noisy, 1) > 0.5, "{}", by(&noisy, 1));
}

#[test]
fn tables_that_teach_nothing_are_refused() {
    let mut rows = Table::new(&["a", "b"]);
    let message = |error: peloton::Error| error.to_string();
    assert!(message(rows.push(1, &[1.0], true).unwrap_err()).contains("1 features, not 2"));
    assert!(message(rows.push(1, &[1.0, f32::NAN], true).unwrap_err()).contains("`b` is NaN"));
    assert!(message(rows.push(5000, &[1.0, 2.0], true).unwrap_err()).contains("1 to 999"));
    assert!(rows.is_empty());
    for (seed, label) in [(1, true), (1, false), (900, true)] {
        rows.push(seed, &[2.0, seed as f32], label).unwrap();
    }
    assert!(message(train(&rows, &Training::default()).unwrap_err()).contains("true and false"));
    rows.push(900, &[2.0, 5.0], false).unwrap();
    assert!(message(train(&rows, &Training::default()).unwrap_err()).contains("feature `a` is always"));
    for wrong in [
        Training { hidden: 33, ..Training::default() },
        Training { hidden: 0, ..Training::default() },
        Training { epochs: 0, ..Training::default() },
        Training { keep: 0.0, ..Training::default() },
        Training { rate: f64::NAN, ..Training::default() },
    ] {
        assert!(message(train(&rows, &wrong).unwrap_err()).contains("training: "));
    }
}
