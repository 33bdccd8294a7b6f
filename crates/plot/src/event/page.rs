//! An event as an HTML page: linked views, switches for classes of tracks, and a table of tracks.

use super::svg::title;
use super::view::{self, Frame};
use super::{Class, DrawnEvent, Line, Particle, Scene, Track, View};
use crate::look::{Page, script_data};
use crate::text::{count, grouped};
use maud::{Markup, PreEscaped, html};
use peloton_truth::{ParticleMatch, TrackMatch};
use serde::Serialize;
use serde_json::{Value, json};

/// Significant digits of the numbers in the table.
const DIGITS: i32 = 5;

/// Data about a view for the script.
#[derive(Serialize)]
struct ViewData {
    name: &'static str,
    axes: [&'static str; 2],
    low: [f64; 2],
    high: [f64; 2],
    size: [f64; 2],
}

/// A column of the table.
#[derive(Serialize)]
struct ColumnData {
    name: String,
    unit: &'static str,
    meaning: String,
}

/// Returns the first event of a scene as an HTML page.
pub fn page(scene: &Scene) -> String {
    let Some(event) = scene.events.first() else { return String::new() };
    let views = View::of(scene).map(|view| (view, Frame::around(view, scene, event)));
    let of_view = |(view, frame): &(View, Frame)| ViewData {
        name: view.name(),
        axes: view.axes(),
        low: frame.low,
        high: frame.high,
        size: frame.size,
    };
    let data = json!({
        "views": views.iter().map(of_view).collect::<Vec<_>>(),
        "columns": columns(event),
        "rows": rows(event),
    });
    let title = title(scene, event);
    let body = html! {
        h1 { (title) }
        p.soft { (facts(scene, event)) }
        (switches(event))
        div.views { @for (view, frame) in &views { (figure(scene, event, *view, frame)) } }
        p.soft.help { (help(event)) }
        @if !event.tracks.is_empty() || event.missed().next().is_some() {
            h2 { "Tracks" }
            div.scroll.tracks { table #tracks {} }
        }
        footer { "peloton " (env!("CARGO_PKG_VERSION")) }
    };
    let script = format!("const event = {};\n{}", script_data(&data), include_str!("event.js"));
    Page { title: &title, css: include_str!("event.css"), body, script: Some(&script) }.html()
}

fn facts(scene: &Scene, event: &DrawnEvent) -> Markup {
    html! {
        "Sequence " (scene.sequence) ": " (count(event.hits.len(), "hit")) ", " (count(event.tracks.len(), "track"))
        @if event.truth.is_none() && !event.tracks.is_empty() { ", without truth" }
        "."
        @if event.status != peloton::Status::Ok {
            @let what = if event.status.is_reconstructed() { "Status" } else { "Not reconstructed" };
            " " strong { (what) ": " (event.status.name()) "." } " " (event.status.meaning())
        }
    }
}

/// Returns the switches; each hides one class of tracks, the hits that belong to no drawn line, or the sensors.
fn switches(event: &DrawnEvent) -> Markup {
    let unused = event.used().iter().filter(|used| !**used).count();
    let switch = |name: &str, label: String, meaning: &str| {
        html! {
            label.switch title=(meaning) {
                input type="checkbox" value=(name) checked;
                svg.swatch viewBox="0 0 24 12" width="24" height="12" aria-hidden="true" {
                    g class=(name) { path.line d="M2 6h20" {} path.dots d="M12 6h0" {} }
                }
                (label)
            }
        }
    };
    html! {
        div #switches role="group" aria-label="what is shown" {
            @if !event.tracks.is_empty() || event.truth.is_some() {
                @for (class, number) in event.classes() {
                    (switch(class.name(), format!("{} {}", class.legend(), grouped(number as u64)), class.meaning()))
                }
            }
            (switch("others", format!("other hits {}", grouped(unused as u64)), "hits that belong to no drawn line"))
            (switch("sensors", "sensors".into(), "outlines of sensors, sectors, mats or layers"))
            button #whole type="button" title="show the whole detector in all views" { "whole detector" }
        }
    }
}

fn figure(scene: &Scene, event: &DrawnEvent, view: View, frame: &Frame) -> Markup {
    let [width, height] = frame.size;
    html! {
        figure.view data-view=(view.name()) {
            figcaption { (caption(view)) }
            svg.plot viewBox={ "0 0 " (width) " " (height) } role="img" {
                title { (caption(view)) }
                g.ticks {}
                svg.area viewBox={ "0 0 " (width) " " (height) } preserveAspectRatio="none" {
                    rect.ground width=(width) height=(height) {}
                    (PreEscaped(view::elements(scene, event, view, frame)))
                }
            }
            div.zoom {
                button type="button" data-zoom="0.5" title="zoom in" { "+" }
                button type="button" data-zoom="2" title="zoom out" { "\u{2212}" }
            }
        }
    }
}

fn caption(view: View) -> &'static str {
    match view {
        View::Rz => "r-z: distance from the z axis against z",
        View::Xy => "x-y: seen along the z axis",
        View::Xz => "z-x: seen from above",
        View::Yz => "z-y: seen from the side",
    }
}

