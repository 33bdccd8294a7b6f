//! [`Hasher`]: hashes all results of a run, in order to compare runs.

use super::{Results, Schema, Values};
use serde::Serialize;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const _: () = assert!(cfg!(target_endian = "little"), "hashes need the byte order of little-endian machines");

/// The hashes of a run. In JSON, each is a string of 16 hex digits, because many JSON readers lack 64-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Hashes {
    /// Hash over status, offsets and the integers that are equal on every device (no unit).
    #[serde(rename = "hash_int", serialize_with = "hexadecimal")]
    pub int: u64,
    /// Hash over all output columns, floats by their bits (no unit).
    #[serde(rename = "output_hash", serialize_with = "hexadecimal")]
    pub output: u64,
}

fn hexadecimal<S: serde::Serializer>(hash: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{hash:016x}"))
}

/// Hashes results in the order of the events. The hashes do not depend on how the events are divided into pieces.
///
/// Each column of the [`Schema`] has a separate XXH3-64 over its little-endian values: statuses as codes (u16), starts
/// as the end of each list counted from the first event of the run (u64), all other values as in memory. A hash is the
/// XXH3-64 over the digests (u64) of its columns, in their order: columns with
/// [`in_hash_int`](super::ColumnInfo::in_hash_int) for `hash_int`, all columns for `output_hash`.
#[derive(Clone)]
pub struct Hasher {
    schema: &'static Schema,
    columns: Vec<Column>,
}

#[derive(Clone)]
struct Column {
    hasher: Xxh3,
    /// Number of list entries before the next piece, which is added to its starts.
    before: u64,
}

impl Hasher {
    /// Makes a hasher for results with this schema.
    pub fn new(schema: &'static Schema) -> Self {
        let column = |_| Column { hasher: Xxh3::new(), before: 0 };
        Self { schema, columns: schema.columns.iter().map(column).collect() }
    }

    /// Returns the hashes of results that are in one piece.
    pub fn of(results: &dyn Results) -> Hashes {
        let mut hasher = Self::new(results.schema());
        hasher.update(results);
        hasher.finish()
    }

    /// Returns the schema of the results.
    pub fn schema(&self) -> &'static Schema {
        self.schema
    }

    /// Hashes the events of the next piece of the results.
    ///
    /// # Panics
    /// Panics if the piece has another schema than the hasher ([`schema`](Self::schema)).
    pub fn update(&mut self, results: &dyn Results) {
        assert!(self.schema.is(results.schema()), "the results are of another product");
        let mut columns = self.columns.iter_mut();
        results.for_each_column(&mut |_, values| {
            columns.next().expect("the results have the columns of the schema").add(values);
        });
    }

    /// Returns the hashes of all results so far.
    pub fn finish(&self) -> Hashes {
        let digests: Vec<u64> = self.columns.iter().map(|column| column.hasher.digest()).collect();
        let integers = self.schema.columns.iter().take_while(|column| column.in_hash_int).count();
        Hashes {
            int: xxh3_64(bytemuck::cast_slice(&digests[..integers])),
            output: xxh3_64(bytemuck::cast_slice(&digests)),
        }
    }
}

impl Column {
    fn add(&mut self, values: Values<'_>) {
        let Self { hasher, before } = self;
        match values {
            Values::Status(values) => {
                values.iter().for_each(|value| hasher.update(&value.code().to_le_bytes()));
            }
            Values::Starts(starts) => {
                hash_ends(hasher, &starts[1..], *before);
                *before += starts.last().map_or(0, |&end| u64::from(end));
            }
            Values::U8(values) => hasher.update(values),
            Values::U16(values) => hasher.update(bytemuck::cast_slice(values)),
            Values::U32(values) => hasher.update(bytemuck::cast_slice(values)),
            Values::U64(values) => hasher.update(bytemuck::cast_slice(values)),
            Values::I64(values) => hasher.update(bytemuck::cast_slice(values)),
            Values::F32(values) => hasher.update(bytemuck::cast_slice(values)),
        }
    }
}

