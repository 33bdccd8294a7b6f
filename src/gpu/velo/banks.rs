//! Raw banks as input of a device. The host decodes a few events at a time, so that their hits are still in its caches when they
//! are copied to staging memory.

use super::{Attempt, VeloStream};
use crate::event::{Counters, Outcome, RawEvents, VeloBatch, VeloTracks};
use crate::gpu::device::settled;
use crate::lhcb::banks::mark_partial;
use crate::{Result, Status};
use std::ops::Range;

/// Events that are decoded together; 16 have some 600 kB of hits.
const TOGETHER: usize = 16;

impl VeloStream {
    /// Decodes the banks of a range of events and reconstructs them, as [`VeloStream::run_hits`] does.
    pub(super) fn run_banks(
        &mut self,
        events: RawEvents<'_>,
        range: Range<usize>,
        out: &mut Outcome<VeloTracks>,
        times: &mut dyn FnMut(&'static str, u64),
    ) -> Result<()> {
        let events = events.with_bad_banks(self.velo.bad_banks());
        let first = out.results.tracks();
        let done = self.run_banks_at_once(events, range.clone(), out);
        let attempt = settled(&mut self.queue, done)?;
        self.take_times(out, times)?;
        if matches!(attempt, Attempt::TooLarge(_)) {
            self.partial.clear();
            let mut hits = std::mem::take(&mut self.hits);
            let decoded = self.decode(events, range.clone(), &mut hits);
            out.counters.merge(&hits.counters);
            let done = decoded.and_then(|()| self.run_hits(hits.results.view(), out, times));
            self.hits = hits;
            done?;
        }
        self.velo.move_from_beam(first, &mut out.results);
        mark_partial(out, range, |number| self.partial.binary_search(&number).is_ok());
        Ok(())
    }

    fn run_banks_at_once(
        &mut self,
        events: RawEvents<'_>,
        range: Range<usize>,
        out: &mut Outcome<VeloTracks>,
    ) -> Result<Attempt> {
        if range.is_empty() {
            return Ok(Attempt::Done);
        }
        self.partial.clear();
        let mut counters = Counters::default();
        let mut hits = std::mem::take(&mut self.hits);
        let staged = self.stage_banks(events, range.clone(), &mut hits, &mut counters);
        self.hits = hits;
        let Some(hits) = staged? else { return Ok(Attempt::TooLarge(Status::TooManyHits)) };
        let attempt = self.run_staged(range.len(), hits, out)?;
        if matches!(attempt, Attempt::Done) {
            out.counters.merge(&counters);
        }
        Ok(attempt)
    }

    /// Decodes events and copies their hits to staging memory. Returns the number of hits; none if they do not fit.
    fn stage_banks(
        &mut self,
        events: RawEvents<'_>,
        range: Range<usize>,
        hits: &mut Outcome<VeloBatch>,
        counters: &mut Counters,
    ) -> Result<Option<usize>> {
        let mut staged = 0;
        for start in range.clone().step_by(TOGETHER) {
            let part = start..range.end.min(start + TOGETHER);
            self.decode(events, part.clone(), hits)?;
            counters.merge(&hits.counters);
            let more = hits.results.view().hits();
            if !self.has_room(part.end - range.start, staged + more) {
                return Ok(None);
            }
            self.stage(hits.results.view(), start - range.start, staged)?;
            staged += more;
        }
        Ok(Some(staged))
    }

    /// Decodes the banks of some events, and records which events lack banks.
    fn decode(
        &mut self,
        events: RawEvents<'_>,
        part: Range<usize>,
        hits: &mut Outcome<VeloBatch>,
    ) -> Result<()> {
        let Self { velo, scratch, partial, .. } = self;
        velo.decode(events, part.clone(), scratch, hits)?;
        velo.move_to_beam(&mut hits.results);
        partial.extend(part.filter(|&number| velo.is_partial(number, &events.event(number), scratch)));
        Ok(())
    }
}
