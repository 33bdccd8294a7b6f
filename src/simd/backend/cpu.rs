//! The kind of this CPU, if it determines how large its caches of addresses are.

/// Whether AMD made the CPU.
pub(crate) fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let maker = std::arch::x86_64::__cpuid(0);
        [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes).concat() == *b"AuthenticAMD"
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}
