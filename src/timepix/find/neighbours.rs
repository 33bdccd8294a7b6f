//! Selects the pixels that must be checked among the nine pixels around a hit.
//!
//! If two of the nine pixels touch, and their last hits are linked with the new hit, these two hits are already linked:
//! both are in the window before the new hit, so their times differ by at most the window, and when the later one came,
//! the earlier one was the last hit of its pixel. So one pixel represents each connected piece of linked pixels. There
//! are at most four pieces (the corners), and nearly always none or one.

/// Pieces of every pattern of linked neighbours: for each piece the offset of one of its pixels in the rows around the hit,
/// relative to the pixel to the lower left of the hit. Patterns of fewer pieces repeat the last one, and the empty pattern
/// has the hit's own pixel.
pub(super) type Pieces = [[u16; 4]; 512];

/// Computes the table for rows of `stride` pixels. Bit `3 * row + column` of a pattern is the neighbour there.
pub(super) fn pieces(stride: usize) -> Box<Pieces> {
    let mut table = Box::new([[0; 4]; 512]);
    for (pattern, entry) in table.iter_mut().enumerate() {
        let found = representatives(pattern);
        let offset = |bit: usize| (bit / 3 * stride + bit % 3) as u16;
        *entry = std::array::from_fn(|i| offset(*found.get(i).or(found.last()).unwrap_or(&4)));
    }
    table
}

/// Returns one neighbour of each connected piece, the centre if it is linked.
fn representatives(pattern: usize) -> Vec<usize> {
    if pattern >> 4 & 1 == 1 {
        return vec![4];
    }
    let (mut left, mut found) = (pattern, Vec::new());
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        found.push(first);
        let mut piece = 1usize << first;
        loop {
            let touches = |bit: &usize| (0..9).any(|other| piece >> other & 1 == 1 && near(*bit, other));
            let more = (0..9).filter(|bit| left >> bit & 1 == 1).filter(touches);
            let grown = more.fold(piece, |sum, bit| sum | 1 << bit);
            if grown == piece {
                break;
            }
            piece = grown;
        }
        left &= !piece;
    }
    found
}

fn near(a: usize, b: usize) -> bool {
    (a % 3).abs_diff(b % 3) <= 1 && (a / 3).abs_diff(b / 3) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_neighbour_stands_for_each_piece() {
        assert!(representatives(0).is_empty());
        assert_eq!(representatives(0b111_111_111), [4]);
        assert_eq!(representatives(0b101_000_101), [0, 2, 6, 8]);
        assert_eq!(representatives(0b010_101_010), [1]);
        assert_eq!(representatives(0b100_000_011), [0, 8]);
        for pattern in 0..512usize {
            let found = representatives(pattern);
            assert!(found.len() <= 4 && found.iter().all(|bit| pattern >> bit & 1 == 1));
            assert_eq!(found.is_empty(), pattern == 0);
        }
        assert_eq!(pieces(264)[0b100_000_011], [0, 530, 530, 530]);
        assert_eq!(pieces(10)[0], [11; 4]);
    }
}
