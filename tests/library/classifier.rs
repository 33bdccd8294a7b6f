//! Small classifiers: the same bits on every gang and in the naive twin, close to the values of f64.

use peloton::classifier::Network;
use peloton::simd::Level;

/// A network with weights from a few thousandths to a few units, of both signs.
fn network<const INPUTS: usize, const HIDDEN: usize>(seed: u32) -> Network<INPUTS, HIDDEN> {
    let mut state = seed;
    let mut weight = |scale: f32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        scale * (f64::from(state) / f64::from(1u32 << 31) - 1.0) as f32
    };
    Network {
        centre: std::array::from_fn(|_| weight(2.0)),
        scale: std::array::from_fn(|_| 1.5 + weight(1.0)),
        hidden: std::array::from_fn(|_| std::array::from_fn(|_| weight(1.5))),
        hidden_bias: std::array::from_fn(|_| weight(1.0)),
        output: std::array::from_fn(|_| weight(3.0)),
        output_bias: weight(1.0),
        threshold: 0.5,
    }
}

/// Inputs of candidates: usual numbers, large numbers, and NaNs.
fn columns<const INPUTS: usize>(count: usize) -> [Vec<f32>; INPUTS] {
    let mut state = 7u32;
    std::array::from_fn(|_| {
        let value = |i: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let usual = (f64::from(state) / f64::from(1u32 << 30) - 2.0) as f32;
            match i % 29 {
                3 => 1e20 * usual,
                5 => f32::INFINITY,
                7 => f32::NAN,
                11 => 0.0,
                _ => usual,
            }
        };
        (0..count).map(value).collect()
    })
}

fn same_bits<const INPUTS: usize, const HIDDEN: usize>(seed: u32) {
    let network = network::<INPUTS, HIDDEN>(seed);
    for count in [0, 1, 5, 64, 1001] {
        let inputs = columns::<INPUTS>(count);
        let expected: Vec<u32> = (0..count)
            .map(|i| network.reference(std::array::from_fn(|at| inputs[at][i])).to_bits())
            .collect();
        for level in Level::supported() {
            let mut found = vec![9.0; 3];
            network.responses(level, inputs.each_ref().map(Vec::as_slice), &mut found);
            let found: Vec<u32> = found.into_iter().map(f32::to_bits).collect();
            assert_eq!(found, expected, "{level}, {count} candidates");
        }
    }
}

#[test]
fn every_gang_gives_the_bits_of_the_naive_twin() {
    same_bits::<1, 1>(1);
    same_bits::<4, 8>(2);
    same_bits::<10, 32>(3);
}

#[test]
fn responses_are_near_those_of_f64() {
    let network = network::<6, 16>(5);
    let inputs = columns::<6>(29 * 300);
    let mut worst = 0.0f64;
    let mut usual = 0;
    for candidate in 0..29 * 300 {
        let of: [f32; 6] = inputs.each_ref().map(|column| column[candidate]);
        if of.iter().all(|value| value.abs() < 100.0) {
            let difference = f64::from(network.reference(of)) - network.exact(of.map(f64::from));
            worst = worst.max(difference.abs());
            usual += 1;
        }
    }
    println!("{usual} candidates, largest difference {worst:e}");
    assert!(usual > 7000 && worst < 3e-6, "{worst}");
}
