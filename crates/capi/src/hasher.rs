//! Hashes of results.

use crate::guard::{enter, invalid};
use crate::pointers::{free, hand_over, look, put, reference, take};
use crate::result::{Shown, peloton_result};
use peloton_job::embed::OutcomeHasher;
use std::sync::RwLock;

/// Hashes the results of any number of runs, in order; the hashes do not depend on the division of events into runs.
pub struct peloton_hasher(RwLock<OutcomeHasher>);

const HASHER: &str = "hasher";

/// Makes an empty hasher. Memory: the caller frees *hasher with peloton_hasher_free. Threads: any thread, at any
/// time. Codes: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_hasher_new(hasher: *mut *mut peloton_hasher) -> i32 {
    // SAFETY: hasher may be written to.
    enter(|| unsafe { hand_over(hasher, || Ok(peloton_hasher(RwLock::default()))) })
}

/// Adds the product of the handle `result`, as its last run made it. Memory: arguments are borrowed for the call.
/// Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG (another sequence or product than before), BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_hasher_add(
    hasher: *mut peloton_hasher,
    result: *const peloton_result,
) -> i32 {
    enter(|| {
        // SAFETY: the caller's handles live.
        let (hasher, shown) = unsafe { (reference(hasher, HASHER)?, Shown::of(result)?) };
        Ok(take(&hasher.0, HASHER)?.add(shown.columns())?)
    })
}

/// The hashes of all results so far, as `peloton run --json` prints them: hash[0] is hash_int, hash[1] output_hash.
/// Memory: hash has 2 elements. Threads: one thread at a time. Codes: INVALID_ARGUMENT (nothing was added), BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_hasher_end(hasher: *const peloton_hasher, hash: *mut u64) -> i32 {
    // SAFETY: the caller's hasher lives, and hash has two numbers.
    enter(|| unsafe {
        let hashes = look(&reference(hasher, HASHER)?.0, HASHER)?.finish();
        let hashes = hashes.ok_or_else(|| invalid("nothing was added to the hasher"))?;
        put(hash.cast::<[u64; 2]>(), [hashes.int, hashes.output], "hash")
    })
}

/// Frees a hasher; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_hasher_free(hasher: *mut peloton_hasher) {
    // SAFETY: the caller's last use of it.
    enter(|| unsafe {
        free(hasher);
        Ok(())
    });
}
