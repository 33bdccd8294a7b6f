//! The same bits for every number of threads, slice length and batch size.

mod common;

use common::{hashes, samples, simulated};
use peloton::event::{Hasher, VeloBatch, VeloTracks};
use peloton::pipeline::{Config, Engine, Pool, SlicedTracks};
use peloton::velo::Preset;
use std::sync::Mutex;

#[test]
fn threads_and_slices() {
    for ((name, batch), preset) in
        samples().iter().flat_map(|sample| Preset::ALL.map(|preset| (sample, preset)))
    {
        let (expected, tracks) = hashes(&Config::preset(preset), batch, 1);
        assert!(tracks > 0, "{preset}, {name}");
        for threads in [1, 2, 3] {
            for slice_events in [1, 7, 64, 100_000] {
                let config = Config { slice_events, ..Config::preset(preset) };
                let found = hashes(&config, batch, threads).0;
                assert_eq!(found, expected, "{preset}, {name}: {threads} threads, slices of {slice_events}");
            }
        }
    }
}

/// Tracks that are shown and not kept are those that are kept.
#[test]
fn slices_shown_one_by_one() {
    let batch = simulated(50, 9);
    let engine = Engine::new(&Config { slice_events: 4, ..Config::default() }).unwrap();
    let pool = Pool::new(2).unwrap();
    let mut kept = SlicedTracks::default();
    let counters = pool.run(&engine, batch.view(), &mut kept);
    let seen = Mutex::new(vec![0; 13]);
    let again = pool.for_each_slice(&engine, batch.view(), |slice, tracks: &VeloTracks| {
        assert_eq!(Some(&tracks.hits), kept.slices().nth(slice).map(|tracks| &tracks.hits));
        seen.lock().unwrap()[slice] += 1;
    });
    assert_eq!(seen.into_inner().unwrap(), [1; 13]);
    assert_eq!(again.events(), 50);
    assert_eq!(again.stages[3].items_out, counters.stages[3].items_out);
}

#[test]
fn one_thread_of_ones_own() {
    let batch = simulated(20, 5);
    let engine = Engine::new(&Config::default()).unwrap();
    let (mut workspace, mut tracks) = (engine.workspace(), VeloTracks::default());
    // A workspace that has seen other events gives the same.
    engine.run(simulated(3, 99).view(), &mut workspace, &mut tracks);
    engine.run(batch.view(), &mut workspace, &mut tracks);
    let mut hasher = Hasher::<VeloTracks>::default();
    hasher.update(&tracks);
    assert_eq!(hasher.finish(), hashes(&Config::default(), &batch, 2).0);
}

#[test]
fn batch_size_and_neighbours() {
    let whole = simulated(24, 6);
    let expected = hashes(&Config::default(), &whole, 1).0;
    let engine = Engine::new(&Config::default()).unwrap();
    for size in [1, 5, 23] {
        let (mut workspace, mut tracks) = (engine.workspace(), VeloTracks::default());
        let mut hasher = Hasher::<VeloTracks>::default();
        for first in (0..whole.len()).step_by(size) {
            let mut batch = VeloBatch::default();
            for event in first..whole.len().min(first + size) {
                let event = whole.view().event(event);
                let start = event.module_start[0];
                let starts: Vec<_> = event.module_start.iter().map(|offset| offset - start).collect();
                batch.push_event(0, event.x, event.y, event.z, &starts);
            }
            engine.run(batch.view(), &mut workspace, &mut tracks);
            hasher.update(&tracks);
        }
        assert_eq!(hasher.finish(), expected, "batches of {size}");
    }
}
