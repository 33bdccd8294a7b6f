//! Checks that marks are where the data say: positions are read back from figures by their axes alone.

use super::view::elements;
use super::*;
use crate::look;
use peloton_truth::TrackMatch;

/// Makes a scene with a track of three hits, a missed particle of two, and one hit of no particle.
fn scene() -> Scene {
    let at = [
        [1.0, 2.0, 10.0],
        [11.0, -3.0, 110.0],
        [21.0, -8.0, 210.0],
        [-20.0, 9.0, 60.0],
        [-30.0, 14.0, 160.0],
        [5.0, 5.0, 0.0],
    ];
    let hits: Vec<_> = at.iter().zip(7..).map(|(at, id)| Hit::point(Part::Velo, id, *at)).collect();
    let points = |hits: &[usize]| hits.iter().map(|&hit| at[hit]).collect::<Vec<_>>();
    let track = Track {
        hits: vec![0, 1, 2],
        named: 3,
        points: points(&[0, 1, 2]),
        pieces: vec![Piece { line: Line::State, points: vec![[0.0, 2.5, 0.0], [31.0, -13.0, 310.0]] }],
        values: vec![1.5],
        ..Track::default()
    };
    let particle = |name: &str, hits: &[usize]| Particle {
        name: name.into(),
        p: 5.0,
        hits: hits.to_vec(),
        points: points(hits),
        ..Particle::default()
    };
    let fate = |tracks| ParticleMatch { categories: vec!["velo"], tracks, ..ParticleMatch::default() };
    let truth = Truth {
        particles: vec![
            particle("pi+ <b>&", &[0, 1, 2]),
            particle("</script><script>alert(1)</script>", &[3, 4]),
        ],
        matches: EventMatches {
            particles: vec![fate(1), fate(0)],
            tracks: vec![TrackMatch { hits: 3, particle: Some((0, 1.0)), ..TrackMatch::default() }],
        },
    };
    let event = DrawnEvent {
        id: EventId::default(),
        status: Status::Ok,
        hits,
        columns: vec![TrackColumn { name: "chi2", unit: "1", meaning: "chi2 of the fit" }],
        tracks: vec![track],
        truth: Some(truth),
    };
    Scene {
        sequence: "velo",
        title: "<script>alert(1)</script>".into(),
        sensors: Vec::new(),
        events: vec![event],
    }
}

/// Returns the value of an attribute of the first element that begins with `start`.
fn attribute<'a>(svg: &'a str, start: &str, name: &str) -> &'a str {
    let element = svg.split(start).nth(1).unwrap_or_else(|| panic!("{start}"));
    element.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next()).expect("an attribute")
}

/// Returns two labelled ticks of the first or the second axis: their positions on the screen and their values.
fn ticks(svg: &str, anchor: &str, place: usize) -> [(f64, f64); 2] {
    let texts = svg.split("<text ").skip(1).filter(|text| text.contains(anchor) && !text.contains("rotate"));
    let tick = |text: &str| {
        let value = text.split('>').nth(1)?.split('<').next()?.replace(',', "").parse().ok()?;
        let places: Vec<f64> =
            text.split('"').skip(1).step_by(2).take(2).filter_map(|n| n.parse().ok()).collect();
        Some((*places.get(place)?, value))
    };
    let all: Vec<_> = texts.filter_map(tick).collect();
    [all[0], all[all.len() - 1]]
}

/// Returns the dots of a path in relative steps.
fn dots(path: &str) -> Vec<[f64; 2]> {
    let (mut at, mut found) = ([0.0; 2], Vec::new());
    for step in path.split(['m', 'l']).skip(1) {
        let numbers = step.replace("h0", "").replace('-', " -");
        let by: Vec<f64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        at = [at[0] + by[0], at[1] + by[1]];
        found.push(at);
    }
    found
}

/// Returns the hits of the track as a figure shows them, mm, read with two ticks of each axis.
fn read_back(svg: &str) -> Vec<[f64; 2]> {
    let area = svg.split("<svg x=\"").nth(1).unwrap();
    let number = |text: &str| text.split('"').next().unwrap().parse::<f64>().unwrap();
    let (left, top) = (number(area), number(area.split("y=\"").nth(1).unwrap()));
    let group = svg.split("<g class=\"found\">").nth(1).unwrap();
    let path = attribute(group, "<path class=\"dots\"", "d");
    let axes = [ticks(svg, "text-anchor=\"middle\"", 0), ticks(svg, "text-anchor=\"end\"", 1)];
    let value = |axis: usize, place: f64| {
        let [(from, low), (to, high)] = axes[axis];
        low + (place - from) / (to - from) * (high - low)
    };
    dots(path).into_iter().map(|[x, y]| [value(0, left + x), value(1, top + y + LABEL)]).collect()
}

