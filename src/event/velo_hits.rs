//! Velo hits of a batch of events, as columns.

use super::{Column, countable};
use crate::{Error, Result, Status};

/// Number of modules of the upgraded Velo: even modules on one side (x < 0), odd modules on the other, in rising z.
pub const VELO_MODULES: usize = 52;

/// Velo hits of many events, owned.
///
/// | column | type | length | meaning |
/// |---|---|---|---|
/// | `x`, `y`, `z` | f32, mm | hits | position of the hit |
/// | `id` | u32 | hits | identifier of the hit in tracks: the index in its event (JSON) or the LHCbID (raw banks) |
/// | `module_start` | u32 | 52 * events + 1 | module m of event e owns the hits `[module_start[52 e + m], module_start[52 e + m + 1])` |
/// | `event_id` | u64 | events | number of the event in its source |
/// | `status` | [`Status`] | events | status of the event; an event that is not `Ok` has no hits and is skipped |
#[derive(Debug, Clone)]
pub struct VeloBatch {
    /// x of each hit, mm.
    pub x: Column<f32>,
    /// y of each hit, mm.
    pub y: Column<f32>,
    /// z of each hit, mm.
    pub z: Column<f32>,
    /// Identifier of each hit in the output (no unit).
    pub id: Column<u32>,
    /// First hit of each module, 52 modules per event, then the number of hits (no unit).
    pub module_start: Column<u32>,
    /// Number of each event in its source (no unit).
    pub event_id: Vec<u64>,
    /// Status of each event after reading (no unit).
    pub status: Vec<Status>,
}

impl Default for VeloBatch {
    fn default() -> Self {
        Self {
            x: Column::default(),
            y: Column::default(),
            z: Column::default(),
            id: Column::default(),
            module_start: [0].into_iter().collect(),
            event_id: Vec::new(),
            status: Vec::new(),
        }
    }
}

impl VeloBatch {
    /// Removes all events and keeps the allocated memory.
    pub fn clear(&mut self) {
        [&mut self.x, &mut self.y, &mut self.z].into_iter().for_each(Column::clear);
        self.id.clear();
        self.module_start.set_len(1);
        self.event_id.clear();
        self.status.clear();
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Appends an event. `module_start` holds the 53 offsets of the modules in this event, beginning with 0.
    ///
    /// If the columns contradict each other, the event gets no hits and [`Status::BadOffsets`]. Hits are checked
    /// (finite, in range, not too many) when the event is reconstructed, so the checks are the same for every source.
    pub fn push_event(&mut self, event_id: u64, x: &[f32], y: &[f32], z: &[f32], module_start: &[u32]) {
        let hits = x.len();
        let rising = module_start.windows(2).all(|pair| pair[0] <= pair[1]);
        let fits = module_start.len() == VELO_MODULES + 1
            && module_start[0] == 0
            && module_start[VELO_MODULES] as usize == hits;
        if !(rising && fits && y.len() == hits && z.len() == hits) {
            self.push_failed(event_id, Status::BadOffsets);
            return;
        }
        let first = self.x.len() as u32;
        self.x.extend_from_slice(x);
        self.y.extend_from_slice(y);
        self.z.extend_from_slice(z);
        for i in 0..hits as u32 {
            self.id.push(i);
        }
        for &start in &module_start[1..] {
            self.module_start.push(first + start);
        }
        self.event_id.push(event_id);
        self.status.push(Status::Ok);
    }

    /// Appends an event that could not be read: without hits, with the reason as its status.
    pub fn push_failed(&mut self, event_id: u64, status: Status) {
        let end = self.x.len() as u32;
        for _ in 0..VELO_MODULES {
            self.module_start.push(end);
        }
        self.event_id.push(event_id);
        self.status.push(status);
    }

    /// Appends all events of another batch.
    pub fn append(&mut self, other: &VeloBatch) {
        let first = self.x.len() as u32;
        self.x.extend_from_slice(&other.x);
        self.y.extend_from_slice(&other.y);
        self.z.extend_from_slice(&other.z);
        self.id.extend_from_slice(&other.id);
        for &start in &other.module_start[1..] {
            self.module_start.push(first + start);
        }
        self.event_id.extend_from_slice(&other.event_id);
        self.status.extend_from_slice(&other.status);
    }

    /// Appends copies of the events until the batch holds each event `copies` times.
    ///
    /// # Errors
    /// Returns [`Error::Config`](crate::Error::Config) if 32 bits cannot count the hits.
    pub fn repeat(&mut self, copies: usize) -> crate::Result<()> {
        countable(copies, self.x.len())?;
        let one = self.clone();
        (1..copies).for_each(|_| self.append(&one));
        Ok(())
    }

    /// Borrows the columns of all events, the input of the reconstruction.
    pub fn view(&self) -> VeloEvents<'_> {
        VeloEvents {
            x: &self.x,
            y: &self.y,
            z: &self.z,
            id: &self.id,
            module_start: &self.module_start,
            status: &self.status,
        }
    }
}

