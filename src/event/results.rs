//! [`Results`]: what every chain of stages makes, whatever it is: events with a status each, and columns.

use super::{Column, Counters, RawEvent, RawEvents, SciFiBatch, UtBatch, VeloTracks};
use crate::Status;
use std::fmt::Debug;
use std::ops::Range;

/// One column of results as it lies in memory.
#[derive(Debug, Clone, Copy)]
pub enum ResultColumn<'a> {
    /// What became of each event.
    Status(&'a [Status]),
    /// First entries of lists, counted from the first event of the batch; one more than there are lists.
    Starts(&'a [u32]),
    /// Integers that are the same on every device.
    Integers(&'a [u32]),
    /// Everything else, little-endian.
    Other(&'a [u8]),
}

/// Results of a batch of events.
pub trait Results: Default + Debug + Send + Sync + 'static {
    /// Forgets all events and keeps the memory.
    fn clear(&mut self);
    /// What became of each event.
    fn statuses(&self) -> &[Status];
    /// Number of events.
    fn events(&self) -> usize {
        self.statuses().len()
    }
    /// Removes all events from this one on.
    fn truncate(&mut self, _events: usize) {
        unimplemented!()
    }
    /// Appends an event without items.
    fn push_failed(&mut self, _status: Status) {
        unimplemented!()
    }
    /// Number of tracks; none where the chain ends before there are any.
    fn tracks(&self) -> usize;
    /// Number of hits: on tracks, or of the chain that ends at hits.
    fn hits(&self) -> usize;
    /// All columns: first status, starts and integers, then all others.
    fn columns(&self) -> Vec<ResultColumn<'_>>;
}

impl Results for VeloTracks {
    fn clear(&mut self) {
        VeloTracks::clear(self);
    }

    fn statuses(&self) -> &[Status] {
        &self.status
    }

    fn tracks(&self) -> usize {
        VeloTracks::tracks(self)
    }

    fn hits(&self) -> usize {
        self.hits.len()
    }

    /// `status`, `track_start`, `hit_start`, `hits`; `chi2`, `backward`, then the columns of the states `beam` and
    /// `end` in the order of [`States::columns`](super::States::columns).
    fn columns(&self) -> Vec<ResultColumn<'_>> {
        use ResultColumn::*;
        let mut columns = vec![
            Status(&self.status),
            Starts(&self.track_start),
            Starts(&self.hit_start),
            Integers(&self.hits),
            Other(bytemuck::cast_slice(&self.chi2)),
            Other(&self.backward),
        ];
        let states = self.beam.columns().into_iter().chain(self.end.columns());
        columns.extend(states.map(|(_, column)| Other(bytemuck::cast_slice(column))));
        columns
    }
}

/// A column of hits, by name.
#[derive(Debug, Clone, Copy)]
pub enum HitColumn<'a> {
    /// Integers.
    Integers(&'static str, &'a [u32]),
    /// Coordinates and weights.
    Floats(&'static str, &'a [f32]),
}

/// Hits of a batch of events in a fixed number of groups each: what decoders of raw banks make.
pub trait HitBatch: Default + Debug + Send + Sync + 'static {
    /// Groups of an event.
    const GROUPS: usize;
    /// First hit of each group, and the number of all hits.
    fn starts(&self) -> &Column<u32>;
    /// The same, to be appended to.
    fn starts_mut(&mut self) -> &mut Column<u32>;
    /// What became of each event.
    fn statuses(&self) -> &Vec<Status>;
    /// The same, to be appended to.
    fn statuses_mut(&mut self) -> &mut Vec<Status>;
    /// The columns of hits: first `id`, then other integers, then floats.
    fn columns(&self) -> Vec<HitColumn<'_>>;
    /// Sets the length of every column of hits.
    fn set_hits(&mut self, hits: usize);

    /// Number of hits of all events.
    fn hits(&self) -> usize {
        match self.columns()[0] {
            HitColumn::Integers(_, values) => values.len(),
            HitColumn::Floats(_, values) => values.len(),
        }
    }
}

