//! [`Cuda`]: an NVIDIA GPU, by its driver.

use super::queue::{Commands, Queue};
use super::{Libraries, compile};
use crate::gpu::program;
use crate::{Error, Result};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUfunction};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, result};
use cudarc::nvrtc::Ptx;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

/// A GPU with the kernels loaded.
#[derive(Clone)]
pub(in crate::gpu) struct Cuda {
    context: Arc<CudaContext>,
    kernels: Arc<Kernels>,
    name: String,
}

/// The kernels by their names.
type Kernels = Vec<(&'static str, CudaFunction)>;

fn failed(error: DriverError) -> Error {
    Error::Device(format!("CUDA: {error}"))
}

impl Cuda {
    /// Opens the first GPU and compiles the kernels for it, unless they are in the cache.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when there is none, and [`Error::Device`] when it cannot be used.
    pub fn new() -> Result<Self> {
        if !Libraries::find().driver {
            let message = "no GPU: libcuda.so, NVIDIA's driver, is not on this machine";
            return Err(Error::Unsupported(message.into()));
        }
        if CudaContext::device_count().map_err(failed)? == 0 {
            return Err(Error::Unsupported("no GPU: the driver knows of none".into()));
        }
        let context = CudaContext::new(0).map_err(failed)?;
        let (major, minor) = context.compute_capability().map_err(failed)?;
        let name = format!("{}, sm_{major}{minor}", context.name().map_err(failed)?);
        let cubin = compile(&format!("sm_{major}{minor}"))?;
        let module = context.load_module(Ptx::from_binary(cubin)).map_err(failed)?;
        let mut kernels = Vec::new();
        for kernel in program::KERNELS {
            kernels.push((kernel, module.load_function(kernel).map_err(failed)?));
        }
        Ok(Self { context, kernels: Arc::new(kernels), name })
    }

    pub fn name(&self) -> String {
        self.name.clone()
    }

    #[allow(unsafe_code)]
    pub fn open(&self, arena: usize, staging: usize) -> Result<Queue> {
        let stream = self.context.new_stream().map_err(failed)?;
        let mut queue = CudaQueue {
            stream,
            kernels: self.kernels.clone(),
            arena: 0,
            staging: std::ptr::null_mut(),
            staging_bytes: staging,
            events: Vec::new(),
            launched: Vec::new(),
        };
        queue.bind()?;
        // Nothing of zero bytes can be had.
        // SAFETY: the context is current; the memory is freed when the queue is dropped, and nowhere else.
        queue.arena = unsafe { result::malloc_sync(arena.max(1)) }.map_err(failed)?;
        // SAFETY: as above; the memory is page-locked, so that copies run beside kernels.
        queue.staging = unsafe { result::malloc_host(staging.max(1), 0) }.map_err(failed)?.cast();
        // SAFETY: so many bytes were just asked for, and nobody else has them.
        unsafe { std::ptr::write_bytes(queue.staging, 0, staging) };
        Ok(Queue::new(queue, arena, staging))
    }
}

/// A stream with its memory.
struct CudaQueue {
    stream: Arc<CudaStream>,
    kernels: Arc<Kernels>,
    arena: u64,
    staging: *mut u8,
    staging_bytes: usize,
    /// Two events per kernel that was launched since the times were last asked for: before and after.
    events: Vec<[CUevent; 2]>,
    launched: Vec<&'static str>,
}

// SAFETY: the memory belongs to this queue alone, and handles of the driver may be used on any thread; the context
// is made current before each use.
#[allow(unsafe_code)]
unsafe impl Send for CudaQueue {}

impl CudaQueue {
    fn bind(&self) -> Result<()> {
        self.stream.context().bind_to_thread().map_err(failed)
    }

    /// The events around the next launch.
    #[allow(unsafe_code)]
    fn next_events(&mut self) -> Result<[CUevent; 2]> {
        if self.events.len() == self.launched.len() {
            let new = || result::event::create(CUevent_flags::CU_EVENT_DEFAULT).map_err(failed);
            let before = new()?;
            let after = new().inspect_err(|_| {
                // SAFETY: it was just made, and nobody else knows of it.
                let _ = unsafe { result::event::destroy(before) };
            })?;
            self.events.push([before, after]);
        }
        Ok(self.events[self.launched.len()])
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
        // SAFETY: the stream is idle; all of this was made by this queue, and is freed only here.
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
        // SAFETY: so many bytes, written to when they were asked for. No copy is under way, which `Queue` sees to.
        unsafe { std::slice::from_raw_parts_mut(self.staging, self.staging_bytes) }
    }

    #[allow(unsafe_code)]
    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: within the staging memory, which lives until the stream is idle.
        let bytes = unsafe { std::slice::from_raw_parts(self.staging.add(from.start), from.len()) };
        // SAFETY: within the arena; the stream is alive.
        unsafe { result::memcpy_htod_async(self.arena + to as u64, bytes, self.stream.cu_stream()) }
            .map_err(failed)
    }

    #[allow(unsafe_code)]
    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: within the staging memory, which lives until the stream is idle.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.staging.add(to), from.len()) };
        // SAFETY: within the arena; the stream is alive.
        unsafe { result::memcpy_dtoh_async(bytes, self.arena + from.start as u64, self.stream.cu_stream()) }
            .map_err(failed)
    }

    #[allow(unsafe_code)]
    unsafe fn launch(&mut self, kernel: &'static str, blocks: u32, threads: u32, args: &[u8]) -> Result<()> {
        self.bind()?;
        let function = self.function(kernel)?;
        let (stream, [before, after]) = (self.stream.cu_stream(), self.next_events()?);
        let mut parameters = [args.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: the kernel's one parameter is a struct of these bytes, as the caller promises, which is copied before the call
        // returns; the kernel keeps within its own bounds. Events and stream are alive.
        unsafe {
            result::event::record(before, stream).map_err(failed)?;
            result::launch_kernel(function, (blocks, 1, 1), (threads, 1, 1), 0, stream, &mut parameters)
                .map_err(failed)?;
            result::event::record(after, stream).map_err(failed)?;
        }
        self.launched.push(kernel);
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        self.bind()?;
        self.stream.synchronize().map_err(failed)
    }

    #[allow(unsafe_code)]
    fn times(&mut self, visit: &mut dyn FnMut(&'static str, u64)) -> Result<()> {
        self.bind()?;
        for (kernel, [before, after]) in self.launched.drain(..).zip(&self.events) {
            // SAFETY: both events were recorded, and belong to this queue.
            let ms = unsafe { result::event::elapsed(*before, *after) }.map_err(failed)?;
            visit(kernel, (f64::from(ms) * 1e6) as u64);
        }
        Ok(())
    }
}
