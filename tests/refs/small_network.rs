//! Whether a Velo track is a particle: small, for tests.
//!
//! Written by the trainer, not by hand: `cargo test --release --test library classifier_training`.
//! Weights are fitted to 9869 true and 54 false candidates, seeds 1-799.
//! The threshold keeps 98.00 % of 6855 true and 80.00 % of 35 false candidates, seeds 800-999.
//! Of a true and a false candidate at random, the true one has the larger response in 90.368 % of cases.
//! Training: 4 hidden units, 6 epochs, batches of 32 candidates, learning rate 0.01, seed 1.
//! Inputs: hits, chi2, beam_tt, distance.

use peloton::classifier::Network;

/// Whether a Velo track is a particle: small, for tests.
#[rustfmt::skip]
pub const SMALL: Network<4, 4> = Network {
    centre: [
        6.5333066, 30.928661, 0.095157966, 0.31918702,
    ],
    scale: [
        0.31118253, 0.009183101, 11.037454, 0.844287,
    ],
    hidden: [
        [
            -0.6355602, 1.800752, 1.4335809, 0.67806435,
        ],
        [
            -0.7006675, 1.9423589, 1.1337553, 1.279906,
        ],
        [
            0.5743702, -1.205378, -0.078376316, -1.319467,
        ],
        [
            -0.81264985, 1.1158835, -0.094034165, 0.6236321,
        ],
    ],
    hidden_bias: [
        -0.7672998, -0.8336957, 1.0909424, -0.7142092,
    ],
    output: [
        -1.2162962, -1.2890022, 1.2658058, -0.5340743,
    ],
    output_bias: 0.8912791,
    threshold: 0.11810255,
};
