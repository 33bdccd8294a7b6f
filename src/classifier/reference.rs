//! Naive twins of [`Network::response`] for one candidate: in f32 with equal roundings, or in f64 as in textbooks.

use super::Network;

impl<const INPUTS: usize, const HIDDEN: usize> Network<INPUTS, HIDDEN> {
    /// Returns the response of one candidate, bit-identical to a lane of [`Network::response`].
    pub fn reference(&self, inputs: [f32; INPUTS]) -> f32 {
        let mut sum = self.output_bias;
        for unit in 0..HIDDEN {
            let mut inner = self.hidden_bias[unit];
            for (i, input) in inputs.into_iter().enumerate() {
                inner = ((input - self.centre[i]) * self.scale[i]).mul_add(self.hidden[unit][i], inner);
            }
            sum = sigmoid(inner).mul_add(self.output[unit], sum);
        }
        sigmoid(sum)
    }

    /// Returns the response of one candidate, computed in f64 by the textbook formula.
    pub fn exact(&self, inputs: [f64; INPUTS]) -> f64 {
        let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let mut sum = f64::from(self.output_bias);
        for unit in 0..HIDDEN {
            let mut inner = f64::from(self.hidden_bias[unit]);
            for (i, input) in inputs.into_iter().enumerate() {
                let standard = (input - f64::from(self.centre[i])) * f64::from(self.scale[i]);
                inner += standard * f64::from(self.hidden[unit][i]);
            }
            sum += sigmoid(inner) * f64::from(self.output[unit]);
        }
        sigmoid(sum)
    }
}

/// Largest |x|; beyond it the sigmoid is constant.
const LIMIT: f32 = 80.0;

/// Returns 1 / (1 + e^-x), with e^-x = 2^n e^r and a polynomial for e^r.
fn sigmoid(x: f32) -> f32 {
    let x = if x > -LIMIT { x } else { -LIMIT };
    let x = if x < LIMIT { x } else { LIMIT };
    let n = x.mul_add(-std::f32::consts::LOG2_E, 12_582_912.0) - 12_582_912.0;
    let r = (-n).mul_add(3.194_618_3e-5, (-n).mul_add(0.693_115_23, -x));
    let terms = [0.001_392_617_7, 0.008_363_174, 0.041_666_556, 0.166_665_78, 0.5];
    let tail = terms.into_iter().reduce(|sum: f32, term| sum.mul_add(r, term)).unwrap_or_default();
    let power = (r * r).mul_add(tail, r) + 1.0;
    1.0 / (1.0 + power * f32::from_bits(((127 + n as i32) as u32) << 23))
}
