//! [`ResultHasher`]: one number for all results of a run, to compare runs by.

use peloton::event::{ResultColumn, Results, VeloTracks};
use serde::Serialize;
use std::marker::PhantomData;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const _: () = assert!(cfg!(target_endian = "little"), "columns are hashed as they lie in memory");

/// The hashes of a run, as 16 hexadecimal digits in JSON (its numbers do not hold 64 bits everywhere).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hashes {
    /// Over hit lists, offsets and status: equal on every device (no unit).
    #[serde(rename = "hash_int", serialize_with = "hexadecimal")]
    pub int: u64,
    /// Over all output columns, floats by their bits (no unit).
    #[serde(rename = "output_hash", serialize_with = "hexadecimal")]
    pub output: u64,
}

fn hexadecimal<S: serde::Serializer>(hash: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{hash:016x}"))
}

/// Hashes results, in the order of the events, however they are cut into pieces.
///
/// Each column of [`Results::columns`] has an XXH3-64 of its own over its little-endian values: statuses (u16), the
/// end of each list counted from the first event of the run (u64), integers (u32), and all others as they lie in
/// memory. A result is the XXH3-64 over the digests (u64) of the columns it covers, in their order: statuses, ends
/// and integers for `hash_int`, all of them for `output_hash`. Of Velo tracks these are `status`, the ends of each
/// event's tracks and of each track's hits, `hits`; `chi2`, `backward` (u8), the columns of `beam` and `end`.
#[derive(Clone)]
pub struct ResultHasher<R> {
    columns: Vec<Xxh3>,
    /// Entries before the next piece, for columns of starts.
    before: Vec<u64>,
    integers: usize,
    of: PhantomData<R>,
}

/// Hashes Velo tracks.
pub type TrackHasher = ResultHasher<VeloTracks>;

impl<R: Results> Default for ResultHasher<R> {
    fn default() -> Self {
        let nothing = R::default();
        let columns = nothing.columns();
        let integers = columns.iter().filter(|column| !matches!(column, ResultColumn::Other(_))).count();
        let (columns, before) = (vec![Xxh3::new(); columns.len()], vec![0; columns.len()]);
        Self { columns, before, integers, of: PhantomData }
    }
}

impl<R: Results> ResultHasher<R> {
    /// Adds the events of one piece.
    pub fn update(&mut self, results: &R) {
        for ((hasher, before), column) in self.columns.iter_mut().zip(&mut self.before).zip(results.columns())
        {
            match column {
                ResultColumn::Status(values) => {
                    values.iter().for_each(|value| hasher.update(&value.code().to_le_bytes()));
                }
                ResultColumn::Starts(values) => {
                    offsets(hasher, &values[1..], *before);
                    *before += values.last().map_or(0, |&end| u64::from(end));
                }
                ResultColumn::Integers(values) => hasher.update(bytemuck::cast_slice(values)),
                ResultColumn::Other(values) => hasher.update(values),
            }
        }
    }

    /// The hashes of everything so far.
    pub fn finish(&self) -> Hashes {
        let digests: Vec<u64> = self.columns.iter().map(Xxh3::digest).collect();
        Hashes {
            int: xxh3_64(bytemuck::cast_slice(&digests[..self.integers])),
            output: xxh3_64(bytemuck::cast_slice(&digests)),
        }
    }
}

/// Offsets from the start of the run, without their first. Buffered: hashing 8 bytes at a time is slow.
pub(super) fn offsets(hasher: &mut Xxh3, offsets: &[u32], first: u64) {
    let mut buffer = [0u64; 64];
    for chunk in offsets.chunks(buffer.len()) {
        let values = &mut buffer[..chunk.len()];
        values.iter_mut().zip(chunk).for_each(|(value, &offset)| *value = first + u64::from(offset));
        hasher.update(bytemuck::cast_slice(values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::Status;

    /// Events of `shape[i]` tracks each; track t has t % 3 + 1 hits.
    fn tracks(events: std::ops::Range<u32>) -> VeloTracks {
        let mut tracks = VeloTracks::default();
        for event in events {
            for track in 0..event % 4 {
                for hit in 0..track % 3 + 1 {
                    tracks.hits.push(100 * event + 10 * track + hit);
                }
                tracks.hit_start.push(tracks.hits.len() as u32);
                tracks.chi2.push(event as f32 + 0.5);
                tracks.backward.push((track % 2) as u8);
                for states in [&mut tracks.beam, &mut tracks.end] {
                    for (i, column) in states.columns_mut().into_iter().enumerate() {
                        column.push(event as f32 - i as f32);
                    }
                }
            }
            tracks.track_start.push(tracks.hit_start.len() as u32 - 1);
            tracks.status.push(if event == 5 { Status::Corrupt } else { Status::Ok });
        }
        tracks
    }

    fn hash(pieces: &[VeloTracks]) -> Hashes {
        let mut hasher = TrackHasher::default();
        pieces.iter().for_each(|piece| hasher.update(piece));
        hasher.finish()
    }

    #[test]
    fn how_the_events_are_cut_does_not_matter() {
        let whole = hash(&[tracks(0..9)]);
        assert_eq!(hash(&[tracks(0..4), tracks(4..4), tracks(4..9)]), whole);
        assert_eq!(hash(&(0..9).map(|e| tracks(e..e + 1)).collect::<Vec<_>>()), whole);
        assert_ne!(hash(&[tracks(4..9), tracks(0..4)]), whole);
    }

    #[test]
    fn every_column_matters_to_the_right_hash() {
        let base = tracks(0..9);
        let of = |change: &dyn Fn(&mut VeloTracks)| {
            let mut changed = base.clone();
            change(&mut changed);
            hash(&[changed])
        };
        let whole = hash(std::slice::from_ref(&base));
        let integers: [&dyn Fn(&mut VeloTracks); 4] = [
            &|tracks| tracks.status[2] = Status::NotFinite,
            &|tracks| tracks.track_start[2] += 1,
            &|tracks| tracks.hit_start[2] += 1,
            &|tracks| tracks.hits[3] += 1,
        ];
        for change in integers {
            assert_ne!(of(change).int, whole.int);
            assert_ne!(of(change).output, whole.output);
        }
        for column in 0..16 {
            let changed = of(&|tracks| {
                let mut columns = tracks.beam.columns_mut().into_iter().chain(tracks.end.columns_mut());
                // Equal as numbers, other bits.
                columns.nth(column).unwrap()[0] = -0.0;
            });
            assert_eq!(changed.int, whole.int, "column {column}");
            assert_ne!(changed.output, whole.output, "column {column}");
        }
        assert_ne!(of(&|tracks| tracks.backward[0] ^= 1).output, whole.output);
        assert_ne!(of(&|tracks| tracks.chi2[0] += 1.0).output, whole.output);
    }

    #[test]
    fn the_hash_of_nothing_is_the_documented_one() {
        let empty = xxh3_64(&[]).to_le_bytes();
        assert_eq!(TrackHasher::default().finish().int, xxh3_64(&empty.repeat(4)));
        assert_eq!(TrackHasher::default().finish().output, xxh3_64(&empty.repeat(22)));
    }
}
