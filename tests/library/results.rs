//! Operations that a schema defines: emptying, cutting, failing and comparing, for every type of results.

use peloton::Status;
use peloton::event::{
    CylinderTracks, Hasher, Kind, PixelClusters, Product, Results, SciFiBatch, UtBatch, ValuesMut,
    VeloTracks, difference,
};

/// Three rows with 2, 0 and 3 items (in each list of a row, if it has several lists). Each item has two entries where there is
/// a level below.
fn filled<R: Product>() -> R {
    let mut results = R::default();
    let lists = R::SCHEMA.columns.iter().map(|info| info.lists).max().unwrap_or(1) as u32;
    let counts = [3, 5 * lists, 10 * lists];
    results.for_each_column_mut(&mut |info, values| {
        let count = counts[info.depth];
        match values {
            ValuesMut::Status(column) => column.extend([Status::Ok, Status::Corrupt, Status::Ok]),
            ValuesMut::Starts(starts) if info.depth == 0 => {
                let mut end = 0;
                for items in [2, 0, 3] {
                    for _ in 0..lists {
                        end += items;
                        starts.push(end);
                    }
                }
            }
            ValuesMut::Starts(starts) => (1..=count).for_each(|item| starts.push(2 * item)),
            ValuesMut::U8(column) => (0..count).for_each(|i| column.push(i as u8)),
            ValuesMut::U16(column) => (0..count).for_each(|i| column.push(i as u16)),
            ValuesMut::U32(column) => (0..count).for_each(|i| column.push(i)),
            ValuesMut::U64(column) => (0..count).for_each(|i| column.push(i.into())),
            ValuesMut::I64(column) => (0..count).for_each(|i| column.push(i.into())),
            ValuesMut::F32(column) => (0..count).for_each(|i| column.push(i as f32)),
        }
    });
    results
}

fn is_empty(results: &dyn Results) -> bool {
    let shortest = |kind| usize::from(kind == Kind::Starts);
    results.table().columns().iter().all(|(info, values)| values.len() == shortest(info.kind))
}

/// Checks a type of results.
fn check<R: Product>() {
    let whole = filled::<R>();
    assert_eq!(whole.items(0), 3);
    let deepest = R::SCHEMA.levels.len() - 1;
    assert_eq!(whole.hits(), whole.items(deepest));
    let mut cut = filled::<R>();
    // Items of an event that failed half way.
    cut.truncate(1);
    (1..=deepest).for_each(|depth| cut.set_items(depth, cut.items(depth) + 7));
    cut.truncate(1);
    assert_eq!((cut.items(0), cut.events()), (1, usize::from(R::SCHEMA.has_events())));
    assert_eq!(difference(&cut, 0, &whole, 0), None);
    for (info, values) in cut.table().columns() {
        let starts = usize::from(info.kind == Kind::Starts);
        assert_eq!(values.len(), cut.items(info.depth) * info.lists + starts, "{}", info.name);
    }
    if R::SCHEMA.has_events() {
        cut.push_failed(Status::TooManyHits);
        assert_eq!((cut.items(0), cut.statuses()), (2, &[Status::Ok, Status::TooManyHits][..]));
        assert_eq!(cut.table().ranges(1..2)[1].len(), 0);
        assert_eq!(difference(&cut, 1, &whole, 1).unwrap(), "status too_many_hits and corrupt");
    } else {
        cut.push_failed(Status::TooManyHits);
        assert_eq!((cut.items(0), cut.statuses()), (1, &[][..]));
    }
    cut.clear();
    assert!(is_empty(&cut) && is_empty(&R::default()) && !is_empty(&whole));
    assert_eq!(Hasher::of(&cut), Hasher::of(&R::default()));

    // A change of any value is found, and its column is named.
    assert!((0..3).all(|row| difference(&whole, row, &filled::<R>(), row).is_none()));
    for (place, info) in R::SCHEMA.columns.iter().enumerate() {
        let (mut changed, mut number) = (filled::<R>(), 0);
        changed.for_each_column_mut(&mut |_, values| {
            match values {
                _ if number != place => (),
                ValuesMut::Status(column) => column[2] = Status::NotFinite,
                ValuesMut::Starts(starts) => {
                    let last = starts.len() - 2;
                    starts[last] -= 1;
                }
                ValuesMut::U8(column) => *column.last_mut().unwrap() += 1,
                ValuesMut::U16(column) => *column.last_mut().unwrap() += 1,
                ValuesMut::U32(column) => *column.last_mut().unwrap() += 1,
                ValuesMut::U64(column) => *column.last_mut().unwrap() += 1,
                ValuesMut::I64(column) => *column.last_mut().unwrap() += 1,
                ValuesMut::F32(column) => *column.last_mut().unwrap() = f32::NAN,
            }
            number += 1;
        });
        let what = (0..3).find_map(|row| difference(&changed, row, &whole, row));
        let what = what.unwrap_or_else(|| panic!("{} is not compared", info.name));
        assert!(info.kind == Kind::Starts || what.contains(info.name), "{}: {what}", info.name);
    }
}

#[test]
fn velo_tracks() {
    check::<VeloTracks>();
}

#[test]
fn ut_hits() {
    check::<UtBatch>();
}

#[test]
fn scifi_hits() {
    check::<SciFiBatch>();
}

#[test]
fn cylinder_tracks() {
    check::<CylinderTracks>();
}

#[test]
fn pixel_clusters() {
    check::<PixelClusters>();
}

#[test]
fn differences_are_told_in_words() {
    let whole = filled::<VeloTracks>();
    assert_eq!(whole.hit_lists(0).collect::<Vec<_>>(), [[0, 1], [2, 3]]);
    let mut other = whole.clone();
    other.hits[3] = 9;
    assert_eq!(difference(&whole, 0, &other, 0).unwrap(), "track 1: hits [2, 3] and [2, 9]");
    let mut other = whole.clone();
    other.hit_start[3] = 5;
    assert_eq!(difference(&whole, 2, &other, 2).unwrap(), "track 0: hits [4, 5] and [4]");
    assert_eq!(
        difference(&whole, 0, &whole, 2).unwrap(),
        "2 and 3 tracks; the first difference is track 0: hits [0, 1] and [4, 5]"
    );
    let mut other = whole.clone();
    other.end.tx[1] = -0.0;
    other.end.tx[0] = -0.0;
    assert_eq!(difference(&whole, 0, &other, 0).unwrap(), "track 0: end_tx 0e0 and -0e0");
    let hits = filled::<SciFiBatch>();
    let mut other = hits.clone();
    other.zone_start[5] -= 1;
    assert_eq!(difference(&hits, 0, &other, 0).unwrap(), "zone 4: 2 and 1 hits");
    let clusters = filled::<PixelClusters>();
    let mut other = clusters.clone();
    other.hits.x[1] = 7;
    assert_eq!(difference(&clusters, 0, &other, 0).unwrap(), "hit 1: hit_x 1 and 7");
    other.hits.x[1] = 1;
    other.features.length[0] = 2.0;
    assert_eq!(difference(&clusters, 0, &other, 0).unwrap(), "length 0e0 and 2e0");
}
