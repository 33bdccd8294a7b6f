//! The CPU's floating-point mode: rounding, denormals, exceptions. Rust, and every promise of the same bits, assumes
//! the default mode. A host may use another mode: programs and shared libraries that were linked with `-ffast-math`
//! switch flush-to-zero on in their process, others set a rounding mode, and new threads inherit all of it.

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    pub type Mode = u32;
    /// Round to nearest, keep denormals, no exception traps.
    pub const DEFAULT: Mode = 0x1f80;
    /// What has been seen since it was last cleared: no operation depends on it.
    const FLAGS: Mode = 0x3f;

    #[inline(always)]
    pub fn is_default(mode: Mode) -> bool {
        mode & !FLAGS == DEFAULT
    }

    #[inline(always)]
    pub fn read() -> Mode {
        let mut mode: Mode = 0;
        // SAFETY: writes four bytes to a place of four bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack, preserves_flags)) };
        mode
    }

    #[inline(always)]
    pub fn write(mode: Mode) {
        // SAFETY: reads four bytes of a place of four bytes. Every caller writes the default, in which Rust code has to
        // run, or gives back what it found, so that the host finds what it left (tests play the host).
        unsafe { asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    use std::arch::asm;

    pub type Mode = u64;
    /// Round to nearest, keep denormals, no exception traps.
    pub const DEFAULT: Mode = 0;

    #[inline(always)]
    pub fn is_default(mode: Mode) -> bool {
        mode == DEFAULT
    }

    #[inline(always)]
    pub fn read() -> Mode {
        let mode: Mode;
        // SAFETY: reads one register.
        unsafe { asm!("mrs {}, fpcr", out(reg) mode, options(nostack, preserves_flags)) };
        mode
    }

    #[inline(always)]
    pub fn write(mode: Mode) {
        // SAFETY: writes one register. Every caller writes the default, in which Rust code has to run, or gives back
        // what it found, so that the host finds what it left.
        unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nostack)) };
    }
}

/// Elsewhere nothing is known of a mode.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub type Mode = ();
    pub const DEFAULT: Mode = ();
    pub fn is_default((): Mode) -> bool {
        true
    }
    pub fn read() -> Mode {}
    pub fn write((): Mode) {}
}

/// Gives the mode back that was found, after a panic as well; none when it was the default.
struct Found(Option<register::Mode>);

impl Drop for Found {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(mode) = self.0 {
            register::write(mode);
        }
    }
}

/// Runs `work` in the default floating-point mode (round to nearest, denormals kept, no traps), and restores the
/// calling thread's mode afterwards.
///
/// This crate gives the same bits in every mode of the caller: its entries and each [`dispatch!`](crate::dispatch) do
/// this already. It is for a program's own computations on events or results. It costs about five nanoseconds where
/// the mode is the default, and seven where it is not.
#[inline]
pub fn with_default_float_mode<R, F: FnOnce() -> R>(work: F) -> R {
    let mode = register::read();
    let is_default = register::is_default(mode);
    let _found = Found((!is_default).then_some(mode));
    if !is_default {
        register::write(register::DEFAULT);
    }
    // The compiler knows nothing of modes and moves arithmetic over a change of mode as it likes, calls of functions
    // that it has looked into included. It does not see which function this is.
    let call: fn(F) -> R = black_box(apart::<R, F>);
    call(work)
}

#[inline(never)]
fn apart<R, F: FnOnce() -> R>(work: F) -> R {
    work()
}

/// Sets the default floating-point mode for the rest of the calling thread: for the start of a program's own thread,
/// which inherits its mode from its parent.
pub fn set_default_float_mode() {
    register::write(register::DEFAULT);
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    /// Rounds up and flushes denormals to zero.
    #[cfg(target_arch = "x86_64")]
    const FOREIGN: register::Mode = 0x1f80 | 0x4000 | 0x8040;
    #[cfg(target_arch = "aarch64")]
    const FOREIGN: register::Mode = 1 << 22 | 1 << 24;

    /// Runs in a thread of its own that begins in the mode.
    fn in_mode(mode: register::Mode, work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                register::write(mode);
                black_box(apart::<(), _> as fn(_))(work);
                register::write(register::DEFAULT);
            });
        });
    }

    /// Minus one third, and half of the smallest normal number.
    fn shown() -> [u32; 2] {
        let [a, b] = [(-1.0f32, 3.0), (f32::MIN_POSITIVE, 2.0)].map(|(a, b)| black_box(a) / black_box(b));
        [a.to_bits(), b.to_bits()]
    }

    const DEFAULT: [u32; 2] = [0xbeaa_aaab, 0x0040_0000];
    const CHANGED: [u32; 2] = [0xbeaa_aaaa, 0];

    #[test]
    fn work_runs_in_the_default_mode_and_the_caller_s_comes_back() {
        assert_eq!(shown(), DEFAULT);
        in_mode(FOREIGN, || {
            assert_eq!(shown(), CHANGED);
            assert_eq!(
                with_default_float_mode(|| (shown(), with_default_float_mode(shown))),
                (DEFAULT, DEFAULT)
            );
            assert_eq!(shown(), CHANGED);
        });
    }

    #[test]
    fn a_panic_gives_the_mode_back() {
        in_mode(FOREIGN, || {
            let result = catch_unwind(|| with_default_float_mode(|| panic!("work that fails")));
            assert!(result.is_err());
            assert!(!register::is_default(register::read()));
        });
    }

    #[test]
    fn flags_of_what_has_been_seen_do_not_count_and_threads_can_keep_the_default() {
        in_mode(register::DEFAULT, || {
            black_box(black_box(1.0f32) / black_box(0.0));
            black_box(black_box(1.0f32) / black_box(3.0));
            assert!(register::is_default(register::read()));
        });
        in_mode(FOREIGN, || {
            set_default_float_mode();
            assert_eq!(shown(), DEFAULT);
        });
    }
}
