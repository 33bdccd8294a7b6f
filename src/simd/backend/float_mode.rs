//! The CPU's floating-point mode: rounding, denormals, exceptions. Rust assumes the default mode, and so does the
//! guarantee that all levels give the same bits. A host program may use another mode: programs and shared libraries
//! linked with `-ffast-math` switch on flush-to-zero in their process, other programs set a rounding mode, and new
//! threads inherit the mode.

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
mod register {
    use std::arch::asm;

    pub type Mode = u32;
    /// Round to nearest, keep denormals, no exception traps.
    pub const DEFAULT: Mode = 0x1f80;
    /// Flags of exceptions that have occurred; no operation depends on them.
    const FLAGS: Mode = 0x3f;

    #[inline(always)]
    pub fn is_default(mode: Mode) -> bool {
        mode & !FLAGS == DEFAULT
    }

    #[inline(always)]
    pub fn read() -> Mode {
        let mut mode: Mode = 0;
        // SAFETY: writes four bytes to a variable of four bytes.
        unsafe { asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack, preserves_flags)) };
        mode
    }

    #[inline(always)]
    pub fn write(mode: Mode) {
        // SAFETY: reads four bytes of a variable of four bytes. Every caller writes the default mode, in which Rust
        // code must run, or restores the host's mode (tests play the host).
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
        // SAFETY: writes one register. Every caller writes the default mode, in which Rust code must run, or
        // restores the host's mode.
        unsafe { asm!("msr fpcr, {}", in(reg) mode, options(nostack)) };
    }
}

/// On other architectures the mode is not known, and is neither read nor set.
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

/// The caller's mode, restored when the value is dropped, also by a panic; none if it was the default.
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
/// This crate gives the same bits in every mode of the caller, because its entry points and each
/// [`dispatch!`](crate::dispatch) already set the default mode. Use this function for a program's own computations on
/// events or results. A call takes about five nanoseconds if the mode is the default, and seven if not.
#[inline]
pub fn with_default_float_mode<R, F: FnOnce() -> R>(work: F) -> R {
    let mode = register::read();
    let is_default = register::is_default(mode);
    let _found = Found((!is_default).then_some(mode));
    if !is_default {
        register::write(register::DEFAULT);
    }
    // The compiler does not know about modes: it may move arithmetic across a change of mode, also calls of
    // functions whose code it has seen. `black_box` hides from it which function is called.
    let call: fn(F) -> R = black_box(apart::<R, F>);
    call(work)
}

#[inline(never)]
fn apart<R, F: FnOnce() -> R>(work: F) -> R {
    work()
}

/// Sets the default floating-point mode for the rest of the calling thread. Call this function at the start of a
/// program's own threads, which inherit the mode of their parent.
pub fn set_default_float_mode() {
    register::write(register::DEFAULT);
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    /// A mode that rounds up and flushes denormals to zero.
    #[cfg(target_arch = "x86_64")]
    const FOREIGN: register::Mode = 0x1f80 | 0x4000 | 0x8040;
    #[cfg(target_arch = "aarch64")]
    const FOREIGN: register::Mode = 1 << 22 | 1 << 24;

    /// Runs `work` in a new thread that begins in this mode.
    fn in_mode(mode: register::Mode, work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                register::write(mode);
                black_box(apart::<(), _> as fn(_))(work);
                register::write(register::DEFAULT);
            });
        });
    }

    /// The bits of -1/3 and of half of the smallest normal number, as the current mode computes them.
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