/// Distance of the labels of the second axis below their ticks.
const LABEL: f64 = 4.0;

fn is_right(view: View, read: &[[f64; 2]]) -> bool {
    let scene = scene();
    let frame = view::Frame::around(view, &scene, &scene.events[0]);
    let wanted = scene.events[0].tracks[0].points.iter().map(|point| view.project(*point));
    let near = |(read, wanted): (&[f64; 2], [f64; 2])| {
        (0..2).all(|axis| (read[axis] - wanted[axis]).abs() < 0.002 * (frame.high[axis] - frame.low[axis]))
    };
    read.len() == 3 && read.iter().zip(wanted).all(near)
}

#[test]
fn hits_lie_where_the_data_say() {
    for view in [View::Rz, View::Xy, View::Xz, View::Yz] {
        let svg = figure(&scene(), view);
        assert!(is_right(view, &read_back(&svg)), "{view}: {:?}", read_back(&svg));
        // An axis that is shifted by a hundredth of its length is noticed.
        let mut shifted = scene();
        for point in &mut shifted.events[0].tracks[0].points {
            point.iter_mut().for_each(|value| *value += 3.0);
        }
        let read = read_back(&figure(&shifted, view));
        assert!(!is_right(view, &read), "{view}: {read:?}");
    }
}

#[test]
fn lines_are_what_the_truth_says() {
    let scene = scene();
    let event = &scene.events[0];
    assert_eq!(
        event.classes(),
        [(Class::Found, 1), (Class::Missed, 1), (Class::Clone, 0), (Class::Ghost, 0)]
    );
    let frame = view::Frame::around(View::Xz, &scene, event);
    let svg = elements(&scene, event, View::Xz, &frame);
    for (element, count) in
        [("data-t=\"0\"", 1), ("data-t=\"m0\"", 1), ("class=\"line\"", 2), ("class=\"state\"", 1)]
    {
        assert_eq!(svg.matches(element).count(), count, "{element}");
    }
    // One hit is on no line.
    assert_eq!(dots(attribute(&svg, "<path class=\"hits\"", "d")).len(), 1);
    let without = DrawnEvent { truth: None, ..event.clone() };
    assert_eq!(without.classes(), [(Class::Track, 1)]);
    assert_eq!(without.used(), [true, true, true, false, false, false]);
}

#[test]
fn strips_are_drawn_where_tracks_cross_them() {
    let fibre = Hit { part: Part::SciFi, id: 1, ends: [[100.0, 0.0, 8000.0], [310.0, 2400.0, 8008.64]] };
    assert!(fibre.length() > 2400.0);
    let at = fibre.at_y(1200.0);
    assert!((at[0] - 205.0).abs() < 1e-9 && (at[2] - 8004.32).abs() < 1e-9);
    assert_eq!(Hit::point(Part::Velo, 1, [1.0, 2.0, 3.0]).at_y(77.0), [1.0, 2.0, 3.0]);
}

#[test]
fn nothing_that_is_hostile_gets_through() {
    let html = page(&scene());
    assert!(!html.contains("alert(1)<") && !html.contains("<script>alert"), "names are escaped");
    assert!(html.contains("\\u003c/script>\\u003cscript>alert(1)"));
    assert!(!figure(&scene(), View::Xz).contains("<script"));
    // No track and no hit; then hits and values that are not finite or far too large.
    let mut empty = scene();
    empty.events[0] =
        DrawnEvent { hits: Vec::new(), tracks: Vec::new(), truth: None, ..empty.events[0].clone() };
    let mut odd = scene();
    odd.events[0].tracks[0].values = vec![f64::NAN];
    odd.events[0].tracks[0].momentum = Some(Momentum { p: f64::INFINITY, pt: f64::NAN, qop: 0.0 });
    odd.events[0].hits[5].ends = [[1e30, -1e30, 1e30]; 2];
    for scene in [empty, odd] {
        roxmltree::Document::parse(&figure(&scene, View::Xz)).expect("XML");
        for text in [page(&scene), figure(&scene, View::Rz), phoenix(&scene).unwrap()] {
            assert!(!text.is_empty() && !text.contains("NaN") && !text.contains("inf,"), "{text}");
        }
    }
    assert!(!look::script_data(&"</script>").contains('<'));
}

#[test]
fn twenty_thousand_hits_are_one_path() {
    let mut scene = scene();
    let grid = |n: u32| [f64::from(n % 141) * 0.5, f64::from(n / 141) * 0.5, f64::from(n % 26) * 30.0];
    scene.events[0].hits.extend((0..20_000).map(|n| Hit::point(Part::Velo, 100 + n, grid(n))));
    let page = page(&scene);
    assert_eq!(page.matches("class=\"hits\"").count(), 3);
    assert!(page.len() < 1 << 20, "{}", page.len());
}
