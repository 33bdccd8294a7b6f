//! [`RateFigure`]: rates in bins of a property, with intervals, over a grey histogram of the denominators. If there are
//! several series, a panel below shows the ratios to the first series.

use super::panel::{BELOW, Panel, WIDTH};
use super::{Data, Drawing, SHAPES, exact, px};
use crate::look::series_class;
use crate::svg::{Axis, plain};
use crate::text::grouped;
use maud::{Markup, html};

/// Height of the main panel, of the panel of ratios, and of the space between them.
const HEIGHT: f64 = 190.0;
const RATIO: f64 = 74.0;
const BETWEEN: f64 = 16.0;
const TOP: f64 = 10.0;
/// A range is drawn logarithmically if the ratio of its ends exceeds this.
const WIDE: f64 = 25.0;
/// Largest end of the axis of ratios.
const MAX_RATIO: f64 = 6.0;

/// A rate in a bin: a share of particles or tracks.
#[derive(Debug, Clone, PartialEq)]
pub struct RateBin {
    /// Lower and upper edge of the bin.
    pub low: f64,
    pub high: f64,
    /// Denominator of the rate.
    pub count: u64,
    /// The rate and its interval, 0 to 1; none for 0 / 0.
    pub value: Option<f64>,
    pub interval: Option<[f64; 2]>,
}

/// Rates of one input.
pub struct RateSeries {
    pub name: String,
    pub bins: Vec<RateBin>,
}

/// Whether good rates are near 1 or near 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateRange {
    /// Good rates are near 1; the axis ends at 1.
    Efficiency,
    /// Good rates are near 0; the axis begins at 0.
    Loss,
}

/// Content of a figure of rates.
pub struct RateFigure<'a> {
    pub title: String,
    /// Labels of the bins' property (with its unit), of the counted objects, and of the rate.
    pub x: &'a str,
    pub counted: &'a str,
    pub rate: &'a str,
    pub range: RateRange,
    pub series: Vec<RateSeries>,
}

/// A mark: its bin, position, value and interval.
struct Mark<'a> {
    bin: &'a RateBin,
    x: f64,
    value: f64,
    low: f64,
    high: f64,
}

