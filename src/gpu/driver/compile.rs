//! Compiles kernels to machine code of a GPU with NVRTC; no GPU is needed.

use super::Libraries;
use crate::gpu::{cache, program};
use crate::{Error, Result};
use cudarc::nvrtc::{result, sys};
use std::ffi::{CStr, CString, c_char};
use xxhash_rust::xxh3::xxh3_128;

/// Resources of a kernel on a GPU, as reported by its assembler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Name of the kernel.
    pub kernel: String,
    /// Registers per thread.
    pub registers: u32,
    /// Shared memory per block, bytes.
    pub shared: u32,
    /// Local memory per thread, bytes: arrays that are not in registers.
    pub stack: u32,
    /// Registers spilled to local memory, bytes.
    pub spills: u32,
}

/// Options except the architecture: each sum and product is rounded separately, divisions and square roots follow
/// IEEE-754, and denormal numbers are kept.
const OPTIONS: [&str; 6] = [
    "--std=c++17",
    "--fmad=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ftz=false",
    "--ptxas-options=-v",
];

/// Version of the NVRTC that made the code in the program. It is the last version of CUDA 12: its code runs with drivers of CUDA
/// 12 and 13, and it supports Volta, which later versions do not.
#[cfg(test)]
pub(super) const VERSION: &str = "12.9";

/// Form of the compiled kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Text that drivers compile.
    Ptx,
    /// Machine code.
    Cubin,
}

/// Hash of everything that determines the code, except the compiler: source and options.
pub(super) fn source_hash() -> String {
    let all = [&program::source(program::CUDA)[..], &OPTIONS.join(" ")].concat();
    format!("{:032x}", xxh3_128(all.as_bytes()))
}

/// The kernels as machine code for an architecture such as `sm_90`; compiled once, then read from the cache.
///
/// # Errors
/// [`Error::Device`] if NVRTC is missing, or if it fails (with NVRTC's message).
pub(super) fn compile(architecture: &str) -> Result<Vec<u8>> {
    let file = cache::get(&[&source_hash(), architecture, &version()?], "cubin", |path| {
        let (cubin, _) = build(architecture, Target::Cubin)?;
        std::fs::write(path, cubin).map_err(|e| Error::io(path, e))
    })?;
    std::fs::read(&file).map_err(|e| Error::io(&file, e))
}

/// Compiles the kernels and reports the resources of each.
///
/// # Errors
/// [`Error::Device`] if NVRTC is missing, or if it fails (with NVRTC's message).
pub fn usage(architecture: &str) -> Result<Vec<Usage>> {
    let (_, log) = build(architecture, Target::Cubin)?;
    Ok(read_log(&log))
}

/// Reads the resources of kernels from the output of `ptxas -v`.
fn read_log(log: &str) -> Vec<Usage> {
    let number_before = |line: &str, what: &str| -> u32 {
        let before = line.split(what).next().filter(|before| before.len() < line.len());
        before.and_then(|text| text.trim_end().rsplit([' ', ',']).next()?.parse().ok()).unwrap_or(0)
    };
    let mut all: Vec<Usage> = Vec::new();
    for line in log.lines() {
        if let Some(rest) = line.split("entry function '").nth(1) {
            let kernel = rest.split('\'').next().unwrap_or_default().to_string();
            all.push(Usage { kernel, registers: 0, shared: 0, stack: 0, spills: 0 });
        } else if let Some(usage) = all.last_mut() {
            if line.contains("bytes stack frame") {
                usage.stack = number_before(line, "bytes stack frame");
                usage.spills =
                    number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
            } else if let Some(rest) = line.split("Used ").nth(1) {
                usage.registers = number_before(rest, "registers");
                usage.shared = number_before(rest, "bytes smem");
            }
        }
    }
    all
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Device(format!("NVRTC: {error}"))
}

fn check_present() -> Result<()> {
    if Libraries::find().compiler {
        return Ok(());
    }
    Err(failed(
        "libnvrtc.so is not on the library path (it comes with CUDA, and with `pip install nvidia-cuda-nvrtc`)",
    ))
}

#[allow(unsafe_code)]
pub(super) fn version() -> Result<String> {
    check_present()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is loaded, and both variables are valid for the call.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result().map_err(failed)?;
    Ok(format!("{major}.{minor}"))
}

/// A program of NVRTC, destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: made by `create_program`, and destroyed only here.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

/// Compiles the kernels. Returns the code and the compiler's messages.
///
/// # Errors
/// [`Error::Device`] if NVRTC is missing, or if it fails (with NVRTC's message).
#[allow(unsafe_code)]
pub(super) fn build(architecture: &str, target: Target) -> Result<(Vec<u8>, String)> {
    check_present()?;
    let source = CString::new(program::source(program::CUDA)).map_err(failed)?;
    let program = Program(result::create_program(&source, Some(c"peloton.cu")).map_err(failed)?);
    let mut options = OPTIONS.map(String::from).to_vec();
    options.push(format!("--gpu-architecture={architecture}"));
    // SAFETY: the program lives until the end of this function, and so does its source.
    let compiled = unsafe { result::compile_program(program.0, &options) };
    // SAFETY: the program lives until the end of this function.
    let log = unsafe { result::get_program_log(program.0) }.map_err(failed)?;
    // SAFETY: a log ends with a zero, and lives until the end of this function.
    let log = unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy().into_owned();
    compiled.map_err(|error| failed(format!("{error}: {log}")))?;
    type Size = unsafe fn(sys::nvrtcProgram, *mut usize) -> sys::nvrtcResult;
    type Get = unsafe fn(sys::nvrtcProgram, *mut c_char) -> sys::nvrtcResult;
    let (size_of, get): (Size, Get) = match target {
        Target::Ptx => (sys::nvrtcGetPTXSize, sys::nvrtcGetPTX),
        Target::Cubin => (sys::nvrtcGetCUBINSize, sys::nvrtcGetCUBIN),
    };
    let mut size = 0;
    // SAFETY: the program is compiled, and `size` is valid for the call.
    unsafe { size_of(program.0, &mut size) }.result().map_err(failed)?;
    let mut code = vec![0u8; size];
    // SAFETY: the code and the memory for it have `size` bytes.
    unsafe { get(program.0, code.as_mut_ptr().cast()) }.result().map_err(failed)?;
    // The text ends with a zero.
    if target == Target::Ptx {
        code.truncate(code.iter().position(|byte| *byte == 0).unwrap_or(code.len()));
    }
    Ok((code, log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assembler_is_understood() {
        let log = "ptxas info    : Compiling entry function 'k' for 'sm_75'\n\
                   ptxas info    : Function properties for k\n\
                   ptxas         .     160 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
                   ptxas info    : Used 64 registers, used 1 barriers, 256 bytes smem, 364 bytes cmem[0]\n";
        let expected = Usage { kernel: "k".into(), registers: 64, shared: 256, stack: 160, spills: 12 };
        assert_eq!(read_log(log), [expected]);
        assert_eq!(read_log("Used 3 registers"), []);
    }
}