impl<B: HitBatch> Results for B {
    fn clear(&mut self) {
        self.set_hits(0);
        self.starts_mut().set_len(1);
        self.statuses_mut().clear();
    }

    fn statuses(&self) -> &[Status] {
        HitBatch::statuses(self)
    }

    fn tracks(&self) -> usize {
        0
    }

    fn hits(&self) -> usize {
        HitBatch::hits(self)
    }

    /// `status`, `starts`, then the columns of hits in their order.
    fn columns(&self) -> Vec<ResultColumn<'_>> {
        let mut columns =
            vec![ResultColumn::Status(HitBatch::statuses(self)), ResultColumn::Starts(self.starts())];
        columns.extend(HitBatch::columns(self).into_iter().map(|column| match column {
            HitColumn::Integers(_, values) => ResultColumn::Integers(values),
            HitColumn::Floats(_, values) => ResultColumn::Other(bytemuck::cast_slice(values)),
        }));
        columns
    }
}

macro_rules! hit_batch {
    ($batch:ident, $groups:expr, $start:ident, [$($integer:ident)*], [$($float:ident)*]) => {
        impl HitBatch for $batch {
            const GROUPS: usize = $groups;
            fn starts(&self) -> &Column<u32> {
                &self.$start
            }
            fn starts_mut(&mut self) -> &mut Column<u32> {
                &mut self.$start
            }
            fn statuses(&self) -> &Vec<Status> {
                &self.status
            }
            fn statuses_mut(&mut self) -> &mut Vec<Status> {
                &mut self.status
            }
            fn columns(&self) -> Vec<HitColumn<'_>> {
                vec![
                    $(HitColumn::Integers(stringify!($integer), &self.$integer),)*
                    $(HitColumn::Floats(stringify!($float), &self.$float),)*
                ]
            }
            #[inline(always)]
            fn set_hits(&mut self, hits: usize) {
                $(self.$integer.set_len(hits);)*
                $(self.$float.set_len(hits);)*
            }
            #[inline(always)]
            fn hits(&self) -> usize {
                self.id.len()
            }
        }
    };
}

hit_batch!(UtBatch, super::UT_GROUPS, group_start, [id], [x z y_begin y_end weight]);
hit_batch!(SciFiBatch, super::SCIFI_ZONES, zone_start, [id width], [x z y_end]);

/// Decodes the events of `range` one by one and appends them to `out`: `decode` appends the hits and the ends of the
/// groups of a good event. What failed has no hits; the first stage of `counters` counts hits.
#[inline(always)]
pub(crate) fn decode_each<B: HitBatch>(
    events: RawEvents<'_>,
    range: Range<usize>,
    out: &mut B,
    counters: &mut Counters,
    mut decode: impl FnMut(&RawEvent<'_>, &mut B, &mut Counters) -> Status,
) {
    for number in range {
        let event = events.event(number);
        let before = HitBatch::hits(out);
        let status = match event.status {
            Status::Ok => decode(&event, out, counters),
            status => status,
        };
        if status != Status::Ok {
            out.set_hits(before);
            for _ in 0..B::GROUPS {
                out.starts_mut().push(before as u32);
            }
        }
        out.statuses_mut().push(status);
        counters.stages[0].items_out += (HitBatch::hits(out) - before) as u64;
        counters.count_event(status);
    }
}

/// Memory for putting hits in order.
#[derive(Debug, Default)]
pub(crate) struct Order {
    range: Range<usize>,
    order: Vec<u32>,
    values: Vec<u32>,
}

impl Order {
    /// Finds the order of the hits of a range; [`apply`](Self::apply) puts column after column into it.
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

    /// Rearranges the values of the range in one column, floats by their bits.
    pub(crate) fn apply(&mut self, column: &mut [impl bytemuck::Pod]) {
        let column: &mut [u32] = bytemuck::cast_slice_mut(column);
        self.values.clear();
        self.values.extend(self.order.iter().map(|&from| column[from as usize]));
        column[self.range.clone()].copy_from_slice(&self.values);
    }
}
