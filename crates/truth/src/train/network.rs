//! Fits the weights of a network: Adam (Kingma and Ba, arXiv 1412.6980) minimises the cross entropy, in which true and
//! false candidates have equal total weights.

use super::Training;

/// A network whose numbers of inputs and units are not fixed when it is compiled.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dense {
    pub centre: Vec<f32>,
    pub scale: Vec<f32>,
    /// Weights of the inputs of each hidden unit, unit by unit.
    pub hidden: Vec<f32>,
    pub hidden_bias: Vec<f32>,
    pub output: Vec<f32>,
    pub output_bias: f32,
}

/// Adam's decay rates for the means of gradients and of their squares, and the constant that keeps a step finite.
const MEMORY: [f64; 2] = [0.9, 0.999];
const TINY: f64 = 1e-8;

/// Random numbers in software (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number from -1 to 1, evenly distributed.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Returns a number below `end`; the bias of the remainder does not matter here.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// All weights in one list: hidden units, biases of hidden units, output, bias of the output.
struct Weights {
    inputs: usize,
    hidden: usize,
    all: Vec<f64>,
}

impl Weights {
    fn random(inputs: usize, hidden: usize, random: &mut Random) -> Self {
        let first = 1.0 / (inputs as f64).sqrt();
        let second = 1.0 / (hidden as f64).sqrt();
        let mut all: Vec<f64> = (0..inputs * hidden).map(|_| 2.0 * first * random.unit()).collect();
        all.extend((0..hidden).map(|_| first * random.unit()));
        all.extend((0..hidden).map(|_| 2.0 * second * random.unit()));
        all.push(0.0);
        Self { inputs, hidden, all }
    }

    /// Adds the gradient of one candidate's cross entropy, times its weight, to `gradient`.
    fn add_gradient(&self, x: &[f64], label: bool, weight: f64, units: &mut [f64], gradient: &mut [f64]) {
        let (biases, outputs) = (self.inputs * self.hidden, self.inputs * self.hidden + self.hidden);
        let last = self.all.len() - 1;
        let mut sum = self.all[last];
        for (unit, response) in units.iter_mut().enumerate().take(self.hidden) {
            let weights = &self.all[unit * self.inputs..][..self.inputs];
            let inner = weights.iter().zip(x).fold(self.all[biases + unit], |sum, (w, x)| sum + w * x);
            *response = sigmoid(inner);
            sum += *response * self.all[outputs + unit];
        }
        let error = weight * (sigmoid(sum) - f64::from(u8::from(label)));
        gradient[last] += error;
        for unit in 0..self.hidden {
            gradient[outputs + unit] += error * units[unit];
            let inner = error * self.all[outputs + unit] * units[unit] * (1.0 - units[unit]);
            gradient[biases + unit] += inner;
            for (gradient, x) in gradient[unit * self.inputs..][..self.inputs].iter_mut().zip(x) {
                *gradient += inner * x;
            }
        }
    }
}

/// Returns the mean and the inverse width of each feature.
fn standard(names: &[String], rows: &[(&[f32], bool)]) -> Result<Vec<[f64; 2]>, String> {
    let count = rows.len() as f64;
    let of = |(at, name): (usize, &String)| {
        let values = || rows.iter().map(|(features, _)| f64::from(features[at]));
        let mean = values().sum::<f64>() / count;
        let width = (values().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt();
        let scale = 1.0 / width;
        if (scale as f32).is_finite() && scale > 0.0 {
            Ok([mean, scale])
        } else {
            Err(format!("feature `{name}` is always {mean}"))
        }
    };
    names.iter().enumerate().map(of).collect()
}

/// Fits a network to candidates; `noise` changes their features before each step.
///
/// # Errors
/// A message that names a constant feature.
pub(super) fn fit(
    names: &[String],
    rows: &[(&[f32], bool)],
    training: &Training,
    noise: &mut dyn FnMut(&mut [f32]),
) -> Result<Dense, String> {
    let standards = standard(names, rows)?;
    let (inputs, hidden) = (names.len(), training.hidden);
    let (mut seen, mut x) = (vec![0.0; inputs], vec![0.0; inputs]);
    let is_true = rows.iter().filter(|(_, label)| *label).count();
    let weight =
        |label: bool| rows.len() as f64 / (2 * if label { is_true } else { rows.len() - is_true }) as f64;
    let mut random = Random(training.seed);
    let mut weights = Weights::random(inputs, hidden, &mut random);
    let parameters = weights.all.len();
    let (mut units, mut gradient) = (vec![0.0; hidden], vec![0.0; parameters]);
    let mut memory = vec![[0.0; 2]; parameters];
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let steps = training.epochs * rows.len().div_ceil(training.batch);
    let (mut step, mut fade) = (0, [1.0; 2]);
    for _ in 0..training.epochs {
        (1..order.len()).rev().for_each(|at| order.swap(at, random.below(at + 1)));
        for batch in order.chunks(training.batch) {
            gradient.fill(0.0);
            for &row in batch {
                let (features, label) = rows[row];
                seen.copy_from_slice(features);
                noise(&mut seen);
                for ((x, seen), [mean, scale]) in x.iter_mut().zip(&seen).zip(&standards) {
                    *x = (f64::from(*seen) - mean) * scale;
                }
                weights.add_gradient(
                    &x,
                    label,
                    weight(label) / batch.len() as f64,
                    &mut units,
                    &mut gradient,
                );
            }
            let rate = training.rate * (1.0 - step as f64 / steps as f64);
            step += 1;
            fade = [fade[0] * MEMORY[0], fade[1] * MEMORY[1]];
            for ((weight, gradient), memory) in weights.all.iter_mut().zip(&gradient).zip(&mut memory) {
                memory[0] = MEMORY[0] * memory[0] + (1.0 - MEMORY[0]) * gradient;
                memory[1] = MEMORY[1] * memory[1] + (1.0 - MEMORY[1]) * (gradient * gradient);
                let [mean, square] = [memory[0] / (1.0 - fade[0]), memory[1] / (1.0 - fade[1])];
                *weight -= rate * mean / (square.sqrt() + TINY);
            }
        }
    }
    let rounded: Vec<f32> = weights.all.iter().map(|weight| *weight as f32).collect();
    let (layer, rest) = rounded.split_at(inputs * hidden);
    Ok(Dense {
        centre: standards.iter().map(|[mean, _]| *mean as f32).collect(),
        scale: standards.iter().map(|[_, scale]| *scale as f32).collect(),
        hidden: layer.to_vec(),
        hidden_bias: rest[..hidden].to_vec(),
        output: rest[hidden..2 * hidden].to_vec(),
        output_bias: rest[2 * hidden],
    })
}

/// Returns the network's response to a candidate.
pub(super) fn response(network: &Dense, features: &[f32]) -> f64 {
    let x: Vec<f64> = (features.iter().zip(&network.centre).zip(&network.scale))
        .map(|((x, centre), scale)| (f64::from(*x) - f64::from(*centre)) * f64::from(*scale))
        .collect();
    let mut sum = f64::from(network.output_bias);
    for (unit, weights) in network.hidden.chunks_exact(x.len()).enumerate() {
        let bias = f64::from(network.hidden_bias[unit]);
        let inner = weights.iter().zip(&x).fold(bias, |sum, (w, x)| sum + f64::from(*w) * x);
        sum += sigmoid(inner) * f64::from(network.output[unit]);
    }
    sigmoid(sum)
}
