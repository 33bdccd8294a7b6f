//! One projection of an event, as SVG elements with the coordinates of a [`Frame`].

use super::{Class, DrawnEvent, Hit, Line, Part, Piece, Point, Scene};
use crate::svg::Axis;
use crate::{Sensor, Shape};
use std::collections::HashSet;
use std::fmt::Write;

/// A projection of an event, named by its two axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Distance from the z axis against z.
    Rz,
    /// y against x, seen along the beam.
    Xy,
    /// x against z, seen from above: the magnet of LHCb bends in this plane.
    Xz,
    /// y against z, seen from the side.
    Yz,
}

peloton::names!(View, "view", { Rz => "rz", Xy => "xy", Xz => "xz", Yz => "yz" });

/// Width of the drawing area, and its height if the axes have different scales, units of the frame.
const SIZE: [f64; 2] = [720.0, 320.0];
/// Largest width and height of the view along the beam.
const SQUARE: [f64; 2] = [520.0, 520.0];
/// Margin around the drawn parts, as a share of their size.
const MARGIN: f64 = 0.03;
/// Longer strips are drawn only if they are used, or in views that do not show their length, mm.
const LONGEST: f64 = 500.0;
/// Hits with larger coordinates are ignored for the size of the frame, mm.
const FAR: f64 = 2e4;
/// Coordinates are rounded to the inverse of this, units of the frame.
const GRAIN: f64 = 100.0;

impl View {
    /// Returns the three most useful views of the scene's detector.
    pub fn of(scene: &Scene) -> [View; 3] {
        let is_there = |part: Part| scene.sensors.iter().any(|sensor| sensor.detector == part.name());
        match () {
            () if is_there(Part::Ut) || is_there(Part::SciFi) => [View::Xz, View::Yz, View::Xy],
            () if is_there(Part::Cylinder) => [View::Xy, View::Rz, View::Xz],
            () => [View::Rz, View::Xz, View::Xy],
        }
    }

    /// Returns the names of the axes.
    pub fn axes(self) -> [&'static str; 2] {
        match self {
            View::Rz => ["z", "r"],
            View::Xy => ["x", "y"],
            View::Xz => ["z", "x"],
            View::Yz => ["z", "y"],
        }
    }

    /// Projects a point: returns its values along the horizontal and the vertical axis, mm.
    pub fn project(self, [x, y, z]: Point) -> [f64; 2] {
        match self {
            View::Rz => [z, x.hypot(y)],
            View::Xy => [x, y],
            View::Xz => [z, x],
            View::Yz => [z, y],
        }
    }

    /// Returns the ends of the mark of an unused hit; a strip is a line if the view shows its length, unless it is too long.
    fn mark(self, hit: &Hit) -> Option<[[f64; 2]; 2]> {
        let seen_along = self != View::Xz;
        let [a, b] = hit.ends.map(|end| self.project(end));
        match hit.length() {
            0.0 => Some([a, a]),
            long if seen_along => (long < LONGEST && self != View::Rz).then_some([a, b]),
            // The position along a long fibre is unknown; most hits are near the beam.
            long if long > LONGEST => Some([a, a]),
            _ => Some([self.project(hit.middle()); 2]),
        }
    }
}

/// The drawn range of a view, and the size of its picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Smallest values of the axes, mm.
    pub low: [f64; 2],
    /// Largest values of the axes, mm.
    pub high: [f64; 2],
    /// Width and height of the picture, SVG units.
    pub size: [f64; 2],
}

impl Frame {
    /// Creates a frame around all sensors and hits.
    pub fn around(view: View, scene: &Scene, event: &DrawnEvent) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut include = |point: [f64; 2]| {
            for axis in [0, 1] {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        };
        let near = |hit: &&Hit| hit.ends.iter().flatten().all(|value| value.abs() < FAR);
        event.hits.iter().filter(near).filter_map(|hit| view.mark(hit)).flatten().for_each(&mut include);
        for sensor in &scene.sensors {
            match sensor.shape {
                Shape::Corners(corners) => {
                    corners.iter().for_each(|corner| include(view.project(corner.map(f64::from))));
                }
                Shape::Radius(radius) => {
                    let r = f64::from(radius);
                    [[r, r, 0.0], [-r, -r, 0.0]].iter().for_each(|corner| {
                        include(match view {
                            View::Rz => [0.0, r],
                            _ => view.project(*corner),
                        })
                    });
                }
            }
        }
        for axis in [0, 1] {
            // Without hits and sensors both are infinite.
            if low[axis] >= high[axis] {
                (low[axis], high[axis]) = (-1.0, 1.0);
            }
            let room = MARGIN * (high[axis] - low[axis]);
            // A radius is never below 0.
            let is_radius = view == View::Rz && axis == 1;
            low[axis] = if is_radius { 0.0 } else { low[axis] - room };
            high[axis] += room;
        }
        let [across, up] = [high[0] - low[0], high[1] - low[1]];
        let scale = (SQUARE[0] / across).min(SQUARE[1] / up);
        let size = if view == View::Xy { [scale * across, scale * up] } else { SIZE };
        Self { low, high, size: size.map(f64::round) }
    }

