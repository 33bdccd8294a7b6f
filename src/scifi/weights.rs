//! Weights and thresholds of the classifiers of tracks of `fast` and `best`, trained on simulated events alone.
//!
//! Written by `cargo run --release --example choose -- scifi`, not by hand. The classifiers
//! are logistic regressions (ridge 1, rounded to 0.001) on all candidates of a pass in `sim:lhcb,events=10`,
//! seeds 101..=140, with `realism=1` for `best`. A candidate is true if 70 % of its hits are of one particle.
//! Candidates: `fast` 42194 true and 7505 false; `best` 63407 true and 9275 false in the first pass, 29798 true and 11237 false in the second.
//! Thresholds: multiples of 0.25, chosen on seeds 801..=840 by the criterion of docs/algorithms.md. Weights and thresholds
//! of `best` also use events with modules moved by 0.15 mm. Found long particles above 3 and 5 GeV/c:
//! `fast` 16556 of 17823 and 12562 of 13391, ghosts 990 of 41933;
//! `best` 16762 of 17612 and 12739 of 13269, ghosts 1097 of 45599.

/// Number of features of a track that a classifier weighs.
pub(super) const FEATURES: usize = 15;

/// Weights for `fast`, and the smallest sum of an accepted track.
#[rustfmt::skip]
pub(super) const FAST: ([f32; FEATURES], f32) = (
    [16.955, 3.282, -3.162, -0.672, -1.609, -1.359, 0.777, 0.213, -0.096, 0.336, 0.84, -0.682, -0.019, 0.005, -1.448],
    -0.75,
);
/// Weights for the first pass of `best`, and the smallest sum of an accepted track.
#[rustfmt::skip]
pub(super) const FIRST: ([f32; FEATURES], f32) = (
    [18.22, 2.324, -2.923, -0.541, -1.241, -2.765, 0.626, 0.177, -0.065, 0.465, 0.661, -0.746, -0.03, -0.008, -1.726],
    1.0,
);
/// Weights for the second pass, and the smallest sum of an accepted track.
#[rustfmt::skip]
pub(super) const SECOND: ([f32; FEATURES], f32) = (
    [14.865, 1.212, -2.528, -0.425, -1.239, -0.607, 0.288, 0.159, -0.047, 0.244, 0.456, -0.757, 0.007, 0.018, -1.243],
    0.5,
);
