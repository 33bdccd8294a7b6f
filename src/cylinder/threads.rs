//! [`Threads`]: threads within one event, which share its layers, seeds and tracks.
//!
//! ```text
//! layers            | layer 0 | layer 1 | layer 2 | ...     a free thread sorts the hits of the next layer
//! seeds by azimuth  | chunk 0 | chunk 1 | chunk 2 | ...     64 seeds each; a free thread takes the next chunk
//! particles, tracks | part 0  | part 1  | part 2  | ...     512 tracks each, to make seeds or to fit
//! ```
//! The assignment of work to threads varies; the results do not depend on it, and have the order of a single thread.
//! Additional threads are started for each event, and end with the event; if the system cannot start them, the existing
//! threads do all of the work.

use super::build::{Build, CHUNK, Inputs, Seeded};
use super::config::{CylinderConfig, FitForm};
use super::fit::{self, Fit};
use super::fit_global::FollowGlobal;
use super::hit::Follow;
use super::index::{Index, Sorting};
use super::seeds::{self, EventParticles};
use crate::Status;
use crate::event::{Counters, CylinderEvent, CylinderTracks};
use crate::simd::{Level, kernels, set_default_float_mode};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

/// Number of hits per sorting thread.
const SORTED: usize = 8192;
/// Number of seeds that are made together, and of tracks that are fitted together.
const PART: usize = 512;

/// Memory of the threads of an event.
#[derive(Debug, Default)]
pub(super) struct Threads {
    others: Vec<Other>,
}

/// Memory of a further thread.
#[derive(Debug, Default)]
struct Other {
    seeded: Seeded,
    build: Build,
    fitted: CylinderTracks,
    /// The seeds or tracks that it processed, and its counters.
    done: Vec<Range<usize>>,
    counters: Counters,
}

/// Input for the seeds of particles.
pub(super) struct Seeding<'a> {
    pub config: &'a CylinderConfig,
    pub event: &'a CylinderEvent<'a>,
    pub index: &'a Index,
    pub seeds: EventParticles<'a>,
}

/// Items that threads take, `at_once` at a time.
struct Items {
    next: AtomicUsize,
    count: usize,
    at_once: usize,
}

impl Items {
    fn new(count: usize, at_once: usize) -> Self {
        Self { next: AtomicUsize::new(0), count, at_once }
    }

    fn take(&self) -> Option<Range<usize>> {
        let first = self.next.fetch_add(self.at_once, Ordering::Relaxed);
        (first < self.count).then(|| first..self.count.min(first + self.at_once))
    }
}

impl Threads {
    /// Returns the memory of the threads that share the items with the calling thread; they have done no work yet.
    fn others(&mut self, threads: u32, items: &Items) -> &mut [Other] {
        let others = (threads as usize).min(items.count.div_ceil(items.at_once)).saturating_sub(1);
        if self.others.len() < others {
            self.others.resize_with(others, Other::default);
        }
        let taking_part = &mut self.others[..others];
        for other in taking_part.iter_mut() {
            other.done.clear();
            other.fitted.clear();
            other.counters = Counters::default();
        }
        taking_part
    }

    /// Sorts the hits of an event into the index.
    pub fn bin(
        &mut self,
        level: Level,
        config: &CylinderConfig,
        event: &CylinderEvent<'_>,
        index: &mut Index,
    ) -> Status {
        let mut layers = match index.start(&config.bins, event) {
            Ok(layers) => layers,
            Err(status) => return status,
        };
        // Few hits are sorted faster than a thread starts.
        let others = self.others(config.event_threads, &Items::new(event.len(), SORTED));
        if others.is_empty() {
            layers.iter_mut().for_each(|layer| layer_room(level, layer, event));
        } else {
            let left = Mutex::new(layers.iter_mut());
            let work = || {
                while let Some(layer) = take(&left) {
                    layer_room(level, layer, event);
                }
            };
            share(others, &|_| work(), work);
        }
        let has = |status| layers.iter().any(|layer| layer.status == status);
        let wrong = [Status::NotFinite, Status::BadErrors].into_iter().find(|status| has(*status));
        wrong.unwrap_or(Status::Ok)
    }

