//! A stream of a GPU with its memory, for [`Queue`](super::Queue).

use super::cuda::{Kernels, failed};
use super::queue::{COPY_IN, COPY_OUT, Commands};
use crate::{Error, Result};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUfunction, CUstream};
use cudarc::driver::{CudaContext, CudaStream, DriverError, result};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

/// A stream with its memory.
pub(super) struct CudaQueue {
    stream: Arc<CudaStream>,
    kernels: Arc<Kernels>,
    arena: u64,
    staging: *mut u8,
    staging_bytes: usize,
    is_timed: bool,
    /// Two driver events for each entry of `timed`, before and after it. The list may be longer than `timed`, because
    /// events are reused.
    events: Vec<[CUevent; 2]>,
    /// Kernels and copies that were timed since the last call of `times`.
    timed: Vec<&'static str>,
}

// SAFETY: the memory belongs to this queue alone, and handles of the driver may be used on any thread; the context
// is made current before each use.
#[allow(unsafe_code)]
unsafe impl Send for CudaQueue {}

impl CudaQueue {
    #[allow(unsafe_code)]
    pub fn open(
        context: &Arc<CudaContext>,
        kernels: Arc<Kernels>,
        arena: usize,
        staging: usize,
    ) -> Result<Self> {
        let mut queue = Self {
            stream: context.new_stream().map_err(failed)?,
            kernels,
            arena: 0,
            staging: std::ptr::null_mut(),
            staging_bytes: staging,
            is_timed: false,
            events: Vec::new(),
            timed: Vec::new(),
        };
        queue.bind()?;
        // The driver cannot allocate zero bytes. SAFETY: the context is current; the memory is freed when the
        // queue is dropped, and nowhere else.
        queue.arena = unsafe { result::malloc_sync(arena.max(1)) }.map_err(failed)?;
        // SAFETY: the context is current, and only `drop` frees the memory. It is page-locked, so that copies run while
        // kernels run.
        queue.staging = unsafe { result::malloc_host(staging.max(1), 0) }.map_err(failed)?.cast();
        // SAFETY: `staging` bytes were just allocated, and nothing else uses them.
        unsafe { std::ptr::write_bytes(queue.staging, 0, staging) };
        Ok(queue)
    }

    fn bind(&self) -> Result<()> {
        self.stream.context().bind_to_thread().map_err(failed)
    }

    /// The driver events before and after the next command that is timed.
    #[allow(unsafe_code)]
    fn next_events(&mut self) -> Result<[CUevent; 2]> {
        if self.events.len() == self.timed.len() {
            let new = || result::event::create(CUevent_flags::CU_EVENT_DEFAULT).map_err(failed);
            let before = new()?;
            let after = new().inspect_err(|_| {
                // SAFETY: the event was just made, and nothing else uses it.
                let _ = unsafe { result::event::destroy(before) };
            })?;
            self.events.push([before, after]);
        }
        Ok(self.events[self.timed.len()])
    }

    /// Submits a command to this stream, between two driver events if times are measured.
    #[allow(unsafe_code)]
    fn ask(
        &mut self,
        what: &'static str,
        ask: impl FnOnce(CUstream) -> std::result::Result<(), DriverError>,
    ) -> Result<()> {
        self.bind()?;
        let stream = self.stream.cu_stream();
        if !self.is_timed {
            return ask(stream).map_err(failed);
        }
        let [before, after] = self.next_events()?;
        // SAFETY: the events and the stream are alive.
        unsafe { result::event::record(before, stream) }.map_err(failed)?;
        ask(stream).map_err(failed)?;
        // SAFETY: the event and the stream are alive.
        unsafe { result::event::record(after, stream) }.map_err(failed)?;
        self.timed.push(what);
        Ok(())
    }

    fn function(&self, kernel: &str) -> Result<CUfunction> {
        let known = self.kernels.iter().find(|(known, _)| *known == kernel);
        let (_, function) = known.ok_or_else(|| Error::Device(format!("no kernel {kernel}")))?;
        Ok(function.cu_function())
    }
}

impl Drop for CudaQueue {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let _ = self.bind().and_then(|()| self.stream.synchronize().map_err(failed));
        // SAFETY: the stream is idle; this queue made the events and the memory, and frees them only here.
        unsafe {
            for event in self.events.drain(..).flatten() {
                let _ = result::event::destroy(event);
            }
            if self.arena != 0 {
                let _ = result::free_sync(self.arena);
            }
            if !self.staging.is_null() {
                let _ = result::free_host(self.staging.cast());
            }
        }
    }
}

impl Commands for CudaQueue {
    fn arena(&self) -> u64 {
        self.arena
    }

    #[allow(unsafe_code)]
    fn staging(&mut self) -> &mut [u8] {
        // SAFETY: the memory has `staging_bytes` bytes, initialised in `open`. `Queue` ensures that no copy is in progress.
        unsafe { std::slice::from_raw_parts_mut(self.staging, self.staging_bytes) }
    }

    #[allow(unsafe_code)]
    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        let to = self.arena + to as u64;
        // SAFETY: the range lies within the staging memory, which lives until the stream is idle.
        let bytes = unsafe { std::slice::from_raw_parts(self.staging.add(from.start), from.len()) };
        // SAFETY: the range lies within the arena; the stream is alive.
        self.ask(COPY_IN, |stream| unsafe { result::memcpy_htod_async(to, bytes, stream) })
    }

    #[allow(unsafe_code)]
    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        let start = self.arena + from.start as u64;
        // SAFETY: the range lies within the staging memory, which lives until the stream is idle.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.staging.add(to), from.len()) };
        // SAFETY: the range lies within the arena; the stream is alive.
        self.ask(COPY_OUT, |stream| unsafe { result::memcpy_dtoh_async(bytes, start, stream) })
    }

    #[allow(unsafe_code)]
    fn clear(&mut self, range: Range<usize>) -> Result<()> {
        self.bind()?;
        let (start, stream) = (self.arena + range.start as u64, self.stream.cu_stream());
        // SAFETY: the range lies within the arena; the stream is alive.
        unsafe { result::memset_d8_async(start, 0, range.len(), stream) }.map_err(failed)
    }

    #[allow(unsafe_code)]
    unsafe fn launch(&mut self, kernel: &'static str, blocks: u32, threads: u32, args: &[u8]) -> Result<()> {
        let function = self.function(kernel)?;
        let mut parameters = [args.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the caller guarantees that `args` are the bytes of the kernel's only parameter, a struct, which is copied
        // before the call returns. The kernel stays within its bounds, and the stream is alive.
        self.ask(kernel, |stream| unsafe {
            result::launch_kernel(function, (blocks, 1, 1), (threads, 1, 1), 0, stream, &mut parameters)
        })
    }

    fn wait(&mut self) -> Result<()> {
        self.bind()?;
        self.stream.synchronize().map_err(failed)
    }

    fn set_timed(&mut self, yes: bool) {
        self.is_timed = yes;
    }

    #[allow(unsafe_code)]
    fn times(&mut self, visit: &mut dyn FnMut(&'static str, u64)) -> Result<()> {
        if self.timed.is_empty() {
            return Ok(());
        }
        self.bind()?;
        for (what, [before, after]) in self.timed.drain(..).zip(&self.events) {
            // SAFETY: both events were recorded, and belong to this queue.
            let ms = unsafe { result::event::elapsed(*before, *after) }.map_err(failed)?;
            visit(what, (f64::from(ms) * 1e6) as u64);
        }
        Ok(())
    }
}
