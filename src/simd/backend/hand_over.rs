//! [`copy_to_hand_over`]: copies data for another core, or for a device.

use bytemuck::Pod;

/// Copies values into memory that another core has read and will read again, and that this core does not read.
///
/// A core that writes to a cache line first fetches the line and removes it from all other caches. The fetch takes
/// several times as long if another core has the line, and longest between distant cores. Stores that bypass the caches
/// do not fetch the line.
///
/// # Panics
/// Panics if the slices differ in length.
pub fn copy_to_hand_over<T: Pod>(from: &[T], to: &mut [T]) {
    copy_past_caches(from, to);
    finish_copies();
}

/// Copies without waiting for the stores to arrive. The caller calls [`finish_copies`] once, after many copies and before another core or
/// a device reads them.
///
/// # Panics
/// Panics if the slices differ in length.
pub(crate) fn copy_past_caches<T: Pod>(from: &[T], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "the slices must have one length");
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let (from, to): (&[u8], &mut [u8]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
        let head = to.as_ptr().align_offset(16).min(to.len());
        let blocks = (to.len() - head) / 16;
        let tail = head + 16 * blocks;
        to[..head].copy_from_slice(&from[..head]);
        to[tail..].copy_from_slice(&from[tail..]);
        for start in (head..tail).step_by(16) {
            let (from, to) = (&from[start..start + 16], &mut to[start..start + 16]);
            // SAFETY: both are 16 bytes, the second at a multiple of 16; every x86-64 has these instructions.
            unsafe {
                _mm_stream_si128(to.as_mut_ptr().cast::<__m128i>(), _mm_loadu_si128(from.as_ptr().cast()))
            };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Waits for the stores of [`copy_past_caches`], which arrive in any order.
pub(crate) fn finish_copies() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}