    /// Makes the seeds of particles.
    pub fn seed(&mut self, level: Level, from: &Seeding<'_>, seeded: &mut Seeded) {
        let particles = Items::new(from.seeds.range.len(), PART);
        let others = self.others(from.config.event_threads, &particles);
        seeded.resize(particles.count);
        if others.is_empty() {
            seed_room(level, from, 0..particles.count, seeded);
        } else {
            let of_other = |other: &mut Other| {
                other.seeded.resize(particles.count);
                while let Some(range) = particles.take() {
                    seed_room(level, from, range.clone(), &mut other.seeded);
                    other.done.push(range);
                }
            };
            share(others, &of_other, || {
                while let Some(range) = particles.take() {
                    seed_room(level, from, range, seeded);
                }
            });
            for Other { seeded: from, done, .. } in others {
                done.drain(..).for_each(|range| seeded.take(from, range));
            }
        }
        seeded.sort();
    }

    /// Builds tracks from all seeds.
    pub fn build(
        &mut self,
        level: Level,
        from: &Inputs<'_>,
        build: &mut Build,
        counters: &mut Counters,
        stage: usize,
    ) {
        let seeded = from.seeded;
        let seeds = Items::new(seeded.order.len(), CHUNK);
        let others = self.others(from.config.event_threads, &seeds);
        build.start(seeded);
        if others.is_empty() {
            return build_room(level, from, 0..seeds.count, build, counters, stage);
        }
        let of_other = |other: &mut Other| {
            other.build.start(seeded);
            while let Some(range) = seeds.take() {
                build_room(level, from, range.clone(), &mut other.build, &mut other.counters, stage);
                other.done.push(range);
            }
        };
        share(others, &of_other, || {
            while let Some(range) = seeds.take() {
                build_room(level, from, range, build, counters, stage);
            }
        });
        for Other { build: from, done, counters: more, .. } in others {
            done.drain(..).for_each(|range| build.take(from, seeded, range));
            counters.merge(more);
        }
    }

    /// Fits the tracks and appends their states.
    pub fn fit(&mut self, level: Level, from: Fit<'_>, out: &mut CylinderTracks) {
        let tracks = Items::new(from.tracks.len(), PART);
        let others = self.others(from.config.event_threads, &tracks);
        let base = out.fit.len();
        fit::make_room(out, tracks.count);
        if others.is_empty() {
            return fit_room(level, from, 0..tracks.count, out, base);
        }
        let of_other = |other: &mut Other| {
            while let Some(range) = tracks.take() {
                let at = other.fitted.fit.len();
                fit::make_room(&mut other.fitted, range.len());
                fit_room(level, from, range.clone(), &mut other.fitted, at);
                other.done.push(range);
            }
        };
        share(others, &of_other, || {
            while let Some(range) = tracks.take() {
                let at = base + range.start;
                fit_room(level, from, range, out, at);
            }
        });
        for Other { fitted, done, .. } in others {
            let mut at = 0;
            for range in done.drain(..) {
                fit::copy(fitted, at..at + range.len(), out, base + range.start);
                at += range.len();
            }
        }
    }
}

/// Takes the next item.
fn take<T>(items: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    items.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// Runs `of_other` for each of the others on its own thread, if the system can start one, and `own` on this thread.
fn share(others: &mut [Other], of_other: &(impl Fn(&mut Other) + Sync), own: impl FnOnce()) {
    scope(|scope| {
        for other in others {
            let work = move || {
                set_default_float_mode();
                of_other(other);
            };
            if Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        own();
    });
}

/// Sorts a layer's hits on the usual gang of an instruction set: this kernel and the next one are large, and are compiled
/// for that gang alone.
fn layer_room(level: Level, layer: &mut Sorting<'_>, event: &CylinderEvent<'_>) {
    kernels!(dispatch_isa!(level, g => layer.sort(g, event)));
}

fn seed_room(level: Level, from: &Seeding<'_>, range: Range<usize>, seeded: &mut Seeded) {
    let Seeding { config, event, index, seeds } = from;
    let part = seeds.part(range);
    kernels!(dispatch_isa!(level, g => seeds::from_truth(g, config, event, index, part, seeded)));
}

fn build_room(
    level: Level,
    from: &Inputs<'_>,
    range: Range<usize>,
    build: &mut Build,
    counters: &mut Counters,
    stage: usize,
) {
    kernels!(dispatch_wide!(level, g => build.run(g, from, range, counters, stage)));
}

fn fit_room(level: Level, from: Fit<'_>, range: Range<usize>, out: &mut CylinderTracks, at: usize) {
    match from.config.fit.form {
        FitForm::Cylinder => {
            kernels!(dispatch!(level, g => fit::fit::<_, Follow<_>>(g, from, range, out, at)));
        }
        FitForm::Global => {
            kernels!(dispatch!(level, g => fit::fit::<_, FollowGlobal<_>>(g, from, range, out, at)));
        }
    }
}
