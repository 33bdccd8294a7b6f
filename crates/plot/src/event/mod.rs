//! Pictures of events. Hits, tracks and true particles have the same types for all sequences.
//!
//! ```text
//! Gathered (by a job) --> DrawnEvent --+--> view: one projection as SVG --> svg: a figure
//!                                      |                               '--> page: HTML
//!                                      '--> phoenix: 3D, for HSF Phoenix
//! ```

mod cylinder;
mod lhcb;
mod page;
mod path;
mod phoenix;
mod svg;
#[cfg(test)]
mod tests;
mod view;

pub use lhcb::FoundTrack;
pub use page::page;
pub use path::{Line, Piece};
pub use phoenix::phoenix;
pub use svg::figure;
pub use view::View;

use crate::Sensor;
use peloton::Status;
use peloton_io::input::EventId;
use peloton_truth::{EventMatches, Measured, ParticleMatch, TrackMatch};

/// A drawn detector: a part of LHCb, or the cylinder detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The Velo of LHCb.
    Velo,
    /// The UT of LHCb.
    Ut,
    /// The SciFi of LHCb.
    SciFi,
    /// The cylinder detector.
    Cylinder,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [Part::Velo, Part::Ut, Part::SciFi, Part::Cylinder];

    /// Returns the displayed name of the part, which is also the name in [`Sensor::detector`].
    pub fn name(self) -> &'static str {
        match self {
            Part::Velo => "Velo",
            Part::Ut => "UT",
            Part::SciFi => "SciFi",
            Part::Cylinder => "cylinder",
        }
    }
}

/// A point in space, mm.
pub type Point = [f64; 3];

/// A hit: a point, or a strip or fibre that measures one direction only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Part of the detector that contains the hit.
    pub part: Part,
    /// Identifier of the hit in the hit lists of tracks.
    pub id: u32,
    /// Both ends of the strip or fibre; for a pixel, its position twice.
    pub ends: [Point; 2],
}

impl Hit {
    /// Creates a hit that is a point.
    pub fn point(part: Part, id: u32, at: Point) -> Self {
        Self { part, id, ends: [at; 2] }
    }

    /// Returns the point halfway between the ends of the strip.
    pub fn middle(&self) -> Point {
        let [a, b] = self.ends;
        std::array::from_fn(|axis| 0.5 * (a[axis] + b[axis]))
    }

    /// Returns the length of the strip, mm; 0 for a point.
    pub fn length(&self) -> f64 {
        let [a, b] = self.ends;
        (0..3).map(|axis| (b[axis] - a[axis]).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns the point of the strip, or of the strip's extension, at `y`.
    pub fn at_y(&self, y: f64) -> Point {
        let [a, b] = self.ends;
        let long = b[1] - a[1];
        if long == 0.0 {
            return self.middle();
        }
        let share = (y - a[1]) / long;
        [a[0] + share * (b[0] - a[0]), y, a[2] + share * (b[2] - a[2])]
    }

    /// Returns whether all coordinates are finite.
    pub fn is_finite(&self) -> bool {
        self.ends.iter().flatten().all(|value| value.is_finite())
    }
}

/// A drawn track.
#[derive(Debug, Clone, Default)]
pub struct Track {
    /// Indices of the track's hits in the list of hits of the event; hits that are not in this list are omitted.
    pub hits: Vec<usize>,
    /// Number of hits of the track, including hits that are not in the event's list of hits.
    pub named: usize,
    /// Positions of the hits; on a strip or fibre, the point where the fitted line crosses.
    pub points: Vec<Point>,
    /// Pieces of the fitted line.
    pub pieces: Vec<Piece>,
    /// Whether the track flies towards smaller z, from the last of its points to the first.
    pub is_backward: bool,
    /// Momentum of the track, if measured.
    pub momentum: Option<Momentum>,
    /// One value for each of [`DrawnEvent::columns`].
    pub values: Vec<f64>,
}

/// A measured momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Momentum {
    /// Momentum, GeV/c.
    pub p: f64,
    /// Transverse momentum, GeV/c.
    pub pt: f64,
    /// Charge over momentum, c/GeV.
    pub qop: f64,
}

impl From<Measured> for Momentum {
    fn from(measured: Measured) -> Self {
        let Measured { p, pt, charge, .. } = measured;
        Self { p, pt, qop: charge / p }
    }
}

/// A drawn true particle.
#[derive(Debug, Clone, Default)]
pub struct Particle {
    /// Name of the particle: its kind (if known) and its key or number.
    pub name: String,
    /// Momentum, GeV/c.
    pub p: f64,
    /// Transverse momentum, GeV/c.
    pub pt: f64,
    /// Pseudorapidity.
    pub eta: f64,
    /// Hits of the particle, as indices into the hits of the event, by z (LHCb) or from the inside out (cylinder).
    pub hits: Vec<usize>,
    /// Positions of the hits.
    pub points: Vec<Point>,
}

/// The truth of an event.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    /// All particles.
    pub particles: Vec<Particle>,
    /// Matches between particles and tracks.
    pub matches: EventMatches,
}

