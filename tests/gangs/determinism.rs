//! The same bits for every number of threads, slice length and batch size.

use crate::common::{Sharing, hashes, hashes_on, samples, simulated, velo};
use peloton::engine::{Pool, Sliced};
use peloton::event::{Hasher, Outcome, Product, VeloBatch, VeloTracks};
use peloton::velo::Preset;
use std::sync::Mutex;

#[test]
fn threads_and_slices() {
    for ((name, batch), preset) in
        samples().iter().flat_map(|sample| Preset::ALL.map(|preset| (sample, preset)))
    {
        let engine = velo(preset);
        let (expected, tracks) = hashes(&engine, batch.view());
        assert!(tracks > 0, "{preset}, {name}");
        for threads in [1, 2, 3] {
            for slice_events in [1, 7, 64, 100_000] {
                let found = hashes_on(Sharing { threads, slice_events }, &engine, batch.view()).0;
                assert_eq!(found, expected, "{preset}, {name}: {threads} threads, slices of {slice_events}");
            }
        }
    }
}

/// A visitor of slices sees the tracks that a run without a visitor keeps.
#[test]
fn slices_shown_one_by_one() {
    let batch = simulated(50, 9);
    let mut pool = Pool::new(velo(Preset::default()), 2, 4).unwrap();
    let mut kept = Sliced::default();
    let counters = pool.try_run(batch.view(), &mut kept).unwrap();
    let seen = Mutex::new(vec![0; 13]);
    let again = pool.try_repeat(batch.view(), 3, |slice, tracks| {
        let tracks: &VeloTracks = tracks.get().unwrap();
        assert_eq!(Some(&tracks.hits), kept.products::<VeloTracks>().nth(slice).map(|tracks| &tracks.hits));
        seen.lock().unwrap()[slice] += 1;
    });
    assert_eq!(seen.into_inner().unwrap(), [3; 13]);
    let again = again.unwrap();
    assert_eq!(again.events(), 150);
    assert_eq!(again.stages[3].items_out, 3 * counters.stages[3].items_out);
}

#[test]
fn one_thread_of_ones_own() {
    let batch = simulated(20, 5);
    let engine = velo(Preset::default());
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
    // A workspace that has seen other events gives the same result.
    engine.try_run(simulated(3, 99).view(), &mut workspace, &mut outcome).unwrap();
    engine.try_run(batch.view(), &mut workspace, &mut outcome).unwrap();
    assert_eq!(Hasher::of(&outcome.results), hashes_on(Sharing::threads(2), &engine, batch.view()).0);
}

#[test]
fn batch_size_and_neighbours() {
    let whole = simulated(24, 6);
    let engine = velo(Preset::default());
    let expected = hashes(&engine, whole.view()).0;
    for size in [1, 5, 23] {
        let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
        let mut hasher = Hasher::new(VeloTracks::SCHEMA);
        for first in (0..whole.len()).step_by(size) {
            let mut batch = VeloBatch::default();
            for event in first..whole.len().min(first + size) {
                let event = whole.view().event(event);
                let start = event.module_start[0];
                let starts: Vec<_> = event.module_start.iter().map(|offset| offset - start).collect();
                batch.push_event(0, event.x, event.y, event.z, &starts);
            }
            engine.try_run(batch.view(), &mut workspace, &mut outcome).unwrap();
            hasher.update(&outcome.results);
        }
        assert_eq!(hasher.finish(), expected, "batches of {size}");
    }
}
