//! Tests of the calls to a GPU without a GPU: they run this program again with the libcuda of `fake_driver`, which runs the
//! kernels on the CPU. They cover `src/gpu/driver/cuda.rs`: context, code, streams, events, copies, launches.
use crate::faults::{Switch, fail_everywhere, one_at_a_time};
use peloton::cylinder::{CylinderConfig, CylinderInput};
use peloton::engine::StreamSequence;
use peloton::event::{Layout, Outcome, PixelClusters, VeloTracks};
use peloton::gpu::cylinder::CylinderStream;
use peloton::gpu::timepix::{PixelDevice, PixelStream};
use peloton::gpu::ut::UtStream;
use peloton::gpu::velo::{Capacity, VeloStream};
use peloton::gpu::{Device, DeviceStream, emulated_lanes, emulated_library};
use peloton::simd::Level;
use peloton::timepix::{PixelBatch, TimepixConfig};
use peloton::ut::{UtConfig, UtPreset};
use peloton::velo::{Velo, VeloConfig};
use peloton_sim::timepix::{PixelPreset, PixelSim, PixelSimSpec};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// A folder with the fake libcuda, made once.
fn driver() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let make = || {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/fake_driver/fake_driver.cpp");
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let made = Command::new(&compiler)
            .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o"])
            .arg(folder.path().join("libcuda.so"))
            .arg(source)
            .arg("-ldl")
            .output()
            .expect("a C++ compiler");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        folder
    };
    FOLDER.get_or_init(make).path()
}

/// Gives the fake driver, if it is in use, the addresses of the lane programs in this process.
pub fn bring_lane_programs() {
    let Some(path) = std::env::var_os("FAKE_CUDA_CONTROL") else { return };
    let control = std::fs::File::options().write(true).open(path).expect("a file");
    let words = emulated_lanes().map(|word| (word as u64).to_ne_bytes());
    control.write_all_at(words.as_flattened(), 32).expect("a file");
}

/// Runs tests of this program by their names under the fake driver; returns their output.
fn under_the_fake(tests: &[&str], variables: &[(&str, &str)]) -> String {
    let control = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(control.path(), [0; 48]).expect("a file");
    let before = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(tests)
        .args(["--include-ignored", "--nocapture"])
        .env("RUST_TEST_THREADS", "2")
        .env("LD_LIBRARY_PATH", format!("{}:{before}", driver().display()))
        .env("FAKE_CUDA_KERNELS", emulated_library().expect("a C++ compiler"))
        .env("FAKE_CUDA_CONTROL", control.path())
        .env("PELOTON_TEST_DEVICE", "gpu")
        .envs(variables.iter().copied());
    let output = command.output().expect("this program runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{tests:?}, {variables:?}: {text}");
    assert!(!text.contains(" 0 passed"), "no test ran: {text}");
    text
}

#[test]
fn sequences_give_the_bits_of_the_cpu() {
    under_the_fake(
        &[
            "velo::streams_and_slices",
            "velo::too_little_room",
            "velo::raw_banks_give",
            "timepix::simulated",
            "cylinder::streams_grow",
            "cylinder::too_little_room",
            "cylinder::the_pool_is",
            "ut::",
        ],
        &[],
    );
}

/// Every call of the driver fails once, while a stream runs, and while device and stream are opened: the error is returned, and
/// the next run works.
#[test]
fn every_call_of_the_driver_fails_once() {
    under_the_fake(&["faults::", "fake::inside_every_call"], &[]);
}

