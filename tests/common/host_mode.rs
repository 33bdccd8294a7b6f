//! Plays a host in another floating-point mode: one that was linked with `-ffast-math`, or rounds up. The only code of
//! the tests that changes the mode. Rust assumes the default mode: this code stays small and computes nothing itself.

use std::hint::black_box;

/// A floating-point mode of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMode {
    /// Denormal results become zero, and denormal operands count as zero.
    FlushDenormals,
    /// Rounds towards plus infinity.
    RoundUp,
}

impl HostMode {
    pub const ALL: [Self; 2] = [Self::FlushDenormals, Self::RoundUp];

    /// Runs `work` on a thread of its own in this mode, and returns its result.
    pub fn run<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                set(self.bits());
                // Called by a pointer, not inlined: the compiler moves nothing across the change of mode.
                let result = black_box(apart as fn(_) -> R)(work);
                set(DEFAULT);
                result
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[inline(never)]
fn apart<R, F: FnOnce() -> R>(work: F) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
const DEFAULT: u64 = 0x1f80;
#[cfg(target_arch = "aarch64")]
const DEFAULT: u64 = 0;

#[cfg(target_arch = "x86_64")]
impl HostMode {
    fn bits(self) -> u64 {
        match self {
            Self::FlushDenormals => 0x9fc0,
            Self::RoundUp => 0x5f80,
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl HostMode {
    fn bits(self) -> u64 {
        match self {
            Self::FlushDenormals => 1 << 24,
            Self::RoundUp => 1 << 22,
        }
    }
}

fn set(mode: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads four of the eight bytes at the place; only calls stand between here and the default mode.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: writes one register; only calls stand between here and the default mode.
    unsafe {
        std::arch::asm!("msr fpcr, {}", in(reg) mode, options(nostack));
    }
}