/// Velo hits of many events, borrowed: input from programs that have columns of hits. Lengths and units are as in
/// [`VeloBatch`]; the columns need no alignment or padding.
#[derive(Debug, Clone, Copy)]
pub struct VeloEvents<'a> {
    x: &'a [f32],
    y: &'a [f32],
    z: &'a [f32],
    id: &'a [u32],
    module_start: &'a [u32],
    status: &'a [Status],
}

impl<'a> VeloEvents<'a> {
    /// Borrows columns of the lengths that [`VeloBatch`] lists.
    ///
    /// # Errors
    /// Returns [`Error::Columns`] if lengths contradict each other, or offsets decrease or exceed the number of hits.
    pub fn new(
        x: &'a [f32],
        y: &'a [f32],
        z: &'a [f32],
        id: &'a [u32],
        module_start: &'a [u32],
        status: &'a [Status],
    ) -> Result<Self> {
        let wrong = |what: String| Err(Error::Columns(what));
        if y.len() != x.len() || z.len() != x.len() || id.len() != x.len() {
            let lengths = format!("{}, {}, {}, {}", x.len(), y.len(), z.len(), id.len());
            return wrong(format!("x, y, z and id must have one length, not {lengths}"));
        }
        if x.len() > u32::MAX as usize {
            return wrong(format!("{} hits are too many for 32-bit offsets: split the batch", x.len()));
        }
        if module_start.len() != VELO_MODULES * status.len() + 1 {
            let (have, want) = (module_start.len(), VELO_MODULES * status.len() + 1);
            return wrong(format!(
                "module_start has {have} values, but {want} are needed for {} events",
                status.len()
            ));
        }
        if module_start.windows(2).any(|pair| pair[0] > pair[1]) {
            return wrong("module_start falls".into());
        }
        if module_start[0] != 0 || module_start[module_start.len() - 1] as usize != x.len() {
            return wrong(format!("module_start must begin at 0 and end at {} hits", x.len()));
        }
        Ok(Self { x, y, z, id, module_start, status })
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Whether there is no event at all.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Number of hits of all events.
    pub fn hits(&self) -> usize {
        self.x.len()
    }

    /// Returns the columns of a range of events. Offsets still count from the first hit of the batch: the first offset
    /// is the index of the range's first hit.
    ///
    /// # Panics
    /// Panics if `range` reaches beyond the events.
    pub fn range(&self, range: std::ops::Range<usize>) -> Self {
        let module_start = &self.module_start[VELO_MODULES * range.start..=VELO_MODULES * range.end];
        let hits = module_start[0] as usize..module_start[module_start.len() - 1] as usize;
        let first = self.module_start[0] as usize;
        let hits = hits.start - first..hits.end - first;
        Self {
            x: &self.x[hits.clone()],
            y: &self.y[hits.clone()],
            z: &self.z[hits.clone()],
            id: &self.id[hits],
            module_start,
            status: &self.status[range],
        }
    }

    /// Returns the columns: x, y and z; id and `module_start`; status.
    pub fn columns(&self) -> ([&'a [f32]; 3], [&'a [u32]; 2], &'a [Status]) {
        ([self.x, self.y, self.z], [self.id, self.module_start], self.status)
    }

    /// One event.
    ///
    /// # Panics
    /// Panics if `event >= len()`.
    pub fn event(&self, event: usize) -> VeloEvent<'a> {
        let VeloEvents { x, y, z, id, module_start, status } = self.range(event..event + 1);
        VeloEvent { x, y, z, id, module_start, status: status[0] }
    }
}

/// Velo hits of one event, with the columns of [`VeloBatch`].
#[derive(Debug, Clone, Copy)]
pub struct VeloEvent<'a> {
    /// x of each hit, mm.
    pub x: &'a [f32],
    /// y of each hit, mm.
    pub y: &'a [f32],
    /// z of each hit, mm.
    pub z: &'a [f32],
    /// Identifier of each hit in the output (no unit).
    pub id: &'a [u32],
    /// 53 offsets from the batch's first hit; subtract `module_start[0]` to index this event's columns (no unit).
    pub module_start: &'a [u32],
    /// Status of the event after reading (no unit).
    pub status: Status,
}

impl VeloEvent<'_> {
    /// Number of hits.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether the event has no hit.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Returns the hits of one module, as a range into this event's columns.
    pub fn module(&self, module: usize) -> std::ops::Range<usize> {
        let first = self.module_start[0];
        (self.module_start[module] - first) as usize..(self.module_start[module + 1] - first) as usize
    }
}
