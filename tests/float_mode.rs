//! The same bits in a host that flushes denormals to zero or rounds upwards, in its own thread and in threads of a pool.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]

mod common;
#[path = "common/host_mode.rs"]
mod host_mode;

use common::geometry::Detector;
use common::{Sharing, best_level, data, hashes, hashes_on, simulated, velo};
use host_mode::HostMode;
use peloton::cylinder::{Cylinder, CylinderConfig, CylinderFit, CylinderInput, fit_particles};
use peloton::engine::{Engine, Events, Executor, Sliced, Streaming};
use peloton::event::{
    CylinderBatch, CylinderTracks, CylinderTruth, Hasher, Hashes, Layout, PixelClusters, PixelHits, Product,
    RawBatch, VeloBatch,
};
use peloton::scifi::SciFiHits;
use peloton::simd::with_default_float_mode;
use peloton::timepix::{PixelBatch, Timepix, TimepixConfig, Workers};
use peloton::ut::{UtHits, UtTables};
use peloton::velo::Preset;
use peloton_io::input::{ReadOptions, VeloReader};
use peloton_sim::timepix::{PixelSim, PixelSimSpec};
use peloton_sim::{CylinderSim, LhcbReader};
use std::hint::black_box;
use std::io::Cursor;
use std::path::PathBuf;

/// Inputs, made in the default mode.
struct Inputs {
    velo: VeloBatch,
    denormal: VeloBatch,
    cylinder: (CylinderBatch, CylinderTruth),
    raw: RawBatch,
    geometry: Detector,
    pixels: PixelHits,
    timepix: TimepixConfig,
    folder: PathBuf,
}

impl Drop for Inputs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Inputs {
    fn new() -> Self {
        let velo = simulated(12, 7);
        let mut cylinder = (CylinderBatch::default(), CylinderTruth::default());
        let text = "sim:cylinder,events=2,tracks=120,seed=4,noise=60,inefficiency=0.03";
        let mut sim = CylinderSim::new(text.parse().unwrap(), 0, None);
        while sim.read(8, &mut cylinder.0, &mut cylinder.1) > 0 {}

        let geometry = Detector::nominal();
        let mut reader = LhcbReader::new("sim:lhcb,events=3,seed=4".parse().unwrap(), 0, None);
        let mut raw = RawBatch::default();
        while let Some(event) = reader.next(&geometry.to_fly_through()) {
            event.push(&mut raw);
        }

        let mut sim = PixelSim::new(PixelSimSpec { hits: 60_000, ..PixelSimSpec::default() });
        let mut pixels = PixelHits::default();
        while sim.read(pixels.len() + 1000, &mut pixels) {}
        let folder = std::env::temp_dir().join(format!("peloton-float-mode-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, value) in [("a.txt", "0.3 "), ("b.txt", "7.1 "), ("c.txt", "11.3 "), ("t.txt", "-0.7 ")] {
            std::fs::write(folder.join(name), value.repeat(256 * 256)).unwrap();
        }
        let timepix = TimepixConfig {
            disorder_us: Some(sim.disorder_us()),
            calibration: Some(folder.clone()),
            time_walk: Some([30.3, 1.7, 0.9, -0.3]),
            ..TimepixConfig::default()
        };
        let denormal = denormal(&velo);
        Self { velo, denormal, cylinder, raw, geometry, pixels, timepix, folder }
    }

    /// All results, computed in the mode of the calling thread, by name.
    fn results(&self) -> Vec<(String, Vec<u64>)> {
        let mut all = Vec::new();
        for preset in Preset::ALL {
            for (name, batch) in [("velo", &self.velo), ("velo, denormal", &self.denormal)] {
                all.extend(ways(&format!("{name}, {preset}"), &velo(preset), batch.view()));
            }
        }
        let (level, geometry) = (best_level(), &self.geometry);
        let banks = self.raw.view();
        all.extend(ways("velo from banks", &geometry.velo_engine(level, Preset::default()), banks));
        all.extend(ways("ut", &Engine::new(UtHits::new(level, geometry.ut.clone())), banks));
        all.extend(ways("scifi-hits", &Engine::new(SciFiHits::new(level, geometry.scifi.clone())), banks));
        let cylinder = Cylinder::new(level, CylinderConfig::best()).unwrap();
        all.extend(ways("cylinder", &Engine::new(cylinder), self.cylinder_input()));
        let fit = CylinderFit::new(level, CylinderConfig::best()).unwrap();
        all.extend(ways("cylinder-fit", &Engine::new(fit), self.cylinder_input()));
        all.push(("cylinder, fit of particles".into(), self.cylinder_fits()));
        for threads in [1, 2] {
            all.push((format!("timepix workers, {threads}"), of(self.of_workers(threads))));
            all.push((format!("timepix sequence, {threads}"), of(self.of_stream(threads))));
        }
        all.push(("numbers of files".into(), numbers()));
        let text = format!("{:?} {:?}", Detector::nominal(), UtTables::nominal());
        all.push(("nominal geometry".into(), of_text(&text)));
        if let Some(data) = data() {
            let read = Detector::open(&data.join("lhcb/geometry"));
            all.push(("geometry of files".into(), of_text(&format!("{read:?}"))));
        }
        all
    }

    fn cylinder_input(&self) -> CylinderInput<'_> {
        CylinderInput { hits: &self.cylinder.0, seeds: &self.cylinder.1.particles }
    }

    fn cylinder_fits(&self) -> Vec<u64> {
        let level = best_level();
        let mut fits = CylinderTracks::default();
        fit_particles(level, &CylinderConfig::best(), self.cylinder_input(), 0..2, &mut fits);
        fits.state.iter().flat_map(|column| column.iter().map(|x| x.to_bits().into())).collect()
    }

