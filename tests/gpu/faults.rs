//! A device that fails in the middle of a slice: the error is returned, nothing hangs, and the stream works afterwards.
use crate::common::geometry::Detector;
use crate::common::ut::Sample;
use peloton::cylinder::{CylinderConfig, CylinderInput};
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, Outcome, PixelClusters, PixelHits};
use peloton::gpu::cylinder::{Capacity as CylinderCapacity, CylinderStream};
use peloton::gpu::timepix::PixelStream;
use peloton::gpu::ut::UtStream;
use peloton::gpu::velo::{Capacity, VeloStream};
use peloton::gpu::{Device, DeviceStream, Faults, Order};
use peloton::simd::Level;
use peloton::timepix::FindConfig;
use peloton::ut::{UtConfig, UtPreset};
use peloton::velo::{Velo, VeloConfig};
use peloton::{Error, Result};
use peloton_sim::CylinderSim;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Makes one call fail: of the emulated device, or of the fake driver.
pub enum Switch {
    Emulated(Faults),
    /// The file that `FAKE_CUDA_CONTROL` names.
    Fake(std::fs::File),
}

impl Switch {
    pub fn of_the_fake() -> Self {
        let path = std::env::var_os("FAKE_CUDA_CONTROL").expect("the fake driver");
        Self::Fake(std::fs::File::options().read(true).write(true).open(path).expect("a file"))
    }

    fn fail(&self, call: u64) {
        match self {
            Self::Emulated(faults) => faults.fail(call),
            Self::Fake(file) => file.write_all_at(&call.to_ne_bytes(), 0).expect("a file"),
        }
    }

    fn is_waiting(&self) -> bool {
        match self {
            Self::Emulated(faults) => faults.is_waiting(),
            Self::Fake(file) => {
                let mut left = [0; 8];
                file.read_exact_at(&mut left, 0).expect("a file");
                u64::from_ne_bytes(left) > 0
            }
        }
    }
}

/// The device under test, whose calls can fail. None for a real GPU, whose calls cannot.
fn failing() -> Option<(Device, Switch)> {
    if !crate::is_on_gpu() {
        let (device, faults) = Device::failing(Order::Forward).expect("a C++ compiler");
        return Some((device, Switch::Emulated(faults)));
    }
    std::env::var_os("FAKE_CUDA_CONTROL").map(|_| (crate::device(Order::Forward), Switch::of_the_fake()))
}

/// One test at a time, before it opens a stream: the fake driver counts the calls of all threads.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets every call fail in turn; each time the next run must give the result of the first run. Returns the number of calls.
/// A call that only frees memory may fail without an error.
pub fn fail_everywhere<T: PartialEq>(switch: &Switch, mut run: impl FnMut() -> Result<T>) -> u64 {
    let expected = run().expect("a run without a fault");
    let mut errors = 0;
    for call in 1.. {
        switch.fail(call);
        let done = run();
        let reached = !switch.is_waiting();
        switch.fail(0);
        match done {
            Err(Error::Device(what)) => {
                assert!(reached && what.contains("planted"), "{what}");
                errors += 1;
            }
            Err(other) => panic!("another error: {other}"),
            Ok(found) => {
                assert!(found == expected, "with a fault in call {call}");
                if !reached {
                    assert!(errors > call / 2, "{errors} errors of {call} calls");
                    return call;
                }
            }
        }
        assert!(run().expect("a run after a fault") == expected, "after a fault in call {call}");
    }
    unreachable!("calls end")
}

#[test]
fn velo() {
    let _one = one_at_a_time();
    let Some((device, switch)) = failing() else { return };
    let (config, batch) = (VeloConfig::default(), crate::common::simulated(3, 4));
    let sequence = Velo::new(Level::choose(None, None).unwrap(), config.clone()).unwrap();
    let mut stream = VeloStream::open(&device, &sequence, Capacity::new(2, &config)).unwrap();
    let calls = fail_everywhere(&switch, || {
        let mut out = Outcome::default();
        stream.run(batch.view().into(), 0..batch.len(), &mut out, &mut |_, _| ())?;
        let tracks = out.results;
        Ok((tracks.hits.to_vec(), tracks.track_start.to_vec(), tracks.status))
    });
    assert!(calls > 40, "{calls} calls");
}

/// Two events with hits in the UT.
pub fn ut_events() -> Sample {
    let detector = Detector::nominal();
    Sample::new(&detector, &detector.simulated(2, 5).0)
}

#[test]
fn ut() {
    let _one = one_at_a_time();
    let Some((device, switch)) = failing() else { return };
    let sample = ut_events();
    let config = UtConfig::preset(UtPreset::Hlt1);
    let mut stream = UtStream::open(&device, &config, &sample.layout).unwrap();
    let calls = fail_everywhere(&switch, || {
        let mut out = Outcome::default();
        stream.run(&sample.events.velo, &sample.events.groups, &mut out)?;
        Ok(out.results)
    });
    assert!(calls > 4, "{calls} calls");
}

/// A few hundred hits in small clusters.
pub fn pixel_hits() -> PixelHits {
    let mut hits = PixelHits::default();
    (0..300u32).for_each(|i| hits.push(i64::from(i / 3), (i * 7 % 13) as u16, (i * 5 % 11) as u16, 3));
    hits
}

#[test]
fn timepix() {
    let _one = one_at_a_time();
    let Some((device, switch)) = failing() else { return };
    let hits = pixel_hits();
    let mut stream = PixelStream::open(&device, &FindConfig::default(), None, 300).unwrap();
    let calls = fail_everywhere(&switch, || {
        let mut clusters = PixelClusters::default();
        stream.run(&hits, &mut clusters)?;
        Ok((clusters.hits.x.to_vec(), clusters.hit_start.to_vec()))
    });
    assert!(calls > 25, "{calls} calls");
}

/// Room for [`cylinder_events`].
pub const CYLINDER_ROOM: CylinderCapacity =
    CylinderCapacity { events: 2, hits: 60 * CYLINDER_LAYERS, seeds: 60 };

/// Two events of thirty tracks.
pub fn cylinder_events() -> (CylinderBatch, CylinderTruth) {
    let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    CylinderSim::new("sim:cylinder,events=2,tracks=30".parse().unwrap(), 0, None)
        .read(2, &mut hits, &mut truth);
    (hits, truth)
}

#[test]
fn cylinder() {
    let _one = one_at_a_time();
    let Some((device, switch)) = failing() else { return };
    let (hits, truth) = cylinder_events();
    let mut stream = CylinderStream::open(&device, &CylinderConfig::best(), CYLINDER_ROOM).unwrap();
    let calls = fail_everywhere(&switch, || {
        let mut out = Outcome::default();
        let input = CylinderInput { hits: &hits, seeds: &truth.particles };
        stream.run(input.into(), 0..2, &mut out, &mut |_, _| ())?;
        let tracks = out.results;
        Ok((tracks.hits.to_vec(), tracks.chi2.to_vec(), tracks.status))
    });
    assert!(calls > 25, "{calls} calls");
}
