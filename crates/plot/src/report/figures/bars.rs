//! [`Bars`]: horizontal bars of one or several segments, with the name above each bar, where long names fit.

use super::panel::{WIDTH, tick_mark};
use super::{Data, Drawing, px};
use crate::look::series_class;
use crate::svg::{Axis, plain};
use maud::html;

/// Height of a name, of a bar, and of the space below it.
const NAME: f64 = 18.0;
const BAR: f64 = 15.0;
const SPACE: f64 = 9.0;
const MARGIN: f64 = 6.0;
/// Width of a character of the text after a bar.
const CHARACTER: f64 = 7.4;
/// Longest name, characters.
const LONGEST: usize = 58;

/// A segment of a bar.
pub struct Segment {
    /// Name of the segment: a part of a sum, or an input.
    pub name: String,
    pub value: f64,
    /// Number of the segment's colour, from 0.
    pub colour: usize,
}

/// One bar. Of successive bars with the same name, only the first shows the name.
pub struct Bar {
    pub name: String,
    pub segments: Vec<Segment>,
    /// Text to the right of the bar.
    pub said: String,
}

/// Content of a bar chart.
pub struct Bars {
    pub title: String,
    pub description: String,
    /// Label of the axis, with its unit.
    pub x: String,
    pub bars: Vec<Bar>,
    /// Meanings of the colours, by their numbers.
    pub keys: Vec<String>,
    /// Value at the end of the axis; by default the length of the longest bar.
    pub to: Option<f64>,
}

impl Bars {
    /// Returns the drawing; none if there is no bar or all bars are empty.
    pub fn drawing(self) -> Option<Drawing> {
        let sum = |bar: &Bar| bar.segments.iter().map(|segment| segment.value).sum::<f64>();
        let longest = self.bars.iter().map(sum).fold(0.0, f64::max);
        if self.bars.is_empty() || !(longest > 0.0 && longest.is_finite()) {
            return None;
        }
        let axis = Axis::linear(0.0, self.to.unwrap_or(longest), &self.x);
        let said = self.bars.iter().map(|bar| bar.said.chars().count()).max().unwrap_or(0).max(3);
        let across = WIDTH - MARGIN - (CHARACTER * said.min(LONGEST / 2) as f64 + 12.0);
        let (tops, bottom) = self.tops();
        let at = |value: f64| MARGIN + across * axis.place(value);
        let mut data = Data::new(&["bar", "part", "value"]);
        for bar in &self.bars {
            let rows = bar.segments.iter();
            data.rows
                .extend(rows.map(|part| vec![bar.name.clone(), part.name.clone(), part.value.to_string()]));
        }
        let ticks = axis.ticks();
        let every = ticks.len().div_ceil(7);
        let body = html! {
            path.axis d={ "M" (px(MARGIN)) " " (px(bottom)) "h" (px(across)) } {}
            @for (number, tick) in ticks.iter().enumerate() {
                (tick_mark("x", tick.value, [at(tick.value), bottom], [0.0, 5.0]))
                @if number % every == 0 {
                    text.label x=(px(at(tick.value))) y=(px(bottom + 19.0)) text-anchor="middle" { (tick.label) }
                }
            }
            text x=(px(MARGIN + 0.5 * across)) y=(px(bottom + 38.0)) text-anchor="middle" { (self.x) }
            @for (bar, (top, has_name)) in self.bars.iter().zip(tops) {
                @if has_name { text x=(px(MARGIN)) y=(px(top - 5.0)) { (shortened(&bar.name)) } }
                @for (from, segment) in starts(bar) {
                    @if segment.value > 0.0 {
                        rect class={ "bar " (series_class(segment.colour)) @if segment.colour >= crate::look::SERIES { " again" } }
                            data-value=(segment.value) x=(px(at(from))) y=(px(top))
                            width=(px((at(from + segment.value) - at(from)).max(0.5))) height=(px(BAR)) {
                            title { (bar.name) ", " (segment.name) ": " (plain(segment.value)) }
                        }
                    }
                }
                text.label x=(px(at(sum(bar)) + 6.0)) y=(px(top + BAR - 3.0)) { (bar.said) }
            }
        };
        let Self { title, description, keys, .. } = self;
        Some(Drawing { title, description, keys, size: [WIDTH, bottom + 46.0], body, data })
    }

    /// Returns the top of each bar and whether its name is above it, and the position of the axis.
    fn tops(&self) -> (Vec<(f64, bool)>, f64) {
        let (mut tops, mut end) = (Vec::new(), 0.0);
        for (number, bar) in self.bars.iter().enumerate() {
            let has_name = number == 0 || self.bars[number - 1].name != bar.name;
            end += if has_name && number > 0 { SPACE } else { 0.0 } + if has_name { NAME } else { 1.0 };
            tops.push((end, has_name));
            end += BAR;
        }
        (tops, end + SPACE)
    }
}

/// Returns the segments and their beginnings.
fn starts(bar: &Bar) -> impl Iterator<Item = (f64, &Segment)> {
    bar.segments.iter().scan(0.0, |sum, segment| {
        let from = *sum;
        *sum += segment.value;
        Some((from, segment))
    })
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.into();
    }
    let start: String = name.chars().take(LONGEST - 1).collect();
    format!("{start}\u{2026}")
}