    fn of_workers(&self, threads: usize) -> Hashes {
        let layout = Layout::single(256, 256).unwrap();
        let mut workers = Workers::new(&self.timepix, best_level(), &layout, threads).unwrap();
        let mut hasher = Hasher::new(PixelClusters::SCHEMA);
        workers.push(&self.pixels, false).iter().for_each(|part| hasher.update(part));
        workers.push(&PixelHits::default(), true).iter().for_each(|part| hasher.update(part));
        hasher.finish()
    }

    fn of_stream(&self, threads: usize) -> Hashes {
        let layout = Layout::single(256, 256).unwrap();
        let mut stream = Streaming(Timepix::new(&self.timepix, best_level(), &layout, threads).unwrap());
        let mut piece = PixelBatch { end: true, ..PixelBatch::default() };
        piece.block.hits.extend_from(&self.pixels, 0..self.pixels.len(), 0);
        let mut clusters = Sliced::default();
        let counters = stream.run(&piece, &mut clusters).unwrap();
        assert_eq!(counters.stages[0].items_in, self.pixels.len() as u64);
        let mut hasher = Hasher::new(PixelClusters::SCHEMA);
        clusters.slices().for_each(|part| hasher.update(&**part));
        hasher.finish()
    }
}

/// Results of a sequence in a thread of the host and in threads of a pool, by name.
fn ways<'a>(name: &str, engine: &Engine, events: impl Into<Events<'a>>) -> Vec<(String, Vec<u64>)> {
    let events = events.into();
    let (mut workspace, mut found) = (engine.workspace(), engine.products());
    engine.run(events, &mut workspace, &mut found).unwrap();
    let found = found.first();
    assert!(found.hits() > 1000, "{name}: {} hits", found.hits());
    let on_threads = hashes_on(Sharing::threads(2), engine, events).0;
    vec![
        (format!("{name}, engine"), of(Hasher::of(&**found))),
        (format!("{name}, pool"), of(on_threads)),
        (format!("{name}, pool of one"), of(hashes(engine, events).0)),
    ]
}

/// The events with all hits above and below the beam: x of each hit is a different denormal number.
fn denormal(from: &VeloBatch) -> VeloBatch {
    let mut batch = VeloBatch::default();
    for event in 0..from.len() {
        let event = from.view().event(event);
        let start = event.module_start[0];
        let starts: Vec<_> = event.module_start.iter().map(|offset| offset - start).collect();
        let x: Vec<f32> =
            (0..event.x.len()).map(|i| f32::from_bits(1 + (i as u32 * 7919) % 0x7f_fff0)).collect();
        batch.push_event(0, &x, event.y, event.z, &starts);
    }
    batch
}

fn of(hashes: Hashes) -> Vec<u64> {
    vec![hashes.int, hashes.output]
}

fn of_text(text: &str) -> Vec<u64> {
    text.bytes().map(u64::from).collect()
}

/// Bits of numbers that are read from texts.
fn numbers() -> Vec<u64> {
    let starts = format!("0{}", ",1".repeat(52));
    let json = format!(r#"{{"x":[0.3],"y":[0.7],"z":[-287.3],"module_prefix_sum":[{starts}]}}"#);
    let mut reader = VeloReader::from_stream("test", Cursor::new(json), ReadOptions::default());
    let (mut batch, mut truth) = (VeloBatch::default(), Vec::new());
    reader.read(1, &mut batch, &mut truth).unwrap();
    let hits = [&batch.x, &batch.y, &batch.z].map(|column| u64::from(column[0].to_bits()));
    hits.into()
}

/// Minus one third, and half of the smallest normal number.
fn shown() -> [u32; 2] {
    let [a, b] = [(-1.0f32, 3.0), (f32::MIN_POSITIVE, 2.0)].map(|(a, b)| black_box(a) / black_box(b));
    [a.to_bits(), b.to_bits()]
}

#[test]
fn every_result_has_the_same_bits_in_every_mode_of_the_host() {
    let inputs = Inputs::new();
    let expected = inputs.results();
    let mut changed = Vec::new();
    for mode in HostMode::ALL {
        let found = mode.run(|| inputs.results());
        let other = found.iter().zip(&expected).filter(|(found, expected)| found != expected);
        changed.extend(other.map(|(found, _)| format!("{mode:?} changes {}", found.0)));
    }
    assert!(changed.is_empty(), "{changed:#?}");
}

#[test]
fn the_host_s_mode_is_another_one_and_comes_back() {
    let usual = shown();
    for (mode, changed) in HostMode::ALL.into_iter().zip([1, 0]) {
        let (before, inside, after) = mode.run(|| (shown(), with_default_float_mode(shown), shown()));
        assert_eq!(inside, usual, "{mode:?}");
        assert_eq!(before, after, "{mode:?}");
        assert_ne!(before[changed], usual[changed], "{mode:?}");
        assert_eq!(before[1 - changed], usual[1 - changed], "{mode:?}");
    }
}

/// Kernels of other crates are dispatched by the macro alone.
#[test]
fn a_kernel_of_one_s_own_runs_in_the_default_mode() {
    use peloton::simd::Gang;

    #[inline(always)]
    fn thirds<G: Gang>(g: G, out: &mut [f32]) {
        g.f_store_some(g.f_div(g.f_splat(-1.0), g.f_splat(black_box(3.0))), out, g.m_first(1));
    }

    let level = best_level();
    let third = || {
        let mut out = [0.0];
        peloton::dispatch!(level, g => thirds(g, &mut out));
        out[0].to_bits()
    };
    assert_eq!(third(), shown()[0]);
    for mode in HostMode::ALL {
        assert_eq!(mode.run(third), third(), "{mode:?}");
    }
}
