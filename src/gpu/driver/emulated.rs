//! [`Emulated`]: the kernels on the CPU, for machines without a GPU. The source of the kernels is compiled as C++
//! with a header that emulates the GPU (`kernels/emulated.h`).
//!
//! A queue delays its work, as a GPU may: commands run in [`Queue::wait`]. New memory contains garbage, as on a
//! GPU.

use super::lanes;
use super::queue::{COPY_IN, COPY_OUT, Commands, Queue};
use crate::gpu::{cache, program};
use crate::{Error, Result};
use aligned_vec::{AVec, ConstAlign};
use libloading::Library;
use std::ffi::c_void;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command as Process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The order in which the lanes of a block, and the blocks, run. Results must not depend on this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From the first lane and block to the last.
    #[default]
    Forward,
    /// From the last lane and block to the first.
    Reverse,
    /// A different random order in every round, drawn with this seed.
    Random(u32),
}

/// Runs a kernel: blocks, threads, order, arguments.
type Launch = unsafe extern "C" fn(u32, u32, u32, *const c_void);

struct Functions {
    kernels: Vec<(&'static str, Launch)>,
    // Kept open, because it contains the functions.
    _library: Library,
}

/// Makes one call to an emulated device fail, for tests; counts the calls of the device's queues.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<AtomicU64>);

impl Faults {
    /// Makes the call with the number `call` fail; the next call has the number 1. Calls are copies, launches and waits
    /// of all queues of the device. With 0, no call fails.
    pub fn fail(&self, call: u64) {
        self.0.store(call, Ordering::Relaxed);
    }

    /// Whether the call that is to fail has not been made yet.
    pub fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn call(&self) -> Result<()> {
        let before =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1)));
        if before == Ok(1) { Err(failed("planted")) } else { Ok(()) }
    }
}

/// The emulated device.
#[derive(Clone)]
pub(in crate::gpu) struct Emulated {
    functions: Arc<Functions>,
    order: Order,
    faults: Faults,
}

impl Emulated {
    /// Compiles the kernels with the C++ compiler, `CXX` or `c++`, unless they are in the cache.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no compiler, or if it fails (with the compiler's message).
    #[allow(unsafe_code)]
    pub fn new(order: Order) -> Result<Self> {
        let path = emulated_library()?;
        // SAFETY: the library was built from this crate's source, and runs no code when it is opened.
        let library = unsafe { Library::new(&path) }.map_err(failed)?;
        let mut kernels = Vec::new();
        for kernel in program::KERNELS {
            // SAFETY: the header gives every kernel this signature.
            let launch = unsafe { library.get::<Launch>(kernel.as_bytes()) }.map_err(failed)?;
            kernels.push((kernel, *launch));
        }
        kernels.push(("ut_tracklets", lanes::ut_tracklets as Launch));
        let functions = Arc::new(Functions { kernels, _library: library });
        Ok(Self { functions, order, faults: Faults::default() })
    }

    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    pub fn name(&self) -> String {
        format!("emulated, lanes {:?}", self.order).to_lowercase()
    }

    pub fn open(&self, arena: usize, staging: usize) -> Queue {
        let fresh = |size: usize, byte: u8| {
            let mut memory = AVec::new(256);
            memory.resize(size, byte);
            memory
        };
        let queue = EmulatedQueue {
            functions: self.functions.clone(),
            order: match self.order {
                Order::Forward => 0,
                Order::Reverse => 1,
                Order::Random(seed) => seed.max(2),
            },
            faults: self.faults.clone(),
            arena: fresh(arena, GARBAGE),
            staging: fresh(staging, !GARBAGE),
            commands: Vec::new(),
            args: Vec::new(),
            is_timed: false,
            times: Vec::new(),
        };
        Queue::new(queue, arena, staging)
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Device(format!("emulated: {error}"))
}

/// Compiler flags for exact arithmetic: no operation is fused or reordered.
const FLAGS: [&str; 7] =
    ["-std=c++17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared", "-Wall"];

/// Path of the kernels compiled for the emulated device, for tests: a shared library with a function for each, which
/// is compiled if necessary.
///
/// # Errors
/// [`Error::Device`] if there is no compiler, or if it fails (with the compiler's message).
pub fn emulated_library() -> Result<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let source = program::source(program::EMULATED);
    let mut flags = FLAGS.map(String::from).to_vec();
    #[cfg(target_arch = "x86_64")]
    let has_flag = std::arch::is_x86_feature_detected!("fma");
    // Other architectures have the multiply-add without a flag.
    #[cfg(not(target_arch = "x86_64"))]
    let has_flag = false;
    if has_flag {
        flags.push("-mfma".into());
    }
    let inputs = [&source[..], &flags.join(" "), &compiler];
    cache::get(&inputs, "so", |path| {
        let text = path.with_extension("cpp");
        std::fs::write(&text, &source).map_err(|e| Error::io(&text, e))?;
        let built = Process::new(&compiler).args(&flags).arg("-o").arg(path).arg(&text).output();
        let _ = std::fs::remove_file(&text);
        let built = built.map_err(|e| failed(format!("no C++ compiler {compiler}: {e}")))?;
        if built.status.success() {
            return Ok(());
        }
        Err(failed(format!("{compiler} failed:\n{}", String::from_utf8_lossy(&built.stderr))))
    })
}

