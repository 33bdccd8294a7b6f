//! [`Emulated`]: the kernels on the CPU, for machines without a GPU. The same source, compiled as C++ behind a
//! header that plays the GPU's part (`kernels/emulated.h`).
//!
//! A queue does nothing before it has to, as a GPU may: commands run in [`Queue::wait`]. Fresh memory holds
//! garbage, as a GPU's does.

use super::{check_addresses, check_range};
use crate::gpu::device::{Device, Kernel, Queue};
use crate::gpu::mirror::Arguments;
use crate::gpu::{cache, program};
use crate::{Error, Result};
use aligned_vec::{AVec, ConstAlign};
use libloading::Library;
use std::ffi::c_void;
use std::ops::Range;
use std::process::Command as Process;
use std::sync::Arc;
use std::time::Instant;

/// In which order the lanes of a block, and the blocks, run. Results may not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// From the first to the last.
    #[default]
    Forward,
    /// From the last to the first.
    Reverse,
    /// Another order at every turn, by this seed.
    Random(u32),
}

/// Runs a kernel: blocks, threads, order, arguments.
type Launch = unsafe extern "C" fn(u32, u32, u32, *const c_void);

struct Functions {
    kernels: Vec<(Kernel, Launch)>,
    // The functions are in it.
    _library: Library,
}

/// The emulated device.
pub struct Emulated {
    functions: Arc<Functions>,
    order: Order,
}

impl Emulated {
    /// Compiles the kernels with the C++ compiler, `CXX` or `c++`, unless they are in the cache.
    ///
    /// # Errors
    /// [`Error::Device`] without a compiler, or with what it says.
    #[allow(unsafe_code)]
    pub fn new(order: Order) -> Result<Self> {
        let path = build()?;
        // SAFETY: the library is what was built from our own source; it runs nothing when it is opened.
        let library = unsafe { Library::new(&path) }.map_err(failed)?;
        let mut kernels = Vec::new();
        for kernel in program::KERNELS {
            // SAFETY: the header gives every kernel this signature.
            let launch = unsafe { library.get::<Launch>(kernel.0.as_bytes()) }.map_err(failed)?;
            kernels.push((kernel, *launch));
        }
        Ok(Self { functions: Arc::new(Functions { kernels, _library: library }), order })
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Device(format!("emulated: {error}"))
}

/// Exact arithmetic: nothing fused, nothing reordered.
const FLAGS: [&str; 7] =
    ["-std=c++17", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared", "-Wall"];

fn build() -> Result<std::path::PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let source = program::source(program::EMULATED);
    let mut flags = FLAGS.map(String::from).to_vec();
    if cfg!(target_arch = "x86_64") && std::arch::is_x86_feature_detected!("fma") {
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

impl Device for Emulated {
    type Queue = EmulatedQueue;

    fn kind(&self) -> &'static str {
        "emulated"
    }

    fn name(&self) -> String {
        format!("emulated, lanes {:?}", self.order).to_lowercase()
    }

    fn open(&self, arena: usize, staging: usize) -> Result<EmulatedQueue> {
        let fresh = |size: usize, byte: u8| {
            let mut memory = AVec::new(256);
            memory.resize(size, byte);
            memory
        };
        Ok(EmulatedQueue {
            functions: self.functions.clone(),
            order: match self.order {
                Order::Forward => 0,
                Order::Reverse => 1,
                Order::Random(seed) => seed.max(2),
            },
            arena: fresh(arena, GARBAGE),
            staging: fresh(staging, !GARBAGE),
            commands: Vec::new(),
            args: Vec::new(),
            times: Vec::new(),
        })
    }
}

/// What fresh memory holds.
pub(in crate::gpu) const GARBAGE: u8 = 0xa5;

enum Command {
    In(Range<usize>, usize),
    Out(Range<usize>, usize),
    /// Number of the kernel, blocks, threads, and where the arguments are.
    Launch(usize, u32, u32, Range<usize>),
}

/// A queue of the emulated device.
pub struct EmulatedQueue {
    functions: Arc<Functions>,
    order: u32,
    arena: AVec<u8, ConstAlign<256>>,
    staging: AVec<u8, ConstAlign<256>>,
    commands: Vec<Command>,
    /// Arguments of the kernels that wait, in whole words.
    args: Vec<u64>,
    times: Vec<(Kernel, u64)>,
}

#[cfg(test)]
impl EmulatedQueue {
    /// The arena, as it is.
    pub fn memory(&self) -> &[u8] {
        &self.arena
    }
}

impl Queue for EmulatedQueue {
    fn arena(&self) -> u64 {
        self.arena.as_ptr() as u64
    }

    fn staging(&mut self) -> &mut [u8] {
        &mut self.staging
    }

    fn copy_in(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        check_range("staging", &from, self.staging.len())?;
        check_range("arena", &(to..to + from.len()), self.arena.len())?;
        self.commands.push(Command::In(from, to));
        Ok(())
    }

    fn copy_out(&mut self, from: Range<usize>, to: usize) -> Result<()> {
        check_range("arena", &from, self.arena.len())?;
        check_range("staging", &(to..to + from.len()), self.staging.len())?;
        self.commands.push(Command::Out(from, to));
        Ok(())
    }

    fn launch<A: Arguments>(&mut self, kernel: Kernel, blocks: u32, threads: u32, args: &A) -> Result<()> {
        check_addresses(self.arena()..self.arena() + self.arena.len() as u64, args)?;
        let number = self.functions.kernels.iter().position(|(known, _)| *known == kernel);
        let number = number.ok_or_else(|| failed(format!("no kernel {}", kernel.0)))?;
        let (first, bytes) = (self.args.len(), bytemuck::bytes_of(args));
        self.args.resize(first + bytes.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut(&mut self.args[first..])[..bytes.len()].copy_from_slice(bytes);
        self.commands.push(Command::Launch(number, blocks, threads, first..self.args.len()));
        Ok(())
    }

    #[allow(unsafe_code)]
    fn wait(&mut self) -> Result<()> {
        for command in self.commands.drain(..) {
            match command {
                Command::In(from, to) => {
                    self.arena[to..to + from.len()].copy_from_slice(&self.staging[from]);
                }
                Command::Out(from, to) => {
                    self.staging[to..to + from.len()].copy_from_slice(&self.arena[from]);
                }
                Command::Launch(number, blocks, threads, args) => {
                    let (kernel, launch) = self.functions.kernels[number];
                    let start = Instant::now();
                    // SAFETY: the function takes arguments of this kernel's type, whose addresses were
                    // checked; it writes to the arena, which is ours alone, and keeps within it by the
                    // kernel's own bounds.
                    unsafe { launch(blocks, threads, self.order, self.args[args].as_ptr().cast()) };
                    self.times.push((kernel, start.elapsed().as_nanos() as u64));
                }
            }
        }
        self.args.clear();
        Ok(())
    }

    fn times(&mut self, visit: &mut dyn FnMut(Kernel, u64)) -> Result<()> {
        self.times.drain(..).for_each(|(kernel, ns)| visit(kernel, ns));
        Ok(())
    }
}
