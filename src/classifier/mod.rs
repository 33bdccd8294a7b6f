//! Small classifiers: a network with one hidden layer gives the probability that a candidate is true.
//!
//! ```text
//! input -> (input - centre) * scale -> hidden units: sigmoid of a weighted sum -> response: sigmoid of theirs
//! ```
//! Each SIMD lane computes the response of one candidate; all lanes share the weights. Each weighted sum starts at its
//! bias and adds its terms in order, each by a fused multiply-add, and the sigmoid is [`crate::simd::math::sigmoid`].
//! So a response has the same bits on every instruction set and gang size, and in the naive reference implementation.
//!
//! The networks of a detector are Rust source files. The trainer `train` of the crate `peloton-truth` writes them from
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
    /// Value that is subtracted from each input: the mean of this input in the training.
    pub centre: [f32; INPUTS],
    /// Factor that multiplies each input after `centre` is subtracted: the inverse width of this input in the training.
    pub scale: [f32; INPUTS],
    /// Weights of the inputs in each hidden unit.
    pub hidden: [[f32; INPUTS]; HIDDEN],
    /// Bias of each hidden unit.
    pub hidden_bias: [f32; HIDDEN],
    /// Weights of the hidden units in the response.
    pub output: [f32; HIDDEN],
    /// Bias of the response.
    pub output_bias: f32,
    /// Smallest response of a candidate that counts as true.
    pub threshold: f32,
}

impl<const INPUTS: usize, const HIDDEN: usize> Network<INPUTS, HIDDEN> {
    /// Returns, for each lane, the probability (0 to 1) that its candidate is true. A NaN input leads to a meaningless
    /// response, which is the same for every gang size; callers mask lanes with NaN inputs.
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

    /// Returns the lanes whose candidates count as true: the lanes with a response of at least the threshold.
    #[inline(always)]
    pub fn accepts<G: Gang>(&self, inputs: [F32<G>; INPUTS]) -> Mask<G> {
        let response = self.response(inputs);
        F32::splat(response.g, self.threshold).le(response)
    }

    /// Replaces `out` by the responses of all candidates. Column i of `inputs` holds input i of every candidate.
    ///
    /// # Panics
    /// Panics if a column is shorter than the first column.
    pub fn responses(&self, level: Level, inputs: [&[f32]; INPUTS], out: &mut Vec<f32>) {
        let count = inputs[0].len();
        assert!(inputs.iter().all(|column| column.len() >= count), "a column is shorter than the first");
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