/// Value of each byte of new memory.
pub(in crate::gpu) const GARBAGE: u8 = 0xa5;

enum Command {
    In(Range<usize>, usize),
    Out(Range<usize>, usize),
    Clear(Range<usize>),
    /// Number of the kernel, blocks, threads, and position of the arguments in `args`.
    Launch(usize, u32, u32, Range<usize>),
}

/// A queue of the emulated device.
struct EmulatedQueue {
    functions: Arc<Functions>,
    order: u32,
    faults: Faults,
    arena: AVec<u8, ConstAlign<256>>,
    staging: AVec<u8, ConstAlign<256>>,
    commands: Vec<Command>,
    /// Arguments of the kernels that wait, each padded to whole words.
    args: Vec<u64>,
    is_timed: bool,
    times: Vec<(&'static str, u64)>,
}

impl Commands for EmulatedQueue {
    fn arena(&self) -> u64 {
        self.arena.as_ptr() as u64
    }

    fn staging(&mut self) -> &mut [u8] {
        &mut self.staging
    }

    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        self.faults.call()?;
        self.commands.push(Command::In(from, to));
        Ok(())
    }

    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        self.faults.call()?;
        self.commands.push(Command::Out(from, to));
        Ok(())
    }

    #[allow(unsafe_code)]
    unsafe fn launch(&mut self, kernel: &'static str, blocks: u32, threads: u32, args: &[u8]) -> Result<()> {
        self.faults.call()?;
        let number = self.functions.kernels.iter().position(|(known, _)| *known == kernel);
        let number = number.ok_or_else(|| failed(format!("no kernel {kernel}")))?;
        let first = self.args.len();
        self.args.resize(first + args.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.args[first..])[..args.len()].copy_from_slice(args);
        self.commands.push(Command::Launch(number, blocks, threads, first..self.args.len()));
        Ok(())
    }

    fn clear(&mut self, range: Range<usize>) -> Result<()> {
        self.faults.call()?;
        self.commands.push(Command::Clear(range));
        Ok(())
    }

    #[allow(unsafe_code)]
    fn wait(&mut self) -> Result<()> {
        for command in self.commands.drain(..) {
            let start = Instant::now();
            let what = match command {
                Command::In(from, to) => {
                    self.arena[to..to + from.len()].copy_from_slice(&self.staging[from]);
                    COPY_IN
                }
                Command::Out(from, to) => {
                    self.staging[to..to + from.len()].copy_from_slice(&self.arena[from]);
                    COPY_OUT
                }
                Command::Clear(range) => {
                    self.arena[range].fill(0);
                    continue;
                }
                Command::Launch(number, blocks, threads, args) => {
                    let (kernel, launch) = self.functions.kernels[number];
                    // SAFETY: the caller of `launch` guaranteed that the arguments have this kernel's type. The function
                    // writes only to the arena, which belongs to this queue, and stays within its bounds.
                    unsafe { launch(blocks, threads, self.order, self.args[args].as_ptr().cast()) };
                    kernel
                }
            };
            if self.is_timed {
                self.times.push((what, start.elapsed().as_nanos() as u64));
            }
        }
        self.args.clear();
        // The commands have run, even if the call now fails.
        self.faults.call()
    }

    fn set_timed(&mut self, yes: bool) {
        self.is_timed = yes;
    }

    fn times(&mut self, visit: &mut dyn FnMut(&'static str, u64)) -> Result<()> {
        self.times.drain(..).for_each(|(kernel, ns)| visit(kernel, ns));
        Ok(())
    }

    #[cfg(test)]
    fn memory(&self) -> &[u8] {
        &self.arena
    }
}