    /// Returns the position of a projected point in the frame.
    pub fn at(&self, point: [f64; 2]) -> [f64; 2] {
        let share = |axis: usize| (point[axis] - self.low[axis]) / (self.high[axis] - self.low[axis]);
        [share(0) * self.size[0], (1.0 - share(1)) * self.size[1]]
    }

    /// Returns both axes of a figure of this view.
    pub fn axes(&self, view: View) -> [Axis; 2] {
        let [first, second] = view.axes();
        [(0, first), (1, second)].map(|(axis, name)| Axis {
            from: self.low[axis],
            to: self.high[axis],
            is_log: false,
            label: format!("{name}, mm"),
        })
    }
}

/// An SVG path under construction, with relative coordinates, which are short as text.
#[derive(Debug, Default)]
pub struct Path {
    text: String,
    last: [i64; 2],
}

impl Path {
    fn step(&mut self, command: char, [x, y]: [f64; 2]) {
        // Points far outside are clamped, so that all numbers are short.
        let rounded = [x, y].map(|value| (value.clamp(-1e5, 1e5) * GRAIN).round() as i64);
        let by = [rounded[0] - self.last[0], rounded[1] - self.last[1]];
        let [x, y] = by.map(|value| value as f64 / GRAIN);
        let _ = match y < 0.0 {
            true => write!(self.text, "{command}{x}{y}"),
            false => write!(self.text, "{command}{x} {y}"),
        };
        self.last = rounded;
    }

    /// Begins a line at a point.
    pub fn begin(&mut self, point: [f64; 2]) {
        self.step('m', point);
    }

    /// Continues the line to a point.
    pub fn go(&mut self, point: [f64; 2]) {
        self.step('l', point);
    }

    /// Adds a dot: a line of no length with round ends.
    pub fn dot(&mut self, point: [f64; 2]) {
        self.begin(point);
        self.text.push_str("h0");
    }

    /// Adds a line through some points.
    pub fn line(&mut self, points: impl IntoIterator<Item = [f64; 2]>) {
        for (number, point) in points.into_iter().enumerate() {
            if number == 0 { self.begin(point) } else { self.go(point) }
        }
    }

