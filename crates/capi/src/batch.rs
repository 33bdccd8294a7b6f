//! Batches of raw banks.

use crate::guard::{Result, enter, invalid};
use crate::pointers::{
    check_if_wanted, free, hand_over, look, put, put_if_wanted, read_struct, reference, slice, take,
};
use crate::structs::peloton_block;
use peloton_core::event::BankBlock;
use peloton_job::embed::{EventBatch, known_status};
use std::sync::RwLock;

/// Raw banks of events, copied once into the library's memory. One thread fills a batch; any number of threads run it.
pub struct peloton_batch(pub(crate) RwLock<Filled>);

#[derive(Default)]
pub(crate) struct Filled {
    pub(crate) events: EventBatch,
    /// Memory for the blocks of a call.
    blocks: Vec<BankBlock<'static>>,
}

impl Filled {
    /// The events; fails if an event has banks but has not ended, since whole events cannot be appended then.
    fn whole(&mut self) -> Result<&mut EventBatch> {
        if self.events.is_open() {
            let text = "batch: banks were given for an event that has not ended; end it with peloton_batch_event, or \
                        empty the batch with peloton_batch_clear";
            return Err(invalid(text));
        }
        Ok(&mut self.events)
    }
}

/// An empty list of blocks that reuses the memory of `blocks`.
fn emptied<'a>(blocks: Vec<BankBlock<'_>>) -> Vec<BankBlock<'a>> {
    blocks.into_iter().map_while(|_| None).collect()
}

const BATCH: &str = "batch";

/// Makes an empty batch. Memory: the caller frees *batch with peloton_batch_free. Threads: any thread, at any time.
/// Codes: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_new(batch: *mut *mut peloton_batch) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    enter(|| unsafe { hand_over(batch, || Ok(peloton_batch(RwLock::default()))) })
}

/// Removes all events. Memory: kept for later events. Threads: one thread at a time. Codes: INVALID_ARGUMENT, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_clear(batch: *mut peloton_batch) -> i32 {
    enter(|| {
        // SAFETY: the caller's batch lives.
        let batch = unsafe { reference(batch, BATCH)? };
        take(&batch.0, BATCH)?.events.clear();
        Ok(())
    })
}

/// Number of complete events in the batch. Memory: none. Threads: do not call this while another thread changes the
/// batch. Codes: INVALID_ARGUMENT, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_events(batch: *const peloton_batch, events: *mut usize) -> i32 {
    // SAFETY: the caller's batch lives, and events may be written to.
    enter(|| unsafe {
        let count = look(&reference(batch, BATCH)?.0, BATCH)?.events.raw().len();
        put(events, count, "events")
    })
}

/// Adds a raw bank to the event that the next peloton_batch_event ends. `type` is the type in a raw bank header. Banks
/// of the detectors are stored, banks of readout errors set the event's status, ODIN banks set its numbers, and other
/// banks are skipped. Memory: payload is copied. Threads: one thread at a time. Codes: INVALID_ARGUMENT, BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_bank(
    batch: *mut peloton_batch,
    r#type: u8,
    version: u8,
    source: u16,
    payload: *const u8,
    bytes: usize,
) -> i32 {
    enter(|| {
        // SAFETY: the caller's batch lives, and payload holds as many bytes.
        let (batch, payload) = unsafe { (reference(batch, BATCH)?, slice(payload, bytes, "payload")?) };
        take(&batch.0, BATCH)?.events.bank(r#type, version, source, payload);
        Ok(())
    })
}

/// Ends an event. status is 0, or an error that the caller found: with partial (17) the event is reconstructed without
/// its lost banks, with any other error it is not reconstructed. became, which may be NULL, receives the event's final
/// status. Memory: none. Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG (no such status), BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_event(
    batch: *mut peloton_batch,
    event_id: u64,
    status: u16,
    became: *mut u16,
) -> i32 {
    // SAFETY: the caller's batch lives, and became is NULL or may be written to.
    enter(|| unsafe {
        let batch = reference(batch, BATCH)?;
        check_if_wanted(became, "became")?;
        let closed = take(&batch.0, BATCH)?.events.close(event_id, known_status(status)?);
        put_if_wanted(became, closed.code(), "became")
    })
}

/// Appends the events of the whole MDF records at the beginning of `bytes`. used receives the number of bytes of these
/// records: pass the remaining bytes again together with the end of their record. events receives the number of events.
/// used and events may be NULL. Memory: bytes are copied. Threads: one thread at a time. Codes: INVALID_ARGUMENT (also
/// while an event has banks, but has not ended), FORMAT (bytes contain no record at all), BUSY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_mdf(
    batch: *mut peloton_batch,
    bytes: *const u8,
    n: usize,
    used: *mut usize,
    events: *mut usize,
) -> i32 {
    // SAFETY: the caller's batch lives, bytes holds n bytes, the others are NULL or may be written to.
    enter(|| unsafe {
        let (batch, bytes) = (reference(batch, BATCH)?, slice(bytes, n, "bytes")?);
        check_if_wanted(used, "used")?;
        check_if_wanted(events, "events")?;
        let (taken, count) = take(&batch.0, BATCH)?.whole()?.mdf(bytes)?;
        put_if_wanted(used, taken, "used")?;
        put_if_wanted(events, count, "events")
    })
}

/// Appends a slice of an event builder: `events` consecutive events, as one block for each source, which has the
/// source's bank of every event. A block whose sizes do not add up gives every event the status truncated_bank; faulty,
/// which may be NULL, receives the number of such blocks. Memory: blocks and event_ids are borrowed for the call,
/// payloads are copied. Threads: one thread at a time. Codes: INVALID_ARGUMENT (also while an event has banks, but has
/// not ended), COLUMNS, ABI_MISMATCH, BUSY. On an error, nothing is appended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_blocks(
    batch: *mut peloton_batch,
    blocks: *const peloton_block,
    block_count: usize,
    event_ids: *const u64,
    events: usize,
    faulty: *mut usize,
) -> i32 {
    // SAFETY: the caller's batch lives, and arrays hold as many values as is said.
    enter(|| unsafe {
        let event_ids = slice(event_ids, events, "event_ids")?;
        check_if_wanted(faulty, "faulty")?;
        let mut batch = take(&reference(batch, BATCH)?.0, BATCH)?;
        batch.whole()?;
        let Filled { events: batch, blocks: memory } = &mut *batch;
        let mut parts = emptied(std::mem::take(memory));
        if block_count > 0 {
            // Blocks lie as far apart as the caller's header says.
            let stride = read_struct(blocks, "blocks")?.size;
            if block_count.checked_mul(stride).is_none_or(|bytes| isize::try_from(bytes).is_err()) {
                return Err(invalid(format!("{block_count} blocks are more than memory can hold")));
            }
            for number in 0..block_count {
                let at = blocks.cast::<u8>().add(number * stride).cast::<peloton_block>();
                let block = read_struct(at, "a block")?;
                parts.push(BankBlock {
                    source: block.source,
                    version: block.version,
                    align_log2: block.align_log2,
                    types: slice(block.types, events, "types of a block")?,
                    sizes: slice(block.sizes, events, "sizes of a block")?,
                    payloads: slice(block.payloads, block.payload_bytes, "payloads of a block")?,
                });
            }
        }
        let found = batch.blocks(&parts, event_ids)?;
        *memory = emptied(parts);
        put_if_wanted(faulty, found, "faulty")
    })
}

/// Frees a batch; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_batch_free(batch: *mut peloton_batch) {
    // SAFETY: the caller's last use of it.
    enter(|| unsafe {
        free(batch);
        Ok(())
    });
}
