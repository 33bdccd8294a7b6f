//! Deviations of tracks in each x layer from straight lines from the origin, for a fixed set of tracks in the field.
//!
//! A track at x in the pivot's layer crosses another layer near x z / z_pivot + k s. The shift s, mm, is the same for
//! all layers: it changes sign with the charge, and its size is proportional to 1/p. The spread of a layer is the
//! median deviation from this formula.

use crate::lhcb::magnet::field;
use crate::scifi::layers::X_LAYERS;

/// Change of slope in a field of 1 T over 1 mm of a particle with a charge over momentum of 1 c/GeV.
const PER_TESLA_MM: f64 = 0.299_792_458e-3;
/// Steps of the transport are about this long, mm.
const STEP: f64 = 250.0;
/// Momenta of the tracks, GeV/c, for both charges; slopes in x, for both signs, and in y, where the field is symmetric.
const MOMENTA: [f64; 5] = [2.5, 3.5, 5.0, 8.0, 20.0];
const SLOPES_X: [f64; 6] = [0.01, 0.04, 0.08, 0.13, 0.19, 0.25];
const SLOPES_Y: [f64; 5] = [0.0, 0.04, 0.09, 0.15, 0.21];
/// Largest |x| and |y| of a track in the last layer, mm; tracks beyond are not used.
const MAX_X: f64 = 3000.0;
const MAX_Y: f64 = 2400.0;

/// x and y at a z, mm, and their slopes.
type State = [f64; 4];

/// x in each of the layers, mm.
pub(in crate::scifi) type Crossings = [f64; X_LAYERS];

/// Response of the layers to s, given one layer as the pivot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::scifi) struct Sensitivity {
    /// Deviation per s, mm per mm; 0 for the pivot. The values of the first and last layer differ by 1.
    pub(in crate::scifi) k: [f64; X_LAYERS],
    /// Median of the absolute remaining deviation, mm.
    pub(in crate::scifi) spread: [f64; X_LAYERS],
}

/// Returns the changes of a state per mm.
fn derivative(z: f64, [x, y, tx, ty]: State, qop: f64) -> State {
    let [bx, by, bz] = field([x, y, z]);
    let factor = PER_TESLA_MM * qop * (1.0 + tx * tx + ty * ty).sqrt();
    let along_x = ty * (tx * bx + bz) - (1.0 + tx * tx) * by;
    let along_y = (1.0 + ty * ty) * bx - tx * (ty * by + bz);
    [tx, ty, factor * along_x, factor * along_y]
}

/// Makes a step of the fourth-order Runge-Kutta method.
fn step(z: f64, state: State, qop: f64, length: f64) -> State {
    let moved = |by: &State, part: f64| std::array::from_fn(|i| state[i] + part * length * by[i]);
    let a = derivative(z, state, qop);
    let b = derivative(z + 0.5 * length, moved(&a, 0.5), qop);
    let c = derivative(z + 0.5 * length, moved(&b, 0.5), qop);
    let d = derivative(z + length, moved(&c, 1.0), qop);
    std::array::from_fn(|i| state[i] + length / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]))
}

/// Returns the x at which a particle from the origin crosses the layers, if it crosses them all.
fn crossings(z_of: &Crossings, slopes: [f64; 2], qop: f64) -> Option<Crossings> {
    let (mut z, mut state) = (0.0, [0.0, 0.0, slopes[0], slopes[1]]);
    let mut x = [0.0; X_LAYERS];
    for (x, &layer) in x.iter_mut().zip(z_of) {
        let steps = ((layer - z) / STEP).ceil().max(1.0);
        let length = (layer - z) / steps;
        for _ in 0..steps as usize {
            state = step(z, state, qop, length);
            z += length;
        }
        *x = state[0];
    }
    (state[0].abs() < MAX_X && state[1].abs() < MAX_Y).then_some(x)
}

/// Returns the fixed tracks, given z of the layers in rising order, mm, and the sign of the magnet's polarity.
pub(in crate::scifi) fn fixed_tracks(z: &Crossings, polarity: f64) -> Vec<Crossings> {
    let mut all = Vec::new();
    for momentum in MOMENTA {
        for qop in [polarity / momentum, -polarity / momentum] {
            for ty in SLOPES_Y {
                let slopes = SLOPES_X.iter().flat_map(|&tx| [[tx, ty], [-tx, ty]]);
                all.extend(slopes.filter_map(|slopes| crossings(z, slopes, qop)));
            }
        }
    }
    all
}

impl Sensitivity {
    /// Computes the response by least squares over tracks, given z of the layers, mm.
    pub(in crate::scifi) fn new(z: &Crossings, tracks: &[Crossings], pivot: usize) -> Self {
        let off = |track: &Crossings| -> Crossings {
            std::array::from_fn(|layer| track[layer] - track[pivot] * z[layer] / z[pivot])
        };
        let (mut products, mut square) = ([0.0; X_LAYERS], 0.0);
        for off in tracks.iter().map(off) {
            let s = off[0] - off[X_LAYERS - 1];
            (0..X_LAYERS).for_each(|layer| products[layer] += off[layer] * s);
            square += s * s;
        }
        let k = products.map(|product| product / square);
        let norm: f64 = k.iter().map(|k| k * k).sum();
        let mut left: [Vec<f64>; X_LAYERS] = Default::default();
        for off in tracks.iter().map(off) {
            // The s that fits all layers best.
            let s = k.iter().zip(off).map(|(k, off)| k * off).sum::<f64>() / norm;
            (0..X_LAYERS).for_each(|layer| left[layer].push((off[layer] - k[layer] * s).abs()));
        }
        Self { k, spread: left.map(median) }
    }
}

/// Returns the median of some sizes.
fn median(mut sizes: Vec<f64>) -> f64 {
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scifi::layers::Z;

    fn of(z: &Crossings, polarity: f64, pivot: usize) -> Sensitivity {
        Sensitivity::new(z, &fixed_tracks(z, polarity), pivot)
    }

    #[test]
    fn layers_answer_by_their_distance_from_the_pivot() {
        let z: Crossings = std::array::from_fn(|layer| Z[layer]);
        for pivot in [2, 3] {
            let Sensitivity { k, spread } = of(&z, 1.0, pivot);
            assert!((k[0] - k[5] - 1.0).abs() < 1e-9 && k[pivot].abs() < 1e-9, "{k:?}");
            assert!(k.windows(2).all(|pair| pair[0] > pair[1] + 0.05), "{k:?}");
            assert!(spread.iter().all(|spread| *spread < 2.0), "{spread:?}");
        }
    }

    #[test]
    fn polarities_are_alike_and_layers_that_are_moved_answer_a_little_otherwise() {
        let z: Crossings = std::array::from_fn(|layer| Z[layer]);
        let there = of(&z, -1.0, 2);
        let near = |other: &Sensitivity, most: f64| {
            let off = |layer: usize| (other.k[layer] - there.k[layer]).abs();
            (0..X_LAYERS).all(|layer| off(layer) < most)
        };
        assert!(near(&of(&z, 1.0, 2), 1e-12));
        let moved = of(&z.map(|z| z + 20.0), -1.0, 2);
        assert!(near(&moved, 2e-3) && !near(&moved, 1e-6), "{moved:?} {there:?}");
    }
}
