//! Decodes raw banks event by event and sorts the hits of an event, for all detectors of LHCb.

use super::banks::Salvage;
use crate::Status;
use crate::event::{BankKind, Outcome, Product, RawEvent, RawEvents, Truncation};
use std::ops::Range;

/// Decodes the events of `range` one by one and appends them to `out`: `decode` appends the hits and the ends of the
/// groups of a good event. A failed event has no hits; the first stage counts hits. All banks are of one kind; damaged
/// banks are left out if the policy of the events says so.
#[inline(always)]
pub(crate) fn decode_each<B: Product>(
    events: RawEvents<'_>,
    range: Range<usize>,
    (kind, salvage): (BankKind, &mut Salvage),
    out: &mut Outcome<B>,
    mut decode: impl FnMut(&RawEvent<'_>, &mut Outcome<B>) -> Status,
) {
    salvage.clear();
    for number in range {
        let event = events.event(number);
        let before = out.results.hits();
        let mut status = match event.status {
            Status::Ok => decode(&event, out),
            status => status,
        };
        if status != Status::Ok {
            // Output and counts of an attempt are removed before the next attempt.
            let (rows, counters) = (out.results.events(), out.counters);
            status = salvage.decode(number, &event, (kind, status), &mut |event| {
                out.results.truncate(rows);
                out.counters = counters;
                decode(event, out)
            });
        }
        if status == Status::Ok {
            out.results.push_status(status);
        } else {
            out.results.truncate(out.results.events());
            out.results.push_failed(status);
        }
        out.counters.stages[0].items_out += (out.results.hits() - before) as u64;
        out.counters.count_event(status);
    }
    out.counters.count_truncated(Truncation::BanksLeftOut, salvage.left_out());
}

/// Memory for sorting hits.
#[derive(Debug, Default)]
pub(crate) struct Order {
    range: Range<usize>,
    order: Vec<u32>,
    values: Vec<u32>,
}

impl Order {
    /// Finds the order of the hits of a range; [`apply`](Self::apply) sorts one column by it.
    pub(crate) fn find(
        &mut self,
        range: Range<usize>,
        mut compare: impl FnMut(usize, usize) -> std::cmp::Ordering,
    ) {
        self.order.clear();
        self.order.extend(range.clone().map(|hit| hit as u32));
        self.order.sort_unstable_by(|&a, &b| compare(a as usize, b as usize));
        self.range = range;
    }

    /// Sorts the values of the range in one column, moving floats by their bits.
    pub(crate) fn apply(&mut self, column: &mut [impl bytemuck::Pod]) {
        let column: &mut [u32] = bytemuck::cast_slice_mut(column);
        self.values.clear();
        self.values.extend(self.order.iter().map(|&from| column[from as usize]));
        column[self.range.clone()].copy_from_slice(&self.values);
    }
}
