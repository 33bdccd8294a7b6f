//! Shared parts of the benches: criterion with the CPU time of the thread as its measure, and works that take turns.
#![allow(dead_code, reason = "each bench takes what it needs")]

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, BenchmarkId, Criterion};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// CPU time of this thread: on a busy machine wall-clock time is noise.
pub struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    fn end(&self, start: Duration) -> Duration {
        self.start() - start
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// Returns whether everything runs only once.
pub fn is_test() -> bool {
    std::env::args().any(|argument| argument == "--test")
}

/// Returns criterion with its flags and short rounds: [`in_turns`] makes several rounds of each work.
pub fn criterion<M: Measurement + 'static>(measure: M) -> Criterion<M> {
    let criterion = Criterion::default().with_measurement(measure).without_plots();
    let criterion = criterion.sample_size(20).nresamples(10_000);
    criterion
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args()
}

/// Number of rounds in which each work of a group is measured.
const ROUNDS: usize = 3;

/// A work and its name.
pub type Work<'a> = (String, Box<dyn FnMut() + 'a>);

/// Measures works in turns, in several rounds: noise of the machine affects all works, and rows of a round are comparable.
pub fn in_turns<M: Measurement>(group: &mut BenchmarkGroup<'_, M>, works: &mut [Work<'_>]) {
    for round in 1..=if is_test() { 1 } else { ROUNDS } {
        for (name, work) in works.iter_mut() {
            group.bench_function(BenchmarkId::new(&**name, round), |bencher| bencher.iter(&mut **work));
        }
    }
}

/// Returns whether a word of the command line begins with `name`, or no word begins with a name of `all`.
pub fn is_wanted(name: &str, all: &[&str]) -> bool {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let names = |name: &str| words.iter().any(|word| word.starts_with(name));
    names(name) || !all.iter().any(|other| names(other))
}

/// Returns a folder of the events' data; none if there is no such folder.
pub fn data(folder: &str) -> Option<PathBuf> {
    let named = std::env::var_os("PELOTON_DATA").map(PathBuf::from);
    let all = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    Some(all.join(folder)).filter(|path| path.is_dir())
}

/// Prints which events are measured.
pub fn say_events(events: &str) {
    println!("events: {events}");
}

/// Number of multiply-adds of [`registers`]: some hundredths of a second, so that the start of a thread does not count.
const STEPS: u64 = 100_000_000;
/// Number of messages of [`between_cores`].
const MESSAGES: u64 = 20_000;

/// Computes independent chains of multiply-adds that never leave the registers: threads share nothing but the clock.
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

/// Returns the time that a word takes from one core to another, ns: on a virtual machine it shows whether the cores are
/// neighbours, which may change from minute to minute.
fn between_cores() -> f64 {
    let word = AtomicU64::new(0);
    let say_after = |first: u64| {
        for i in 0..MESSAGES {
            while word.load(Ordering::Acquire) != 2 * i + first {
                std::hint::spin_loop();
            }
            word.store(2 * i + first + 1, Ordering::Release);
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| say_after(1));
        say_after(0);
    });
    start.elapsed().as_nanos() as f64 / (2 * MESSAGES) as f64
}

/// Data that only one thread writes, on its own cache lines: threads that write to the same line wait for each other, which
/// takes half of the gain of a second thread.
#[repr(align(128))]
pub struct Apart<T>(Mutex<T>);

impl<T> Apart<T> {
    pub fn new(of_a_thread: T) -> Self {
        Self(Mutex::new(of_a_thread))
    }

    /// Locks the data for the one thread that uses it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no panic")
    }
}

/// Returns a work done twice by one thread, and once by each of two threads.
pub fn on_one_and_two<'a>(name: &str, work: &'a (dyn Fn(usize) + Sync)) -> [Work<'a>; 2] {
    let two = move || {
        std::thread::scope(|scope| {
            scope.spawn(|| work(1));
            work(0);
        });
    };
    [
        (format!("{name}, 1 thread"), Box::new(move || (0..2).for_each(work))),
        (format!("{name}, 2 threads"), Box::new(two)),
    ]
}

/// Measures the gain of a second thread, by the wall clock, for the works and for [`registers`].
pub fn scaling(name: &str, works: &mut Vec<Work<'_>>) {
    if !is_test() {
        println!("{name}: a word from one core to the other takes {:.0} ns", between_cores());
    }
    works.extend(on_one_and_two("registers", &|_| registers()));
    let mut criterion = criterion(WallTime);
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    in_turns(&mut group, works);
    group.finish();
}