#[test]
fn what_cannot_be_had_is_said_in_one_sentence() {
    let cases = [
        (("FAKE_CUDA_GPUS", "0"), "no GPU: NVIDIA's driver finds none on this machine"),
        (
            ("FAKE_CUDA_VERSION", "11040"),
            "no GPU: NVIDIA's driver is too old: it supports CUDA 11.4, but CUDA 12.0",
        ),
        (("FAKE_CUDA_SM", "61"), "fake GPU, sm_61, is too old: kernels are for sm_70 and later"),
        (("PELOTON_CUBIN", "/nonexistent.cubin"), "/nonexistent.cubin"),
        (("PELOTON_CUBIN", "/dev/null"), "CUDA: "),
        (("FAKE_CUDA_GPUS", "3"), "fake GPU, sm_90, driver of CUDA 13.0, kernels sm_90.cubin"),
        (("FAKE_CUDA_SM", "86"), "fake GPU, sm_86, driver of CUDA 13.0, kernels sm_80.cubin"),
        (("FAKE_CUDA_SM", "120"), "fake GPU, sm_120, driver of CUDA 13.0, kernels compute_70.ptx"),
    ];
    for (variable, sentence) in cases {
        let text = under_the_fake(&["fake::inside_what_is_there"], &[variable]);
        let line = text.lines().find_map(|line| line.split("found: ").nth(1)).unwrap_or_default();
        assert!(line.contains(sentence), "{variable:?}: {text}");
    }
    let text = under_the_fake(&["fake::inside_what_is_there"], &[("FAKE_CUDA_GPUS", "3")]);
    assert!(text.contains("GPUs: 3") && text.contains("no GPU 7: there are 3, counted from 0"), "{text}");
}

/// Largest CPU time of the host for a pixel hit, ns: twice the time measured on a busy machine with little optimised code.
const MOST_HOST_NS: [(PixelPreset, f64); 2] = [(PixelPreset::Pion45, 10.0), (PixelPreset::Am241, 15.0)];

/// Largest CPU time of the host for an event of the Velo, us, with decoding of its raw banks and the copy of its tracks.
const MOST_VELO_US: f64 = 80.0;

/// Host time for each hit and event, with kernels that return stored clusters and tracks.
#[test]
fn the_host_has_little_work() {
    let text = under_the_fake(&["fake::inside_host_time", "--test-threads=1"], &[]);
    text.lines().filter(|line| line.contains(" of CPU")).for_each(|line| println!("{line}"));
}

#[test]
#[ignore = "runs under the fake driver, started by another test"]
fn inside_host_time() {
    let control = Control::open();
    for (preset, most) in MOST_HOST_NS {
        let spec = PixelSimSpec { preset, hits: 600_000, delay_us: 20.0, ..PixelSimSpec::default() };
        let mut sim = PixelSim::new(spec);
        let mut piece = PixelBatch { end: true, ..PixelBatch::default() };
        while sim.read(piece.block.hits.len() + 100_000, &mut piece.block.hits) {}
        let config = TimepixConfig { disorder_us: Some(sim.disorder_us()), ..TimepixConfig::default() };
        let layout = Layout::single(256, 256).unwrap();
        let mut device = PixelDevice::new(Device::gpu(0).unwrap(), &config, &layout, 1 << 18, 3).unwrap();
        let [mut clusters, mut again] = [PixelClusters::default(), PixelClusters::default()];
        let mut collect = |mode, to: &mut PixelClusters| {
            control.set_mode(mode);
            device.push(&piece, &mut |part| to.extend_from(part, 0..part.len())).unwrap();
        };
        collect(1, &mut clusters);
        collect(2, &mut again);
        assert!(clusters == again && clusters.len() > 1000, "stored clusters are those that were found");
        let hits = piece.block.hits.len();
        let best = control.least_ns(|| device.push(&piece, &mut |_| ()).unwrap()) / hits as f64;
        let size = hits as f64 / clusters.len() as f64;
        println!("{preset:?}, {size:.1} hits a cluster: {best:.2} ns of CPU a hit");
        control.set_mode(0);
        // Nearly all of this time is copying: 4 to 13 ns on a busy machine, more for smaller clusters.
        assert!(best < most, "{preset:?}: {best} ns of CPU a hit, and {most} at most");
    }
}

/// Host time for each event of the Velo from raw banks, with kernels that return stored tracks.
#[test]
#[ignore = "runs under the fake driver, started by another test"]
fn inside_host_time_of_the_velo() {
    let control = Control::open();
    let (velo, raw) = crate::velo::raw_banks(512);
    let capacity = Capacity::new(512, velo.config());
    let mut stream = VeloStream::open(&Device::gpu(0).unwrap(), &velo, capacity).unwrap();
    let mut out = Outcome::default();
    let mut run = |out: &mut Outcome<VeloTracks>| {
        out.results.clear();
        stream.run(raw.view().into(), 0..512, out, &mut |_, _| ()).unwrap();
    };
    control.set_mode(1);
    run(&mut out);
    let expected = out.results.clone();
    control.set_mode(2);
    run(&mut out);
    assert!(out.results == expected, "stored tracks are those that were found");
    let us = control.least_ns(|| run(&mut out)) / 512e3;
    println!("{us:.1} us of CPU an event of the Velo, {} tracks", expected.tracks());
    assert!(us < MOST_VELO_US, "{us} us of CPU an event, and {MOST_VELO_US} at most");
}

