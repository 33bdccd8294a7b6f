//! Pools of threads, for callers without their own threads.

use crate::batch::peloton_batch;
use crate::engine::peloton_engine;
use crate::guard::{Failure, PELOTON_BUSY, Result, enter, invalid};
use crate::pointers::{free, hand_over, look, reference, take};
use crate::result::peloton_result;
use crate::run::{Copies, Given};
use crate::structs::{peloton_counters, peloton_velo_hits};
use peloton_job::embed::ConfiguredPool;
use std::sync::RwLock;

/// Threads of the library that run one engine. The library starts no other threads, except in a stream whose
/// configuration asks for more than one.
pub struct peloton_pool(RwLock<Crew>);

struct Crew {
    pool: ConfiguredPool,
    copies: Copies,
}

/// More than any machine has cores.
const MAX_THREADS: usize = 4096;

const POOL: &str = "pool";

/// Starts threads that run the engine. Memory: the caller frees *pool with peloton_pool_free; the engine may be freed
/// before the pool. Threads: any thread, at any time. Codes: INVALID_ARGUMENT, SYSTEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_pool_new(
    engine: *const peloton_engine,
    threads: usize,
    pool: *mut *mut peloton_pool,
) -> i32 {
    // SAFETY: the caller's engine lives, and pool may be written to.
    enter(|| unsafe {
        hand_over(pool, || {
            if !(1..=MAX_THREADS).contains(&threads) {
                return Err(invalid(format!("{threads} threads: 1 to {MAX_THREADS} are possible")));
            }
            let pool = reference(engine, "engine")?.events()?.pool(threads)?;
            Ok(peloton_pool(RwLock::new(Crew { pool, copies: Copies::default() })))
        })
    })
}

/// A run on the threads of the pool, of the events that `events` finds.
///
/// # Safety
/// Handles are NULL or live, and counters are NULL or may be written to.
unsafe fn run(
    pool: *mut peloton_pool,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
    events: impl for<'a> FnOnce(&'a mut Copies) -> Result<Given<'a>>,
) -> i32 {
    // SAFETY: the caller's promise.
    enter(|| unsafe {
        let mut crew = take(&reference(pool, POOL)?.0, POOL)?;
        let Crew { pool, copies } = &mut *crew;
        if !pool.has_threads() {
            let text = "pool: a child of fork has no threads of its parent; make a pool in the child".into();
            return Err(Failure { code: PELOTON_BUSY, text });
        }
        let given = events(copies)?;
        let mut held = take(&reference(result, "result")?.0, "result")?;
        given.run(&mut held, counters, |events, outcome| pool.run(events, outcome))
    })
}

/// Reconstructs the raw banks of a batch on the threads of the pool, as peloton_run_banks does on one thread. Memory:
/// arguments are borrowed for the call; counters may be NULL. Threads: one thread at a time. Codes: INVALID_ARGUMENT,
/// CONFIG (another sequence, no geometry), COLUMNS, ABI_MISMATCH, PANIC, BUSY (also in a child of fork).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_pool_run_banks(
    pool: *mut peloton_pool,
    batch: *const peloton_batch,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    unsafe { run(pool, result, counters, |_| Given::banks(batch)) }
}

/// Reconstructs hits of the Velo on the threads of the pool, as peloton_run_hits does on one thread. Memory: arguments
/// are borrowed for the call; counters may be NULL. Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG
/// (another sequence, no such status), COLUMNS, ABI_MISMATCH, PANIC, BUSY (also in a child of fork).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_pool_run_hits(
    pool: *mut peloton_pool,
    hits: *const peloton_velo_hits,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    unsafe { run(pool, result, counters, |copies| Given::velo(hits, copies)) }
}

/// Frees a pool and asks its threads to end, which they do a moment later; NULL is allowed. Memory: freed. Threads:
/// after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_pool_free(pool: *mut peloton_pool) {
    // SAFETY: the caller's last use of it. What a child of `fork` inherited is left alone: its threads are the parent's, and may
    // hold what its end needs.
    enter(|| unsafe {
        if pool.is_null() || look(&reference(pool, POOL)?.0, POOL)?.pool.has_threads() {
            free(pool);
        }
        Ok(())
    });
}
