//! [`StreamPool`]: shares a batch of events out to streams, slice by slice. Each stream has a host thread of its own,
//! so that copies and kernels of different streams run beside each other; results go where their slice belongs, so
//! who was first cannot be seen.

use super::device::{Device, WARP};
use crate::engine::{Executor, Input, Machine, Sequence, Sliced};
use crate::event::{Counters, Outcome};
use crate::simd::with_default_float_mode;
use crate::{Error, Result};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One stream of a device that reconstructs slices of events, as [`Sequence::run_range`] does on the CPU.
pub trait DeviceStream<S: Sequence>: Send {
    /// The kernels that it runs.
    const KERNELS: &'static [&'static str];

    /// Events that it takes at once.
    fn slice_events(&self) -> usize;

    /// Reconstructs the events of `range` and appends one entry for each to `out`, and their counts; shows the time of each kernel to `times`, ns.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails, and when the sequence cannot take these events at all.
    fn run(
        &mut self,
        events: S::Input<'_>,
        range: Range<usize>,
        out: &mut Outcome<S::Output>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()>;
}

/// Streams of one device.
pub struct StreamPool<S: Sequence, T> {
    machine: Machine,
    streams: Vec<T>,
    times: Times,
    sequence: PhantomData<fn() -> S>,
}

impl<S: Sequence, T: DeviceStream<S>> StreamPool<S, T> {
    /// Opens `streams` streams of a device by `open`.
    ///
    /// # Errors
    /// [`Error::Config`] for no streams at all, and those of `open`.
    pub fn new(device: &Device, streams: usize, open: impl FnMut() -> Result<T>) -> Result<Self> {
        if streams == 0 {
            return Err(Error::Config("streams must be at least 1".into()));
        }
        let all = std::iter::repeat_with(open).take(streams).collect::<Result<Vec<_>>>()?;
        let machine = Machine {
            isa: device.kind(),
            gang: WARP,
            threads: streams,
            slice: all[0].slice_events(),
            device: Some(device.name()),
        };
        Ok(Self { machine, streams: all, times: Times::new(T::KERNELS), sequence: PhantomData })
    }

    /// Reconstructs all events; `results` is emptied and gets one entry per event, in order.
    ///
    /// # Errors
    /// As [`DeviceStream::run`].
    pub fn try_run<'a>(
        &mut self,
        events: impl Into<S::Input<'a>>,
        results: &mut Sliced<S::Output>,
    ) -> Result<Counters> {
        let (events, slice) = (events.into(), self.machine.slice);
        let slots = results.prepare(events.events().div_ceil(slice));
        share_out(&mut self.streams, slots, &mut self.times, |stream, number, slot, times| {
            let range = number * slice..events.events().min((number + 1) * slice);
            stream.run(events, range, slot, times)
        })?;
        Ok(results.counters())
    }
}

impl<S: Sequence, T: DeviceStream<S>> Executor<S::Batch, S::Output> for StreamPool<S, T> {
    fn run(&mut self, batch: &S::Batch, results: &mut Sliced<S::Output>) -> Result<Counters> {
        self.try_run(S::view(batch), results)
    }

    fn machine(&self) -> Machine {
        self.machine.clone()
    }

    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        self.times.take()
    }
}

/// Time of each kernel of a sequence, summed over streams, ns.
pub(super) struct Times {
    kernels: &'static [&'static str],
    ns: Vec<u64>,
}

impl Times {
    pub fn new(kernels: &'static [&'static str]) -> Self {
        Self { kernels, ns: vec![0; kernels.len()] }
    }

    pub fn add(&mut self, kernel: &str, ns: u64) {
        let number = self.kernels.iter().position(|known| *known == kernel);
        self.ns[number.expect("a kernel of this sequence")] += ns;
    }

    fn merge(&mut self, other: &Self) {
        self.ns.iter_mut().zip(&other.ns).for_each(|(sum, ns)| *sum += ns);
    }

    /// Times of the kernels that ran since the last call.
    pub fn take(&mut self) -> Vec<(&'static str, u64)> {
        let times = self.kernels.iter().zip(&mut self.ns).map(|(kernel, ns)| (*kernel, std::mem::take(ns)));
        times.filter(|(_, ns)| *ns > 0).collect()
    }
}

/// Shares slices out to streams, one slot each; a stream is told the number of its slice. After the first error no
/// slice is begun.
fn share_out<T: Send, R: Send>(
    streams: &mut [T],
    slots: &mut [R],
    times: &mut Times,
    run: impl Fn(&mut T, usize, &mut R, &mut dyn FnMut(&'static str, u64)) -> Result<()> + Sync,
) -> Result<()> {
    // Each slot is locked by the one stream that takes its slice.
    let slots: Vec<_> = slots.iter_mut().map(Mutex::new).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let kernels = times.kernels;
    let work = |stream: &mut T| -> Result<Times> {
        let mut times = Times::new(kernels);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(number).filter(|_| !failed.load(Ordering::Relaxed)) else { break };
            let slot = &mut *slot.try_lock().expect("nobody else has this slice");
            let done = run(stream, number, slot, &mut |kernel, ns| times.add(kernel, ns));
            if done.is_err() {
                failed.store(true, Ordering::Relaxed);
                done?;
            }
        }
        Ok(times)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let start = |stream| scope.spawn(|| with_default_float_mode(|| work(stream)));
        let threads: Vec<_> = streams.iter_mut().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            let panicked = |_| Err(Error::Internal("the host thread of a device's stream panicked".into()));
            thread.join().unwrap_or_else(panicked)
        };
        threads.into_iter().map(join).collect()
    });
    results.into_iter().try_for_each(|of_stream| of_stream.map(|of_stream| times.merge(&of_stream)))
}
