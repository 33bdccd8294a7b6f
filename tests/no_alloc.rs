//! In steady state, the event path allocates nothing. One test in the program: the counter is global.

mod common;

use common::simulated;
use peloton::event::{PixelHits, VeloBatch, VeloTracks};
use peloton::pipeline::{Config, Engine, Pool, SlicedTracks};
use peloton::simd::Level;
use peloton::timepix::{Chain, TimepixConfig};
use peloton::truth::simulate::timepix::{PixelSim, PixelSimSpec};
use peloton::velo::Preset;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory of theirs.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of all threads while `work` runs.
fn allocations(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    work();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Simulated events, and some that are dropped.
fn events() -> VeloBatch {
    let mut batch = simulated(20, 3);
    let ends = [1; 52];
    let starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
    batch.push_event(20, &[f32::NAN], &[1.0], &[2.0], &starts);
    batch.push_event(21, &[1.0], &[1.0], &[2.0], &[]);
    batch
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1u8]))) > 0, "the counter counts");

    Preset::ALL.into_iter().for_each(steady_state_of);
}

fn steady_state_of(preset: Preset) {
    let (batch, engine) = (events(), Engine::new(&Config::preset(preset)).unwrap());
    let (mut workspace, mut tracks) = (engine.workspace(), VeloTracks::default());
    let first = allocations(|| {
        engine.run(batch.view(), &mut workspace, &mut tracks);
    });
    assert!(first > 0, "the first pass grows the columns");
    assert!(tracks.tracks() > 0);
    let second = allocations(|| {
        engine.run(batch.view(), &mut workspace, &mut tracks);
    });
    assert_eq!(second, 0, "{preset}: second pass, one thread");

    // Equal events: whichever thread takes one first has then seen the largest.
    let mut equal = VeloBatch::default();
    let one = simulated(1, 3);
    (0..64).for_each(|_| equal.append(&one));
    let (pool, mut tracks) = (Pool::new(2).unwrap(), SlicedTracks::default());
    pool.install(|| {
        for _ in 0..20 {
            pool.run(&engine, equal.view(), &mut tracks);
        }
        let steady = allocations(|| {
            for _ in 0..20 {
                pool.run(&engine, equal.view(), &mut tracks);
            }
        });
        assert_eq!(steady, 0, "{preset}: steady state, two threads");
    });

    // Pixel hits, a stream in blocks; the last pass of several has seen the largest block.
    let spec = PixelSimSpec { hits: 200_000, ..PixelSimSpec::default() };
    let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
    while sim.read(hits.len() + 1000, &mut hits) {}
    let layout = peloton::event::Layout::single(256, 256).unwrap();
    let config = TimepixConfig { disorder_us: Some(sim.disorder_us()), ..TimepixConfig::default() };
    let mut chain = Chain::new(&config, Level::choose(None, None).unwrap(), &layout).unwrap();
    let mut block = PixelHits::default();
    let mut pass = |clusters: &mut usize| {
        for start in (0..hits.len()).step_by(10_000) {
            block.clear();
            block.extend_from(&hits, start..hits.len().min(start + 10_000), 0);
            *clusters += chain.push(&block, start + 10_000 >= hits.len()).len();
        }
    };
    let mut clusters = 0;
    assert!(allocations(|| pass(&mut clusters)) > 0);
    assert!(clusters > 50_000);
    (0..3).for_each(|_| pass(&mut clusters));
    assert_eq!(allocations(|| pass(&mut clusters)), 0, "a stream of pixel hits");
}
