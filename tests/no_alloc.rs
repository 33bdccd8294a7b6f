//! In steady state, the event path allocates nothing. One test in the program: the counter is global.

mod common;

use common::geometry::Detector;
use common::{best_level, data, read_raw, simulated, velo};
use peloton::cylinder::{
    Builder, CylinderConfig, CylinderFitWorkspace, CylinderInput, CylinderWorkspace, SeedSource,
    fit_particles, fit_tracks, reconstruct,
};
use peloton::engine::{Engine, Pool, SLICE_EVENTS, Sequence, Sliced, ThisThread};
use peloton::event::{
    CylinderBatch, CylinderTruth, Outcome, PixelBlock, PixelHits, RawBatch, Results, VeloBatch, VeloTracks,
    VeloUtTracks,
};
use peloton::long::{Bending, Long, LongConfig, LongPreset, LongUt};
use peloton::scifi::{self, SciFi, SciFiConfig, SciFiPreset, SciFiScratch};
use peloton::timepix::{Chain, TimepixConfig};
use peloton::ut::{self, UtPreset, UtScratch};
use peloton::velo::{Preset, Velo, VeloBanks, VeloConfig};
use peloton_io::input::timepix::{PixelFormat, PixelOptions, PixelReader, ReadEnd, write_tpx3};
use peloton_io::input::{CutEvents, Problems, RawReader, ReadOptions};
use peloton_sim::CylinderSim;
use peloton_sim::timepix::{PixelSim, PixelSimSpec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; counting touches none of its memory.
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
    on_cylinders();
    from_raw_banks();
    reading_records();
    reading_pixel_hits();
}

/// Events of an MDF file, chunk by chunk: one thread cuts the records, any thread reads them.
fn reading_records() {
    let Some(data) = data() else { return };
    let events = std::fs::read(data.join("lhcb/minbias_retina_truth.mdf")).expect("events");
    let stream = Cursor::new(events.repeat(12));
    let mut reader = RawReader::from_stream("events", stream, ReadOptions::default());
    let (mut batch, mut cut, mut notes) = (RawBatch::default(), CutEvents::default(), Vec::new());
    let mut problems = Problems::default();
    let mut chunk = || {
        allocations(|| {
            batch.clear();
            notes.clear();
            assert_eq!(reader.cut(21, &mut batch, &mut cut).expect("events"), 21);
            cut.parse(&ThisThread, &mut batch, &mut notes, &mut problems).expect("events");
            assert_eq!((batch.len(), notes.len()), (21, 21));
        })
    };
    assert!(chunk() > 0, "the first chunk grows");
    assert_eq!([chunk(), chunk(), chunk()], [0; 3]);
    assert_eq!(problems.count(), 0);
}

/// Hits of a .tpx3 file, block by block.
fn reading_pixel_hits() {
    let spec = PixelSimSpec { hits: 400_000, ..PixelSimSpec::default() };
    let (mut hits, mut bytes) = (PixelHits::default(), Vec::new());
    PixelSim::new(spec).read(400_000, &mut hits);
    write_tpx3(&hits, &mut bytes).expect("bytes in memory");
    let options = PixelOptions { format: PixelFormat::Tpx3, ..PixelOptions::default() };
    let mut reader = PixelReader::from_stream("hits", Cursor::new(bytes), options).expect("a stream");
    let mut block = PixelBlock::default();
    let mut read = || {
        allocations(|| {
            block.clear();
            assert_eq!(reader.read(10_000, &mut block).expect("hits"), ReadEnd::More);
        })
    };
    assert!(read() > 0, "the first block grows");
    // Pieces of the stream end anywhere, so that blocks differ a little.
    read();
    assert_eq!([read(), read(), read()], [0; 3]);
}

