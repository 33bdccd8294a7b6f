//! Names of status and truncation numbers, versions, and the last error.

use crate::guard::last_error;
use peloton_core::Status;
use peloton_core::event::Truncation;
use std::ffi::{CString, c_char};
use std::ptr::null;
use std::sync::LazyLock;

/// The version of this interface. The number rises whenever a program built with an older header would fail; the SONAME
/// of the shared library ends with this number (build.rs reads this line).
pub const PELOTON_ABI: u32 = 2;

static STATUSES: LazyLock<Vec<CString>> =
    LazyLock::new(|| Status::ALL.iter().map(|status| c_text(status.name())).collect());
static TRUNCATIONS: LazyLock<Vec<CString>> =
    LazyLock::new(|| Truncation::ALL.iter().map(|what| c_text(what.name())).collect());
static VERSION: LazyLock<CString> = LazyLock::new(|| c_text(env!("CARGO_PKG_VERSION")));

/// Converts a text, which must contain no zero byte, to a C string.
pub fn c_text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// Number of the reason for truncation with this name.
pub fn truncation(name: &str) -> Option<usize> {
    Truncation::ALL.iter().position(|what| what.name() == name)
}

/// Returns the address of text `number` of `texts`, or NULL if no text has this number.
pub fn of(texts: &[CString], number: usize) -> *const c_char {
    texts.get(number).map_or(null(), |text| text.as_ptr())
}

/// The ABI version of the library. If it differs from PELOTON_ABI, call no other function. Memory: none. Threads: any
/// thread, at any time. Codes: none.
#[unsafe(no_mangle)]
pub extern "C" fn peloton_abi() -> u32 {
    PELOTON_ABI
}

/// The version of the library, such as "0.1.0". Memory: static. Threads: any thread, at any time. Codes: none.
#[unsafe(no_mangle)]
pub extern "C" fn peloton_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Message of the last failed call of this thread; "" if none failed. Memory: the library owns the text, which is valid
/// until the next call of this thread fails. Threads: any thread, at any time. Codes: none.
#[unsafe(no_mangle)]
pub extern "C" fn peloton_last_error() -> *const c_char {
    last_error()
}

/// Name of a status, such as "daq_error"; NULL if no status has this number. The numbers of statuses never change.
/// Memory: static. Threads: any thread, at any time. Codes: none.
#[unsafe(no_mangle)]
pub extern "C" fn peloton_status_name(status: u16) -> *const c_char {
    of(&STATUSES, usize::from(status))
}

/// Name of a reason for truncation; NULL if no reason has this number. Memory: static. Threads: any thread, at any
/// time. Codes: none.
#[unsafe(no_mangle)]
pub extern "C" fn peloton_truncation_name(truncation: u32) -> *const c_char {
    of(&TRUNCATIONS, truncation as usize)
}
