//! [`PullFigure`]: a histogram of (fitted - true) / sigma, with the expected and the measured Gaussian.

use super::panel::{BELOW, Panel, WIDTH};
use super::{Data, Drawing, px};
use crate::look::series_class;
use crate::svg::{Axis, plain};
use crate::text::grouped;
use maud::html;

const TOP: f64 = 10.0;
const HEIGHT: f64 = 170.0;
/// Points of a curve.
const POINTS: usize = 101;

/// Content of a figure of a pull.
pub struct PullFigure {
    pub title: String,
    /// Beginning of the first bin and end of the last; counts of the bins.
    pub range: [f64; 2],
    pub counts: Vec<u64>,
    /// Number of all entries, including entries outside of the range.
    pub total: u64,
    pub mean: f64,
    pub width: f64,
    /// Number of the curve's colour, from 0.
    pub colour: usize,
}

impl PullFigure {
    /// Returns the drawing; none if all bins are empty or the width is not positive.
    pub fn drawing(self) -> Option<Drawing> {
        let Self { title, range: [from, to], counts, total, mean, width, colour } = self;
        let highest_bin = *counts.iter().max()? as f64;
        if highest_bin == 0.0 || !(width > 0.0 && mean.is_finite() && width.is_finite()) {
            return None;
        }
        let step = (to - from) / counts.len() as f64;
        let area = step * total as f64;
        let gauss = |x: f64, mean: f64, width: f64| {
            let t = (x - mean) / width;
            area * (-0.5 * t * t).exp() / (width * std::f64::consts::TAU.sqrt())
        };
        let highest = highest_bin.max(gauss(0.0, 0.0, 1.0)).max(gauss(mean, mean, width));
        let x = Axis::linear(from, to, "(fitted - true) / sigma");
        let panel = Panel::new([x, Axis::linear(0.0, 1.08 * highest, "tracks")], None, [TOP, HEIGHT]);
        let curve = |mean: f64, width: f64| {
            let at = |number: usize| from + (to - from) * number as f64 / (POINTS - 1) as f64;
            let points = (0..POINTS).map(|number| (at(number), gauss(at(number), mean, width)));
            let places = points.map(|(x, y)| format!("{} {}", px(panel.x(x)), px(panel.y(y))));
            format!("M{}", places.collect::<Vec<_>>().join("L"))
        };
        let mut data = Data::new(&["from", "to", "tracks"]);
        let body = html! {
            @for (number, count) in counts.iter().enumerate() {
                @let low = from + step * number as f64;
                @if *count > 0 {
                    @let (left, right, y) = (panel.x(low), panel.x(low + step), panel.y(*count as f64));
                    rect.grey data-x=(low + 0.5 * step) data-value=(count) x=(px(left)) y=(px(y)) width=(px(right - left))
                        height=(px(panel.y(0.0) - y)) {
                        title { (plain(low)) " to " (plain(low + step)) ": " (grouped(*count)) " tracks" }
                    }
                }
            }
            path.unit d=(curve(0.0, 1.0)) {}
            g class=(series_class(colour)) { path.line d=(curve(mean, width)) {} }
            (panel.axes(true))
            text x=(px(panel.left + 8.0)) y=(px(TOP + 13.0)) { "mean " (rounded(mean)) }
            text x=(px(panel.left + 8.0)) y=(px(TOP + 30.0)) { "width " (rounded(width)) }
        };
        for (number, count) in counts.iter().enumerate() {
            let low = from + step * number as f64;
            data.rows.push(vec![low.to_string(), (low + step).to_string(), count.to_string()]);
        }
        let description = format!(
            "Distribution of (fitted - true) / sigma of {} tracks: mean {mean:.3}, width {width:.3}. Dashed: the Gaussian of mean 0 and width 1; line: the Gaussian of this mean and width.",
            grouped(total)
        );
        Some(Drawing {
            title,
            description,
            keys: Vec::new(),
            size: [WIDTH, TOP + HEIGHT + BELOW],
            body,
            data,
        })
    }
}

/// Returns a number with two digits after the point, without a sign before 0.00.
fn rounded(value: f64) -> String {
    let text = format!("{value:.2}");
    match text.strip_prefix("-0.00") {
        Some("") => "0.00".into(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!(
            [-0.001, 0.0, -0.006, 0.994, -1.2].map(rounded),
            ["0.00", "0.00", "-0.01", "0.99", "-1.20"]
        );
    }
}
