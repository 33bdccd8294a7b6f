//! [`EventHasher`]: one hash for a set of events, independent of their order. The hashes of the parts of a job add up
//! to the hash of the whole job.

use crate::input::EventId;
use bytemuck::cast_slice;
use peloton::event::{Hasher, Results, Schema, Table, Values};
use xxhash_rust::xxh3::xxh3_64;

/// Adds up the hashes of events to one hash for all of them.
///
/// The hash of an event is the XXH3-64 of the event's number (u64) and its values in the columns that `hash_int`
/// covers, column by column, little-endian. The status is hashed as its code (u16), a list's start as the end of the
/// list, counted from the event's first item (u32), and any other value as in memory. The sum is modulo 2^64.
///
/// Rows of an endless stream are not events. For such a stream, each source (such as a file) has one hash: the XXH3-64
/// of the source's number, from 0, and the `hash_int` of the source's rows (both u64).
pub struct EventHasher {
    sum: u64,
    bytes: Vec<u8>,
    sources: u64,
    source: Hasher,
    is_source_open: bool,
}

impl EventHasher {
    /// A hasher for results with the columns of `schema`, without events yet.
    pub fn new(schema: &'static Schema) -> Self {
        Self { sum: 0, bytes: Vec::new(), sources: 0, source: Hasher::new(schema), is_source_open: false }
    }

    /// Adds the rows of `piece`; if its rows are events, `ids` has the number of each event.
    pub fn add(&mut self, ids: &[EventId], piece: &dyn Results) {
        if !piece.schema().has_events() {
            self.source.update(piece);
            self.is_source_open |= piece.items(0) > 0;
            return;
        }
        let table = piece.table();
        for (row, id) in ids.iter().enumerate() {
            self.sum = self.sum.wrapping_add(hash_of(id, row, &table, &mut self.bytes));
        }
    }

    /// Ends the current source of an endless stream and adds its hash.
    pub fn end_source(&mut self) {
        let schema = self.source.schema();
        let rows = std::mem::replace(&mut self.source, Hasher::new(schema)).finish().int;
        let words = [self.sources.to_le_bytes(), rows.to_le_bytes()];
        self.sum = self.sum.wrapping_add(xxh3_64(words.as_flattened()));
        self.sources += 1;
        self.is_source_open = false;
    }

    /// Sets the number of the first source of an endless stream; 0 by default.
    pub fn starting_at_source(mut self, number: u64) -> Self {
        self.sources = number;
        self
    }

    /// The sum of the hashes of all events or sources so far.
    pub fn finish(mut self) -> u64 {
        // The last source is still open if its stream was ended early.
        if self.is_source_open {
            self.end_source();
        }
        self.sum
    }
}

