//! [`Panel`]: a drawing area with two axes, which maps values to positions.

use super::px;
use crate::svg::{Axis, Tick};
use maud::{Markup, html};

/// Width of every figure, SVG units.
pub const WIDTH: f64 = 440.0;
/// Width of a character of a label, and height of a line.
const CHARACTER: f64 = 7.4;
const LINE: f64 = 20.0;
/// Largest number of labels on an axis, for each of its units of length.
const LABELS_ACROSS: f64 = 1.0 / 46.0;
const LABELS_UP: f64 = 1.0 / 24.0;

/// A drawing area: its axes, and its position in the figure.
pub struct Panel {
    pub x: Axis,
    pub y: Axis,
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Panel {
    /// Creates an area of this height below `top`, and leaves space for the labels of its axes and of a second vertical
    /// axis on the right, if any.
    pub fn new([x, y]: [Axis; 2], second: Option<&Axis>, [top, height]: [f64; 2]) -> Self {
        let left = room(&y, height);
        let right = second.map_or(14.0, |axis| room(axis, height));
        Self { x, y, left, top, width: WIDTH - left - right, height }
    }

    /// Returns the horizontal position of a value.
    pub fn x(&self, value: f64) -> f64 {
        self.left + self.width * self.x.place(value)
    }

    /// Returns the vertical position of a value.
    pub fn y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.place(value))
    }

    /// Returns the value at a horizontal position.
    pub fn value_at(&self, x: f64) -> f64 {
        let share = (x - self.left) / self.width;
        let Axis { from, to, is_log, .. } = self.x;
        if is_log { from * (to / from).powf(share) } else { from + (to - from) * share }
    }

    /// Draws a horizontal grid line at each number of the left axis.
    pub fn grid(&self) -> Markup {
        let lines = labelled(&self.y, self.height * LABELS_UP);
        let path: String = lines
            .iter()
            .filter(|tick| !tick.label.is_empty())
            .map(|tick| format!("M{} {}h{}", px(self.left), px(self.y(tick.value)), px(self.width)))
            .collect();
        html! { path.grid d=(path) {} }
    }

    /// Draws both axes; `has_x_labels` is false if another panel below has the numbers and the name of the x axis.
    pub fn axes(&self, has_x_labels: bool) -> Markup {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let middle = [self.left + 0.5 * self.width, self.top + 0.5 * self.height];
        let (across, up) =
            (labelled(&self.x, self.width * LABELS_ACROSS), labelled(&self.y, self.height * LABELS_UP));
        let between = |ticks: &[Tick], mark: &dyn Fn(f64) -> String| -> String {
            ticks.iter().filter(|tick| tick.label.is_empty()).map(|tick| mark(tick.value)).collect()
        };
        let short_x = between(&across, &|value| format!("M{} {}v{SHORT}", px(self.x(value)), px(bottom)));
        let short_y = between(&up, &|value| format!("M{} {}h-{SHORT}", px(self.left), px(self.y(value))));
        html! {
            path.axis d={ "M" (px(self.left)) " " (px(self.top)) "V" (px(bottom)) "H" (px(right)) (short_x) (short_y) } {}
            @for tick in across.iter().filter(|tick| !tick.label.is_empty()) {
                @let x = self.x(tick.value);
                (tick_mark("x", tick.value, [x, bottom], [0.0, LONG]))
                @if has_x_labels {
                    text.label x=(px(x)) y=(px(bottom + 19.0)) text-anchor="middle" { (tick.label) }
                }
            }
            @for tick in up.iter().filter(|tick| !tick.label.is_empty()) {
                @let y = self.y(tick.value);
                (tick_mark("y", tick.value, [self.left, y], [-LONG, 0.0]))
                text.label x=(px(self.left - 8.0)) y=(px(y + 4.5)) text-anchor="end" { (tick.label) }
            }
            @if has_x_labels {
                text x=(px(middle[0])) y=(px(bottom + 38.0)) text-anchor="middle" { (self.x.label) }
            }
            (upright([13.0, middle[1]], &self.y.label))
        }
    }

    /// Draws a second vertical axis on the right.
    pub fn second_axis(&self, axis: &Axis) -> Markup {
        let right = self.left + self.width;
        html! {
            path.axis d={ "M" (px(right)) " " (px(self.top)) "v" (px(self.height)) } {}
            @for tick in labelled(axis, self.height * LABELS_UP).iter().filter(|tick| !tick.label.is_empty()) {
                @let y = self.top + self.height * (1.0 - axis.place(tick.value));
                (tick_mark("count", tick.value, [right, y], [LONG, 0.0]))
                text.on-grey x=(px(right + 8.0)) y=(px(y + 4.5)) { (tick.label) }
            }
            (upright([WIDTH - 5.0, self.top + 0.5 * self.height], &axis.label))
        }
    }
}

/// Height below a panel for the labels of the horizontal axis, SVG units.
pub const BELOW: f64 = 46.0;

/// Lengths of ticks with numbers, and of ticks between them.
const LONG: f64 = 5.0;
const SHORT: f64 = 3.0;

/// Draws the line of a tick, whose value is an attribute of the line.
pub fn tick_mark(axis: &str, value: f64, [x, y]: [f64; 2], [across, down]: [f64; 2]) -> Markup {
    html! {
        line.axis data-axis=(axis) data-tick=(value) x1=(px(x)) y1=(px(y)) x2=(px(x + across)) y2=(px(y + down)) {}
    }
}

/// Draws text that runs upward.
fn upright([x, y]: [f64; 2], text: &str) -> Markup {
    html! {
        text x=(px(x)) y=(px(y)) text-anchor="middle" transform={ "rotate(-90 " (px(x)) " " (px(y)) ")" } { (text) }
    }
}

/// Returns the width of the labels of a vertical axis.
fn room(axis: &Axis, height: f64) -> f64 {
    let ticks = labelled(axis, height * LABELS_UP);
    let longest = ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
    CHARACTER * longest as f64 + LINE + 10.0
}

/// Returns the ticks of an axis, with as many labels as fit.
fn labelled(axis: &Axis, room: f64) -> Vec<Tick> {
    let mut ticks = axis.ticks();
    let labels = ticks.iter().filter(|tick| !tick.label.is_empty()).count();
    let every = (labels as f64 / room.max(2.0)).ceil().max(1.0) as usize;
    let labelled = ticks.iter_mut().filter(|tick| !tick.label.is_empty());
    for (_, tick) in labelled.enumerate().filter(|(number, _)| number % every != 0) {
        tick.label.clear();
    }
    ticks
}