/// The parts of one event that are drawn: hits, tracks and truth.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// Hits of the event.
    pub hits: Vec<Hit>,
    /// Tracks of the event, in the order of the results.
    pub tracks: Vec<Track>,
    /// Truth of the event, if known.
    pub truth: Option<Truth>,
}

/// A column of the table of tracks.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackColumn {
    /// Name of the column.
    pub name: &'static str,
    /// Unit of the values; `1` for none.
    pub unit: &'static str,
    /// Meaning of the values.
    pub meaning: &'static str,
}

/// A drawn event. Lengths are in mm.
#[derive(Debug, Clone)]
pub struct DrawnEvent {
    /// Identification of the event.
    pub id: EventId,
    /// Status of the event.
    pub status: Status,
    /// Hits of the event.
    pub hits: Vec<Hit>,
    /// Columns of the table of tracks.
    pub columns: Vec<TrackColumn>,
    /// Tracks of the event.
    pub tracks: Vec<Track>,
    /// Truth of the event, if known.
    pub truth: Option<Truth>,
}

/// The class of a drawn line: the result of comparing a track or a particle with the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A track of an event without truth.
    Track,
    /// The first track of a particle.
    Found,
    /// A further track of a particle that already has a track.
    Clone,
    /// A track that belongs to no particle.
    Ghost,
    /// A reconstructible particle without a track.
    Missed,
}

impl Class {
    /// All classes, in drawing order.
    pub const ALL: [Class; 5] = [Class::Track, Class::Found, Class::Missed, Class::Clone, Class::Ghost];

    /// Returns the name of the class in the singular, which is also the class of its lines in the style sheet.
    pub fn name(self) -> &'static str {
        match self {
            Class::Track => "track",
            Class::Found => "found",
            Class::Clone => "clone",
            Class::Ghost => "ghost",
            Class::Missed => "missed",
        }
    }

    /// Returns the text of the class in a legend.
    pub fn legend(self) -> &'static str {
        match self {
            Class::Track => "tracks",
            Class::Found => "found",
            Class::Clone => "clones",
            Class::Ghost => "ghosts",
            Class::Missed => "missed",
        }
    }

    /// Returns a short description of the class.
    pub fn meaning(self) -> &'static str {
        match self {
            Class::Track => "tracks of an input without truth",
            Class::Found => "the first track of each true particle",
            Class::Clone => "further tracks of a particle that has a track",
            Class::Ghost => "tracks that belong to no particle",
            Class::Missed => "reconstructible particles without a track, drawn as lines through their hits",
        }
    }

    /// Returns the colour of the class, from the palette of Okabe and Ito.
    pub fn colour(self) -> &'static str {
        match self {
            Class::Track => "#0072b2",
            Class::Found => "#009e73",
            Class::Clone => "#cc79a7",
            Class::Ghost => "#d55e00",
            Class::Missed => "#56b4e9",
        }
    }

    fn of(track: Option<&TrackMatch>) -> Self {
        match track {
            None => Class::Track,
            Some(track) if track.is_clone || track.is_repeated => Class::Clone,
            Some(track) if track.particle.is_some() => Class::Found,
            Some(_) => Class::Ghost,
        }
    }
}

impl DrawnEvent {
    /// Returns the class of a track.
    pub fn class(&self, track: usize) -> Class {
        Class::of(self.track_match(track))
    }

    /// Returns the match of a track with a true particle.
    pub fn track_match(&self, track: usize) -> Option<&TrackMatch> {
        self.truth.as_ref()?.matches.tracks.get(track)
    }

    /// Returns reconstructible particles with hits but without a track; none if the event was not reconstructed.
    pub fn missed(&self) -> impl Iterator<Item = (&Particle, &ParticleMatch)> {
        let truth = self.truth.iter().filter(|_| self.status.is_reconstructed());
        let all = truth.flat_map(|truth| truth.particles.iter().zip(&truth.matches.particles));
        all.filter(|(particle, fate)| {
            fate.tracks == 0 && !fate.categories.is_empty() && !particle.points.is_empty()
        })
    }

    /// Returns the number of lines (tracks or missed particles) of a class.
    pub fn count(&self, class: Class) -> usize {
        match class {
            Class::Missed => self.missed().count(),
            _ => (0..self.tracks.len()).filter(|&track| self.class(track) == class).count(),
        }
    }

    /// Returns the classes that lines of this event can have, each with its number of lines.
    pub fn classes(&self) -> Vec<(Class, usize)> {
        let known = |class: &Class| (*class == Class::Track) == self.truth.is_none();
        Class::ALL.into_iter().filter(known).map(|class| (class, self.count(class))).collect()
    }

    /// Returns, for each hit, whether it belongs to a track or to a missed particle.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.hits.len()];
        let on_tracks = self.tracks.iter().flat_map(|track| &track.hits);
        let missed = self.missed().flat_map(|(particle, _)| &particle.hits);
        on_tracks.chain(missed).for_each(|&hit| used[hit] = true);
        used
    }
}

/// Events to draw, and the sensors of their detector.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Name of the sequence that reconstructed the events.
    pub sequence: &'static str,
    /// Name of the input.
    pub title: String,
    /// Sensors of LHCb, or layers of the cylinder detector.
    pub sensors: Vec<Sensor>,
    /// The events.
    pub events: Vec<DrawnEvent>,
}
