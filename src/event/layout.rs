//! [`Layout`]: maps pixel (x, y) of a chip to the common matrix of pixels of a sensor.

use crate::{Error, Result};

/// Largest width and height of a sensor, pixels. Coordinates are 16-bit numbers.
pub const MAX_SIDE: usize = 8192;

/// Gap between chips that are kept apart, pixels: wide enough that hits on two chips are never neighbours.
const APART: usize = 2;

/// Where one chip lies: `x = x0 + sx * column`, `y = y0 + sy * row`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    x0: i32,
    y0: i32,
    sign: i32,
}

/// The chips of a sensor and their common matrix of pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    width: usize,
    height: usize,
    chip: [usize; 2],
    places: Vec<Place>,
}

impl Layout {
    /// Makes a sensor of `chips` separate chips of `width` x `height` pixels: no cluster spans two chips.
    ///
    /// # Errors
    /// Returns [`Error::Config`] unless there are 1 to 256 chips and the matrix has 1 to [`MAX_SIDE`] pixels a side.
    pub fn apart(chips: usize, width: usize, height: usize) -> Result<Self> {
        let columns = (1..=chips).find(|n| n * n >= chips).unwrap_or(0);
        let rows = if columns == 0 { 0 } else { chips.div_ceil(columns) };
        let place = |chip: usize| Place {
            x0: (chip % columns * (width + APART)) as i32,
            y0: (chip / columns * (height + APART)) as i32,
            sign: 1,
        };
        let side = |count: usize, pixels: usize| (count * (pixels + APART)).saturating_sub(APART);
        let (all_width, all_height) = (side(columns, width), side(rows, height));
        let possible = 1..=MAX_SIDE;
        if chips > 256 || !possible.contains(&all_width) || !possible.contains(&all_height) {
            let message =
                format!("{chips} chips of {width} x {height}: 1 to 256, total sides 1 to {MAX_SIDE} pixels");
            return Err(Error::Config(message));
        }
        let places = (0..chips).map(place).collect();
        Ok(Self { width: all_width, height: all_height, chip: [width, height], places })
    }

    /// Makes a sensor of a single chip.
    ///
    /// # Errors
    /// As [`Layout::apart`].
    pub fn single(width: usize, height: usize) -> Result<Self> {
        Self::apart(1, width, height)
    }

    /// Makes a sensor of two by two chips of 256 x 256 pixels, with `gap` pixels between the chips. Chips 0 and 1 are
    /// on the right, chips 2 and 3 on the left; chips 1 and 2 are on top and turned by 180 degrees.
    ///
    /// # Errors
    /// Returns [`Error::Config`] if the gap makes the sensor too large.
    pub fn quad(gap: usize) -> Result<Self> {
        let side = 512usize.saturating_add(gap);
        if side > MAX_SIDE {
            return Err(Error::Config(format!("a gap of {gap} pixels makes the sensor too large")));
        }
        let (low, high) = ((256 + gap) as i32, side as i32 - 1);
        let place = |x0, y0, sign| Place { x0, y0, sign };
        let places = vec![place(low, 0, 1), place(high, high, -1), place(255, high, -1), place(0, 0, 1)];
        Ok(Self { width: side, height: side, chip: [256, 256], places })
    }

    /// Width of the matrix, pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Height of the matrix, pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Width and height of one chip, pixels.
    pub fn chip_size(&self) -> [usize; 2] {
        self.chip
    }

    /// Number of chips.
    pub fn chips(&self) -> usize {
        self.places.len()
    }

    /// Returns the position in the matrix of a pixel of a chip; `None` if the chip or pixel does not exist.
    #[inline(always)]
    pub fn place(&self, chip: usize, x: u32, y: u32) -> Option<(u16, u16)> {
        let place = self.places.get(chip)?;
        let inside = (x as usize) < self.chip[0] && (y as usize) < self.chip[1];
        let at = |start: i32, step: u32| (start + place.sign * step as i32) as u16;
        inside.then(|| (at(place.x0, x), at(place.y0, y)))
    }

    /// Returns the chip that contains a pixel of the matrix; `None` for a pixel between chips.
    pub fn chip_of(&self, x: u16, y: u16) -> Option<usize> {
        let [width, height] = self.chip;
        self.places.iter().position(|place| {
            let step = |at: u16, start: i32| (i32::from(at) - start) * place.sign;
            let inside = |step: i32, side: usize| usize::try_from(step).is_ok_and(|step| step < side);
            inside(step(x, place.x0), width) && inside(step(y, place.y0), height)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_are_on_the_chip_that_they_were_placed_from() {
        for layout in [Layout::quad(3).unwrap(), Layout::apart(5, 20, 30).unwrap()] {
            let [width, height] = layout.chip_size().map(|side| side as u32);
            let mut placed = 0;
            for chip in 0..layout.chips() {
                for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1), (7, 11)] {
                    let (x, y) = layout.place(chip, x, y).unwrap();
                    assert_eq!(layout.chip_of(x, y), Some(chip), "{layout:?}");
                    placed += 1;
                }
            }
            assert_eq!(placed, 5 * layout.chips());
        }
        assert_eq!(Layout::quad(3).unwrap().chip_of(257, 10), None, "a pixel between chips");
    }

    #[test]
    fn chips_apart_are_never_neighbours() {
        let layout = Layout::apart(4, 256, 256).unwrap();
        assert_eq!((layout.width(), layout.height(), layout.chips()), (514, 514, 4));
        assert_eq!(layout.place(3, 0, 255), Some((258, 513)));
        assert_eq!(layout.place(4, 0, 0), None);
        assert_eq!(layout.place(0, 256, 0), None);
        let corners = [(0, 0), (255, 0), (0, 255), (255, 255)];
        for a in 0..4 {
            for b in (0..4).filter(|b| *b != a) {
                for ((x, y), (u, v)) in corners.iter().flat_map(|p| corners.map(|q| (*p, q))) {
                    let (p, q) = (layout.place(a, x, y).unwrap(), layout.place(b, u, v).unwrap());
                    assert!(p.0.abs_diff(q.0) > 1 || p.1.abs_diff(q.1) > 1);
                }
            }
        }
    }

    #[test]
    fn a_quad_is_one_square_without_holes() {
        let layout = Layout::quad(0).unwrap();
        let mut seen = vec![false; 512 * 512];
        for chip in 0..4 {
            for (x, y) in (0..256).flat_map(|y| (0..256).map(move |x| (x, y))) {
                let (x, y) = layout.place(chip, x, y).unwrap();
                assert!(!std::mem::replace(&mut seen[usize::from(y) * 512 + usize::from(x)], true));
            }
        }
        assert_eq!(Layout::quad(4).unwrap().place(0, 0, 0), Some((260, 0)));
        assert_eq!(layout.place(1, 0, 0), Some((511, 511)));
    }

    #[test]
    fn impossible_sensors_are_refused() {
        assert!(Layout::apart(0, 256, 256).is_err());
        assert!(Layout::single(0, 5).is_err());
        assert!(Layout::single(9000, 5).is_err());
        assert!(Layout::quad(1 << 20).is_err());
    }
}
