//! The Velo kernels on the emulated device: the CPU's tracks, bit by bit, whatever the order of lanes, the slices and
//! the room there is.
#![cfg(feature = "cuda")]
mod common;

use common::{reference10, simulated};
use peloton::event::{Counters, VeloBatch};
use peloton::gpu::velo::Capacity;
use peloton::gpu::{Emulated, GpuPool, Order, Runner};
use peloton::output::{Hashes, TrackHasher};
use peloton::pipeline::{Config, SlicedTracks};
use peloton::velo::VeloConfig;

const ORDERS: [Order; 3] = [Order::Forward, Order::Reverse, Order::Random(7)];

fn on_device(order: Order, config: &VeloConfig, batch: &VeloBatch, capacity: Capacity) -> (Hashes, SlicedTracks, Counters) {
    let device = Emulated::new(order).expect("a C++ compiler");
    let mut pool = GpuPool::new(&device, config, 2, capacity).expect("memory");
    let mut tracks = SlicedTracks::default();
    let counters = pool.run(batch.view(), &mut tracks).expect("kernels that run");
    assert_eq!(counters.events(), batch.len() as u64, "every event is accounted for");
    let mut hasher = TrackHasher::default();
    tracks.slices().for_each(|tracks| hasher.update(tracks));
    (hasher.finish(), tracks, counters)
}

#[test]
fn real_and_simulated_events_give_the_bits_of_the_cpu() {
    for (name, batch) in common::samples() {
        let config = Config::default();
        let (expected, count) = common::hashes(&config, &batch, 1);
        for order in ORDERS {
            let capacity = Capacity::new(16, &config.velo);
            let (found, tracks, _) = on_device(order, &config.velo, &batch, capacity);
            assert_eq!(tracks.tracks(), count, "{name}, {order:?}");
            assert_eq!(found, expected, "{name}, {order:?}");
        }
    }
}
