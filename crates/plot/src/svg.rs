//! Charts with axes as self-contained SVG, which uses presentation attributes in place of style sheets.

use crate::text::grouped;
use std::fmt::Write;

/// Width of a character of a label, and height of a line, pixels of the screen.
const CHARACTER: f64 = 7.0;
const LINE: f64 = 16.0;
/// Largest number of ticks on a linear axis.
const MAX_TICKS: f64 = 8.0;

/// A mapping of values to positions along an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The value at the beginning of the axis.
    pub from: f64,
    /// The value at the end of the axis.
    pub to: f64,
    /// Whether the axis is logarithmic.
    pub is_log: bool,
    /// Label and unit of the axis.
    pub label: String,
}

/// A tick of an axis; ticks without a label are short.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// The value at the tick.
    pub value: f64,
    /// Text of the value; empty for a short tick.
    pub label: String,
}

impl Axis {
    /// Creates a linear axis; an empty range is widened.
    pub fn linear(from: f64, to: f64, label: &str) -> Self {
        // The width must be large enough to change a large number.
        let to = if to > from { to } else { from + 1.0f64.max(1e-9 * from.abs()) };
        Self { from, to, is_log: false, label: label.into() }
    }

    /// Creates a logarithmic axis, and adds `, logarithmic` to the label. `from` and `to` must be above 0.
    pub fn log(from: f64, to: f64, label: &str) -> Self {
        let to = if to > from { to } else { 10.0 * from };
        Self { from, to, is_log: true, label: format!("{label}, logarithmic") }
    }

    /// Returns the position of a value, clamped to the axis: 0 at the beginning, 1 at the end.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        share.clamp(0.0, 1.0)
    }

    /// Returns the ticks; a logarithmic axis has ticks at powers of ten and at 2 to 9 times these powers.
    pub fn ticks(&self) -> Vec<Tick> {
        if self.is_log { self.powers() } else { self.steps() }
    }

    fn powers(&self) -> Vec<Tick> {
        let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let inside = |value: f64| value >= self.from * 0.999_999 && value <= self.to * 1.000_001;
        let count = (first..=last).filter(|power| inside(10f64.powi(*power))).count();
        let mut ticks = Vec::new();
        for power in first..=last {
            for times in 1..10 {
                let value = f64::from(times) * 10f64.powi(power);
                // With fewer than two powers, multiples by 2 and 5 get labels, too.
                let is_told = times == 1 || count < 2 && matches!(times, 2 | 5);
                if inside(value) {
                    ticks.push(Tick { value, label: if is_told { plain(value) } else { String::new() } });
                }
            }
        }
        ticks
    }

    fn steps(&self) -> Vec<Tick> {
        let rough = (self.to - self.from) / MAX_TICKS;
        let power = 10f64.powi(rough.log10().floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let (first, last) = ((self.from / step).ceil() as i64, (self.to / step + 1e-9).floor() as i64);
        let tick = |number| {
            let value = number as f64 * step;
            Tick { value, label: plain(value) }
        };
        (first..=last).map(tick).collect()
    }
}

/// Returns a number as text, without superfluous digits.
pub fn plain(value: f64) -> String {
    if value.abs() >= 1000.0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs().round() as u64));
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

/// Returns text escaped for HTML and SVG.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A chart with two axes, under construction.
pub struct Chart {
    x: Axis,
    y: Axis,
    /// Position and size of the drawing area, pixels of the screen.
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Width to the right of the drawing area.
    right: f64,
    body: String,
}

impl Chart {
    /// Creates a chart whose drawing area has this width and height; the size of the chart includes its labels.
    pub fn new(title: &str, x: Axis, y: Axis, [width, height]: [f64; 2]) -> Self {
        let longest = y.ticks().iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
        let left = CHARACTER * longest as f64 + LINE + 18.0;
        let last = x.ticks().last().map_or(0, |tick| tick.label.chars().count());
        let right = (CHARACTER * last as f64 / 2.0 + 4.0).max(14.0);
        let mut chart = Self { x, y, left, top: 30.0, width, height, right, body: String::new() };
        let middle = chart.left + width / 2.0;
        chart.text([middle, 18.0], "middle", "font-weight=\"bold\"", title);
        chart
    }

