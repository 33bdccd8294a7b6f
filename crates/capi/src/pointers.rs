//! Turns pointers from C into references, after all possible checks.

use crate::guard::{Failure, PELOTON_ABI_MISMATCH, Result, busy, invalid};
use std::ffi::{CStr, c_char};
use std::mem::{MaybeUninit, size_of};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

/// Size of the largest struct that a newer header may have, bytes; a larger field `size` is an error.
const MAX_STRUCT: usize = 4096;

/// A struct that crosses the interface.
///
/// # Safety
/// `Self` is `repr(C)`, begins with `size: usize`, has no padding that is read, and is valid with all bytes zero.
pub unsafe trait Crossing: Copy {
    /// All sizes of the struct with this number of the interface, bytes: the first size, and one for each time that
    /// fields were added at the end; the last is the current size.
    const SIZES: &'static [usize];
}

/// Checks that a pointer is not NULL and is aligned for a `T`.
pub fn check<T>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(invalid(format!("{name} is NULL")));
    }
    if !pointer.is_aligned() {
        return Err(invalid(format!("{name} is not aligned to {} bytes", align_of::<T>())));
    }
    Ok(())
}

/// Reference to the value that a pointer points to.
///
/// # Safety
/// If not NULL, `pointer` points to a `T` that lives, and does not change, as long as `'a`.
pub unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    check(pointer, name)?;
    // SAFETY: not NULL and aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// The `len` values that begin at a pointer; if `len` is 0, the pointer is not used.
///
/// # Safety
/// If not NULL, `pointer` points to `len` values that live, and do not change, as long as `'a`.
pub unsafe fn slice<'a, T>(pointer: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    check(pointer, name)?;
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(invalid(format!("{name}: {len} values are more than memory can hold")));
    }
    // SAFETY: not NULL, aligned, and no longer than memory; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// A text that ends with a zero byte.
///
/// # Safety
/// If not NULL, `pointer` points to a text that ends with a zero byte and lives as long as `'a`.
pub unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    check(pointer, name)?;
    // SAFETY: not NULL; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| invalid(format!("{name} is not UTF-8")))
}

/// Calls `make` and hands the new object over to the caller: `*to` receives its address, or NULL if `make` fails.
///
/// # Safety
/// If not NULL, `to` is valid for writes.
pub unsafe fn hand_over<T>(to: *mut *mut T, make: impl FnOnce() -> Result<T>) -> Result<()> {
    check(to, "the pointer to write the new object to")?;
    // SAFETY: not NULL and aligned; the rest is the caller's promise.
    unsafe { to.write(std::ptr::null_mut()) };
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: as above.
    unsafe { to.write(made) };
    Ok(())
}

/// Frees an object that [`hand_over`] gave to the caller.
///
/// # Safety
/// The pointer is NULL or comes from [`hand_over`], and is not used any more.
pub unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: it was made by `Box::into_raw`, and is freed once.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Writes a value to a pointer from C.
///
/// # Safety
/// If not NULL, `to` is valid for writes.
pub unsafe fn put<T>(to: *mut T, value: T, name: &str) -> Result<()> {
    check(to, name)?;
    // SAFETY: not NULL and aligned; the rest is the caller's promise.
    unsafe { to.write(value) };
    Ok(())
}

/// Checks that a pointer is NULL or aligned; functions call this before they change anything.
pub fn check_if_wanted<T>(to: *const T, name: &str) -> Result<()> {
    if to.is_null() { Ok(()) } else { check(to, name) }
}

/// Writes a value, unless the pointer is NULL.
///
/// # Safety
/// As [`put`].
pub unsafe fn put_if_wanted<T>(to: *mut T, value: T, name: &str) -> Result<()> {
    // SAFETY: the caller's promise.
    if to.is_null() { Ok(()) } else { unsafe { put(to, value, name) } }
}

