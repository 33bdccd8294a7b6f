//! Whether a Velo track is a particle: small, for tests.
//!
//! Written by the trainer, not by hand: `cargo test --release --test classifier_training`.
//! Weights: seeds 1-799, 9869 true and 54 false candidates.
//! Threshold: seeds 800-999, 6855 true and 35 false; it keeps 98.00 % and 80.00 %.
//! Of pairs of a true and a false one 90.368 % are in order.
//! Training: 4 units, 6 epochs, batches of 32, rate 0.01, seed 1.
//! Inputs: hits, chi2, beam_tt, distance.

use peloton::classifier::Network;

/// Whether a Velo track is a particle: small, for tests.
#[rustfmt::skip]
pub const SMALL: Network<4, 4> = Network {
    centre: [
        6.5333066, 30.928661, 0.095157966, 0.31918702,
    ],
    scale: [
        0.31118253, 0.0091831, 11.037454, 0.844287,
    ],
    hidden: [
        [
            -0.6355597, 1.8007516, 1.4335806, 0.67806387,
        ],
        [
            -0.7006672, 1.9423584, 1.133755, 1.2799051,
        ],
        [
            0.57437, -1.2053782, -0.07837612, -1.3194665,
        ],
        [
            -0.81264955, 1.1158834, -0.09403432, 0.6236319,
        ],
    ],
    hidden_bias: [
        -0.76729935, -0.8336955, 1.0909424, -0.7142091,
    ],
    output: [
        -1.2162961, -1.289002, 1.2658054, -0.53407425,
    ],
    output_bias: 0.89127886,
    threshold: 0.118102655,
};
