//! What figures show is what the results say: values are read off the places of marks, by the ticks of the axes.

use crate::inputs::{input, page_of};
use crate::page::{figure, number};
use roxmltree::{Document, Node};
use serde_json::Value;

/// An axis by two of its ticks.
struct Scale {
    /// Value and place.
    ends: [[f64; 2]; 2],
    is_log: bool,
}

impl Scale {
    /// The axis of a drawing, whose ticks lie `shift` away from where they should.
    fn of(svg: &Document<'_>, axis: &str, is_log: bool, shift: f64) -> Self {
        let place = if axis == "x" { "x1" } else { "y1" };
        let ticks = svg.descendants().filter(|node| node.attribute("data-axis") == Some(axis));
        let ticks: Vec<_> =
            ticks.map(|tick| [number(&tick, "data-tick"), number(&tick, place) + shift]).collect();
        assert!(ticks.len() >= 2, "the axis {axis} has {} ticks", ticks.len());
        Self { ends: [ticks[0], ticks[ticks.len() - 1]], is_log }
    }

    /// How far along the axis a value is, in units of the distance of the two ticks.
    fn share(&self, value: f64) -> f64 {
        let [[from, _], [to, _]] = self.ends;
        if self.is_log { (value / from).ln() / (to / from).ln() } else { (value - from) / (to - from) }
    }

    /// How far what lies at a place is from a value, in units of the distance of the two ticks.
    fn error(&self, place: f64, value: f64) -> f64 {
        let [[_, first], [_, last]] = self.ends;
        ((place - first) / (last - first) - self.share(value)).abs()
    }
}

/// Where a group is moved to.
fn moved(node: &Node<'_, '_>) -> [f64; 2] {
    let text = node.attribute("transform").expect("a point is moved to its place");
    let inside = text.trim_start_matches("translate(").trim_end_matches(')');
    let mut numbers = inside.split(' ').map(|number| number.parse().expect("a number"));
    [numbers.next().unwrap(), numbers.next().unwrap()]
}

/// The upper and the lower end of a bar: `M x top V bottom` and more.
fn bar(node: &Node<'_, '_>) -> [f64; 2] {
    let path = node.attribute("d").expect("a path");
    let (start, rest) = path.trim_start_matches('M').split_once('V').expect("M x y V y");
    let top = start.split(' ').nth(1).expect("x y").parse().expect("a number");
    let bottom = rest.split(['M', 'H']).next().unwrap().parse().expect("a number");
    [top, bottom]
}

fn child<'a>(node: &Node<'a, 'a>, class: &str) -> Node<'a, 'a> {
    node.children().find(|child| child.attribute("class") == Some(class)).expect(class)
}

/// The largest error of any mark of a figure, in units of its axis, and how many marks there are. Axes are shifted by some
/// pixels, which is 0 unless a fault is planted.
fn worst(svg: &Document<'_>, x_is_log: bool, [x_shift, y_shift]: [f64; 2]) -> (f64, usize) {
    let (x, y) = (Scale::of(svg, "x", x_is_log, x_shift), Scale::of(svg, "y", false, y_shift));
    let marks = svg.descendants().filter(|node| node.attribute("class") == Some("mark"));
    let (mut worst, mut count) = (0.0f64, 0);
    for mark in marks {
        let [across, up] = moved(&child(&mark, "point"));
        let [top, bottom] = bar(&child(&mark, "bar"));
        let errors = [
            x.error(across, number(&mark, "data-x")),
            y.error(up, number(&mark, "data-value")),
            y.error(top, number(&mark, "data-high")),
            y.error(bottom, number(&mark, "data-low")),
        ];
        worst = errors.into_iter().fold(worst, f64::max);
        count += 1;
    }
    (worst, count)
}

#[test]
fn marks_of_efficiencies_lie_where_their_values_are() {
    let page = page_of(&["check"]);
    let json: Value = serde_json::from_str(input("check")).unwrap();
    for (title, variable, is_log) in
        [("Efficiency against p: 01_velo", "p", true), ("Efficiency against \u{3c6}: 01_velo", "phi", false)]
    {
        let text = figure(&page, title);
        let svg = Document::parse(text).unwrap();
        let (error, count) = worst(&svg, is_log, [0.0; 2]);
        // Every bin with particles has a mark with the numbers of the JSON, and no other bin has.
        let tables = json["tables"].as_array().unwrap();
        let table =
            tables.iter().find(|of| of["variable"] == variable && of["category"] == "01_velo").unwrap();
        let known = table["bins"].as_array().unwrap().iter().filter(|bin| !bin["efficiency"].is_null());
        let expected: Vec<_> = known
            .map(|bin| {
                ["efficiency", "efficiency_low", "efficiency_high"].map(|key| bin[key].as_f64().unwrap())
            })
            .collect();
        let marks = svg.descendants().filter(|node| node.attribute("class") == Some("mark"));
        let found: Vec<_> =
            marks.map(|mark| ["data-value", "data-low", "data-high"].map(|key| number(&mark, key))).collect();
        assert_eq!(found, expected, "{title}");
        assert!(count == expected.len() && count > 3, "{title}: {count} marks");
        assert!(error < 0.01, "{title}: a mark is {error} of its axis off");
        // An axis that is shifted by a few pixels is noticed.
        for shift in [[6.0, 0.0], [0.0, 4.0]] {
            let (error, _) = worst(&svg, is_log, shift);
            assert!(error > 0.01, "{title}: a shift of {shift:?} pixels is not noticed");
        }
    }
}

