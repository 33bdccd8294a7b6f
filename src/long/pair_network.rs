//! Tells pairs of a Velo and a SciFi track that are one particle's from others.
//!
//! Written by the trainer, not by hand: pairs with chi2 up to 4 of the
//! tracks of `velo` and `scifi`, presets `best`, in `sim:lhcb,events=10,seed=K`, K = 101 to 140 and 801 to 840. A pair is true
//! where one particle has 70 % of the hits of both tracks. What made the table is not in this repository yet.
//! `LongConfig::min_response` is the threshold that is used.
//! Weights: seeds 1-799 (of which 101-140), 20233 true and 9439 false candidates.
//! Threshold: seeds 800-999 (of which 801-840), 19968 true and 9544 false; it keeps 98.00 % and 22.69 %.
//! Of pairs of a true and a false one 96.033 % are in order.
//! Training: 8 units, 20 epochs, batches of 32, rate 0.01, seed 1.
//! Inputs: chi2, distance_x, distance_y, change_x, change_y, slope, scifi_hits, scifi_y.

use crate::classifier::Network;

/// Tells pairs of a Velo and a SciFi track that are one particle's from others.
#[rustfmt::skip]
pub(super) const PAIRS: Network<8, 8> = Network {
    centre: [
        0.7012336, 5.1849213, 12.150687, 0.20362042, 0.0023711838, 0.058434147, 11.645928, 2.9562984,
    ],
    scale: [
        1.066897, 0.18961722, 0.056798093, 6.8192596, 309.92892, 20.239264, 1.6685258, 0.3143198,
    ],
    hidden: [
        [
            -1.8865719, -0.83777714, -0.7453696, -0.18842226, 0.91073215, 2.6726222, 0.19573449, 0.098046914,
        ],
        [
            -1.908731, -0.2757042, -0.98566693, -0.9697292, -1.457559, 0.0164077, -0.22632973, -0.33394012,
        ],
        [
            1.7274743, 0.91479903, 3.2902737, -2.231831, -3.0848124, -1.0195496, 0.094707936, -0.52024174,
        ],
        [
            -0.76989454, -3.2220473, 3.2274501, 3.4186292, -2.032629, 0.4143352, -0.06594841, 1.0834546,
        ],
        [
            -1.4981723, -1.9516946, -3.6931865, 4.290232, 2.7803986, -0.8946175, 0.107101105, -0.61594886,
        ],
        [
            0.16858505, 0.62805015, 1.8833505, 3.211121, -2.7580838, 0.9470677, 0.04740685, -0.8436496,
        ],
        [
            0.61514294, -0.17707185, -0.59242576, -1.2223877, -3.4108782, 1.2287213, -0.15060374, -1.0179421,
        ],
        [
            -1.3960866, 0.99540657, 1.6125345, 1.8848528, 0.95162076, 0.84091514, -0.09531602, -0.1408788,
        ],
    ],
    hidden_bias: [
        -0.89680666, -3.200741, -2.5737395, 3.2584355, 1.9345442, 0.0265868, 0.98264664, 2.4714801,
    ],
    output: [
        2.987571, 2.9718585, -5.146715, 2.31699, 1.707602, 2.2200766, 0.80920464, -4.7569175,
    ],
    output_bias: -2.0766306,
    threshold: 0.26821697,
};
