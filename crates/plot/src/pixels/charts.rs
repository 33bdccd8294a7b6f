//! Charts of pixel clusters: distributions, and a map of hits.

use super::PixelDisplay;
use super::colours::{STEPS, heat, of_step, step};
use super::grid::Cell;
use super::histogram::Histogram;
use super::html::table;
use super::strokes::{Along, Strokes};
use crate::svg::{Axis, Chart, plain};
use crate::text::grouped;
use maud::Markup;
use peloton::event::NS_PER_TICK;
use std::fmt::Write;

/// Drawing area of a distribution, pixels of the screen.
const SIZE: [f64; 2] = [520.0, 240.0];
/// Longer side of the map of hits, pixels of the screen.
const MAP: f64 = 420.0;
const BAR: &str = "#26547c";
/// Number of pixels in the table of the hottest pixels.
const HOTTEST: usize = 10;

/// Labels and axes of a distribution.
struct Labels {
    title: &'static str,
    name: &'static str,
    x: String,
    y: &'static str,
    /// Length of one unit of the histogram on the axis.
    scale: f64,
    is_log: bool,
    /// Whether values are counts, which are in the middle of their bars.
    is_count: bool,
}

/// Draws all distributions that are not empty.
pub fn distributions(display: &PixelDisplay) -> Vec<String> {
    let ms = 1e-6 * NS_PER_TICK;
    // Short streams have axes in us.
    let is_short = (display.ticks() as f64) * ms < 1.0;
    let (scale, unit) = if is_short { (1e3 * ms, "us") } else { (ms, "ms") };
    let clocks = match display.sources() {
        0 | 1 => String::new(),
        sources => format!("; the clocks of {sources} inputs are joined one after another"),
    };
    let labels = |title, name, x: &str, y| Labels {
        title,
        name,
        x: x.into(),
        y,
        scale: 1.0,
        is_log: true,
        is_count: false,
    };
    let toa = Labels {
        scale,
        is_log: false,
        ..labels("Time of arrival", "time", &format!("time since the first cluster, {unit}{clocks}"), "hits")
    };
    let tot = labels("Time over threshold", "tot", "time over threshold, clocks of 25 ns", "hits");
    let size = Labels { is_count: true, ..labels("Cluster size", "size", "hits in the cluster", "clusters") };
    let energy = Labels { scale: 1e-3, ..labels("Energy of clusters", "energy", "energy, keV", "clusters") };
    [(&display.toa, toa), (&display.tot, tot), (&display.size, size), (&display.energy, energy)]
        .iter()
        .filter(|(histogram, _)| histogram.total() > 0)
        .map(|(histogram, labels)| distribution(histogram, labels))
        .collect()
}

fn distribution(histogram: &Histogram, labels: &Labels) -> String {
    let Labels { title, name, x, y, scale, is_log, is_count } = labels;
    let bins: Vec<_> = histogram.bins().collect();
    let filled = |bin: &&(i64, u64)| bin.1 > 0;
    let first = bins.iter().find(filled).map_or(0, |bin| bin.0);
    let last = bins.iter().rfind(filled).map_or(first, |bin| bin.0);
    let shift = if *is_count && histogram.width() == 1 { -0.5 } else { 0.0 };
    let side = |from: i64| [from as f64 + shift, from as f64 + shift + histogram.width() as f64];
    let across = Axis::linear(scale * side(first)[0], scale * side(last)[1], x);
    let highest = bins.iter().map(|bin| bin.1).max().unwrap_or(1).max(1) as f64;
    // A logarithmic axis begins at half a count, so that one count can be seen.
    let up = if *is_log {
        Axis::log(0.5, 1.5 * highest.max(2.0), y)
    } else {
        Axis::linear(0.0, 1.05 * highest, y)
    };
    let bottom = up.from;
    let mut title = format!("{title}: {} {y}", grouped(histogram.total()));
    if histogram.below() > 0 {
        let _ = write!(title, ", {} before the first", grouped(histogram.below()));
    }
    let mut chart = Chart::new(&title, across, up, SIZE);
    for &(from, count) in bins.iter().filter(filled) {
        let [low, high] = side(from);
        let range = if *is_count && histogram.width() == 1 {
            plain(from as f64)
        } else {
            format!("{} to {}", plain(scale * low), plain(scale * high))
        };
        let hover = format!("{range}: {} {y}", grouped(count));
        chart.bar([scale * low, bottom], [scale * high, count as f64], BAR, &hover);
    }
    chart.axes();
    chart.finish(&format!("class=\"picture\" data-name=\"{name}\""))
}

