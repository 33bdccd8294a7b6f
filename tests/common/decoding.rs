//! Shared parts of the tests of decoders from raw banks to hits.

use super::read_raw;
use peloton::Status;
use peloton::event::{BankKind, Counters, Outcome, Product, RawBatch, RawEvent, RawEvents, difference};
use peloton::simd::Level;
use peloton_io::input::EventNote;
use peloton_truth::{HitsOf, decode_mc};
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

/// Decodes on every level, in two pieces, and by the reference; fails when any bit or count differs. `decoder` makes a
/// decoder for a level, with its own scratch memory.
pub fn every_level<B: Product, D: FnMut(Range<usize>, &mut Outcome<B>)>(
    events: RawEvents<'_>,
    reference: impl Fn(&RawEvent<'_>, &mut B),
    decoder: impl Fn(Level) -> D,
) -> (B, Counters) {
    let mut expected = B::default();
    (0..events.len()).for_each(|event| reference(&events.event(event), &mut expected));
    let mut first = None;
    for level in Level::supported() {
        let (mut decode, mut out) = (decoder(level), Outcome::default());
        let half = events.len() / 2;
        for range in [0..half, half..events.len()] {
            decode(range, &mut out);
        }
        let Outcome { results: out, mut counters } = out;
        assert_eq!(out.statuses(), expected.statuses(), "{level}");
        for event in 0..events.len() {
            assert_eq!(difference(&out, event, &expected, event), None, "{level}, event {event}");
        }
        assert_eq!(counters.events(), events.len() as u64);
        counters.stages[0].ns = 0;
        assert_eq!(*first.get_or_insert(counters), counters, "{level}");
    }
    (expected, first.expect("there is a level"))
}

/// Returns one event with these banks: source, version, payload.
pub fn one_event(kind: BankKind, banks: &[(u16, u8, Vec<u8>)]) -> RawBatch {
    let mut raw = RawBatch::default();
    for (source, version, bytes) in banks {
        raw.push_bank(kind, *source, *version, bytes).unwrap();
    }
    raw.close_event(0, Status::Ok);
    raw
}

/// Returns the seven public events in each of their forms: name, folder of the geometry, banks, truth.
pub fn seven_events(
    data: &Path,
) -> impl Iterator<Item = (&'static str, std::path::PathBuf, RawBatch, Vec<EventNote>)> {
    let forms = [
        ("minbias_retina_truth.mdf", "geometry"),
        ("minbias_superpixel.mdf", "geometry_2018"),
        ("banks", "geometry_2018"),
    ];
    let folder = data.join("lhcb");
    forms.into_iter().map(move |(name, geometry)| {
        let (raw, notes) = read_raw(&folder.join(name));
        (name, folder.join(geometry), raw, notes)
    })
}

/// Fails unless all true hits of an event are decoded, and the share of true hits among the decoded hits is in `shares`.
pub fn assert_true_hits(note: &EventNote, hits_of: HitsOf, ids: &[u32], shares: RangeInclusive<f64>) {
    let truth = decode_mc(note.truth.as_ref().unwrap(), hits_of).unwrap();
    let truth: BTreeSet<u32> = truth.particles.iter().flat_map(|p| p.hits.iter().copied()).collect();
    let ids: BTreeSet<u32> = ids.iter().copied().collect();
    assert!(!truth.is_empty() && truth.is_subset(&ids), "event {:?}", note.number);
    let share = truth.len() as f64 / ids.len() as f64;
    assert!(shares.contains(&share), "{share} of the hits are true ones");
}
