//! Table of clusters in the 256 patterns of a superpixel. Bit b of a pattern is the pixel in column b / 4, row b % 4.
//!
//! Pixels of one superpixel belong to one group unless an empty row separates them, so a pattern has one group, or two
//! groups with an empty row in between.

/// The groups of one pattern.
#[derive(Clone, Copy)]
struct Pattern {
    /// The lower group of pixels.
    first: u8,
    /// The upper group, or 0.
    second: u8,
    /// Number of pixels, sum of columns and sum of rows of the lower group.
    pixels: u32,
    columns: u32,
    rows: u32,
}

const fn analyse(pattern: u8) -> Pattern {
    let occupied = (pattern | pattern >> 4) & 0xF;
    let (mut row, mut rows) = (occupied.trailing_zeros(), 0u8);
    while row < 4 && occupied >> row & 1 == 1 {
        rows |= 0x11 << row;
        row += 1;
    }
    let first = pattern & rows;
    let mut found = Pattern { first, second: pattern & !rows, pixels: 0, columns: 0, rows: 0 };
    let mut bit = 0;
    while bit < 8 {
        if first >> bit & 1 == 1 {
            found.pixels += 1;
            found.columns += bit / 4;
            found.rows += bit % 4;
        }
        bit += 1;
    }
    found
}

/// Per pattern: the lower group's fractions of a column and of a row, its pixel as `column << 8 | row` and
/// the upper group, the last two as the bits of a u32.
pub(super) static CLUSTER: [[f32; 4]; 256] = {
    let mut table = [[0.0; 4]; 256];
    let mut pattern = 1;
    while pattern < 256 {
        let Pattern { second, pixels, columns, rows, .. } = analyse(pattern as u8);
        table[pattern] = [
            (columns % pixels) as f32 / pixels as f32,
            (rows % pixels) as f32 / pixels as f32,
            f32::from_bits(((columns / pixels) << 8) | (rows / pixels)),
            f32::from_bits(second as u32),
        ];
        pattern += 1;
    }
    table
};

/// Per pattern: its groups, `second << 8 | first`.
pub(super) static GROUPS: [u32; 256] = {
    let mut table = [0; 256];
    let mut pattern = 0;
    while pattern < 256 {
        let Pattern { first, second, .. } = analyse(pattern as u8);
        table[pattern] = (second as u32) << 8 | first as u32;
        pattern += 1;
    }
    table
};

/// Per group of pixels: `sum of rows << 16 | sum of columns << 8 | pixels`.
pub(super) static SUMS: [u32; 256] = {
    let mut table = [0; 256];
    let mut pattern = 0;
    while pattern < 256 {
        let Pattern { pixels, columns, rows, .. } = analyse(pattern as u8);
        table[pattern] = rows << 16 | columns << 8 | pixels;
        pattern += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_parted_by_an_empty_row() {
        assert_eq!(GROUPS[0b1001_0000], 0b1000_0000 << 8 | 0b0001_0000);
        assert_eq!(GROUPS[0b0100_0001], 0b0100_0000 << 8 | 0b0000_0001);
        assert_eq!(GROUPS[0b0010_0001], 0b0010_0001, "a diagonal touches");
        assert_eq!(GROUPS[0xFF], 0xFF);
        assert_eq!(SUMS[0xFF], 12 << 16 | 4 << 8 | 8);
        for pattern in 1..256 {
            let (first, second) = (GROUPS[pattern] & 0xFF, GROUPS[pattern] >> 8);
            assert_eq!(first | second, pattern as u32);
            assert_eq!(first & second, 0);
            assert_eq!(GROUPS[second as usize] >> 8, 0, "two groups at most");
            assert_eq!(CLUSTER[pattern][3].to_bits(), second);
        }
    }
}
