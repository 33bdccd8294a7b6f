//! The truth of a simulated event, encoded in raw banks.

use crate::flight::{Flight, Vector, angles, norm};
use peloton::units::MEV_PER_GEV;
use peloton_io::input::mdf::Vertex;

/// LHCbIDs of one particle's hits.
#[derive(Debug, Clone, Default)]
pub(super) struct ParticleHits {
    pub velo: Vec<u32>,
    pub ut: Vec<u32>,
    pub scifi: Vec<u32>,
}

/// Smallest number of modules with hits of a particle that is reconstructible in the Velo.
const VELO_MODULES: usize = 3;

impl ParticleHits {
    pub fn is_empty(&self) -> bool {
        self.velo.is_empty() && self.ut.is_empty() && self.scifi.is_empty()
    }

    pub fn has_velo(&self) -> bool {
        let mut modules: Vec<_> = self.velo.iter().map(|id| (id & 0x03FF_FFFF) >> 20).collect();
        modules.sort_unstable();
        modules.dedup();
        modules.len() >= VELO_MODULES
    }

    /// Whether the particle has hits in at least three planes of the UT, as its tracks need.
    fn has_ut(&self, plane_of: impl Fn(u32) -> usize) -> bool {
        let planes = self.ut.iter().fold(0u32, |planes, id| planes | 1 << plane_of(*id));
        planes.count_ones() >= 3
    }

    /// Returns whether the particle has hits in an upright and in a tilted layer of each SciFi station.
    pub fn has_scifi(&self) -> bool {
        let layers = self.scifi.iter().fold(0u32, |layers, id| layers | 1 << ((id >> 16 & 0xF) - 4));
        (0..3).all(|station| {
            let four = layers >> (4 * station) & 0xF;
            four & 0b1001 != 0 && four & 0b0110 != 0
        })
    }
}

/// The vertices, each with the particles from it that are reconstructible in the Velo.
pub(super) fn with_tracks(places: &[Vector], flights: &[Flight], hits: &[ParticleHits]) -> Vec<Vertex> {
    let tracks = |place: &Vector| {
        let from = |(flight, hits): &(&Flight, &ParticleHits)| flight.origin == *place && hits.has_velo();
        flights.iter().zip(hits).filter(from).count() as i32
    };
    places.iter().map(|place| Vertex { tracks: tracks(place), position: *place }).collect()
}

/// Encodes vertices as in version 1 of their banks.
pub(super) fn vertices(vertices: &[Vertex]) -> Vec<u8> {
    let mut out = (vertices.len() as u32).to_le_bytes().to_vec();
    for vertex in vertices {
        out.extend(vertex.tracks.to_le_bytes());
        out.extend(vertex.position.iter().flat_map(|value| value.to_le_bytes()));
    }
    out
}

/// Encodes all particles with hits as in version 2 of their banks.
pub(super) fn particles<'a>(
    flights: impl Iterator<Item = (&'a Flight, &'a ParticleHits)>,
    plane_of: impl Fn(u32) -> usize,
    vertices: u32,
) -> Vec<u8> {
    let (mut out, mut count) = (vec![0; 4], 0u32);
    for (key, (flight, hits)) in (0u32..).zip(flights) {
        if hits.is_empty() {
            continue;
        }
        count += 1;
        let [px, py, _] = flight.momentum;
        let (eta, phi) = angles(flight.momentum);
        out.extend(key.to_le_bytes());
        out.extend(flight.pid.to_le_bytes());
        let p = MEV_PER_GEV * norm(flight.momentum);
        let pt = MEV_PER_GEV * (px * px + py * py).sqrt();
        let [x, y, z] = flight.origin;
        for value in [p, pt, eta, phi, x, y, z] {
            out.extend((value as f32).to_le_bytes());
        }
        let (velo, ut, scifi) = (hits.has_velo(), hits.has_ut(&plane_of), hits.has_scifi());
        let Flight { from_beauty, from_charm, from_strange, .. } = *flight;
        let flags = [velo && scifi, ut && scifi, velo, ut, scifi, from_beauty, from_charm, from_strange];
        out.extend(flags.map(u8::from));
        out.push(u8::from(from_beauty));
        // Mothers and origins of decays are not stored: -1, 0.
        for mother in [-1i32, 0, -1, 0] {
            out.extend(mother.to_le_bytes());
        }
        for value in [0.0, 0.0, flight.charge] {
            out.extend((value as f32).to_le_bytes());
        }
        out.extend(vertices.to_le_bytes());
        for ids in [&hits.velo, &hits.ut, &hits.scifi] {
            out.extend((ids.len() as u32).to_le_bytes());
            out.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
        }
    }
    out[..4].copy_from_slice(&count.to_le_bytes());
    out
}
