//! Runs lane programs of the CPU ([`lanes`](crate::gpu::lanes)) as kernels of the emulated device.

use crate::gpu::lanes::ut;
use crate::simd::one_lane;
use std::ffi::c_void;

/// Runs all threads of `ut_tracklets` in the given order, as the emulated kernels do.
///
/// # Safety
/// As for [`ut::tracklets`]; `args` points to its arguments.
#[allow(unsafe_code)]
pub(super) unsafe extern "C" fn ut_tracklets(blocks: u32, threads: u32, order: u32, args: *const c_void) {
    let count = blocks as usize * threads as usize;
    // SAFETY: guaranteed by the caller.
    let args = unsafe { *args.cast::<ut::UtArgs>() };
    one_lane!(g => for number in 0..count {
        // SAFETY: guaranteed by the caller; each thread runs once.
        unsafe { ut::tracklets(g, &args, place(number, count, order)) }
    });
}

/// Address of the lane program `ut_tracklets` on the CPU, and size of its arguments in bytes. In tests, an imitation of
/// NVIDIA's driver calls the program in this process.
pub fn emulated_lanes() -> [usize; 2] {
    [ut_tracklets as *const () as usize, size_of::<ut::UtArgs>()]
}

/// The thread that runs as number `number` of `count`. Order 0 is from the first to the last, 1 from the last to the first; any
/// other order mixes the threads.
fn place(number: usize, count: usize, order: u32) -> usize {
    /// A prime number, whose multiples modulo `count` visit all numbers below `count`.
    const STRIDE: usize = 1_000_003;
    match order {
        0 => number,
        1 => count - 1 - number,
        _ if count.is_multiple_of(STRIDE) => number,
        seed => (number * STRIDE + seed as usize) % count,
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn every_thread_comes_once() {
        for (count, order) in [(1, 0), (64, 1), (192, 7), (1000, 12), (1_000_003, 5)] {
            let mut places: Vec<_> = (0..count).map(|number| place(number, count, order)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..count), "{count} threads, order {order}");
        }
        assert_ne!(place(0, 64, 7), 0);
    }
}
