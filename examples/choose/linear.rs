//! Solves systems of linear equations.

/// Solves a positive definite system by the method of Gauss and Jordan: `values` become the solution. Returns the
/// smallest pivot, which is near 0 if the system has no unique solution.
pub fn solve<const N: usize>(matrix: &mut [[f64; N]; N], values: &mut [f64; N]) -> f64 {
    let mut least = f64::INFINITY;
    for i in 0..N {
        let pivot = matrix[i][i];
        least = if pivot < least || pivot.is_nan() { pivot } else { least };
        matrix[i].iter_mut().for_each(|value| *value /= pivot);
        values[i] /= pivot;
        for k in (0..N).filter(|k| *k != i) {
            let (factor, row) = (matrix[k][i], matrix[i]);
            matrix[k].iter_mut().zip(row).for_each(|(value, of)| *value -= factor * of);
            values[k] -= factor * values[i];
        }
    }
    least
}
