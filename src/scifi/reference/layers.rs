//! Positions of the layers, written independently of the kernels for tests.

/// z of the x layers, mm, and their zones in the lower half.
pub(super) const X_Z: [f64; 6] = [7826.106, 8035.9048, 8508.1064, 8717.9043, 9193.1064, 9402.9043];
pub(super) const X_ZONE: [usize; 6] = [0, 6, 8, 14, 16, 22];
/// z of the u and v layers, mm, in the order of the search, their zones in the lower half, and dx/dy of their fibres.
pub(super) const UV_Z: [f64; 6] = [8577.8691, 7895.9189, 9333.041, 8648.1543, 9262.9824, 7966.1035];
pub(super) const UV_ZONE: [usize; 6] = [10, 2, 20, 12, 18, 4];
pub(super) const UV_SLOPE: [f64; 6] = [0.086, 0.086, -0.086, -0.086, 0.086, -0.086];

/// Returns z from the reference, mm.
pub(super) fn distance(z: f64) -> f64 {
    z - 8520.0
}

pub(super) fn bend(z: f64) -> f64 {
    distance(z) * distance(z) * (1.0 - 0.00028 * distance(z))
}
