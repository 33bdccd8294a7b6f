//! [`GpuPool`]: shares a batch of events out to streams, slice by slice. Each stream has a host thread of its own,
//! so that copies and kernels of different streams run beside each other; results go where their slice belongs, so
//! who was first cannot be seen.

use super::device::{Device, Kernel};
use super::velo::{Capacity, KERNELS, Stream};
use crate::event::{Counters, VeloEvents};
use crate::pipeline::SlicedTracks;
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
    times: [u64; KERNELS.len()],
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
            times: [0; KERNELS.len()],
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
        // Each slot is locked by the one stream that takes its slice.
        let slots: Vec<_> = slots.iter_mut().map(Mutex::new).collect();
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = |stream: &mut Stream<D::Queue>| -> Result<[u64; KERNELS.len()]> {
            let mut times = [0; KERNELS.len()];
            let mut count = |kernel: Kernel, ns: u64| {
                let number = KERNELS.iter().position(|known| *known == kernel);
                times[number.expect("a kernel of this sequence")] += ns;
            };
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = slots.get(number).filter(|_| !failed.load(Ordering::Relaxed)) else { break };
                let slot = &mut *slot.try_lock().expect("nobody else has this slice");
                let range = number * slice..events.len().min((number + 1) * slice);
                let done = stream.run(events.range(range), &mut slot.results, &mut slot.counters, &mut count);
                if done.is_err() {
                    failed.store(true, Ordering::Relaxed);
                    done?;
                }
            }
            Ok(times)
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                self.streams.iter_mut().map(|stream| scope.spawn(|| work(stream))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        for times in results {
            self.times.iter_mut().zip(times?).for_each(|(sum, ns)| *sum += ns);
        }
        drop(slots);
        Ok(tracks.counters())
    }

    fn take_times(&mut self) -> Vec<(&'static str, u64)> {
        let times = std::mem::replace(&mut self.times, [0; KERNELS.len()]);
        KERNELS.iter().zip(times).map(|(kernel, ns)| (kernel.0, ns)).collect()
    }
}
