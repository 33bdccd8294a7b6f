//! [`StreamPool`]: distributes a batch of events over streams, slice by slice. Each stream has its own host thread,
//! so that copies and kernels of different streams overlap. Results go to the slot of their slice, so the order of
//! completion does not matter.

use super::device::{Device, WARP};
use super::driver::{COPY_IN, COPY_OUT};
use crate::engine::{Batch, DeviceMemory, Events, Executor, Handle, Machine, Sliced};
use crate::event::{Counters, Outcome, Product};
use crate::simd::with_default_float_mode;
use crate::{Error, Result};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One stream of a device that reconstructs slices of events, like an [`Algorithm`](crate::engine::Algorithm) on the CPU.
pub trait DeviceStream: Send {
    /// Columns that the stream makes.
    type Output: Product;
    /// The columns as a product.
    const PRODUCT: Handle;

    /// The kernels that the stream runs.
    const KERNELS: &'static [&'static str];

    /// Number of events that the stream processes at once.
    fn slice_events(&self) -> usize;

    /// Current memory of the stream.
    fn memory(&self) -> DeviceMemory;

    /// Switches the timing of each kernel and copy on or off; at first it is off.
    fn set_timed(&mut self, yes: bool);

    /// Reconstructs the events of `range`, appends one entry for each event to `out`, and adds the counts of the
    /// events. Calls `times` with the time of each kernel, ns.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails, and when the sequence cannot take these events at all.
    fn run(
        &mut self,
        events: Events<'_>,
        range: Range<usize>,
        out: &mut Outcome<Self::Output>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()>;
}

/// Streams of one or more devices.
pub struct StreamPool<T: DeviceStream> {
    machine: Machine,
    /// Streams, each with an outcome into which the results of a slot are swapped.
    streams: Vec<(T, Outcome<T::Output>)>,
    times: Times,
}

impl<T: DeviceStream> StreamPool<T> {
    /// Opens `streams` streams of a device by `open`.
    ///
    /// # Errors
    /// [`Error::Config`] if `streams` is 0, and errors of `open`.
    pub fn new(device: &Device, streams: usize, mut open: impl FnMut() -> Result<T>) -> Result<Self> {
        Self::of_all(std::slice::from_ref(device), streams, |_| open())
    }

    /// Opens `streams` streams of each device by `open`: first one stream of each device, then a second, and so on.
    ///
    /// # Errors
    /// [`Error::Config`] if `streams` is 0, and errors of `open`.
    pub fn of_all(
        devices: &[Device],
        streams: usize,
        mut open: impl FnMut(&Device) -> Result<T>,
    ) -> Result<Self> {
        let (Some(device), 1..) = (devices.first(), streams) else {
            return Err(Error::Config("streams must be at least 1".into()));
        };
        let all = (0..streams).flat_map(|_| devices).map(&mut open).collect::<Result<Vec<_>>>()?;
        let machine = Machine {
            isa: device.kind(),
            gang: WARP,
            threads: all.len(),
            slice: all[0].slice_events(),
            device: Some(names(devices)),
            memory: DeviceMemory::default(),
        };
        let streams = all.into_iter().map(|stream| (stream, Outcome::default())).collect();
        Ok(Self { machine, streams, times: Times::new(T::KERNELS) })
    }

    /// Reconstructs all events; `results` is emptied and receives one entry per event, in order.
    ///
    /// # Errors
    /// As [`DeviceStream::run`].
    pub fn try_run<'a>(&mut self, events: impl Into<Events<'a>>, results: &mut Sliced) -> Result<Counters> {
        let (events, slice) = (events.into(), self.machine.slice);
        let slots = results.prepare(events.len().div_ceil(slice), &[T::PRODUCT]);
        share_out(&mut self.streams, slots, &mut self.times, |(stream, spare), number, slot, times| {
            let range = number * slice..events.len().min((number + 1) * slice);
            let mut done = Ok(());
            let is_lent = slot.lend(spare, |slot| done = stream.run(events, range, slot, times));
            debug_assert!(is_lent, "the slot has this product");
            done
        })?;
        Ok(results.counters())
    }
}

impl<T: DeviceStream> Executor for StreamPool<T> {
    fn run(&mut self, batch: &dyn Batch, results: &mut Sliced) -> Result<Counters> {
        self.try_run(batch.events(), results)
    }

    fn machine(&self) -> Machine {
        let memory = self.streams.iter().map(|(stream, _)| stream.memory()).sum();
        Machine { memory, ..self.machine.clone() }
    }

    fn time_kernels(&mut self, yes: bool) {
        self.streams.iter_mut().for_each(|(stream, _)| stream.set_timed(yes));
    }

    fn take_kernel_times(&mut self) -> Vec<(&'static str, u64)> {
        self.times.take()
    }
}

/// Names of devices in words; equal names are counted.
fn names(devices: &[Device]) -> String {
    let mut names: Vec<(String, usize)> = Vec::new();
    for name in devices.iter().map(Device::name) {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let words = |(name, count): &(String, usize)| {
        if *count == 1 { name.clone() } else { format!("{count} x {name}") }
    };
    names.iter().map(words).collect::<Vec<_>>().join("; ")
}

/// Time of each kernel of a sequence and of its copies, summed over streams, ns.
pub(super) struct Times {
    kernels: Vec<&'static str>,
    ns: Vec<u64>,
}

impl Times {
    pub fn new(kernels: &[&'static str]) -> Self {
        let kernels = [kernels, &[COPY_IN, COPY_OUT]].concat();
        Self { ns: vec![0; kernels.len()], kernels }
    }

    pub fn add(&mut self, kernel: &str, ns: u64) {
        let number = self.kernels.iter().position(|known| *known == kernel);
        self.ns[number.expect("the kernel belongs to this sequence")] += ns;
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

/// Distributes slices over streams: `run` gets a stream, the number of a slice and its slot. After the first
/// error, no further slice is begun.
fn share_out<T: Send, R: Send>(
    streams: &mut [T],
    slots: &mut [R],
    times: &mut Times,
    run: impl Fn(&mut T, usize, &mut R, &mut dyn FnMut(&'static str, u64)) -> Result<()> + Sync,
) -> Result<()> {
    // Only the stream that takes a slice locks its slot.
    let slots: Vec<_> = slots.iter_mut().map(Mutex::new).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let kernels = times.kernels.clone();
    let work = |stream: &mut T| -> Result<Times> {
        let mut times = Times { ns: vec![0; kernels.len()], kernels: kernels.clone() };
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(number).filter(|_| !failed.load(Ordering::Relaxed)) else { break };
            let slot = &mut *slot.try_lock().expect("no other thread has this slice");
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