/// Draws the number of clusters by size and time over threshold.
pub fn tot_of_size(display: &PixelDisplay) -> String {
    let cells: Vec<_> = display.tot_of_size.cells().collect();
    let end = |of: fn(&Cell) -> f64| cells.iter().map(of).fold(1.0, f64::max);
    let x = Axis::log(1.0, end(|cell| cell.0[1]), "hits in the cluster");
    let y = Axis::log(1.0, end(|cell| cell.1[1]), "time over threshold of the cluster, clocks of 25 ns");
    let colours = Axis::log(1.0, end(|cell| cell.2 as f64).max(2.0), "clusters");
    let mut chart = Chart::new("Time over threshold against cluster size", x, y, [400.0, 400.0]);
    for (across, up, count) in &cells {
        let hover = format!(
            "{} to {} hits, {} to {} clocks: {} clusters",
            plain(across[0]),
            plain(across[1]),
            plain(up[0]),
            plain(up[1]),
            grouped(*count)
        );
        let colour = of_step(step(colours.place(*count as f64)));
        chart.bar([across[0], up[0]], [across[1], up[1]], &colour, &hover);
    }
    chart.axes();
    chart.colour_bar(&colours, heat);
    chart.finish("class=\"picture\" data-name=\"tot-size\"")
}

/// Draws a map of the number of hits of each pixel.
pub fn occupancy(display: &PixelDisplay) -> String {
    let [width, height] = display.sensor.map(|side| side as f64);
    let scale = MAP / width.max(height);
    let [x, y] =
        [("x, pixel", width), ("y, pixel", height)].map(|(label, side)| Axis::linear(0.0, side, label));
    let of = if display.square == 1 { "pixel".into() } else { format!("{0} x {0} pixels", display.square) };
    let highest = display.occupancy.iter().max().copied().unwrap_or(0).max(2) as f64;
    let colours = Axis::log(1.0, highest, &format!("hits per {of}"));
    let mut chart = Chart::new("Map of hits, over the whole input", x, y, [scale * width, scale * height]);
    chart.paper("#12121a");
    let [left, top, across, up] = chart.area();
    let side = display.square;
    let mut svg = format!(
        "<svg x=\"{left:.1}\" y=\"{top:.1}\" width=\"{across:.1}\" height=\"{up:.1}\" viewBox=\"0 0 {width} {height}\" \
         preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\"><g fill=\"none\" stroke-width=\"{side}\" \
         transform=\"translate(0 {})\">",
        0.5 * side as f64
    );
    for (number, rows) in squares(display, &colours).iter().enumerate() {
        if !rows.path().is_empty() {
            let _ = write!(svg, "<path stroke=\"{}\" d=\"{}\"/>", of_step(number), rows.path());
        }
    }
    svg.push_str("</g></svg>");
    chart.draw(&svg);
    chart.axes();
    chart.colour_bar(&colours, heat);
    chart.finish("class=\"picture\" data-name=\"occupancy\"")
}

/// Returns a path for each step of colour: its squares are lines as wide as a square, and equal neighbours are one line.
fn squares(display: &PixelDisplay, colours: &Axis) -> Vec<Strokes> {
    let (side, height) = (display.square, display.sensor[1]);
    let columns = display.sensor[0].div_ceil(side);
    let mut paths = vec![Strokes::default(); STEPS];
    for (row, counts) in display.occupancy.chunks(columns).enumerate() {
        let mut from = 0;
        let steps: Vec<_> =
            counts.iter().map(|&count| (count > 0).then(|| step(colours.place(count as f64)))).collect();
        for run in steps.chunk_by(|a, b| a == b) {
            if let Some(number) = run[0] {
                let (x, y) = ((from * side) as i64, height as i64 - ((row + 1) * side) as i64);
                paths[number].push([x, y], Along::X, (run.len() * side) as i64);
            }
            from += run.len();
        }
    }
    paths
}

/// Returns a table of the pixels with most hits; empty for large sensors, whose hits are counted per square of pixels.
pub fn hottest(display: &PixelDisplay) -> Markup {
    if display.square > 1 {
        return Markup::default();
    }
    let mut pixels: Vec<_> = display.occupancy.iter().enumerate().filter(|(_, count)| **count > 0).collect();
    let (hit, all) = (pixels.len() as f64, display.hits as f64);
    pixels.sort_by_key(|(at, count)| (std::cmp::Reverse(**count), *at));
    let mean = all / hit.max(1.0);
    let row = |(at, count): &(usize, &u64)| {
        let [x, y] = [at % display.sensor[0], at / display.sensor[0]].map(|place| place.to_string());
        let (share, times) = (100.0 * **count as f64 / all, **count as f64 / mean);
        vec![x, y, grouped(**count), format!("{share:.2} %"), format!("{times:.1}")]
    };
    let rows: Vec<_> = pixels.iter().take(HOTTEST).map(row).collect();
    let head = ["x", "y", "hits", "share of all", "times the mean"];
    table("Hottest pixels", &head, &rows, "--mask-hot N leaves out pixels with more than N hits.")
}
