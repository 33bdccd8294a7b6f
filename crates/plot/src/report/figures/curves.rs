//! [`Curves`]: a chart of points joined by lines, one line for each series.

use super::panel::{BELOW, Panel, WIDTH};
use super::{Data, Drawing, SHAPES, exact, px};
use crate::look::series_class;
use crate::svg::{Axis, plain};
use maud::html;

const TOP: f64 = 10.0;
const HEIGHT: f64 = 200.0;
/// Lines with more points than this have no marks.
const FEW: usize = 40;

/// A point of a line; a point without a value is a gap in the line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub value: Option<f64>,
    /// Interval of the value, if known.
    pub interval: Option<[f64; 2]>,
}

/// A line.
pub struct Curve {
    pub name: String,
    pub points: Vec<Point>,
}

/// Range of the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum YRange {
    /// The axis is linear, from 0 to the largest value.
    FromZero,
    /// The axis is logarithmic, around all values, which must be above 0.
    Log,
}

/// Content of a chart of lines.
pub struct Curves<'a> {
    pub title: String,
    pub description: String,
    /// Labels of the axes, with units.
    pub x: &'a str,
    pub y: &'a str,
    pub x_is_log: bool,
    pub range: YRange,
    pub curves: Vec<Curve>,
    /// Positions and names of the horizontal axis's ticks; if empty, the ticks show numbers.
    pub places: &'a [(f64, &'a str)],
}

impl Curves<'_> {
    /// Returns the drawing; none if no point has a value.
    pub fn drawing(self) -> Option<Drawing> {
        let points =
            || self.curves.iter().flat_map(|curve| &curve.points).filter(|point| point.value.is_some());
        let [left, right] = ends(points().map(|point| point.x))?;
        let values = points().flat_map(|point| {
            let [low, high] = point.interval.unwrap_or([point.value.unwrap_or(0.0); 2]);
            [low, high].into_iter().chain(point.value)
        });
        let [low, high] = ends(values)?;
        let y = match self.range {
            YRange::Log if low > 0.0 => {
                Axis { label: self.y.into(), ..Axis::log(0.8 * low, 1.25 * high, self.y) }
            }
            YRange::Log | YRange::FromZero => Axis::linear(low.min(0.0), 1.08 * high.max(1e-9), self.y),
        };
        let x = match (self.places, self.x_is_log && left > 0.0) {
            ([], true) => Axis { label: self.x.into(), ..Axis::log(left / 1.15, 1.15 * right, self.x) },
            // Axes begin at 0 if that is near.
            ([], false) => {
                let from = if left >= 0.0 && left < 0.3 * right { 0.0 } else { left };
                Axis::linear(from, right + 0.03 * (right - from), self.x)
            }
            _ => Axis::linear(left - 0.3, right + 0.3, ""),
        };
        let panel = Panel::new([x, y], None, [TOP, HEIGHT]);
        let bottom = TOP + HEIGHT;
        let body = html! {
            (panel.grid())
            (panel.axes(self.places.is_empty()))
            @for (x, name) in self.places {
                text.label x=(px(panel.x(*x))) y=(px(bottom + 19.0)) text-anchor="middle" { (name) }
            }
            @if !self.places.is_empty() {
                text x=(px(panel.left + 0.5 * panel.width)) y=(px(bottom + 38.0)) text-anchor="middle" { (self.x) }
            }
            @for (number, curve) in self.curves.iter().enumerate() {
                g class={ "marks " (series_class(number)) } {
                    path.line d=(path(&panel, &curve.points)) {}
                    @if curve.points.len() <= FEW { @for point in &curve.points { @if let Some(value) = point.value {
                        @let ends = point.interval.unwrap_or([value; 2]);
                        g.mark data-x=(point.x) data-value=(value) data-low=(ends[0]) data-high=(ends[1]) {
                            title { (curve.name) ": " (plain(point.x)) ", " (plain(value)) }
                            @if point.interval.is_some() {
                                path.bar d={ "M" (px(panel.x(point.x))) " " (px(panel.y(ends[1]))) "V" (px(panel.y(ends[0]))) } {}
                            }
                            path.point d=(SHAPES[number % SHAPES.len()].0)
                                transform={ "translate(" (px(panel.x(point.x))) " " (px(panel.y(value))) ")" } {}
                        }
                    } } }
                }
            }
        };
        let mut data = Data::new(&["series", "x", "value", "low", "high"]);
        for curve in &self.curves {
            for point in &curve.points {
                let [low, high] = point.interval.map_or([None; 2], |ends| ends.map(Some));
                let numbers = [Some(point.x), point.value, low, high].map(exact);
                data.rows.push([curve.name.clone()].into_iter().chain(numbers).collect());
            }
        }
        let keys = self.curves.iter().map(|curve| curve.name.clone()).collect();
        let Self { title, description, .. } = self;
        Some(Drawing { title, description, keys, size: [WIDTH, bottom + BELOW], body, data })
    }
}

/// Returns the smallest and the largest value.
fn ends(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let ends = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], value| [a.min(value), b.max(value)]);
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

/// Returns the line through points, with gaps at points without values.
fn path(panel: &Panel, points: &[Point]) -> String {
    let (mut path, mut command) = (String::new(), 'M');
    for point in points {
        let Some(value) = point.value else {
            command = 'M';
            continue;
        };
        path.push_str(&format!("{command}{} {}", px(panel.x(point.x)), px(panel.y(value))));
        command = 'L';
    }
    path
}
