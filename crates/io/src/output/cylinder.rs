//! [`CylinderHasher`]: one number for all tracks of the cylinder detector.

use super::Hashes;
use super::hash::offsets;
use peloton::event::{CYLINDER_STATE, CylinderTracks};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Columns of integers: status, track offsets, hit offsets, hits, seeds.
const INTEGERS: usize = 5;
const COLUMNS: usize = INTEGERS + 2 + CYLINDER_STATE;

/// Hashes tracks, in the order of the events, however they are cut into pieces.
///
/// Each column has an XXH3-64 of its own over its little-endian values: `status` (u16), the end of each event's
/// tracks and of each track's hits counted from the first event of the run (u64), `hits`, `seed` (u32), `chi2` (f32),
/// `fit` (u8), then the columns of `state` (f32). A result is the XXH3-64 over the digests (u64) of the columns it
/// covers: the first five for `hash_int`, all of them for `output_hash`.
#[derive(Clone)]
pub struct CylinderHasher {
    columns: Box<[Xxh3; COLUMNS]>,
    tracks: u64,
    hits: u64,
}

impl Default for CylinderHasher {
    fn default() -> Self {
        Self { columns: Box::new(std::array::from_fn(|_| Xxh3::new())), tracks: 0, hits: 0 }
    }
}

impl CylinderHasher {
    /// Adds the events of one piece.
    pub fn update(&mut self, tracks: &CylinderTracks) {
        let [status, track_ends, hit_ends, hits, seed, chi2, fit, states @ ..] = &mut *self.columns;
        tracks.status.iter().for_each(|value| status.update(&value.code().to_le_bytes()));
        offsets(track_ends, &tracks.track_start[1..], self.tracks);
        offsets(hit_ends, &tracks.hit_start[1..], self.hits);
        hits.update(bytemuck::cast_slice(&tracks.hits));
        seed.update(bytemuck::cast_slice(&tracks.seed));
        chi2.update(bytemuck::cast_slice(&tracks.chi2));
        fit.update(&tracks.fit);
        let columns = states.iter_mut().zip(&tracks.state);
        columns.for_each(|(state, column)| state.update(bytemuck::cast_slice(column)));
        self.tracks += tracks.tracks() as u64;
        self.hits += tracks.hits.len() as u64;
    }

    /// The hashes of everything so far.
    pub fn finish(&self) -> Hashes {
        let digests = self.columns.each_ref().map(Xxh3::digest);
        Hashes {
            int: xxh3_64(bytemuck::cast_slice(&digests[..INTEGERS])),
            output: xxh3_64(bytemuck::cast_slice(&digests)),
        }
    }
}