/// Number of bytes of a struct that both the library and the caller know: the largest of `T::SIZES` that is not above
/// the caller's, so that only whole fields count. A caller's size below the first is an error.
///
/// # Safety
/// A pointer that is not NULL points to a size.
unsafe fn common_size<T: Crossing>(pointer: *const T, name: &str) -> Result<usize> {
    check(pointer, name)?;
    // SAFETY: not NULL and aligned, and every such struct begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    let known = T::SIZES.iter().rev().find(|known| **known <= size);
    if let Some(known) = known.filter(|_| size <= MAX_STRUCT) {
        return Ok(*known);
    }
    let text = format!(
        "{name}: its field `size` is {size}; set it to sizeof of the struct, which is {}",
        size_of::<T>()
    );
    Err(Failure { code: PELOTON_ABI_MISMATCH, text })
}

/// Reads a struct as the caller's header defines it: additional fields of a newer header are ignored, missing fields of
/// an older header are zero.
///
/// # Safety
/// If not NULL, `pointer` points to a struct of as many bytes as its field `size` says.
pub unsafe fn read_struct<T: Crossing>(pointer: *const T, name: &str) -> Result<T> {
    // SAFETY: the caller's promise.
    let size = unsafe { common_size(pointer, name)? };
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `size` bytes lie there by the caller's promise, and in `value`, as it is no more than `T` has.
    unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size) };
    // SAFETY: all bytes are the caller's or zero, which are valid values of all fields.
    Ok(unsafe { value.assume_init() })
}

/// Writes the fields that the caller's header defines, and leaves the field `size` unchanged.
///
/// # Safety
/// As for [`read_struct`]; the bytes of the struct are valid for writes.
pub unsafe fn write_struct<T: Crossing>(pointer: *mut T, value: &T, name: &str) -> Result<()> {
    // SAFETY: the caller's promise.
    let size = unsafe { common_size(pointer, name)? };
    let (from, skip) = (std::ptr::from_ref(value).cast::<u8>(), size_of::<usize>());
    // SAFETY: `size` bytes lie at both ends, and a value of this function's own does not overlap with the caller's.
    unsafe { std::ptr::copy_nonoverlapping(from.add(skip), pointer.cast::<u8>().add(skip), size - skip) };
    Ok(())
}

/// Borrows the object of a handle to read it, unless a thread is changing it.
pub fn look<'a, T>(handle: &'a RwLock<T>, what: &str) -> Result<RwLockReadGuard<'a, T>> {
    match handle.try_read() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => Err(busy(what)),
    }
}

/// Borrows the object of a handle to change it, unless another thread uses it.
pub fn take<'a, T>(handle: &'a RwLock<T>, what: &str) -> Result<RwLockWriteGuard<'a, T>> {
    match handle.try_write() {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => Err(busy(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct that grew twice: `b` alone would end in the middle of a version.
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Grown {
        size: usize,
        a: u64,
        b: u32,
        c: u32,
        d: u64,
    }

    // SAFETY: repr(C), begins with `size`, all fields are numbers, and there is no padding.
    unsafe impl Crossing for Grown {
        const SIZES: &'static [usize] = &[16, 24, 32];
    }

    const ALL: Grown = Grown { size: 32, a: 1, b: 2, c: 3, d: 4 };

    #[test]
    fn structs_of_older_and_newer_headers_are_read_and_written() {
        let sizes: Vec<usize> = (0..40).chain([MAX_STRUCT, MAX_STRUCT + 1, usize::MAX]).collect();
        for size in sizes {
            let given = Grown { size, ..ALL };
            let mut written = Grown { size, a: 0, b: 0, c: 0, d: 0 };
            // SAFETY: both are whole structs, and no more than that is read or written whatever `size` says.
            let (read, wrote) =
                unsafe { (read_struct(&raw const given, "s"), write_struct(&raw mut written, &ALL, "s")) };
            let expected = match size {
                16..24 => Grown { b: 0, c: 0, d: 0, ..given },
                24..32 => Grown { d: 0, ..given },
                32..=MAX_STRUCT => given,
                _ => {
                    let codes = [read.unwrap_err().code, wrote.unwrap_err().code];
                    assert_eq!(codes, [PELOTON_ABI_MISMATCH; 2], "{size}");
                    assert_eq!((written.a, written.d), (0, 0), "{size}");
                    continue;
                }
            };
            assert_eq!(read.unwrap(), expected, "{size}");
            wrote.unwrap();
            assert_eq!(written, expected, "{size}");
        }
    }
}