    /// Returns the text of the path; empty when nothing was drawn.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Returns one view of the event as SVG elements. Their classes in the style sheet are `sensors`; `hits` (and `strips`)
/// for unused hits; a group for each [`Class`], which contains `dots` for used hits, and for each track a group with
/// the lines `state` (a fitted state), `join` (between two states) and `line` (between hits).
pub fn elements(scene: &Scene, event: &DrawnEvent, view: View, frame: &Frame) -> String {
    let mut svg = format!("<path class=\"sensors\" d=\"{}\"/>", outlines(&scene.sensors, view, frame));
    let used = event.used();
    for part in Part::ALL {
        let (mut dots, mut strips) = <(Path, Path)>::default();
        let unused = event.hits.iter().zip(&used).filter(|(hit, used)| hit.part == part && !*used);
        for [a, b] in unused.filter_map(|(hit, _)| view.mark(hit)) {
            let [from, to] = [frame.at(a), frame.at(b)];
            if a == b { dots.dot(from) } else { strips.line([from, to]) }
        }
        element(&mut svg, "hits strips", &strips);
        element(&mut svg, "hits", &dots);
    }
    for (class, _) in event.classes() {
        let _ = write!(svg, "<g class=\"{}\">", class.name());
        let mut dots = Path::default();
        let mut lines = String::new();
        let mut draw = |id: String, points: &[Point], pieces: &[Piece]| {
            let seen =
                |points: &[Point]| points.iter().map(|p| frame.at(view.project(*p))).collect::<Vec<_>>();
            seen(points).into_iter().for_each(|point| dots.dot(point));
            let (mut state, mut join, mut line) = <(Path, Path, Path)>::default();
            for piece in pieces {
                let of = if piece.line == Line::State { &mut state } else { &mut join };
                of.line(seen(&piece.points));
            }
            // A join already connects the hits on its two sides: they need no line.
            points.chunk_by(|a, b| !is_between(pieces, a, b)).for_each(|part| line.line(seen(part)));
            let _ = write!(lines, "<g data-t=\"{id}\">");
            for (name, path) in [("state", &state), ("join", &join), ("line", &line)] {
                element(&mut lines, name, path);
            }
            lines.push_str("</g>");
        };
        if class == Class::Missed {
            for (number, (particle, _)) in event.missed().enumerate() {
                draw(format!("m{number}"), &particle.points, &[]);
            }
        } else {
            let of_class = event.tracks.iter().enumerate().filter(|(track, _)| event.class(*track) == class);
            of_class.for_each(|(number, track)| draw(number.to_string(), &track.points, &track.pieces));
        }
        svg.push_str(&lines);
        element(&mut svg, "dots", &dots);
        svg.push_str("</g>");
    }
    svg
}

/// Returns whether there is a join between two hits of a track.
fn is_between(pieces: &[Piece], a: &Point, b: &Point) -> bool {
    let joins = pieces.iter().filter(|piece| piece.line == Line::Join);
    let middle = |piece: &Piece| 0.5 * (piece.points[0][2] + piece.points[piece.points.len() - 1][2]);
    joins.map(middle).any(|z| a[2] < z && b[2] > z)
}

fn element(svg: &mut String, class: &str, path: &Path) {
    if !path.text().is_empty() {
        let _ = write!(svg, "<path class=\"{class}\" d=\"{}\"/>", path.text());
    }
}

/// Returns the outlines of all sensors; sensors that look the same are drawn once.
fn outlines(sensors: &[Sensor], view: View, frame: &Frame) -> String {
    let (mut path, mut seen) = (Path::default(), HashSet::new());
    for sensor in sensors {
        match sensor.shape {
            Shape::Corners(corners) => {
                if view == View::Xy && is_tilted(&corners) {
                    continue;
                }
                let corners = corners.map(|corner| frame.at(view.project(corner.map(f64::from))));
                let rounded = corners.map(|corner| corner.map(|value| (2.0 * value).round() as i64));
                if seen.insert(rounded) {
                    path.line(outline(corners));
                }
            }
            Shape::Radius(radius) => {
                let r = f64::from(radius);
                if view == View::Xy {
                    let at = |step: i32| f64::from(step) * std::f64::consts::TAU / 72.0;
                    let on = |step: i32| frame.at([r * at(step).cos(), r * at(step).sin()]);
                    path.line((0..=72).map(on));
                    continue;
                }
                let sides: &[f64] = if view == View::Rz { &[1.0] } else { &[1.0, -1.0] };
                for side in sides {
                    path.line([[frame.low[0], side * r], [frame.high[0], side * r]].map(|end| frame.at(end)));
                }
            }
        }
    }
    path.text
}

/// Returns the line around four corners; only one edge if the sensor is seen from its edge.
fn outline(corners: [[f64; 2]; 4]) -> Vec<[f64; 2]> {
    const THIN: f64 = 0.1;
    let [a, b, c, d] = corners;
    let cross = |[ax, ay]: [f64; 2], [bx, by]: [f64; 2]| ax * by - ay * bx;
    let area = 0.5 * (cross(a, b) + cross(b, c) + cross(c, d) + cross(d, a)).abs();
    let pairs = [(a, b), (a, c), (a, d), (b, c), (b, d), (c, d)];
    let length = |(a, b): &([f64; 2], [f64; 2])| (a[0] - b[0]).hypot(a[1] - b[1]);
    match pairs.into_iter().max_by(|one, other| length(one).total_cmp(&length(other))) {
        Some(ends) if area < THIN * length(&ends) => vec![ends.0, ends.1],
        _ => vec![a, b, c, d, a],
    }
}

/// Returns whether a sensor is tilted by some degrees, as in u and v layers: drawn over upright sensors, they would be
/// a thicket of lines.
fn is_tilted(corners: &[[f32; 3]; 4]) -> bool {
    let [dx, dy] = [0, 1].map(|axis| corners[3][axis] - corners[0][axis]);
    let slope = (dx / dy).abs().min((dy / dx).abs());
    slope > 0.01 && slope < 0.3
}
