//! [`Strokes`]: many horizontal or vertical lines as one short SVG path.

use std::fmt::Write;

/// An SVG path of lines. Positions are relative to the end of the previous line, which halves the length of the text.
#[derive(Debug, Clone, Default)]
pub struct Strokes {
    path: String,
    at: [i64; 2],
}

/// Direction of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// Horizontal, to the right.
    X,
    /// Vertical, downwards.
    Y,
}

impl Strokes {
    /// Adds a line that begins at a position.
    pub fn push(&mut self, [x, y]: [i64; 2], along: Along, length: i64) {
        let [dx, dy] = [x - self.at[0], y - self.at[1]];
        // A negative number needs no space before it.
        let gap = if dy < 0 { "" } else { " " };
        let (letter, end) = match along {
            Along::X => ('h', [x + length, y]),
            Along::Y => ('v', [x, y + length]),
        };
        let _ = write!(self.path, "m{dx}{gap}{dy}{letter}{length}");
        self.at = end;
    }

    /// Adds lines of length 1, sorted by row (or column) and position; adjacent lines are joined.
    pub fn push_joined(&mut self, along: Along, places: impl IntoIterator<Item = [i64; 2]>) {
        let next = |[x, y]: [i64; 2], length| match along {
            Along::X => [x + length, y],
            Along::Y => [x, y + length],
        };
        let mut open: Option<([i64; 2], i64)> = None;
        for place in places {
            open = match open {
                Some((from, length)) if next(from, length) == place => Some((from, length + 1)),
                before => {
                    if let Some((from, length)) = before {
                        self.push(from, along, length);
                    }
                    Some((place, 1))
                }
            };
        }
        if let Some((from, length)) = open {
            self.push(from, along, length);
        }
    }

    /// Returns the text of the path; empty if no line was added.
    pub fn path(&self) -> &str {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_line_and_steps_are_short() {
        let mut strokes = Strokes::default();
        strokes.push_joined(Along::X, [[2, 5], [3, 5], [4, 5], [6, 5], [1, 4]]);
        strokes.push_joined(Along::Y, [[9, 1], [9, 2]]);
        assert_eq!(strokes.path(), "m2 5h3m1 0h1m-6-1h1m7-3v2");
        assert_eq!(Strokes::default().path(), "");
    }
}