fn steady_state_of(preset: Preset) {
    let (batch, engine) = (events(), velo(preset));
    let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
    let first = allocations(|| {
        engine.try_run(batch.view(), &mut workspace, &mut outcome).unwrap();
    });
    assert!(first > 0, "the first pass grows the columns");
    assert!(outcome.results.tracks() > 0);
    let second = allocations(|| {
        engine.try_run(batch.view(), &mut workspace, &mut outcome).unwrap();
    });
    assert_eq!(second, 0, "{preset}: second pass, one thread");

    // Equal events: every thread has seen the largest event after its first.
    let mut equal = VeloBatch::default();
    let one = simulated(1, 3);
    (0..64).for_each(|_| equal.append(&one));
    let mut pool = Pool::new(engine, 2, SLICE_EVENTS).unwrap();
    let mut tracks = Sliced::default();
    // Rayon's queue of calls from outside grows by a block at every 63rd call: there are fewer calls here.
    let mut pass = || {
        for _ in 0..20 {
            pool.try_run(equal.view(), &mut tracks).unwrap();
        }
    };
    pass();
    assert_eq!(allocations(&mut pass), 0, "{preset}: steady state, two threads");
    let visit = |_: usize, tracks: &dyn Results| assert!(tracks.tracks() > 0);
    let mut repeat = || assert_eq!(pool.try_repeat(equal.view(), 50, visit).unwrap().events(), 50 * 64);
    repeat();
    assert_eq!(allocations(repeat), 0, "{preset}: steady state of passes, two threads");

    // Pixel hits, a stream in blocks; the last pass of several has seen the largest block.
    let spec = PixelSimSpec { hits: 200_000, ..PixelSimSpec::default() };
    let (mut sim, mut hits) = (PixelSim::new(spec), PixelHits::default());
    while sim.read(hits.len() + 1000, &mut hits) {}
    let layout = peloton::event::Layout::single(256, 256).unwrap();
    let config = TimepixConfig { disorder_us: Some(sim.disorder_us()), ..TimepixConfig::default() };
    let mut chain = Chain::new(&config, best_level(), &layout).unwrap();
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

/// Simulated events of the cylinder detector, and one that is dropped; every builder, seeds from truth and from hits.
fn on_cylinders() {
    let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    let text = "sim:cylinder,events=4,tracks=400,seed=3,noise=100,inefficiency=0.02";
    let mut sim = CylinderSim::new(text.parse().unwrap(), 0, None);
    while sim.read(8, &mut hits, &mut truth) > 0 {}
    hits.z[3] = f32::NAN;
    let level = best_level();
    for builder in [Builder::BestHit, Builder::Standard, Builder::CloneEngine] {
        for seeds in [SeedSource::Truth, SeedSource::Hits] {
            let config = CylinderConfig { builder, seeds, ..CylinderConfig::best() };
            let (mut workspace, mut outcome) = (CylinderWorkspace::default(), Outcome::default());
            let (mut refit, mut fits) = (CylinderFitWorkspace::default(), Outcome::default());
            let mut pass = || {
                outcome.clear();
                let input = CylinderInput { hits: &hits, seeds: &truth.particles };
                let range = 0..hits.len();
                reconstruct(level, &config, input, range, &mut workspace, &mut outcome);
                fit_particles(level, &config, input, 0..hits.len(), &mut outcome.results);
                fits.clear();
                fit_tracks(level, &config, input, 0..hits.len(), &mut refit, &mut fits);
                outcome.results.tracks()
            };
            let mut found = 0;
            assert!(allocations(|| found = pass()) > 0, "{builder}, {seeds}: the first pass grows");
            assert!(found > 1000, "{builder}, {seeds}: {found} tracks");
            assert_eq!(allocations(|| found = pass()), 0, "{builder}, {seeds}: second pass");
        }
    }
}

/// Raw banks of real events, and some that are dropped.
fn from_raw_banks() {
    let Some(data) = data() else { return };
    for (name, folder) in
        [("minbias_retina_truth.mdf", "geometry"), ("minbias_superpixel.mdf", "geometry_2018")]
    {
        let (mut raw, _) = read_raw(&data.join("lhcb").join(name));
        raw.close_event(7, peloton::Status::DaqError);
        let geometry = Detector::open(&data.join("lhcb").join(folder));
        let engine = geometry.velo_engine(best_level(), Preset::default());
        let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloTracks>::default());
        let mut pass = || {
            allocations(|| {
                engine.try_run(raw.view(), &mut workspace, &mut outcome).unwrap();
            })
        };
        assert!(pass() > 0, "{name}: the first pass grows");
        assert_eq!(pass(), 0, "{name}: second pass");
        other_decoders(&raw, &geometry);
        into_the_ut(&raw, &geometry);
        long_tracks(&raw, &geometry);
    }
}