fn help(event: &DrawnEvent) -> String {
    let has_tracks = !event.tracks.is_empty() || event.truth.is_some();
    let mut text = String::from("Dots are hits");
    text.push_str(match has_tracks {
        true => "; thick lines join the hits of a track; thin lines extrapolate its fitted states. ",
        false => ". ",
    });
    let joins = |track: &Track| track.pieces.iter().any(|piece| piece.line == Line::Join);
    if event.tracks.iter().any(joins) {
        text.push_str(
            "Where the magnet bends, dotted lines join two states smoothly; these lines are not fitted. ",
        );
    }
    if event.hits.iter().any(|hit| hit.length() > 0.0) {
        text.push_str("A strip or fibre measures one coordinate. ");
        text.push_str(match has_tracks {
            true => {
                "Hits on tracks are drawn where the track crosses the strip; other hits of long strips are drawn only in the view from above. "
            }
            false => "Hits of long strips are drawn only in the view from above. ",
        });
    }
    text.push_str("The mouse wheel zooms, dragging moves, and a double click shows the whole view");
    if has_tracks {
        text.push_str(
            "; pointing at a track or its row highlights the track in all views, a click keeps the highlight",
        );
    }
    text.push_str(". The address of the page stores the view.");
    text
}

/// Returns the columns of the table without the first two, which every row has: number and class.
fn columns(event: &DrawnEvent) -> Vec<ColumnData> {
    let column =
        |name: &str, unit, meaning: &str| ColumnData { name: name.into(), unit, meaning: meaning.into() };
    let mut columns = vec![column("hits", "1", "number of hits of the track or missed particle")];
    columns.extend(event.columns.iter().map(|own| column(own.name, own.unit, own.meaning)));
    if has_momenta(event) {
        columns.push(column("p", "GeV/c", "momentum of the track"));
        columns.push(column("pT", "GeV/c", "transverse momentum of the track"));
    }
    if event.truth.is_some() {
        columns.push(column("particle", "1", "name and key of the true particle"));
        columns.push(column("true p", "GeV/c", "momentum of the true particle"));
        columns.push(column("purity", "1", "share of the track's hits that come from the true particle"));
    }
    columns
}

fn has_momenta(event: &DrawnEvent) -> bool {
    event.tracks.iter().any(|track| track.momentum.is_some())
}

/// Returns the rows of the table: the id of a line in the picture, its class, and the values of the columns.
fn rows(event: &DrawnEvent) -> Vec<Vec<Value>> {
    let momenta = has_momenta(event);
    let track = |(number, track): (usize, &Track)| {
        let mut row = vec![json!(number.to_string()), json!(event.class(number).name()), json!(track.named)];
        row.extend(track.values.iter().map(|value| rounded(*value)));
        if momenta {
            row.extend(
                track.momentum.map_or([f64::NAN; 2], |momentum| [momentum.p, momentum.pt]).map(rounded),
            );
        }
        if let Some(truth) = &event.truth {
            let found = event.track_match(number).and_then(|found: &TrackMatch| found.particle);
            let particle = found.and_then(|(particle, _)| truth.particles.get(particle as usize));
            row.push(particle.map_or(Value::Null, |particle| particle.name.clone().into()));
            row.push(particle.map_or(Value::Null, |particle| rounded(particle.p)));
            row.push(found.map_or(Value::Null, |(_, purity)| rounded(purity)));
        }
        row
    };
    let missed = |(number, (particle, _)): (usize, (&Particle, &ParticleMatch))| {
        let mut row =
            vec![json!(format!("m{number}")), json!(Class::Missed.name()), json!(particle.points.len())];
        row.resize(row.len() + event.columns.len() + if momenta { 2 } else { 0 }, Value::Null);
        row.extend([particle.name.clone().into(), rounded(particle.p), Value::Null]);
        row
    };
    event.tracks.iter().enumerate().map(track).chain(event.missed().enumerate().map(missed)).collect()
}

/// Returns a number rounded to [`DIGITS`] digits; null if it is not finite.
fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { json!(0) } else { Value::Null };
    }
    let digits = (DIGITS - 1 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{value:.digits$}").parse::<f64>().map_or(Value::Null, |value| json!(value))
}
