//! One view of an event as a figure for papers: a self-contained SVG.

use super::{Class, DrawnEvent, Line, Scene, View, view};
use crate::svg::{Chart, escaped};
use crate::text::count;
use std::fmt::Write;

/// Colour of sensors and of hits that are on no track.
const SENSORS: &str = "#c8ccd0";
const HITS: &str = "#9aa0a6";
/// Height of a line of the legend, and width of a character, units of the figure.
const LINE: f64 = 15.0;
const CHARACTER: f64 = 6.4;

/// Returns one view of the first event of a scene as an SVG figure.
pub fn figure(scene: &Scene, view: View) -> String {
    let Some(event) = scene.events.first() else { return String::new() };
    let frame = view::Frame::around(view, scene, event);
    let [x, y] = frame.axes(view);
    let mut chart = Chart::new(&title(scene, event), x, y, frame.size);
    let [left, top, width, height] = chart.area();
    let mut area = format!(
        "<svg x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" viewBox=\"0 0 {width:.1} {height:.1}\">\
         <style>{}</style>",
        style()
    );
    area.push_str(&view::elements(scene, event, view, &frame));
    area.push_str(&legend(event));
    area.push_str("</svg>");
    chart.draw(&area);
    chart.axes();
    chart.finish(&format!("class=\"figure\" data-view=\"{view}\""))
}

/// Returns a description of the figure in one line.
pub fn title(scene: &Scene, event: &DrawnEvent) -> String {
    let mut title = format!("{}, {}", scene.title, event.id);
    if event.status != peloton::Status::Ok {
        let what = if event.status.is_reconstructed() { "status" } else { "not reconstructed" };
        let _ = write!(title, ": {what} ({})", event.status.name());
    }
    title
}

fn style() -> String {
    let mut style = format!(
        "path{{fill:none;stroke-linecap:round;stroke-linejoin:round}}\
         .sensors{{stroke:{SENSORS};stroke-width:.6}}.hits{{stroke:{HITS};stroke-width:1.6}}.hits.strips{{stroke-width:.5}}\
         .dots{{stroke-width:2.6}}.line{{stroke-width:1}}.state{{stroke-width:.7;opacity:.7}}\
         .join{{stroke-width:.9;stroke-dasharray:1.5 3}}.missed .line{{stroke-dasharray:5 3}}"
    );
    for class in Class::ALL {
        let _ = write!(style, ".{}{{stroke:{}}}", class.name(), class.colour());
    }
    style
}

/// Returns the legend: the classes with their colours and numbers of lines.
fn legend(event: &DrawnEvent) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for (class, number) in event.classes().into_iter().filter(|(_, number)| *number > 0) {
        lines.push((format!("{} {number}", class.legend()), format!("class=\"{}\"", class.name())));
    }
    let unused = event.used().iter().filter(|used| !**used).count();
    lines.push((count(unused, "other hit"), String::new()));
    if event.tracks.iter().flat_map(|track| &track.pieces).any(|piece| piece.line == Line::Join) {
        lines.push(("dotted: a smooth join, not fitted".into(), "join".into()));
    }
    let longest = lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0) as f64;
    let (width, height) = (CHARACTER * longest + 34.0, LINE * lines.len() as f64 + 8.0);
    let mut svg = format!(
        "<rect x=\"4\" y=\"4\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\" fill=\"white\" fill-opacity=\"0.85\"/>"
    );
    for (number, (text, group)) in lines.iter().enumerate() {
        let y = 4.0 + LINE * (number as f64 + 0.75);
        let mark = match &group[..] {
            "" => format!("<path class=\"hits\" d=\"M20 {y:.1}h0\"/>"),
            "join" => format!("<path class=\"join\" stroke=\"#555\" d=\"M10 {y:.1}h20\"/>"),
            _ => format!(
                "<g {group}><path class=\"line\" d=\"M10 {y:.1}h20\"/><path class=\"dots\" d=\"M20 {y:.1}h0\"/></g>"
            ),
        };
        let _ = write!(
            svg,
            "{mark}<text x=\"36\" y=\"{:.1}\" font-size=\"11\">{}</text>",
            y + 4.0,
            escaped(text)
        );
    }
    svg
}
