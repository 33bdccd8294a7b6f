//! A device that fails in the middle of a slice: the error comes out, nothing hangs, and the stream works afterwards.
use peloton::cylinder::{CylinderConfig, CylinderInput};
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, Outcome, PixelClusters, PixelHits};
use peloton::gpu::cylinder::CylinderStream;
use peloton::gpu::timepix::PixelStream;
use peloton::gpu::velo::{Capacity, VeloStream};
use peloton::gpu::{Device, DeviceStream, Faults, Order};
use peloton::simd::Level;
use peloton::timepix::FindConfig;
use peloton::velo::{Velo, VeloConfig};
use peloton::{Error, Result};
use peloton_sim::CylinderSim;

fn failing() -> (Device, Faults) {
    Device::failing(Order::Forward).expect("a C++ compiler")
}

/// Lets every call fail in turn; each time the next run must give what the first one gave. Says how many calls there are.
fn fail_everywhere<T: PartialEq>(faults: &Faults, mut run: impl FnMut() -> Result<T>) -> u64 {
    let expected = run().expect("a run without a fault");
    for call in 1.. {
        faults.fail(call);
        let done = run();
        let reached = !faults.is_waiting();
        faults.fail(0);
        match done {
            Err(Error::Device(what)) => assert!(reached && what == "emulated: planted", "{what}"),
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
    let (device, faults) = failing();
    let (config, batch) = (VeloConfig::default(), crate::common::simulated(3, 4));
    let sequence = Velo::new(Level::choose(None, None).unwrap(), config.clone()).unwrap();
    let mut stream = VeloStream::open(&device, &sequence, Capacity::new(2, &config)).unwrap();
    let calls = fail_everywhere(&faults, || {
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
    let (device, faults) = failing();
    let mut stream = PixelStream::open(&device, &FindConfig::default(), None, 300).unwrap();
    let calls = fail_everywhere(&faults, || {
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
    let (device, faults) = failing();
    let capacity = peloton::gpu::cylinder::Capacity { events: 2, hits: 60 * CYLINDER_LAYERS, seeds: 60 };
    let mut stream = CylinderStream::open(&device, &CylinderConfig::best(), capacity).unwrap();
    let calls = fail_everywhere(&faults, || {
        let mut out = Outcome::default();
        let input = CylinderInput { hits: &hits, seeds: &truth.particles };
        stream.run(input, 0..2, &mut out, &mut |_, _| ())?;
        let tracks = out.results;
        Ok((tracks.hits.to_vec(), tracks.chi2.to_vec(), tracks.status))
    });
    assert!(calls > 25, "{calls} calls");
}
