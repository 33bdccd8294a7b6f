//! Endless streams of pixel hits.

use crate::engine::{EngineKind, peloton_engine};
use crate::guard::{Failure, PELOTON_BUSY, Result, enter, invalid};
use crate::pointers::{free, hand_over, look, read_struct, reference, slice, take, write_struct};
use crate::result::peloton_result;
use crate::run::count;
use crate::structs::{peloton_counters, peloton_layout, peloton_pixel_counts, peloton_pixel_hits};
use peloton_core::event::Layout;
use peloton_io::input::timepix::PixelCounts;
use peloton_job::embed::ClusterStream;
use std::sync::{RwLock, RwLockWriteGuard};

/// A stream of pixel hits and their clusters. Results do not depend on how the stream is cut into pieces.
pub struct peloton_stream(RwLock<ClusterStream>);

const STREAM: &str = "stream";

/// Borrows a stream to change it, unless another thread uses it or its threads belong to a parent process.
fn take_stream(stream: &peloton_stream) -> Result<RwLockWriteGuard<'_, ClusterStream>> {
    let taken = take(&stream.0, STREAM)?;
    if taken.has_threads() {
        return Ok(taken);
    }
    let text = "stream: a child of fork has no threads of its parent; make a stream in the child".into();
    Err(Failure { code: PELOTON_BUSY, text })
}

fn layout_of(layout: &peloton_layout) -> Result<Layout> {
    let [chips, width, height, gap] =
        [layout.chips, layout.width, layout.height, layout.gap].map(|n| n as usize);
    // No sensor has so many: what is larger would not survive a product.
    if [chips, width, height, gap].iter().any(|number| *number > 1 << 16) {
        return Err(invalid(format!("no layout has {chips} chips of {width} x {height} pixels, gap {gap}")));
    }
    Ok(if chips == 0 { Layout::quad(gap)? } else { Layout::apart(chips, width, height)? })
}

/// Makes a stream for an engine of the sequence timepix and the sensor of this layout; NULL means four independent
/// chips of 256 x 256 pixels. The calling thread does the work, unless the configuration has threads above 1. Memory:
/// layout_or_null is borrowed for the call; the caller frees *stream with peloton_stream_free; the engine may be freed
/// before the stream. Threads: any thread, at any time. Codes: INVALID_ARGUMENT (an engine of another sequence),
/// CONFIG, ABI_MISMATCH, SYSTEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_stream_new(
    engine: *const peloton_engine,
    layout_or_null: *const peloton_layout,
    stream: *mut *mut peloton_stream,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    enter(|| unsafe {
        hand_over(stream, || {
            let EngineKind::Stream(config) = &reference(engine, "engine")?.kind else {
                return Err(invalid("this engine is for events: a stream needs an engine of timepix"));
            };
            let layout = match layout_or_null.is_null() {
                true => None,
                false => Some(layout_of(&read_struct(layout_or_null, "layout")?)?),
            };
            Ok(peloton_stream(RwLock::new(ClusterStream::new(config, layout)?)))
        })
    })
}

/// Adds raw words of Timepix3 (.tpx3), cut anywhere, even inside a word. Memory: n bytes are borrowed for the call.
/// Threads: one thread at a time. Codes: INVALID_ARGUMENT, COLUMNS (too many clusters waited to be taken, and are
/// lost), PANIC, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_stream_tpx3(stream: *mut peloton_stream, bytes: *const u8, n: usize) -> i32 {
    enter(|| {
        // SAFETY: the caller's stream lives, and bytes holds n bytes.
        let (stream, bytes) = unsafe { (reference(stream, STREAM)?, slice(bytes, n, "bytes")?) };
        Ok(take_stream(stream)?.tpx3(bytes)?)
    })
}

/// Adds pixel hits; hits outside of the sensor are dropped and counted. Memory: hits are borrowed for the call.
/// Threads: one thread at a time. Codes: INVALID_ARGUMENT, COLUMNS (lost clusters), ABI_MISMATCH, PANIC, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_stream_hits(
    stream: *mut peloton_stream,
    hits: *const peloton_pixel_hits,
) -> i32 {
    // SAFETY: the caller's stream lives, and columns are as long as is said.
    enter(|| unsafe {
        let (stream, hits) = (reference(stream, STREAM)?, read_struct(hits, "hits")?);
        let time = slice(hits.time, hits.hits, "time")?;
        let column = |values: *const u16, name: &str| slice(values, hits.hits, name);
        let columns = [column(hits.x, "x")?, column(hits.y, "y")?, column(hits.tot, "tot")?];
        Ok(take_stream(stream)?.hits(time, columns)?)
    })
}

/// Ends the stream: clusters that waited for later hits become complete. Later hits begin a new stream. Memory: none.
/// Threads: one thread at a time. Codes: INVALID_ARGUMENT, COLUMNS, PANIC, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_stream_end(stream: *mut peloton_stream) -> i32 {
    enter(|| {
        // SAFETY: the caller's stream lives.
        let stream = unsafe { reference(stream, STREAM)? };
        Ok(take_stream(stream)?.end()?)
    })
}

/// Moves the complete clusters into a result of the engine, in order. counters receives the counts since the last call,
/// and counts the counts of the input since the stream's beginning; both may be NULL. Memory: arguments are borrowed.
/// Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG (a result of another sequence), ABI_MISMATCH, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_stream_clusters(
    stream: *mut peloton_stream,
    result: *mut peloton_result,
    counters: *mut peloton_counters,
    counts: *mut peloton_pixel_counts,
) -> i32 {
    // SAFETY: the caller's handles live, and the others are NULL or may be written to.
    enter(|| unsafe {
        let mut stream = take_stream(reference(stream, STREAM)?)?;
        let mut held = take(&reference(result, "result")?.0, "result")?;
        // Before anything is moved: a struct of a wrong size costs nothing.
        if !counters.is_null() {
            read_struct(counters, "counters")?;
        }
        if !counts.is_null() {
            read_struct(counts, "counts")?;
        }
        stream.take(&mut held.outcome)?;
        count(&held, counters)?;
        if counts.is_null() {
            return Ok(());
        }
        let PixelCounts { hits, outside, triggers, control, unknown, malformed, .. } = stream.counts();
        let PixelCounts { implausible, damaged, restarts, .. } = stream.counts();
        let size = size_of::<peloton_pixel_counts>();
        let filled = peloton_pixel_counts {
            size,
            hits,
            outside,
            triggers,
            control,
            unknown,
            malformed,
            implausible,
            damaged,
            restarts,
        };
        write_struct(counts, &filled, "counts")
    })
}

/// Frees a stream; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_stream_free(stream: *mut peloton_stream) {
    // SAFETY: the caller's last use of it. What a child of `fork` inherited is left alone: its end would wait for threads
    // that only the parent has.
    enter(|| unsafe {
        if stream.is_null() || look(&reference(stream, STREAM)?.0, STREAM)?.has_threads() {
            free(stream);
        }
        Ok(())
    });
}
