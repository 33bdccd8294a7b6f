//! Small classifiers: a network with one hidden layer gives the probability that a candidate is true.
//!
//! ```text
//! input -> (input - centre) * scale -> hidden units: sigmoid of a weighted sum -> response: sigmoid of theirs
//! ```
//! One lane is one candidate; weights are broadcast constants. Each weighted sum starts at its bias and adds its
//! terms in order, a fused multiply-add each, and the sigmoid is our own ([`crate::simd::math::sigmoid`]): a response
//! has the same bits on every level and gang, and in the naive twin beside it.
//!
//! A detector keeps its networks as Rust files, which the trainer of the crate `peloton-truth` (`train`) writes from
//! simulated events, with a description of the training.

#[cfg(feature = "reference")]
mod reference;

use crate::dispatch;
use crate::simd::math::sigmoid;
use crate::simd::varying::{F32, Mask};
use crate::simd::{Gang, Level};

/// Largest number of units of the hidden layer.
pub const MAX_HIDDEN: usize = 32;

/// A trained network of `INPUTS` inputs and one layer of `HIDDEN` units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network<const INPUTS: usize, const HIDDEN: usize> {
    /// Offset subtracted from each input, and factor applied after that: mean and inverse width of the training inputs.
    pub centre: [f32; INPUTS],
    /// See `centre`.
    pub scale: [f32; INPUTS],
    /// Weights of the inputs in each hidden unit, and its bias.
    pub hidden: [[f32; INPUTS]; HIDDEN],
    /// See `hidden`.
    pub hidden_bias: [f32; HIDDEN],
    /// Weights of the hidden units in the response, and its bias.
    pub output: [f32; HIDDEN],
    /// See `output`.
    pub output_bias: f32,
    /// Smallest response of a candidate that counts as true.
    pub threshold: f32,
}

impl<const INPUTS: usize, const HIDDEN: usize> Network<INPUTS, HIDDEN> {
    /// Returns the probability that each lane's candidate is true, 0 to 1. A NaN input gives an arbitrary response, the
    /// same on every gang; callers mask such lanes.
    #[inline(always)]
    pub fn response<G: Gang>(&self, inputs: [F32<G>; INPUTS]) -> F32<G> {
        const { assert!(INPUTS > 0 && HIDDEN > 0 && HIDDEN <= MAX_HIDDEN) };
        let g = inputs[0].g;
        let mut inputs = inputs;
        for (i, input) in inputs.iter_mut().enumerate() {
            *input = (*input - F32::splat(g, self.centre[i])) * F32::splat(g, self.scale[i]);
        }
        let mut sum = F32::splat(g, self.output_bias);
        for unit in 0..HIDDEN {
            let mut inner = F32::splat(g, self.hidden_bias[unit]);
            for (i, input) in inputs.into_iter().enumerate() {
                inner = input.mul_add(F32::splat(g, self.hidden[unit][i]), inner);
            }
            sum = sigmoid(inner).mul_add(F32::splat(g, self.output[unit]), sum);
        }
        sigmoid(sum)
    }

    /// Returns the lanes whose candidates count as true: their response is the threshold or more.
    #[inline(always)]
    pub fn accepts<G: Gang>(&self, inputs: [F32<G>; INPUTS]) -> Mask<G> {
        let response = self.response(inputs);
        F32::splat(response.g, self.threshold).le(response)
    }

    /// Computes the responses of candidates in columns of equal length: as a separate stage, and to choose thresholds.
    ///
    /// # Panics
    /// When a column is shorter than the first.
    pub fn responses(&self, level: Level, inputs: [&[f32]; INPUTS], out: &mut Vec<f32>) {
        let count = inputs[0].len();
        assert!(inputs.iter().all(|column| column.len() >= count), "columns of one length");
        out.clear();
        out.resize(count, 0.0);
        dispatch!(level, g => self.fill(g, inputs, out));
    }

    #[inline(always)]
    fn fill<G: Gang>(&self, g: G, inputs: [&[f32]; INPUTS], out: &mut [f32]) {
        for at in (0..out.len()).step_by(G::LANES) {
            let lanes = Mask::first(g, out.len() - at);
            let mut values = [F32::splat(g, 0.0); INPUTS];
            for i in 0..INPUTS {
                values[i] = F32::load_some(&inputs[i][at..], lanes);
            }
            self.response(values).store_some(&mut out[at..], lanes);
        }
    }
}