impl RateFigure<'_> {
    /// Returns the drawing; none when all bins are empty.
    pub fn drawing(self) -> Option<Drawing> {
        let all = || self.series.iter().flat_map(|series| &series.bins);
        if all().all(|bin| bin.value.is_none()) {
            return None;
        }
        let largest = self.series[0].bins.iter().map(|bin| bin.count).max().unwrap_or(0);
        let counts = Axis::linear(0.0, 1.2 * largest.max(1) as f64, self.counted);
        let main = Panel::new([self.across(), self.up()], Some(&counts), [TOP, HEIGHT]);
        let ratio = self.ratio_panel(&main);
        let bottom = ratio.as_ref().unwrap_or(&main);
        let size = [WIDTH, bottom.top + bottom.height + BELOW];
        let body = html! {
            (grey(&main, &counts, &self.series[0].bins, self.counted))
            (main.grid())
            (main.second_axis(&counts))
            (main.axes(ratio.is_none()))
            @for (number, series) in self.series.iter().enumerate() {
                g class={ "marks " (series_class(number)) } {
                    @for mark in self.marks(&main, number) { (self.mark(&main, number, &series.name, &mark)) }
                }
            }
            @if let Some(panel) = &ratio { (self.ratio(panel)) }
        };
        let last = self.series[0].bins.last().map_or(0.0, |bin| bin.high);
        let description = format!(
            "{} against {} in {} bins up to {}, with intervals of 68 %, over the number of {} in grey.",
            self.rate,
            self.x,
            self.series[0].bins.len(),
            plain(last),
            self.counted
        );
        let keys = self.series.iter().map(|series| series.name.clone()).collect();
        let data = self.data();
        Some(Drawing { title: self.title, description, keys, size, body, data })
    }

    /// Returns the axis of the bins.
    fn across(&self) -> Axis {
        // Bins that are empty in all series are not drawn.
        let bins = || self.series.iter().flat_map(|series| &series.bins).filter(|bin| bin.count > 0);
        let edges = || bins().flat_map(|bin| [bin.low, bin.high]);
        let (from, to) = (edges().fold(f64::INFINITY, f64::min), edges().fold(f64::NEG_INFINITY, f64::max));
        let first = edges().filter(|edge| *edge > 0.0).fold(f64::INFINITY, f64::min);
        if from >= 0.0 && to > WIDE * first {
            // The range between 0 and the first edge is drawn as an octave.
            let axis = Axis::log(if from > 0.0 { from } else { 0.5 * first }, to, self.x);
            return Axis { label: self.x.into(), ..axis };
        }
        Axis::linear(from, to, self.x)
    }

    /// Returns the axis of the shares: if all shares are near one end of 0..1, the axis shows only the range near it.
    fn up(&self) -> Axis {
        let all = || self.series.iter().flat_map(|series| &series.bins);
        match self.range {
            RateRange::Efficiency => {
                let ends = all().filter_map(|bin| bin.interval.map(|[low, _]| low).or(bin.value));
                let lowest = ends.fold(1.0, f64::min);
                let from = [0.9, 0.8, 0.5].into_iter().find(|from| *from <= lowest).unwrap_or(0.0);
                Axis::linear(from, 1.0 + 0.04 * (1.0 - from), self.rate)
            }
            RateRange::Loss => {
                let ends = all().filter_map(|bin| bin.interval.map(|[_, high]| high).or(bin.value));
                let highest = ends.fold(0.0, f64::max);
                let to = if highest > 0.0 { (1.1 * highest).min(1.04) } else { 0.01 };
                Axis::linear(0.0, to, self.rate)
            }
        }
    }

    /// Returns the marks of a series; marks of several series are next to each other in a bin.
    fn marks<'a>(&'a self, panel: &'a Panel, number: usize) -> impl Iterator<Item = Mark<'a>> {
        let of = self.series.len() as f64;
        let filled = self.series[number].bins.iter().filter_map(|bin| Some((bin, bin.value?)));
        filled.map(move |(bin, value)| {
            let [left, right] = [panel.x(bin.low), panel.x(bin.high)];
            let step = (0.8 * (right - left) / of).min(8.0);
            let x = 0.5 * (left + right) + step * (number as f64 - 0.5 * (of - 1.0));
            let [low, high] = bin.interval.unwrap_or([value; 2]);
            Mark { bin, x, value, low, high }
        })
    }

    fn mark(&self, panel: &Panel, number: usize, name: &str, mark: &Mark<'_>) -> Markup {
        let Mark { bin, x, value, low, high } = mark;
        let (y, top, bottom) = (panel.y(*value), panel.y(*high), panel.y(*low));
        let ends = [panel.x(bin.low), panel.x(bin.high)];
        let across = match self.series.len() {
            1 => format!("M{} {}H{}", px(ends[0]), px(y), px(ends[1])),
            _ => String::new(),
        };
        let said = format!(
            "{}{} to {}: {} {:.2} % ({:.2} to {:.2}) of {} {}",
            if self.series.len() > 1 { format!("{name}, ") } else { String::new() },
            plain(bin.low),
            plain(bin.high),
            self.rate,
            100.0 * value,
            100.0 * low,
            100.0 * high,
            grouped(bin.count),
            self.counted
        );
        html! {
            g.mark data-x=(panel.value_at(*x)) data-value=(value) data-low=(low) data-high=(high) {
                title { (said) }
                path.bar d={ "M" (px(*x)) " " (px(top)) "V" (px(bottom)) (across) } {}
                path.point d=(SHAPES[number % SHAPES.len()].0) transform={ "translate(" (px(*x)) " " (px(y)) ")" } {}
            }
        }
    }

    /// Returns the panel of the ratios to the first series, below the main panel.
    fn ratio_panel(&self, main: &Panel) -> Option<Panel> {
        let mut furthest = 0.0f64;
        for number in 1..self.series.len() {
            let away = self.ratios(number).flat_map(|(_, ratio)| ratio.map(|one| (one - 1.0).abs()));
            furthest = away.fold(furthest, f64::max);
        }
        let half = (1.15 * furthest).clamp(0.005, MAX_RATIO - 1.0);
        (self.series.len() > 1).then(|| Panel {
            x: main.x.clone(),
            y: Axis::linear((1.0 - half).max(0.0), 1.0 + half, "ratio"),
            top: main.top + main.height + BETWEEN,
            height: RATIO,
            ..*main
        })
    }

    /// Returns ratios to the share of the first series: of the share and of the ends of its interval, for bins that both have.
    fn ratios(&self, number: usize) -> impl Iterator<Item = (&RateBin, [f64; 3])> {
        let pairs = self.series[number].bins.iter().filter_map(|bin| {
            let of = self.series[0].bins.iter().find(|of| of.low == bin.low && of.high == bin.high)?;
            Some((bin, of.value.filter(|of| *of > 0.0)?))
        });
        pairs.filter_map(|(bin, of)| {
            let value = bin.value?;
            let [low, high] = bin.interval.unwrap_or([value; 2]);
            Some((bin, [value, low, high].map(|one| one / of)))
        })
    }

    fn ratio(&self, panel: &Panel) -> Markup {
        let one = panel.y(1.0);
        html! {
            (panel.grid())
            path.one d={ "M" (px(panel.left)) " " (px(one)) "h" (px(panel.width)) } {}
            (panel.axes(true))
            @for number in 1..self.series.len() {
                g class={ "ratios " (series_class(number)) } {
                    @for (bin, ratio) in self.ratios(number) {
                        @let x = 0.5 * (panel.x(bin.low) + panel.x(bin.high));
                        @let [y, bottom, top] = ratio.map(|one| panel.y(one));
                        g.ratio data-x=(panel.value_at(x)) data-value=(ratio[0]) data-low=(ratio[1]) data-high=(ratio[2]) {
                            title { (plain(bin.low)) " to " (plain(bin.high)) ": ratio " (format!("{:.4}", ratio[0])) }
                            path.bar d={ "M" (px(x)) " " (px(top)) "V" (px(bottom)) } {}
                            @if (0.0..=1.0).contains(&((ratio[0] - panel.y.from) / (panel.y.to - panel.y.from))) {
                                path.point d=(SHAPES[number % SHAPES.len()].0) transform={ "translate(" (px(x)) " " (px(y)) ")" } {}
                            }
                        }
                    }
                }
            }
        }
    }

    fn data(&self) -> Data {
        let mut data = Data::new(&["series", "from", "to", "count", "value", "low", "high"]);
        for RateSeries { name, bins } in &self.series {
            for bin in bins {
                let ends = bin.interval.map_or([None; 2], |ends| ends.map(Some));
                data.rows.push(vec![
                    name.clone(),
                    bin.low.to_string(),
                    bin.high.to_string(),
                    bin.count.to_string(),
                    exact(bin.value),
                    exact(ends[0]),
                    exact(ends[1]),
                ]);
            }
        }
        data
    }
}

/// Draws the number of entries in each bin.
fn grey(panel: &Panel, counts: &Axis, bins: &[RateBin], counted: &str) -> Markup {
    let bottom = panel.top + panel.height;
    html! {
        @for bin in bins.iter().filter(|bin| bin.count > 0) {
            @let [left, right] = [panel.x(bin.low), panel.x(bin.high)];
            @let height = panel.height * counts.place(bin.count as f64);
            rect.grey data-count=(bin.count) x=(px(left)) y=(px(bottom - height)) width=(px(right - left)) height=(px(height)) {
                title { (plain(bin.low)) " to " (plain(bin.high)) ": " (grouped(bin.count)) " " (counted) }
            }
        }
    }
}
