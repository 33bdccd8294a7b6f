//! Event data for the event display HSF Phoenix (`github.com/HSF/phoenix`, "event data format"): one object per event,
//! which has collections of hits and tracks by name, in mm and MeV.
//!
//! Phoenix extrapolates a track of fewer than three points, or does not draw it. It takes a collection's style and cuts
//! from the first object. So tracks here have three or more points, and the objects of a collection are alike.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Smallest number of points with which Phoenix draws a track without extrapolation.
pub const MIN_POINTS: usize = 3;
/// Precision of coordinates: 1/GRAIN mm.
const GRAIN: f64 = 1000.0;

/// A hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PhoenixHit {
    /// A point, mm.
    Point(#[serde(serialize_with = "point")] [f64; 3]),
    /// A strip.
    Line {
        /// The shape of the hit: always `Line`.
        #[serde(rename = "type")]
        shape: &'static str,
        /// x, y, z of both ends of the strip, mm.
        #[serde(serialize_with = "ends")]
        pos: [f64; 6],
    },
}

impl PhoenixHit {
    /// A strip between two points, mm.
    pub fn line([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3]) -> Self {
        Self::Line { shape: "Line", pos: [ax, ay, az, bx, by, bz] }
    }
}

/// A reconstructed track, or the path of a true particle.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PhoenixTrack {
    #[serde(serialize_with = "points")]
    pos: Vec<[f64; 3]>,
    /// Azimuth of the track's direction at its first point, rad.
    pub phi: f64,
    /// Pseudorapidity of the track's direction at its first point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// chi2 of the track fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chi2: Option<f64>,
    /// Momentum of the track, MeV.
    #[serde(rename = "mom", skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Transverse momentum of the track, MeV.
    #[serde(rename = "pT", skip_serializing_if = "Option::is_none")]
    pub pt: Option<f64>,
    /// Charge over momentum, 1/MeV.
    #[serde(rename = "qOverP", skip_serializing_if = "Option::is_none")]
    pub q_over_p: Option<f64>,
    /// Colour of the track, `0xRRGGBB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<String>,
    /// Name of the track.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of hits of the track.
    #[serde(rename = "nHits", skip_serializing_if = "Option::is_none")]
    pub hits: Option<usize>,
}

impl PhoenixTrack {
    /// A track through `points`, mm, in order from its start. None for fewer than two different finite points. Between
    /// only two points, a third is inserted half way.
    pub fn new(points: &[[f64; 3]]) -> Option<Self> {
        let mut pos: Vec<_> =
            points.iter().copied().filter(|point| point.iter().all(|value| value.is_finite())).collect();
        pos.dedup();
        if pos.len() < 2 {
            return None;
        }
        while pos.len() < MIN_POINTS {
            let middle = [0, 1, 2].map(|axis| 0.5 * (pos[0][axis] + pos[1][axis]));
            pos.insert(1, middle);
        }
        let [dx, dy, dz] = [0, 1, 2].map(|axis| pos[1][axis] - pos[0][axis]);
        let eta = (dz / dx.hypot(dy)).asinh();
        Some(Self { phi: dy.atan2(dx), eta: Some(eta).filter(|eta| eta.is_finite()), pos, ..Self::default() })
    }

    /// Sets the colour of the track, `#rrggbb`.
    pub fn set_colour(&mut self, colour: &str) {
        self.color = Some(colour.replace('#', "0x"));
    }

    /// Points of the track, mm.
    pub fn points(&self) -> &[[f64; 3]] {
        &self.pos
    }
}

/// An event with collections of hits and tracks, by their names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhoenixEvent {
    #[serde(rename = "event number")]
    event: u64,
    #[serde(rename = "run number")]
    run: u32,
    #[serde(rename = "Hits")]
    hits: BTreeMap<String, Vec<PhoenixHit>>,
    #[serde(rename = "Tracks")]
    tracks: BTreeMap<String, Vec<PhoenixTrack>>,
}

impl PhoenixEvent {
    /// An event without collections.
    pub fn new(run: u32, event: u64) -> Self {
        Self { event, run, hits: BTreeMap::new(), tracks: BTreeMap::new() }
    }

    /// Adds a collection of hits, which are all points or all strips. An empty collection is omitted.
    pub fn add_hits(&mut self, name: &str, hits: Vec<PhoenixHit>) {
        if !hits.is_empty() {
            self.hits.insert(name.into(), hits);
        }
    }

    /// Adds a collection of tracks. An empty collection is omitted.
    pub fn add_tracks(&mut self, name: &str, tracks: Vec<PhoenixTrack>) {
        if !tracks.is_empty() {
            self.tracks.insert(name.into(), tracks);
        }
    }
}

fn rounded(value: f64) -> f64 {
    (GRAIN * value).round() / GRAIN
}

fn point<S: Serializer>(point: &[f64; 3], to: S) -> Result<S::Ok, S::Error> {
    point.map(rounded).serialize(to)
}

fn ends<S: Serializer>(ends: &[f64; 6], to: S) -> Result<S::Ok, S::Error> {
    ends.map(rounded).serialize(to)
}

fn points<S: Serializer>(points: &[[f64; 3]], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(points.iter().map(|point| point.map(rounded)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn two_points_get_a_third_between_them() {
        let track = PhoenixTrack::new(&[[0.0; 3], [2.0, 0.0, 4.0]]).unwrap();
        assert_eq!(track.points(), [[0.0; 3], [1.0, 0.0, 2.0], [2.0, 0.0, 4.0]]);
        assert_eq!((track.phi, track.eta), (0.0, Some(2f64.asinh())));
        assert!(PhoenixTrack::new(&[[0.0; 3], [f64::NAN, 0.0, 1.0]]).is_none());
        assert!(PhoenixTrack::new(&[[1.0; 3], [1.0; 3]]).is_none());
    }

    #[test]
    fn events_are_what_phoenix_reads() {
        let mut event = PhoenixEvent::new(3, 7);
        event.add_hits("Velo", vec![PhoenixHit::Point([1.0, 2.00049, 3.0])]);
        event.add_hits("UT", vec![PhoenixHit::line([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])]);
        event.add_hits("SciFi", Vec::new());
        let mut track = PhoenixTrack::new(&[[0.0; 3], [0.0, 1.0, 1.0], [0.0, 2.0, 2.0]]).unwrap();
        track.set_colour("#009e73");
        (track.p, track.pt, track.q_over_p) = (Some(2000.0), Some(500.0), Some(-0.0005));
        event.add_tracks("long", vec![track]);
        assert_eq!(
            json!(event),
            json!({
                "event number": 7, "run number": 3,
                "Hits": {
                    "Velo": [[1.0, 2.0, 3.0]],
                    "UT": [{ "type": "Line", "pos": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] }],
                },
                "Tracks": { "long": [{
                    "pos": [[0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 2.0, 2.0]],
                    "phi": std::f64::consts::FRAC_PI_2, "eta": 1f64.asinh(),
                    "mom": 2000.0, "pT": 500.0, "qOverP": -0.0005, "color": "0x009e73",
                }] },
            })
        );
    }
}