/// The hash of one event; `bytes` is memory for the values to hash.
fn hash_of(id: &EventId, row: usize, table: &Table<'_>, bytes: &mut Vec<u8>) -> u64 {
    let ranges = table.ranges(row..row + 1);
    bytes.clear();
    bytes.extend(id.number.to_le_bytes());
    for (info, values) in table.columns().iter().take_while(|(info, _)| info.in_hash_int) {
        let range = ranges[info.depth].clone();
        match values {
            Values::Status(values) => {
                values[range].iter().for_each(|status| bytes.extend(status.code().to_le_bytes()));
            }
            Values::Starts(starts) => {
                let starts = &starts[range.start * info.lists..=range.end * info.lists];
                bytes.extend(starts[1..].iter().flat_map(|end| (end - starts[0]).to_le_bytes()));
            }
            Values::U8(values) => bytes.extend_from_slice(&values[range]),
            Values::U16(values) => bytes.extend_from_slice(cast_slice(&values[range])),
            Values::U32(values) => bytes.extend_from_slice(cast_slice(&values[range])),
            Values::U64(values) => bytes.extend_from_slice(cast_slice(&values[range])),
            Values::I64(values) => bytes.extend_from_slice(cast_slice(&values[range])),
            Values::F32(values) => bytes.extend_from_slice(cast_slice(&values[range])),
        }
    }
    xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use peloton::Status;
    use peloton::event::{PixelClusters, Product, VeloTracks};

    /// Events with these numbers of tracks, of three hits each; hits contain the number of their event.
    fn tracks(events: &[(u64, u32)]) -> (Vec<EventId>, VeloTracks) {
        let mut tracks = VeloTracks::default();
        for &(number, count) in events {
            for _ in 0..count {
                (0..3).for_each(|hit| tracks.hits.push(100 * number as u32 + hit));
                tracks.hit_start.push(tracks.hits.len() as u32);
                tracks.chi2.push(number as f32);
                tracks.backward.push(0);
                for states in [&mut tracks.beam, &mut tracks.end] {
                    states.columns_mut().into_iter().for_each(|column| column.push(0.0));
                }
            }
            tracks.track_start.push(tracks.hit_start.len() as u32 - 1);
            tracks.status.push(Status::Ok);
        }
        let id = |&(number, _): &(u64, u32)| EventId { number, run: None, event: None };
        (events.iter().map(id).collect(), tracks)
    }

    fn hash(pieces: &[&[(u64, u32)]]) -> u64 {
        let mut hasher = EventHasher::new(VeloTracks::SCHEMA);
        for piece in pieces {
            let (ids, tracks) = tracks(piece);
            hasher.add(&ids, &tracks);
        }
        hasher.finish()
    }

    #[test]
    fn neither_order_nor_pieces_matter() {
        let events = [(7, 2), (8, 0), (9, 3)];
        let whole = hash(&[&events]);
        assert_eq!(hash(&[&events[2..], &events[..2]]), whole);
        let sum = events.iter().fold(0u64, |sum, event| sum.wrapping_add(hash(&[&[*event]])));
        assert_eq!(sum, whole);
        assert_eq!(hash(&[]), 0);
    }

    #[test]
    fn an_event_has_the_documented_hash() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        // Number, status, end of the tracks, ends of their hits, the hits.
        let bytes =
            [&7u64.to_le_bytes()[..], &[0; 2], &words(&[2, 3, 6, 700, 701, 702, 700, 701, 702])].concat();
        assert_eq!(hash(&[&[(3, 1)], &[(7, 2)]]), xxh3_64(&bytes).wrapping_add(hash(&[&[(3, 1)]])));
    }

    #[test]
    fn sources_of_rows_add_up() {
        let clusters = |times: &[i64]| {
            let mut clusters = PixelClusters::default();
            for &time in times {
                clusters.hits.push(time, 1, 2, 7);
                clusters.hit_start.push(clusters.hits.len() as u32);
            }
            clusters.features.set_len(times.len());
            clusters
        };
        let hash = |first: u64, sources: &[&[i64]]| {
            let mut hasher = EventHasher::new(PixelClusters::SCHEMA).starting_at_source(first);
            for source in sources {
                let (before, after) = source.split_at(source.len() / 2);
                [before, after, &[]].iter().for_each(|piece| hasher.add(&[], &clusters(piece)));
                hasher.end_source();
            }
            // Nothing follows the last source.
            hasher.add(&[], &clusters(&[]));
            hasher.finish()
        };
        let whole = hash(0, &[&[4, 5, 6], &[7, 8]]);
        assert_eq!(hash(0, &[&[4, 5, 6]]).wrapping_add(hash(1, &[&[7, 8]])), whole);
        assert_ne!(hash(0, &[&[7, 8], &[4, 5, 6]]), whole);
        let rows = Hasher::of(&clusters(&[7, 8])).int;
        assert_eq!(hash(1, &[&[7, 8]]), xxh3_64([1u64.to_le_bytes(), rows.to_le_bytes()].as_flattened()));
    }

    #[test]
    fn every_number_hit_and_status_matters() {
        let whole = hash(&[&[(7, 2), (8, 1)]]);
        for other in [[(7, 2), (9, 1)], [(7, 1), (8, 2)], [(8, 2), (7, 1)], [(7, 2), (8, 0)]] {
            assert_ne!(hash(&[&other]), whole, "{other:?}");
        }
        let (ids, mut events) = tracks(&[(7, 2), (8, 1)]);
        events.status[1] = Status::TooManyTracks;
        let mut hasher = EventHasher::new(VeloTracks::SCHEMA);
        hasher.add(&ids, &events);
        assert_ne!(hasher.finish(), whole);
    }
}
