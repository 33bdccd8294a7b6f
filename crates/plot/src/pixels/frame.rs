//! The picture of one frame: pixels coloured by time over threshold, outlines of clusters, and values under the mouse.

use super::colours::{STEPS, heat, of_step, step};
use super::strokes::{Along, Strokes};
use super::{PixelDisplay, TICKS_PER_US};
use crate::svg::{Axis, Chart, plain};
use crate::text::{count, grouped};
use peloton::event::NS_PER_TICK;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Longer side of the picture, pixels of the screen.
const SIDE: f64 = 480.0;
/// Width of the lines around clusters, pixels of the sensor.
const OUTLINE: f64 = 0.14;
const PAPER: &str = "#12121a";

/// Returns the frame as SVG. The page zooms an inner SVG, whose unit of length is a pixel of the sensor.
pub fn picture(display: &PixelDisplay) -> String {
    let [width, height] = display.sensor.map(|side| side as f64);
    let scale = SIDE / width.max(height);
    let axes =
        [("x, pixel", width), ("y, pixel", height)].map(|(label, side)| Axis::linear(0.0, side, label));
    let [x, y] = axes;
    let mut chart = Chart::new(&title(display), x, y, [scale * width, scale * height]);
    chart.paper(PAPER);
    let largest = display.chosen.hits.iter().map(|hit| hit.2).max().unwrap_or(1).max(2);
    let smallest = display.chosen.hits.iter().map(|hit| hit.2).min().unwrap_or(1).max(1);
    let colours = Axis::log(f64::from(smallest), f64::from(largest), "time over threshold, clocks of 25 ns");
    let [left, top, across, up] = chart.area();
    let mut svg = format!(
        "<svg class=\"sensor\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{across:.1}\" height=\"{up:.1}\" viewBox=\"0 0 {width} \
         {height}\" preserveAspectRatio=\"none\"><g shape-rendering=\"crispEdges\"><g fill=\"none\" stroke-width=\"1\" \
         transform=\"translate(0 0.5)\">"
    );
    svg.push_str(&pixels(display, &colours));
    svg.push_str("</g></g>");
    svg.push_str(&outlines(display));
    svg.push_str("</svg>");
    chart.draw(&svg);
    chart.axes();
    chart.colour_bar(&colours, heat);
    chart.finish("class=\"picture frame\" data-name=\"frame\"")
}

fn title(display: &PixelDisplay) -> String {
    let us = |frame: u64| plain(frame as f64 * display.frame_ticks as f64 / TICKS_PER_US as f64);
    let (number, [hits, clusters]) = display.frame();
    let mut title = format!(
        "Frame {number}: {} to {} us, {}, {}",
        us(number),
        us(number + 1),
        count(hits as usize, "hit"),
        count(clusters as usize, "cluster")
    );
    if display.chosen.left_out > 0 {
        let _ = write!(title, ", {} hits not drawn", grouped(display.chosen.left_out));
    }
    title
}

/// Returns the time over threshold and the cluster of each drawn pixel: of several hits, the last one's.
fn shown(display: &PixelDisplay) -> HashMap<(u16, u16), (u16, u32)> {
    let hits = display.chosen.hits.iter();
    hits.map(|&(x, y, tot, _, cluster)| ((x, y), (tot, cluster))).collect()
}

/// Draws the pixels of each colour as one path of lines as wide as a pixel; y points up.
fn pixels(display: &PixelDisplay, colours: &Axis) -> String {
    let mut steps: Vec<Vec<[i64; 2]>> = vec![Vec::new(); STEPS];
    for ((x, y), (tot, _)) in shown(display) {
        steps[step(colours.place(f64::from(tot.max(1))))].push([x.into(), from_top(display, y)]);
    }
    let mut svg = String::new();
    for (number, pixels) in steps.iter_mut().enumerate().filter(|(_, pixels)| !pixels.is_empty()) {
        pixels.sort_unstable_by_key(|[x, y]| [*y, *x]);
        let mut rows = Strokes::default();
        rows.push_joined(Along::X, pixels.iter().copied());
        let _ = write!(svg, "<path stroke=\"{}\" d=\"{}\"/>", of_step(number), rows.path());
    }
    svg
}

/// Returns the number of rows above a pixel.
fn from_top(display: &PixelDisplay, y: u16) -> i64 {
    display.sensor[1] as i64 - 1 - i64::from(y)
}

/// Draws the edges between pixels of a cluster and other pixels.
fn outlines(display: &PixelDisplay) -> String {
    let shown = shown(display);
    // Sorted by row or by column, so that adjacent edges become one line.
    let (mut across, mut down) = (BTreeSet::new(), BTreeSet::new());
    for ((x, y), (_, cluster)) in &shown {
        let is_inside = |dx: i32, dy: i32| {
            let near = (u16::try_from(i32::from(*x) + dx), u16::try_from(i32::from(*y) + dy));
            let (Ok(x), Ok(y)) = near else { return false };
            shown.get(&(x, y)).is_some_and(|(_, other)| other == cluster)
        };
        let (left, top) = (i64::from(*x), from_top(display, *y));
        for (dx, edge) in [(-1, left), (1, left + 1)] {
            if !is_inside(dx, 0) {
                down.insert([edge, top]);
            }
        }
        for (dy, edge) in [(1, top), (-1, top + 1)] {
            if !is_inside(0, dy) {
                across.insert([edge, left]);
            }
        }
    }
    let mut lines = Strokes::default();
    lines.push_joined(Along::X, across.into_iter().map(|[y, x]| [x, y]));
    lines.push_joined(Along::Y, down);
    format!(
        "<path class=\"outlines\" d=\"{}\" fill=\"none\" stroke=\"#9fe8ff\" stroke-width=\"{OUTLINE}\"/>",
        lines.path()
    )
}

/// Returns the hits as lists for the script: x, y, time over threshold, ns since the first cluster, cluster number.
pub fn data(display: &PixelDisplay) -> String {
    let mut text = String::from("[");
    for (number, &(x, y, tot, time, cluster)) in display.chosen.hits.iter().enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(text, "{comma}[{x},{y},{tot},{},{cluster}]", plain_ns(time));
    }
    text.push(']');
    text
}

fn plain_ns(ticks: i64) -> String {
    format!("{}", ticks as f64 * NS_PER_TICK)
}