/// Hashes ends of lists, counted from the start of the run, through a buffer: hashing 8 bytes at a time is slow.
fn hash_ends(hasher: &mut Xxh3, ends: &[u32], first: u64) {
    let mut buffer = [0u64; 64];
    for chunk in ends.chunks(buffer.len()) {
        let values = &mut buffer[..chunk.len()];
        values.iter_mut().zip(chunk).for_each(|(value, &end)| *value = first + u64::from(end));
        hasher.update(bytemuck::cast_slice(values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::event::{PixelClusters, Product, ValuesMut, VeloTracks};

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

    fn clusters(range: std::ops::Range<u16>) -> PixelClusters {
        let mut clusters = PixelClusters::default();
        for i in range.clone() {
            (0..=i % 3).for_each(|k| clusters.hits.push(i64::from(i + k), i, k, 7));
            clusters.hit_start.push(clusters.hits.len() as u32);
        }
        clusters.features.set_len(range.len());
        let tot = clusters.features.tot.iter_mut().zip(range);
        tot.for_each(|(tot, i)| *tot = i.into());
        clusters
    }

    fn hash<P: Product>(pieces: &[P]) -> Hashes {
        let mut hasher = Hasher::new(P::SCHEMA);
        pieces.iter().for_each(|piece| hasher.update(piece));
        hasher.finish()
    }

    #[test]
    fn how_the_events_are_cut_does_not_matter() {
        let whole = hash(&[tracks(0..9)]);
        for pieces in [&[0..9, 9..9][..], &[0..4, 4..5, 5..9], &[0..0, 0..1, 1..9]] {
            let pieces: Vec<_> = pieces.iter().map(|range| tracks(range.clone())).collect();
            assert_eq!(hash(&pieces), whole);
        }
        let pieces = [clusters(0..7), clusters(7..7), clusters(7..20)];
        assert_eq!(hash(&pieces), hash(&[clusters(0..20)]));
    }

    /// Changes one value of each column in turn: `output_hash` must change each time, `hash_int` only for the columns
    /// that it covers.
    fn every_column_matters<P: Product + Clone>(base: &P) {
        let whole = Hasher::of(base);
        for (place, info) in P::SCHEMA.columns.iter().enumerate() {
            let (mut changed, mut number) = (base.clone(), 0);
            changed.for_each_column_mut(&mut |_, values| {
                match values {
                    _ if number != place => (),
                    ValuesMut::Status(column) => column[2] = Status::NotFinite,
                    ValuesMut::Starts(column) => column[2] += 1,
                    ValuesMut::U8(column) => column[0] ^= 1,
                    ValuesMut::U16(column) => column[3] ^= 1,
                    ValuesMut::U32(column) => column[3] ^= 1,
                    ValuesMut::U64(column) => column[3] ^= 1,
                    ValuesMut::I64(column) => column[3] ^= 1,
                    // -0 equals 0 as a number, but has other bits.
                    ValuesMut::F32(column) => column[0] = -column[0],
                }
                number += 1;
            });
            let found = Hasher::of(&changed);
            assert_eq!(found.int == whole.int, !info.in_hash_int, "{}", info.name);
            assert_ne!(found.output, whole.output, "{}", info.name);
        }
    }

    #[test]
    fn every_column_matters_to_the_right_hash() {
        every_column_matters(&tracks(0..9));
        every_column_matters(&clusters(0..20));
    }

    #[test]
    fn the_hash_of_nothing_is_the_documented_one() {
        let empty = xxh3_64(&[]).to_le_bytes();
        let hashes = Hasher::new(VeloTracks::SCHEMA).finish();
        assert_eq!((hashes.int, hashes.output), (xxh3_64(&empty.repeat(4)), xxh3_64(&empty.repeat(22))));
        let hashes = Hasher::new(PixelClusters::SCHEMA).finish();
        assert_eq!((hashes.int, hashes.output), (xxh3_64(&empty.repeat(5)), xxh3_64(&empty.repeat(22))));
    }
}
