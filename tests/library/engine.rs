//! Engine, pool and their results in edge cases: ranges beyond the events, no threads, reused slices.

use crate::common::{Sharing, hashes_on, simulated, velo};
use peloton::engine::{Handle, Pool, Sliced};
use peloton::event::{
    Counters, Hasher, Outcome, PixelClusters, StageCounter, Truncation, VeloBatch, VeloTracks,
};
use peloton::velo::{Preset, VELO_TRACKS};
use peloton::{Error, Status};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn ranges_beyond_the_events_are_refused_and_leave_everything_as_it_was() {
    let (batch, engine) = (simulated(5, 3), velo(Preset::default()));
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
    engine.try_run(batch.view(), &mut workspace, &mut outcome).unwrap();
    let before = outcome.clone();
    #[allow(clippy::reversed_empty_ranges, reason = "refused, too")]
    let ranges = [0..6, 5..6, 6..6, 4..usize::MAX, usize::MAX..usize::MAX, 3..2, usize::MAX..0];
    for range in ranges {
        let result = engine.try_run_range(batch.view(), range.clone(), &mut workspace, &mut outcome);
        let words = format!("{range:?}");
        assert!(
            matches!(&result, Err(Error::Columns(text)) if text.contains(&words) && text.contains("5 events")),
            "{words}: {result:?}"
        );
        assert!(outcome == before, "{words}");
    }
    for empty in [0..0, 5..5] {
        engine.try_run_range(batch.view(), empty, &mut workspace, &mut outcome).unwrap();
        assert!(outcome == before && outcome.counters.events() == 5);
    }
}

#[test]
fn ranges_append_to_what_there_is() {
    let (batch, engine) = (simulated(6, 3), velo(Preset::default()));
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
    for range in [0..2, 2..2, 2..5, 5..6] {
        engine.try_run_range(batch.view(), range, &mut workspace, &mut outcome).unwrap();
    }
    let (expected, count) = hashes_on(Sharing::threads(1), &engine, batch.view());
    let Outcome { results: tracks, counters } = outcome;
    assert_eq!((Hasher::of(&tracks), tracks.tracks(), counters.events()), (expected, count, 6));
}

#[test]
fn a_pool_needs_threads_and_slices() {
    for (threads, slice_events) in [(0, 4), (2, 0), (0, 0)] {
        let pool = Pool::new(velo(Preset::default()), threads, slice_events);
        let error = pool.expect_err("an error");
        assert!(matches!(&error, Error::Config(text) if text.contains("at least 1")), "{error}");
    }
}

#[test]
fn no_events_at_all() {
    let (batch, engine) = (VeloBatch::default(), velo(Preset::default()));
    let mut outcome = Outcome::<VeloTracks>::default();
    engine.try_run(batch.view(), &mut engine.workspace(), &mut outcome).unwrap();
    assert_eq!((outcome.counters, outcome.results.events()), (Counters::default(), 0));
    let mut pool = Pool::new(engine, 2, 4).unwrap();
    let mut sliced = Sliced::default();
    assert_eq!(pool.try_run(batch.view(), &mut sliced).unwrap().events(), 0);
    assert_eq!((sliced.slices().count(), sliced.events().count(), sliced.tracks()), (0, 0, 0));
    let none = pool.try_repeat(batch.view(), 3, |_, _| panic!("nothing is shown")).unwrap();
    assert_eq!(none, Counters::default());
}

/// Counts of a pass in which a visitor panicked do not enter the next passes.
#[test]
fn counts_begin_anew_after_a_visitor_that_panicked() {
    let batch = simulated(6, 3);
    let mut pool = Pool::new(velo(Preset::default()), 2, 2).unwrap();
    let mut panicking = || pool.try_repeat(batch.view(), 2, |_, _| panic!("a visitor"));
    catch_unwind(AssertUnwindSafe(&mut panicking)).expect_err("the visitor panics");
    assert_eq!(pool.try_repeat(batch.view(), 3, |_, _| ()).unwrap().events(), 3 * 6);
}

