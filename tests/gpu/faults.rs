//! A device that fails in the middle of a slice: the error comes out, nothing hangs, and the stream works afterwards.
use peloton::cylinder::{CylinderConfig, CylinderInput};
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, Outcome, PixelClusters, PixelHits};
use peloton::gpu::cylinder::CylinderStream;
use peloton::gpu::timepix::PixelStream;
use peloton::gpu::velo::{Capacity, VeloStream};
use peloton::gpu::{Arguments, Device, DeviceStream, Emulated, Kernel, Order, Queue};
use peloton::simd::Level;
use peloton::timepix::FindConfig;
use peloton::velo::{Velo, VeloConfig};
use peloton::{Error, Result};
use peloton_sim::CylinderSim;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// An emulated device whose calls fail once a countdown reaches zero.
struct Failing {
    device: Emulated,
    left: Arc<AtomicI64>,
}

struct FailingQueue {
    queue: <Emulated as Device>::Queue,
    left: Arc<AtomicI64>,
}

impl Failing {
    fn new() -> Self {
        let device = Emulated::new(Order::Forward).expect("a C++ compiler");
        Self { device, left: Arc::new(AtomicI64::new(i64::MAX)) }
    }
}

impl FailingQueue {
    fn call(&self) -> Result<()> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1 => Err(Error::Device("planted".into())),
            _ => Ok(()),
        }
    }
}

impl Device for Failing {
    type Queue = FailingQueue;

    fn kind(&self) -> &'static str {
        self.device.kind()
    }

    fn name(&self) -> String {
        self.device.name()
    }

    fn open(&self, arena: usize, staging: usize) -> Result<FailingQueue> {
        Ok(FailingQueue { queue: self.device.open(arena, staging)?, left: self.left.clone() })
    }
}

impl Queue for FailingQueue {
    fn arena(&self) -> u64 {
        self.queue.arena()
    }

    fn staging(&mut self) -> &mut [u8] {
        self.queue.staging()
    }

    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        self.call()?;
        self.queue.copy_in(from, to)
    }

    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        self.call()?;
        self.queue.copy_out(from, to)
    }

    fn launch<A: Arguments>(&mut self, kernel: Kernel, blocks: u32, threads: u32, args: &A) -> Result<()> {
        self.call()?;
        self.queue.launch(kernel, blocks, threads, args)
    }

    fn wait(&mut self) -> Result<()> {
        // What was asked for is under way, whatever is said of it.
        self.queue.wait()?;
        self.call()
    }

    fn times(&mut self, visit: &mut dyn FnMut(Kernel, u64)) -> Result<()> {
        self.queue.times(visit)
    }
}

/// Lets every call fail in turn; each time the next run must give what the first one gave. Says how many calls there are.
fn fail_everywhere<T: PartialEq>(left: &AtomicI64, mut run: impl FnMut() -> Result<T>) -> i64 {
    let expected = run().expect("a run without a fault");
    for call in 1.. {
        left.store(call, Ordering::Relaxed);
        let done = run();
        let reached = left.swap(i64::MAX, Ordering::Relaxed) <= 0;
        match done {
            Err(Error::Device(what)) => assert!(reached && what == "planted", "{what}"),
            Err(other) => panic!("another error: {other}"),
            Ok(found) => {
                assert!(!reached && found == expected);
                return call;
            }
        }
        assert!(run().expect("a run after a fault") == expected, "after a fault in call {call}");
    }
    unreachable!("calls end")
}

#[test]
fn velo() {
    let (device, config, batch) = (Failing::new(), VeloConfig::default(), crate::common::simulated(3, 4));
    let sequence = Velo::new(Level::choose(None, None).unwrap(), config.clone()).unwrap();
    let mut stream = VeloStream::open(&device, &sequence, Capacity::new(2, &config)).unwrap();
    let calls = fail_everywhere(&device.left, || {
        let mut out = Outcome::default();
        stream.run(batch.view().into(), 0..batch.len(), &mut out, &mut |_, _| ())?;
        let tracks = out.results;
        Ok((tracks.hits.to_vec(), tracks.track_start.to_vec(), tracks.status))
    });
    assert!(calls > 40, "{calls} calls");
}

#[test]
fn timepix() {
    let mut hits = PixelHits::default();
    (0..300u32).for_each(|i| hits.push(i64::from(i / 3), (i * 7 % 13) as u16, (i * 5 % 11) as u16, 3));
    let device = Failing::new();
    let mut stream = PixelStream::open(&device, &FindConfig::default(), None, 300).unwrap();
    let calls = fail_everywhere(&device.left, || {
        let mut clusters = PixelClusters::default();
        stream.run(&hits, &mut clusters)?;
        Ok((clusters.hits.x.to_vec(), clusters.hit_start.to_vec()))
    });
    assert!(calls > 25, "{calls} calls");
}

#[test]
fn cylinder() {
    let (mut hits, mut truth) = (CylinderBatch::default(), CylinderTruth::default());
    CylinderSim::new("sim:cylinder,events=2,tracks=30".parse().unwrap(), 0, None)
        .read(2, &mut hits, &mut truth);
    let device = Failing::new();
    let capacity = peloton::gpu::cylinder::Capacity { events: 2, hits: 60 * CYLINDER_LAYERS, seeds: 60 };
    let mut stream = CylinderStream::open(&device, &CylinderConfig::best(), capacity).unwrap();
    let calls = fail_everywhere(&device.left, || {
        let mut out = Outcome::default();
        let input = CylinderInput { hits: &hits, seeds: &truth.particles };
        stream.run(input, 0..2, &mut out, &mut |_, _| ())?;
        let tracks = out.results;
        Ok((tracks.hits.to_vec(), tracks.chi2.to_vec(), tracks.status))
    });
    assert!(calls > 30, "{calls} calls");
}
