//! Steps that all functions of the C interface share: floating-point mode, panics, codes and the last error's text.

use peloton_core::Error;
use peloton_core::simd::with_default_float_mode;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The call succeeded. Errors of single events are statuses in the results, and are counted.
pub const PELOTON_OK: i32 = 0;
/// A pointer is NULL or misaligned, or a length or number is not valid.
pub const PELOTON_INVALID_ARGUMENT: i32 = -1;
/// The configuration cannot be used, or a workspace, result or batch is for another sequence.
pub const PELOTON_CONFIG: i32 = -2;
/// This CPU or this build lacks a feature that the call needs.
pub const PELOTON_UNSUPPORTED: i32 = -3;
/// A file cannot be read.
pub const PELOTON_IO: i32 = -4;
/// The bytes of a file or of the input violate their format.
pub const PELOTON_FORMAT: i32 = -5;
/// Columns contradict each other, or are too long.
pub const PELOTON_COLUMNS: i32 = -6;
/// Reserved for devices: no function of this version returns it.
pub const PELOTON_DEVICE: i32 = -7;
/// A fault of the library itself. The handles remain usable.
pub const PELOTON_PANIC: i32 = -8;
/// Another thread is using the handle, or a child of fork uses a pool or stream of its parent.
pub const PELOTON_BUSY: i32 = -9;
/// The field `size` of a struct is a size that this library does not know.
pub const PELOTON_ABI_MISMATCH: i32 = -10;
/// The system cannot start more threads.
pub const PELOTON_SYSTEM: i32 = -11;

/// The reason why a call failed.
#[derive(Debug)]
pub struct Failure {
    pub code: i32,
    pub text: String,
}

/// Result of a function of the interface.
pub type Result<T> = std::result::Result<T, Failure>;

/// The failure for an argument that is not valid.
pub fn invalid(text: impl Into<String>) -> Failure {
    Failure { code: PELOTON_INVALID_ARGUMENT, text: text.into() }
}

/// The failure for a handle that another thread is using.
pub fn busy(what: &str) -> Failure {
    Failure { code: PELOTON_BUSY, text: format!("{what}: another thread is using it") }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Config(_) | Error::UnknownName { .. } => PELOTON_CONFIG,
            Error::Unsupported(_) => PELOTON_UNSUPPORTED,
            Error::Io { .. } => PELOTON_IO,
            Error::Format { .. } => PELOTON_FORMAT,
            Error::Columns(_) => PELOTON_COLUMNS,
            Error::System(_) => PELOTON_SYSTEM,
            Error::Device(_) => PELOTON_DEVICE,
            _ => PELOTON_PANIC,
        };
        Self { code, text: error.to_string() }
    }
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// The message of the last failed call of this thread.
pub fn last_error() -> *const std::ffi::c_char {
    LAST_ERROR.with_borrow(|text| text.as_ptr())
}

fn report(Failure { code, text }: Failure) -> i32 {
    let text: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    LAST_ERROR.set(CString::new(text).unwrap_or_default());
    code
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("internal error: {}; please report it", text.unwrap_or("a panic"))
}

/// Runs the body of a function in the default floating-point mode, and restores the host's mode. A panic becomes an
/// error code, since it must not unwind into frames of C.
pub fn enter(work: impl FnOnce() -> Result<()>) -> i32 {
    match catch_unwind(AssertUnwindSafe(|| with_default_float_mode(work))) {
        Ok(Ok(())) => PELOTON_OK,
        Ok(Err(failure)) => report(failure),
        Err(panic) => report(Failure { code: PELOTON_PANIC, text: words(&*panic) }),
    }
}