/// A large batch, a small batch, a large batch: an earlier batch does not affect later results.
#[test]
fn slices_are_used_again() {
    let pool = Pool::new(velo(Preset::default()), 2, 3).unwrap();
    let mut sliced = Sliced::default();
    for (events, slices) in [(10, 4), (2, 1), (0, 0), (7, 3)] {
        let batch = if events > 0 { simulated(events, events as u64) } else { VeloBatch::default() };
        let counters = pool.try_run(batch.view(), &mut sliced).unwrap();
        assert_eq!(counters, sliced.counters());
        assert_eq!((counters.events(), sliced.events().count()), (events as u64, events));
        assert_eq!(sliced.slices().count(), slices);
        let indices: Vec<usize> = sliced.events().map(|(_, index)| index).collect();
        assert_eq!(indices, (0..events).map(|event| event % 3).collect::<Vec<_>>());
        let tracks: usize = sliced.products().map(VeloTracks::tracks).sum();
        assert_eq!(sliced.tracks(), tracks);
        assert!(events == 0 || tracks > 0);
    }
}

#[test]
fn slots_begin_empty() {
    let mut sliced = Sliced::default();
    for slot in sliced.prepare(3, &[VELO_TRACKS]) {
        slot.columns_mut()[0].push_failed(Status::Corrupt);
        slot.counters.count_event(Status::Corrupt);
    }
    assert_eq!(sliced.counters().dropped().collect::<Vec<_>>(), [("corrupt", 3)]);
    assert!(sliced.prepare(2, &[VELO_TRACKS]).iter().all(|slot| slot.first().events() == 0));
    assert_eq!((sliced.counters(), sliced.slices().count()), (Counters::default(), 2));
    // The third slot was filled before.
    let slot = sliced.add(&[VELO_TRACKS]);
    assert_eq!((slot.first().events(), slot.counters), (0, Counters::default()));
    sliced.add(&[VELO_TRACKS]).columns_mut()[0].push_failed(Status::Corrupt);
    assert_eq!((sliced.slices().count(), sliced.events().count()), (4, 1));
}

/// Rows that are clusters, not events, have indices, too.
#[test]
fn slices_of_clusters() {
    let mut sliced = Sliced::default();
    for count in [2u32, 0, 3] {
        let slot = sliced.add(&[Handle::of::<PixelClusters>("clusters")]);
        let clusters: &mut PixelClusters = slot.get_mut().unwrap();
        (0..count).for_each(|i| {
            clusters.hits.push(i.into(), 1, 2, 3);
            clusters.hit_start.push(i + 1);
        });
        clusters.features.set_len(count as usize);
    }
    assert_eq!(sliced.events().map(|(_, index)| index).collect::<Vec<_>>(), [0, 1, 0, 1, 2]);
    assert_eq!(sliced.slices().map(|slice| slice.hits()).sum::<usize>(), 5);
}

#[test]
fn counts_since_a_moment_are_what_was_added() {
    let mut counters = Counters::default();
    counters.count_event(Status::Ok);
    counters.count_event(Status::NotFinite);
    counters.count_truncated(Truncation::LateHits, 4);
    counters.stages[2] = StageCounter {
        ns: 5,
        parts: [1, 2, 0, 0],
        items_in: 7,
        items_out: 6,
        lanes_active: 3,
        lanes_total: 8,
    };
    let before = counters;
    assert_eq!(counters.since(&before), Counters::default());

    let mut more = Counters::default();
    more.count_event(Status::InternalFault);
    more.count_truncated(Truncation::LateHits, 2);
    more.stages[2] = StageCounter {
        ns: 1,
        parts: [0, 1, 0, 0],
        items_in: 2,
        items_out: 3,
        lanes_active: 4,
        lanes_total: 5,
    };
    more.stages[7].items_out = 9;
    counters.merge(&more);
    assert_eq!(counters.since(&before), more);
    assert_eq!(counters.since(&Counters::default()), counters);
}
