//! Dense matrices in f64, as in a textbook.

/// Returns the product a b.
pub fn multiply<const R: usize, const K: usize, const C: usize>(
    a: &[[f64; K]; R],
    b: &[[f64; C]; K],
) -> [[f64; C]; R] {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..K).map(|k| a[i][k] * b[k][j]).sum()))
}

/// Returns the transpose a^T.
pub fn transpose<const R: usize, const C: usize>(a: &[[f64; C]; R]) -> [[f64; R]; C] {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

/// Returns the inverse, by Gauss-Jordan elimination with partial pivoting; it is not finite if `a` is singular.
pub fn inverse<const N: usize>(a: &[[f64; N]; N]) -> [[f64; N]; N] {
    let mut a = *a;
    let mut out = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for column in 0..N {
        let best = (column..N).max_by(|i, j| a[*i][column].abs().total_cmp(&a[*j][column].abs()));
        let best = best.expect("every column has a row");
        a.swap(column, best);
        out.swap(column, best);
        let pivot = a[column][column];
        for j in 0..N {
            a[column][j] /= pivot;
            out[column][j] /= pivot;
        }
        for i in (0..N).filter(|i| *i != column) {
            let factor = a[i][column];
            for j in 0..N {
                a[i][j] -= factor * a[column][j];
                out[i][j] -= factor * out[column][j];
            }
        }
    }
    out
}
