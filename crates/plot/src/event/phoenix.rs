//! Events as JSON for the 3D event display HSF Phoenix.

use super::{Class, DrawnEvent, Hit, Part, Particle, Point, Scene, Track};
use peloton::units::MEV_PER_GEV;
use peloton::{Error, Result};
use peloton_io::output::phoenix::{PhoenixEvent, PhoenixHit, PhoenixTrack};
use serde_json::{Map, Value, json};

/// Returns the events of a scene as JSON for HSF Phoenix.
///
/// # Errors
/// [`Error::Internal`] if a value cannot be written as JSON.
pub fn phoenix(scene: &Scene) -> Result<String> {
    let mut events = Map::new();
    for event in &scene.events {
        events.insert(key(event), json!(phoenix_event(scene, event)));
    }
    serde_json::to_string(&Value::Object(events)).map_err(|error| Error::Internal(error.to_string()))
}

/// Returns the name of an event. It begins with the number over all inputs: other numbers may occur twice, and Phoenix sorts
/// events by name.
fn key(event: &DrawnEvent) -> String {
    let id = &event.id;
    match (id.run, id.event) {
        (Some(run), Some(number)) => format!("{:06}: run {run}, event {number}", id.number),
        _ => format!("{:06}", id.number),
    }
}

fn phoenix_event(scene: &Scene, event: &DrawnEvent) -> PhoenixEvent {
    let mut made = PhoenixEvent::new(event.id.run.unwrap_or(0), event.id.event.unwrap_or(event.id.number));
    for part in Part::ALL {
        let hits = event.hits.iter().filter(|hit| hit.part == part);
        made.add_hits(part.name(), hits.map(hit_of).collect());
    }
    for (class, _) in event.classes().into_iter().filter(|(class, _)| *class != Class::Missed) {
        let of_class = event.tracks.iter().enumerate().filter(|(number, _)| event.class(*number) == class);
        let name = match class {
            Class::Track => scene.sequence.to_string(),
            _ => format!("{}: {}", scene.sequence, class.legend()),
        };
        made.add_tracks(&name, of_class.filter_map(|(_, track)| track_of(event, track, class)).collect());
    }
    let Some(truth) = &event.truth else { return made };
    let missed = event.missed().filter_map(|(particle, _)| particle_of(particle, Class::Missed));
    made.add_tracks("truth: missed", missed.collect());
    let both = truth.particles.iter().zip(&truth.matches.particles);
    let found = both.filter(|(_, fate)| fate.tracks > 0).map(|(particle, _)| particle);
    made.add_tracks("truth: found", found.filter_map(|one| particle_of(one, Class::Found)).collect());
    made
}

fn hit_of(hit: &Hit) -> PhoenixHit {
    let [a, b] = hit.ends;
    if hit.length() == 0.0 { PhoenixHit::Point(a) } else { PhoenixHit::line(a, b) }
}

fn track_of(event: &DrawnEvent, track: &Track, class: Class) -> Option<PhoenixTrack> {
    let line: Vec<Point> = track.pieces.iter().flat_map(|piece| piece.points.iter().copied()).collect();
    let mut points = if line.len() > 1 { line } else { track.points.clone() };
    if track.is_backward {
        points.reverse();
    }
    let mut made = PhoenixTrack::new(&points)?;
    made.set_colour(class.colour());
    let chi2 = event.columns.iter().position(|column| column.name == "chi2");
    made.chi2 = chi2.and_then(|at| track.values.get(at).copied()).filter(|value| value.is_finite());
    if let Some(momentum) = track.momentum {
        (made.p, made.pt) = (Some(MEV_PER_GEV * momentum.p), Some(MEV_PER_GEV * momentum.pt));
        made.q_over_p = Some(momentum.qop / MEV_PER_GEV);
    }
    made.hits = Some(track.named);
    Some(made)
}

fn particle_of(particle: &Particle, class: Class) -> Option<PhoenixTrack> {
    let mut made = PhoenixTrack::new(&particle.points)?;
    made.set_colour(class.colour());
    (made.p, made.pt) = (Some(MEV_PER_GEV * particle.p), Some(MEV_PER_GEV * particle.pt));
    made.eta = Some(particle.eta).filter(|eta| eta.is_finite());
    made.name = Some(particle.name.clone());
    made.hits = Some(particle.points.len());
    Some(made)
}
