//! [`Cuda`]: an NVIDIA GPU, used through its driver.

use super::cuda_queue::CudaQueue;
use super::images::{OLDEST_GPU, ended, image};
use super::{Libraries, Queue};
use crate::gpu::{lanes, program};
use crate::{Error, Result};
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, DriverError, result};
use cudarc::nvrtc::Ptx;
use std::sync::{Arc, Mutex, PoisonError};

/// A GPU with the kernels loaded.
#[derive(Clone)]
pub(in crate::gpu) struct Cuda {
    context: Arc<CudaContext>,
    kernels: Arc<Kernels>,
    /// The kernels of [`lanes`], loaded at the first use.
    lanes: Arc<Mutex<Option<Arc<Kernels>>>>,
    name: String,
}

/// The kernels by their names.
pub(super) type Kernels = Vec<(&'static str, CudaFunction)>;

pub(super) fn failed(error: DriverError) -> Error {
    Error::Device(format!("CUDA: {error}"))
}

/// The oldest driver that has all functions called here: the driver of CUDA 12.0, NVIDIA's 525.
const OLDEST_DRIVER: i32 = 12_000;

/// The version in words, from the driver's number.
fn version_words(version: i32) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}

/// Starts the driver, and returns the number of GPUs and the version of the driver.
#[allow(unsafe_code)]
fn start() -> Result<(usize, i32)> {
    let none = |why: &str| Err(Error::Unsupported(format!("no GPU: {why}")));
    if !Libraries::find().driver {
        return none("libcuda.so, NVIDIA's driver, is not on this machine");
    }
    let mut version = 0;
    // SAFETY: the library is loaded, and the variable is valid for the call.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(failed)?;
    if version < OLDEST_DRIVER {
        let (have, want) = (version_words(version), version_words(OLDEST_DRIVER));
        return none(&format!(
            "NVIDIA's driver is too old: it supports {have}, but {want} (driver 525) is required"
        ));
    }
    let count = result::init().and_then(|()| result::device::get_count());
    match count {
        Ok(count) if count > 0 => Ok((count as usize, version)),
        Ok(_) | Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => {
            none("NVIDIA's driver finds none on this machine")
        }
        Err(DriverError(CUresult::CUDA_ERROR_STUB_LIBRARY)) => {
            none("libcuda.so is the stub that programs are linked with, not NVIDIA's driver")
        }
        Err(error) => Err(failed(error)),
    }
}

impl Cuda {
    /// Number of GPUs.
    ///
    /// # Errors
    /// As [`Cuda::new`].
    pub fn count() -> Result<usize> {
        Ok(start()?.0)
    }

    /// Opens a GPU, counted from 0, and loads the kernels.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when there is no GPU with that number, and [`Error::Device`] when the GPU cannot be used.
    pub fn new(number: usize) -> Result<Self> {
        let (count, version) = start()?;
        if number >= count {
            return Err(Error::Unsupported(format!("no GPU {number}: there are {count}, counted from 0")));
        }
        let context = CudaContext::new(number).map_err(failed)?;
        let (major, minor) = context.compute_capability().map_err(failed)?;
        let gpu = format!("{}, sm_{major}{minor}", context.name().map_err(failed)?);
        if [major, minor] < OLDEST_GPU {
            let [major, minor] = OLDEST_GPU;
            let message = format!("{gpu}, is too old: kernels are for sm_{major}{minor} and later");
            return Err(Error::Unsupported(message));
        }
        let image = image([major, minor])?;
        let load = |error: DriverError| match error.0 {
            CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU => {
                Error::Device(format!("{gpu}: the driver cannot load {} ({error})", image.name))
            }
            _ => failed(error),
        };
        let module = context.load_module(Ptx::from_binary(image.bytes)).map_err(load)?;
        let kernels = functions(&module, &program::KERNELS)?;
        let name = format!("{gpu}, driver of {}, {}", version_words(version), image.name);
        Ok(Self { context, kernels: Arc::new(kernels), lanes: Arc::default(), name })
    }

    pub fn name(&self) -> String {
        self.name.clone()
    }

    pub fn open(&self, arena: usize, staging: usize) -> Result<Queue> {
        let queue = CudaQueue::open(&self.context, self.kernels.clone(), arena, staging)?;
        Ok(Queue::new(queue, arena, staging))
    }

    /// Opens a queue for the kernels of [`lanes`].
    pub fn open_lanes(&self, arena: usize, staging: usize) -> Result<Queue> {
        let mut loaded = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let kernels = match &*loaded {
            Some(kernels) => kernels.clone(),
            None => {
                let image = Ptx::from_binary(ended(lanes::PTX.into()));
                let module = self.context.load_module(image).map_err(failed)?;
                loaded.insert(Arc::new(functions(&module, &lanes::KERNELS)?)).clone()
            }
        };
        drop(loaded);
        let queue = CudaQueue::open(&self.context, kernels, arena, staging)?;
        Ok(Queue::new(queue, arena, staging))
    }
}

/// Kernels of a module by their names.
fn functions(module: &Arc<CudaModule>, names: &[&'static str]) -> Result<Kernels> {
    let function = |&name: &&'static str| Ok((name, module.load_function(name).map_err(failed)?));
    names.iter().map(function).collect()
}
