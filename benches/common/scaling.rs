//! What a second thread gains, beside what it gains where nothing is shared but the clock: a loop in registers.

use std::hint::black_box;
use std::time::Instant;

/// Multiply-adds of [`registers`]: some tenths of a second.
const STEPS: u64 = 100_000_000;

/// Independent chains of multiply-adds that never leave the registers.
pub fn registers() {
    let (scale, add) = (black_box(0.999_f32), black_box(0.5_f32));
    let mut chains = [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    for _ in 0..STEPS / 8 {
        for x in &mut chains {
            *x = *x * scale + add;
        }
    }
    black_box(chains);
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
