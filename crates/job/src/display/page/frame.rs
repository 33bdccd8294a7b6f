//! The picture of one frame: pixels by time over threshold, outlines of clusters, and what lies under the mouse.

use super::colours::{STEPS, heat, of_step, step};
use super::{PixelDisplay, TICKS_PER_US};
use crate::svg::{Axis, Chart, plain};
use crate::text::{count, grouped};
use peloton::event::NS_PER_TICK;
use std::collections::HashMap;
use std::fmt::Write;

/// Longer side of the picture, pixels of the screen.
const SIDE: f64 = 760.0;
/// Width of the lines around clusters, pixels of the sensor.
const OUTLINE: f64 = 0.14;
const PAPER: &str = "#12121a";

/// The frame as SVG. It has a picture of its own inside, in pixels of the sensor, which the page zooms.
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
         {height}\" preserveAspectRatio=\"none\"><g shape-rendering=\"crispEdges\">"
    );
    svg.push_str(&pixels(display, &colours));
    svg.push_str("</g>");
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

/// What each pixel shows: of several hits the last one.
fn shown(display: &PixelDisplay) -> HashMap<(u16, u16), (u16, u32)> {
    let hits = display.chosen.hits.iter();
    hits.map(|&(x, y, tot, _, cluster)| ((x, y), (tot, cluster))).collect()
}

/// Pixels of one colour as one path; y points up.
fn pixels(display: &PixelDisplay, colours: &Axis) -> String {
    let mut steps: Vec<Vec<(u16, u16)>> = vec![Vec::new(); STEPS];
    for (pixel, (tot, _)) in shown(display) {
        steps[step(colours.place(f64::from(tot.max(1))))].push(pixel);
    }
    let mut svg = String::new();
    for (number, pixels) in steps.iter_mut().enumerate().filter(|(_, pixels)| !pixels.is_empty()) {
        pixels.sort_unstable();
        let _ = write!(svg, "<path fill=\"{}\" d=\"", of_step(number));
        for (x, y) in pixels {
            let _ = write!(svg, "M{x} {}h1v1h-1z", display.sensor[1] - 1 - usize::from(*y));
        }
        svg.push_str("\"/>");
    }
    svg
}

/// The edges between pixels of a cluster and those that are not of it.
fn outlines(display: &PixelDisplay) -> String {
    let shown = shown(display);
    let mut pixels: Vec<_> = shown.iter().map(|(pixel, (_, cluster))| (*pixel, *cluster)).collect();
    pixels.sort_unstable();
    let mut path = String::new();
    for ((x, y), cluster) in pixels {
        let is_inside = |dx: i32, dy: i32| {
            let near = (u16::try_from(i32::from(x) + dx), u16::try_from(i32::from(y) + dy));
            let (Ok(x), Ok(y)) = near else { return false };
            shown.get(&(x, y)).is_some_and(|(_, other)| *other == cluster)
        };
        let (left, top) = (usize::from(x), display.sensor[1] - 1 - usize::from(y));
        for (dx, dy, edge) in [
            (-1, 0, format!("M{left} {top}v1")),
            (1, 0, format!("M{} {top}v1", left + 1)),
            (0, 1, format!("M{left} {top}h1")),
            (0, -1, format!("M{left} {}h1", top + 1)),
        ] {
            if !is_inside(dx, dy) {
                path.push_str(&edge);
            }
        }
    }
    format!(
        "<path class=\"outlines\" d=\"{path}\" fill=\"none\" stroke=\"#9fe8ff\" stroke-width=\"{OUTLINE}\"/>"
    )
}

/// The hits as lists for the page's script: x, y, time over threshold, ns since the first hit, cluster.
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