/// The control file of the fake driver.
struct Control(std::fs::File);

impl Control {
    fn open() -> Self {
        let path = std::env::var_os("FAKE_CUDA_CONTROL").expect("the fake driver");
        Self(std::fs::File::options().read(true).write(true).open(path).expect("a file"))
    }

    /// Sets the mode: 0 runs kernels, 1 also stores their results, 2 returns the stored results.
    fn set_mode(&self, mode: u64) {
        self.0.write_all_at(&mode.to_ne_bytes(), 16).expect("a file");
    }

    /// CPU time of this thread without the fake driver's work in place of a GPU, ns.
    fn host_ns(&self) -> u64 {
        let mut ns = [0; 8];
        self.0.read_exact_at(&mut ns, 24).expect("a file");
        cpu_ns() - u64::from_ne_bytes(ns)
    }

    /// CPU time of the shortest of 20 passes, ns.
    fn least_ns(&self, mut pass: impl FnMut()) -> f64 {
        let passes = (0..20).map(|_| {
            let begin = self.host_ns();
            pass();
            (self.host_ns() - begin) as f64
        });
        passes.fold(f64::INFINITY, f64::min)
    }
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[test]
#[ignore = "runs under the fake driver, started by another test"]
fn inside_what_is_there() {
    let words = |device: peloton::Result<Device>| {
        device.map_or_else(|error| error.to_string(), |device| device.name())
    };
    println!("\nfound: {}", words(Device::gpu(0)));
    println!("GPUs: {}", Device::all_gpus().map_or(0, |all| all.len()));
    println!("{}", words(Device::gpu(7)));
}

#[test]
#[ignore = "runs under the fake driver, started by another test"]
fn inside_every_call() {
    let _one = one_at_a_time();
    let (switch, config) = (Switch::of_the_fake(), VeloConfig::default());
    let batch = crate::common::simulated(2, 4);
    let velo = Velo::new(Level::choose(None, None).unwrap(), config.clone()).unwrap();
    let calls = fail_everywhere(&switch, || {
        let device = Device::gpu(0)?;
        let mut stream = VeloStream::open(&device, &velo, Capacity::new(2, &config))?;
        stream.set_timed(true);
        let mut out = Outcome::default();
        stream.run(batch.view().into(), 0..batch.len(), &mut out, &mut |_, _| ())?;
        Ok((out.results.hits.to_vec(), out.results.status))
    });
    assert!(calls > 150, "{calls} calls");

    let hits = crate::faults::pixel_hits();
    let calls = fail_everywhere(&switch, || {
        let mut stream = PixelStream::open(&Device::gpu(0)?, &Default::default(), None, 300)?;
        let mut clusters = Default::default();
        stream.run(&hits, &mut clusters)?;
        Ok(clusters.hits.x.to_vec())
    });
    assert!(calls > 100, "{calls} calls");

    bring_lane_programs();
    let sample = crate::faults::ut_events();
    let calls = fail_everywhere(&switch, || {
        let (device, config) = (Device::gpu(0)?, UtConfig::preset(UtPreset::Hlt1));
        let mut stream = UtStream::open(&device, &config, &sample.layout)?;
        let mut out = Outcome::default();
        stream.run(&sample.events.velo, &sample.events.groups, &mut out)?;
        Ok(out.results)
    });
    assert!(calls > 100, "{calls} calls");

    let (hits, truth) = crate::faults::cylinder_events();
    let calls = fail_everywhere(&switch, || {
        let device = Device::gpu(0)?;
        let capacity = crate::faults::CYLINDER_ROOM;
        let mut stream = CylinderStream::open(&device, &CylinderConfig::best(), capacity)?;
        let mut out = Outcome::default();
        let input = CylinderInput { hits: &hits, seeds: &truth.particles };
        stream.run(input.into(), 0..2, &mut out, &mut |_, _| ())?;
        Ok(out.results.chi2.to_vec())
    });
    assert!(calls > 100, "{calls} calls");
}