/// Velo tracks into the UT, by all presets.
fn into_the_ut(raw: &RawBatch, geometry: &Detector) {
    for preset in UtPreset::ALL {
        let engine = geometry.velo_ut_engine(best_level(), preset);
        let (mut workspace, mut outcome) = (engine.workspace(), Outcome::<VeloUtTracks>::default());
        let mut pass = || {
            allocations(|| {
                engine.try_run(raw.view(), &mut workspace, &mut outcome).unwrap();
            })
        };
        assert!(pass() > 0, "the first pass grows");
        assert_eq!(pass(), 0, "{preset}: second pass into the UT");
        assert!(outcome.results.tracks() > 0);
    }
}

/// Velo, SciFi and long tracks.
fn long_tracks(raw: &RawBatch, geometry: &Detector) {
    for (seeding, matching) in [(SciFiPreset::Best, LongPreset::Best), (SciFiPreset::Hlt1, LongPreset::Hlt1)]
    {
        let level = best_level();
        let velo = Velo::new(level, VeloConfig::default()).unwrap();
        let velo = velo.with_sensors(geometry.velo.clone(), VeloBanks::Auto);
        let config = SciFiConfig::preset(seeding);
        let scifi = SciFi::new(level, config, geometry.scifi.clone(), geometry.polarity).unwrap();
        let bending = Bending::lhcb(geometry.polarity);
        let config = LongConfig::preset(matching);
        let (ut, parts) = (geometry.ut_detector(), (velo.clone(), scifi.clone()));
        let long = Long::sequence(velo, scifi, config.clone(), bending).unwrap();
        second_pass(long.writing(&["velo_tracks", "long_tracks"]).unwrap(), raw);
        second_pass(LongUt::sequence(parts.0, &ut, parts.1, config, bending).unwrap(), raw);
    }
}

/// Fails unless the second pass over the events allocates nothing.
fn second_pass(sequence: Sequence, raw: &RawBatch) {
    let engine = Engine::new(sequence);
    let (mut workspace, mut products) = (engine.workspace(), engine.products());
    let mut pass = || {
        allocations(|| {
            engine.run(raw.view(), &mut workspace, &mut products).unwrap();
        })
    };
    let name = engine.sequence().name();
    assert!(pass() > 0, "{name}: the first pass grows");
    assert_eq!(pass(), 0, "{name}: second pass");
}

fn other_decoders(raw: &RawBatch, geometry: &Detector) {
    let level = best_level();
    let (mut ut, mut hits) = (UtScratch::default(), Outcome::default());
    let (mut scifi, mut fibres) = (SciFiScratch::default(), Outcome::default());
    let mut pass = || {
        allocations(|| {
            hits.clear();
            fibres.clear();
            let all = 0..raw.len();
            ut::decode(level, &geometry.ut, raw.view(), all.clone(), &mut ut, &mut hits);
            scifi::decode(level, &geometry.scifi, raw.view(), all, &mut scifi, &mut fibres);
        })
    };
    assert!(pass() > 0, "the first pass grows");
    assert_eq!(pass(), 0, "second pass of the UT and the SciFi");
}
