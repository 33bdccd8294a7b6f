//! What several benches need.
#![allow(dead_code, reason = "each bench takes what it needs")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// CPU time of this thread, ns.
pub fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// A folder of the events' data.
pub fn data(folder: &str) -> PathBuf {
    let named = std::env::var_os("PELOTON_DATA").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data")).join(folder)
}

/// Multiply-adds of [`registers`]: some tenths of a second.
const STEPS: u64 = 100_000_000;

/// Independent chains of multiply-adds that never leave the registers.
fn registers() {
    let (scale, add) = (black_box(0.999_f32), black_box(0.5_f32));
    let mut chains = [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    for _ in 0..STEPS / 8 {
        for x in &mut chains {
            *x = *x * scale + add;
        }
    }
    black_box(chains);
}

/// What a second thread gains where nothing is shared but the clock: for a loop in registers.
pub fn free_gain(passes: usize) -> f64 {
    2.0 * wall(passes, 1, |_| registers()) / wall(passes, 2, |_| registers())
}

/// Wall clock of `threads` threads that each run `work`, least of several passes, s.
pub fn wall(passes: usize, threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let pass = || {
        let start = Instant::now();
        std::thread::scope(|scope| {
            (0..threads).for_each(|thread| {
                drop(scope.spawn({
                    let work = &work;
                    move || work(thread)
                }))
            });
        });
        start.elapsed().as_secs_f64()
    };
    (0..passes).map(|_| pass()).fold(f64::INFINITY, f64::min)
}
