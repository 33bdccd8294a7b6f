//! [`prefetch`]: requests memory before it is needed.

/// Prefetches an element that will be read soon. It does nothing for an element that does not exist, or without an
/// instruction for it: results never depend on it.
///
/// For elements in random order, which the CPU cannot predict, and for more columns than its own prefetcher follows:
/// requested while the previous gang is computed, they have arrived from the second or third cache when they are
/// read.
#[inline(always)]
pub fn prefetch<T>(from: &[T], index: u32) {
    let address = from.as_ptr().wrapping_add(index as usize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, may be of any address, and is there on every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch reads nothing and may be of any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
