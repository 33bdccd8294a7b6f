//! Colours of values: from dark violet over red and orange to light yellow, for dark and for light pages.

/// Red, green and blue at equal distances.
const STOPS: [[f64; 3]; 6] = [
    [40.0, 11.0, 84.0],
    [101.0, 21.0, 110.0],
    [176.0, 42.0, 91.0],
    [230.0, 92.0, 48.0],
    [251.0, 173.0, 35.0],
    [252.0, 255.0, 200.0],
];

/// Number of different colours in a picture; all pixels of one colour are drawn as one path.
pub const STEPS: usize = 48;

/// Returns the colour of a value, given as a share of the largest value, 0 to 1.
pub fn heat(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let from = (at as usize).min(STOPS.len() - 2);
    let part = at - from as f64;
    let [r, g, b] =
        [0, 1, 2].map(|i| (STOPS[from][i] + part * (STOPS[from + 1][i] - STOPS[from][i])).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Returns the number of the colour for a share of the largest value, 0 to [`STEPS`] - 1.
pub fn step(share: f64) -> usize {
    ((share * STEPS as f64) as usize).min(STEPS - 1)
}

/// Returns the colour with this number.
pub fn of_step(step: usize) -> String {
    heat((step as f64 + 0.5) / STEPS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_brighter() {
        let light = |share: f64| -> f64 {
            let colour = u32::from_str_radix(&heat(share)[1..], 16).unwrap();
            0.3 * f64::from(colour >> 16)
                + 0.59 * f64::from(colour >> 8 & 255)
                + 0.11 * f64::from(colour & 255)
        };
        assert!((0..100).all(|i| light(f64::from(i) / 100.0) < light(f64::from(i + 1) / 100.0)));
        assert_eq!([step(0.0), step(1.0), step(0.5)], [0, STEPS - 1, STEPS / 2]);
    }
}