    /// Returns the position of a point (x, y) in the chart, pixels of the screen.
    pub fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let across = self.left + self.width * self.x.place(x);
        [across, self.top + self.height * (1.0 - self.y.place(y))]
    }

    /// Fills the drawing area with a colour.
    pub fn paper(&mut self, colour: &str) {
        let Self { left, top, width, height, .. } = *self;
        let _ = write!(
            self.body,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        );
    }

    /// Adds SVG elements, whose coordinates are pixels of the screen.
    pub fn draw(&mut self, svg: &str) {
        self.body.push_str(svg);
    }

    /// Adds a filled rectangle between two corners, with a text that appears under the mouse.
    pub fn bar(&mut self, [x0, y0]: [f64; 2], [x1, y1]: [f64; 2], colour: &str, hover: &str) {
        let ([left, bottom], [right, top]) = (self.at(x0, y0), self.at(x1, y1));
        let (width, height) = ((right - left).max(0.5), (bottom - top).max(0.0));
        let hover = escaped(hover);
        let _ = write!(
            self.body,
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{colour}\"><title>{hover}\
             </title></rect>"
        );
    }

    /// Adds points and a line through them, which is dashed if `is_dashed`.
    pub fn line(&mut self, points: &[[f64; 2]], colour: &str, is_dashed: bool) {
        let mut path = String::new();
        for (&[x, y], command) in points.iter().zip(std::iter::once('M').chain(std::iter::repeat('L'))) {
            let [x, y] = self.at(x, y);
            let _ = write!(path, "{command}{x:.2} {y:.2}");
            let _ = write!(self.body, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let dash = if is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = write!(
            self.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>"
        );
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: &str, more: &str, text: &str) {
        let text = escaped(text);
        let _ = write!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>"
        );
    }

    /// Draws the axes.
    pub fn axes(&mut self) {
        let Self { left, top, width, height, .. } = *self;
        let (bottom, right) = (top + height, left + width);
        let mut marks = format!("M{left:.1} {top:.1}V{bottom:.1}H{right:.1}");
        for tick in self.x.ticks() {
            let x = left + width * self.x.place(tick.value);
            let length = if tick.label.is_empty() { 3 } else { 6 };
            let _ = write!(marks, "M{x:.1} {bottom:.1}v{length}");
            self.text([x, bottom + 20.0], "middle", "", &tick.label);
        }
        for tick in self.y.ticks() {
            let y = top + height * (1.0 - self.y.place(tick.value));
            let length = if tick.label.is_empty() { 3 } else { 6 };
            let _ = write!(marks, "M{left:.1} {y:.1}h-{length}");
            self.text([left - 9.0, y + 4.0], "end", "", &tick.label);
        }
        let _ = write!(self.body, "<path d=\"{marks}\" fill=\"none\" stroke=\"#444\"/>");
        let (x_label, y_label) = (self.x.label.clone(), self.y.label.clone());
        self.text([left + width / 2.0, bottom + 40.0], "middle", "", &x_label);
        let (x, y) = (LINE, top + height / 2.0);
        let turn = format!("transform=\"rotate(-90 {x:.1} {y:.1})\"");
        self.text([x, y], "middle", &turn, &y_label);
    }

    /// Adds a colour scale with its own axis to the right of the drawing area.
    pub fn colour_bar(&mut self, axis: &Axis, colour: impl Fn(f64) -> String) {
        const WIDTH: f64 = 16.0;
        const STEPS: usize = 64;
        let (left, step) = (self.left + self.width + 24.0, self.height / STEPS as f64);
        for number in 0..STEPS {
            let y = self.top + self.height - step * (number + 1) as f64;
            let fill = colour((number as f64 + 0.5) / STEPS as f64);
            let height = step + 0.5;
            let _ = write!(
                self.body,
                "<rect x=\"{left:.1}\" y=\"{y:.2}\" width=\"{WIDTH}\" height=\"{height:.2}\" fill=\"{fill}\" \
                 shape-rendering=\"crispEdges\"/>"
            );
        }
        let mut longest = 0;
        for tick in axis.ticks() {
            let y = self.top + self.height * (1.0 - axis.place(tick.value));
            let _ = write!(self.body, "<path d=\"M{:.1} {y:.1}h4\" stroke=\"#444\"/>", left + WIDTH);
            self.text([left + WIDTH + 7.0, y + 4.0], "start", "", &tick.label);
            longest = longest.max(tick.label.chars().count());
        }
        let x = left + WIDTH + CHARACTER * longest as f64 + LINE + 8.0;
        let turn = format!("transform=\"rotate(-90 {x:.1} {:.1})\"", self.top + self.height / 2.0);
        let label = axis.label.clone();
        self.text([x, self.top + self.height / 2.0], "middle", &turn, &label);
        self.right = x + 8.0 - self.left - self.width;
    }

    /// Returns the chart as SVG; `more` contains attributes for the outermost element.
    pub fn finish(self, more: &str) -> String {
        let [width, height] = self.size();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} \
             {height:.0}\" font-family=\"sans-serif\" font-size=\"12\" {more}><rect width=\"100%\" height=\"100%\" \
             fill=\"white\"/>{}</svg>",
            self.body
        )
    }

    /// Returns the width and height of the chart with its labels, pixels of the screen.
    pub fn size(&self) -> [f64; 2] {
        [self.left + self.width + self.right, self.top + self.height + 50.0]
    }

    /// Returns the drawing area: left, top, width and height, pixels of the screen.
    pub fn area(&self) -> [f64; 4] {
        [self.left, self.top, self.width, self.height]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(labels(&Axis::linear(0.0, 10.0, "")), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&Axis::linear(0.5, 3.5, "")), ["0.5", "1", "1.5", "2", "2.5", "3", "3.5"]);
        assert_eq!(labels(&Axis::linear(-1.0, 1.0, "")).len(), 5);
        assert_eq!(labels(&Axis::log(1.0, 1000.0, "")), ["1", "10", "100", "1,000"]);
        assert_eq!(labels(&Axis::log(1.0, 7.0, "")), ["1", "2", "5"]);
        assert_eq!(Axis::log(1.0, 100.0, "").ticks().len(), 19);
        assert!(Axis::log(1.0, 10.0, "hits").label.contains("logarithmic"));
    }

    #[test]
    fn values_lie_where_they_belong() {
        assert_eq!([0.0, 5.0, 20.0].map(|value| Axis::linear(0.0, 10.0, "").place(value)), [0.0, 0.5, 1.0]);
        let log = Axis::log(1.0, 100.0, "");
        assert!((log.place(10.0) - 0.5).abs() < 1e-12 && log.place(0.0) == 0.0);
        assert_eq!(Axis::linear(3.0, 3.0, "").place(3.0), 0.0);
        assert!((1..10).contains(&Axis::linear(1e19, 1e19, "").ticks().len()));
    }

    #[test]
    fn labels_are_inside_of_the_picture() {
        let y = Axis::linear(0.0, 12_345_678.0, "hits");
        let mut chart = Chart::new("a < b", Axis::linear(0.0, 1_000_000.0, "time, ms"), y, [400.0, 200.0]);
        chart.axes();
        chart.colour_bar(&Axis::log(1.0, 1e6, "hits"), |_| "#000000".into());
        let svg = chart.finish("");
        let width: f64 = svg.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        let texts = svg.split("<text x=\"").skip(1).filter(|text| !text.contains("rotate"));
        for text in texts {
            let x: f64 = text.split('"').next().unwrap().parse().unwrap();
            let long = CHARACTER * text.split('>').nth(1).unwrap().split('<').next().unwrap().len() as f64;
            let [left, right] = match text.split("text-anchor=\"").nth(1).unwrap().split('"').next().unwrap()
            {
                "start" => [x, x + long],
                "middle" => [x - long / 2.0, x + long / 2.0],
                _ => [x - long, x],
            };
            assert!(left >= 0.0 && right <= width, "{text}: {left} {right} of {width}");
        }
        assert!(svg.contains("a &lt; b"));
    }
}