#[test]
fn bins_without_particles_show_nothing() {
    let page = page_of(&["check"]);
    let json: Value = serde_json::from_str(input("check")).unwrap();
    let tables = json["tables"].as_array().unwrap();
    let table = tables.iter().find(|of| of["variable"] == "eta" && of["category"] == "01_velo").unwrap();
    let bins = table["bins"].as_array().unwrap();
    let filled = bins.iter().filter(|bin| bin["reconstructible"] != 0).count();
    assert!(filled > 2 && filled < bins.len());
    let svg = Document::parse(figure(&page, "Efficiency against \u{3b7}: 01_velo")).unwrap();
    let count = |class: &str| svg.descendants().filter(|node| node.attribute("class") == Some(class)).count();
    assert_eq!((count("mark"), count("grey")), (filled, filled));
}

/// The red, green and blue of a colour.
fn colour(node: &Node<'_, '_>) -> [f64; 3] {
    let text = node.attribute("fill").expect("a colour").trim_start_matches('#');
    [0, 2, 4].map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("a colour").into())
}

/// The largest errors of any cell of a heat map: of its column and row, in cells, and of its colour, in units of the scale of
/// the colours; axes are shifted by some pixels.
fn worst_of_heat(svg: &Document<'_>, [x_shift, y_shift, z_shift]: [f64; 3]) -> ([f64; 2], usize) {
    let (x, y) = (Scale::of(svg, "x", false, x_shift), Scale::of(svg, "y", false, y_shift));
    let z = Scale::of(svg, "value", true, z_shift);
    let [columns, rows] = [&x, &y].map(|axis| axis.ends[1][0] - axis.ends[0][0]);
    let meaning = svg.descendants().filter(|node| node.attribute("class") == Some("scale"));
    let meaning: Vec<_> =
        meaning.map(|rect| (colour(&rect), number(&rect, "y") + 0.5 * number(&rect, "height"))).collect();
    let (mut place, mut value, mut count) = (0.0f64, 0.0f64, 0);
    for cell in svg.descendants().filter(|node| node.attribute("class") == Some("cell")) {
        let rect = cell.children().find(|child| child.has_tag_name("rect")).unwrap();
        let middle = |at: &str, size: &str| number(&rect, at) + 0.5 * number(&rect, size);
        place = place.max(columns * x.error(middle("x", "width"), number(&cell, "data-x")));
        place = place.max(rows * y.error(middle("y", "height"), number(&cell, "data-y")));
        let distance = |other: &[f64; 3]| {
            let own = colour(&rect);
            (0..3).map(|i| (own[i] - other[i]).powi(2)).sum::<f64>()
        };
        let nearest = meaning.iter().min_by(|a, b| distance(&a.0).total_cmp(&distance(&b.0))).unwrap();
        value = value.max(z.error(nearest.1, number(&cell, "data-value")));
        count += 1;
    }
    ([place, value], count)
}

#[test]
fn cells_of_heat_maps_have_the_places_and_colours_of_their_values() {
    let page = page_of(&["tune"]);
    let json: Value = serde_json::from_str(input("tune")).unwrap();
    let svg = Document::parse(figure(&page, "Whole sequence, \u{b5}s per event")).unwrap();
    let ([place, value], count) = worst_of_heat(&svg, [0.0; 3]);
    let measured = json["measured"].as_array().unwrap();
    assert!(count == measured.len() && count > 4, "{count} cells");
    assert!(place < 0.01 && value < 0.015, "places are {place} cells off, colours {value} of their scale");
    let mut found: Vec<_> = svg
        .descendants()
        .filter(|node| node.attribute("class") == Some("cell"))
        .map(|cell| number(&cell, "data-value"))
        .collect();
    let mut expected: Vec<_> =
        measured.iter().map(|one| one["ns_per_event"].as_f64().unwrap() / 1e3).collect();
    found.sort_by(f64::total_cmp);
    expected.sort_by(f64::total_cmp);
    assert_eq!(found, expected);
    for shift in [[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 6.0]] {
        let ([place, value], _) = worst_of_heat(&svg, shift);
        assert!(place > 0.01 || value > 0.015, "a shift of {shift:?} pixels is not noticed");
    }
    // The fastest has a frame, and every cell says how it compares with scalar code.
    let best = svg.descendants().find(|node| node.attribute("class") == Some("best")).expect("a frame");
    let fastest = svg.descendants().filter(|node| node.attribute("class") == Some("cell"));
    let fastest = fastest.min_by(|a, b| number(a, "data-value").total_cmp(&number(b, "data-value"))).unwrap();
    let rect = fastest.children().find(|child| child.has_tag_name("rect")).unwrap();
    assert!((number(&best, "x") + 1.0 - number(&rect, "x")).abs() < 0.02);
    assert!((number(&best, "y") + 1.0 - number(&rect, "y")).abs() < 0.02);
    assert!(
        fastest
            .descendants()
            .any(|node| node.text().is_some_and(|text| text.contains("times as fast as scalar x 1")))
    );
}
