//! [`GpuPool`]: shares a batch of events out to streams, slice by slice. Each stream has a host thread of its own,
//! so that copies and kernels of different streams run beside each other; results go where their slice belongs, so
//! who was first cannot be seen.

use super::device::{Device, Kernel};
use super::velo::{Capacity, KERNELS, Stream};
use crate::event::{Counters, VeloEvents};
use crate::pipeline::SlicedTracks;
use crate::simd::with_default_float_mode;
use crate::velo::VeloConfig;
use crate::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Something that reconstructs batches of events on a device.
pub trait Runner: Send {
    /// The device in words.
    fn name(&self) -> &str;
    /// Number of streams.
    fn streams(&self) -> usize;
    /// Events of a slice.
    fn slice_events(&self) -> usize;
    /// Reconstructs all events; `tracks` is emptied and gets one entry per event, in order.
    ///
    /// # Errors
    /// [`Error::Device`] when the device fails.
    fn run(&mut self, events: VeloEvents<'_>, tracks: &mut SlicedTracks) -> Result<Counters>;
    /// Time of each kernel since the last call, summed over streams, ns.
    fn take_times(&mut self) -> Vec<(&'static str, u64)>;
}

/// Streams of one device.
pub struct GpuPool<D: Device> {
    name: String,
    slice_events: usize,
    streams: Vec<Stream<D::Queue>>,
    times: Times<{ KERNELS.len() }>,
}

impl<D: Device> GpuPool<D> {
    /// Opens `streams` streams for slices of so many events.
    ///
    /// # Errors
    /// Those of [`Stream::open`].
    pub fn new(device: &D, config: &VeloConfig, streams: usize, capacity: Capacity) -> Result<Self> {
        if streams == 0 {
            return Err(Error::Config("streams must be at least 1".into()));
        }
        let open = |_| Stream::open(device, config, capacity);
        Ok(Self {
            name: device.name(),
            slice_events: capacity.events,
            streams: (0..streams).map(open).collect::<Result<_>>()?,
            times: Times::new(&KERNELS),
        })
    }
}

impl<D: Device> Runner for GpuPool<D>
where
    D::Queue: Send,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn streams(&self) -> usize {
        self.streams.len()
    }

    fn slice_events(&self) -> usize {
        self.slice_events
    }

    fn run(&mut self, events: VeloEvents<'_>, tracks: &mut SlicedTracks) -> Result<Counters> {
        let slice = self.slice_events;
        let slots = tracks.prepare(events.len().div_ceil(slice));
        share_out(&mut self.streams, slots, &mut self.times, |stream, number, slot, count| {
            let range = number * slice..events.len().min((number + 1) * slice);
            stream.run(events.range(range), &mut slot.results, &mut slot.counters, count)
        })?;
        Ok(tracks.counters())
    }

    fn take_times(&mut self) -> Vec<(&'static str, u64)> {
        self.times.take()
    }
}

/// Time of each kernel of a sequence, summed over streams, ns.
pub(super) struct Times<const N: usize> {
    kernels: &'static [Kernel; N],
    ns: [u64; N],
}

impl<const N: usize> Times<N> {
    pub fn new(kernels: &'static [Kernel; N]) -> Self {
        Self { kernels, ns: [0; N] }
    }

    fn add(&mut self, kernel: Kernel, ns: u64) {
        let number = self.kernels.iter().position(|known| *known == kernel);
        self.ns[number.expect("a kernel of this sequence")] += ns;
    }

    /// Times since the last call.
    pub fn take(&mut self) -> Vec<(&'static str, u64)> {
        let ns = std::mem::replace(&mut self.ns, [0; N]);
        self.kernels.iter().zip(ns).map(|(kernel, ns)| (kernel.0, ns)).collect()
    }
}

/// Shares slices out to streams, one slot each; a stream is told the number of its slice. After the first error no
/// slice is begun.
pub(super) fn share_out<S: Send, T: Send, const N: usize>(
    streams: &mut [S],
    slots: &mut [T],
    times: &mut Times<N>,
    run: impl Fn(&mut S, usize, &mut T, &mut dyn FnMut(Kernel, u64)) -> Result<()> + Sync,
) -> Result<()> {
    // Each slot is locked by the one stream that takes its slice.
    let slots: Vec<_> = slots.iter_mut().map(Mutex::new).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let kernels = times.kernels;
    let work = |stream: &mut S| -> Result<[u64; N]> {
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
        Ok(times.ns)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let start = |stream| scope.spawn(|| with_default_float_mode(|| work(stream)));
        let threads: Vec<_> = streams.iter_mut().map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    for ns in results {
        times.ns.iter_mut().zip(ns?).for_each(|(sum, ns)| *sum += ns);
    }
    Ok(())
}
