//! [`prefetch`]: requests memory before it is needed.

/// Prefetches an element that will be read soon. Does nothing if the element does not exist or the CPU has no
/// instruction for prefetches. Results never depend on prefetches.
///
/// Use prefetches for elements in random order, which the CPU cannot predict, and for more columns than the CPU's own
/// prefetcher follows. Elements that are requested during the computation of the previous gang arrive in time from the
/// second or third cache.
#[inline(always)]
pub fn prefetch<T>(from: &[T], index: u32) {
    let address = from.as_ptr().wrapping_add(index as usize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, accepts any address, and exists on every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch reads nothing and accepts any address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
