//! [`Workers`]: clusters of a stream on several threads: windows in time, merged at their borders (the paper,
//! sections 3.2.3 and 3.3).
//!
//! ```text
//! hits -> windows -> worker 0 -- complete clusters --> in order of first hits -> out
//!                    worker 1        ...                  ^
//!                     ...   '--- hits at borders -> merger
//! ```
//! One worker is the calling thread, which takes a window when the others have enough. A window is all hits between two
//! times. A worker sorts it and finds its clusters as if there was nothing else. Those that keep away from both ends are
//! complete, and their tables leave as they are. All others may have neighbours in other windows, so their hits are clustered
//! once more by the merger.

use super::merge::Merger;
use super::{Chain, ChainCounts, Definition, Front, TimepixConfig, WindowClusters, WindowFinder};
use crate::event::{Counters, Layout, PixelClusters, PixelHits, StageClock};
use crate::simd::{Level, set_default_float_mode, with_default_float_mode};
use crate::{Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::thread::JoinHandle;

/// Windows under way in each worker: one worked on, one waiting.
const PER_LANE: usize = 2;
/// Windows for each worker that are under way or wait for earlier ones at most.
const WAITING: usize = 4;
/// Hits that make a window at most, but for those that waited: workers take turns.
const WINDOW: usize = 1 << 15;

/// A window on its way to a worker and back.
#[derive(Default)]
struct Window {
    hits: PixelHits,
    between: [i64; 2],
    found: WindowClusters,
}

/// A window that has not left yet.
#[allow(clippy::large_enum_variant, reason = "a queue of few, whose memory is used again and again")]
enum UnderWay {
    /// At a worker.
    At(usize),
    /// Worked on by the calling thread.
    Done(Window),
}

/// A thread of its own.
struct Worker {
    /// Windows that it has.
    under_way: usize,
    /// Memory that it had before, which its caches may still hold.
    unused: Vec<Window>,
    /// None once the worker is to end.
    windows: Option<Sender<Window>>,
    answers: Receiver<Window>,
    thread: Option<JoinHandle<()>>,
}

/// One or more threads that turn a stream of hits into clusters.
pub enum Workers {
    /// The calling thread alone; all definitions.
    One(Box<Chain>),
    /// Several, of which the calling thread is one.
    Many(Box<ManyWorkers>),
}

/// Several workers, only for the local definition.
pub struct ManyWorkers {
    front: Front,
    /// Of hits that are pushed, those that make a window.
    part: PixelHits,
    /// All workers but that of the calling thread.
    workers: Vec<Worker>,
    /// The worker of the calling thread.
    own: WindowFinder,
    unused: Vec<Window>,
    /// In order.
    under_way: VecDeque<UnderWay>,
    merger: Merger,
    counters: Counters,
}

impl Workers {
    /// Starts `workers` workers; one worker is the calling thread.
    ///
    /// # Errors
    /// Those of the configuration, and [`Error::Config`] when the system gives no threads. Only the local
    /// definition can be shared out.
    pub fn new(config: &TimepixConfig, level: Level, layout: &Layout, workers: usize) -> Result<Self> {
        if workers <= 1 {
            return Chain::new(config, level, layout).map(Box::new).map(Self::One);
        }
        if config.find.definition != Definition::Local {
            return Err(Error::Config("only the local definition runs on several threads".into()));
        }
        ManyWorkers::new(config, level, layout, workers).map(Box::new).map(Self::Many)
    }

    /// From now on drops the hits of a pixel.
    pub fn mask(&mut self, x: u16, y: u16) {
        match self {
            Self::One(chain) => chain.mask(x, y),
            Self::Many(workers) => workers.front.mask(x, y),
        }
    }

    /// As [`Chain::push`]; clusters come in as many tables as it takes, in order.
    pub fn push(&mut self, hits: &PixelHits, end: bool) -> &mut [PixelClusters] {
        match self {
            Self::One(chain) => std::slice::from_mut(chain.push(hits, end)),
            Self::Many(workers) => workers.push(hits, end),
        }
    }

    /// What became of the hits so far.
    pub fn counts(&self) -> ChainCounts {
        match self {
            Self::One(chain) => chain.counts(),
            Self::Many(workers) => {
                let mut counts = workers.merger.counts();
                workers.front.count(&mut counts);
                counts
            }
        }
    }

    /// Time and flow of the stages, summed over threads.
    pub fn counters(&self) -> &Counters {
        match self {
            Self::One(chain) => chain.counters(),
            Self::Many(workers) => &workers.counters,
        }
    }

    /// Hits that wait inside.
    pub fn waiting(&self) -> usize {
        let counts = self.counts();
        let accounted = counts.hits_out + counts.masked + counts.late + counts.filtered;
        (counts.hits_in - accounted) as usize
    }

    /// Number of threads that find clusters.
    pub fn threads(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(workers) => workers.workers.len() + 1,
        }
    }
}

impl ManyWorkers {
    fn new(config: &TimepixConfig, level: Level, layout: &Layout, workers: usize) -> Result<Self> {
        let front = Front::new(config, level, layout)?;
        let sides = [layout.width(), layout.height()];
        let shape = config.sort_shape();
        let finder = || {
            WindowFinder::new(config.find, level, front.calibration(), sides)
                .map(|finder| finder.with_sort(shape).with_filter(config.filter.clone()))
        };
        let own = finder()?;
        let workers = (1..workers).map(|_| Worker::start(finder()?)).collect::<Result<Vec<_>>>()?;
        let merger = Merger::new(config, level, front.calibration(), sides)?;
        Ok(Self {
            front,
            part: PixelHits::default(),
            workers,
            own,
            unused: Vec::new(),
            under_way: VecDeque::new(),
            merger,
            counters: Counters::default(),
        })
    }

    fn push(&mut self, hits: &PixelHits, end: bool) -> &mut [PixelClusters] {
        with_default_float_mode(|| self.take_in(hits, end));
        self.merger.out()
    }

    fn take_in(&mut self, hits: &PixelHits, end: bool) {
        self.merger.clear();
        if hits.len() <= WINDOW {
            self.send(hits, end);
        } else {
            let mut part = std::mem::take(&mut self.part);
            for start in (0..hits.len()).step_by(WINDOW) {
                part.clear();
                part.extend_from(hits, start..hits.len().min(start + WINDOW), 0);
                self.send(&part, end && start + WINDOW >= hits.len());
            }
            self.part = part;
        }
        while self.collect(end) {}
        let mut clock = StageClock::start();
        if end {
            self.merger.finish();
        }
        self.merger.count_out();
        clock.lap(&mut self.counters.stages[3]);
        self.counters.stages[3].items_out = self.merger.counts().clusters;
    }

    /// Gives what nothing can come before any more to a worker.
    fn send(&mut self, hits: &PixelHits, end: bool) {
        while self.collect(self.under_way.len() >= WAITING * (self.workers.len() + 1)) {}
        let free = self.workers.iter().enumerate().min_by_key(|(_, worker)| worker.under_way);
        let free = free.filter(|(_, worker)| worker.under_way < PER_LANE).map(|(i, _)| i);
        let unused = free.map_or(&mut self.unused, |i| &mut self.workers[i].unused);
        let mut window = unused.pop().unwrap_or_default();
        window.hits.clear();
        window.between = self.front.push_unsorted(hits, end, &mut window.hits, &mut self.counters);
        if window.hits.is_empty() {
            unused.push(window);
        } else if let Some(i) = free {
            let worker = &mut self.workers[i];
            if let Some(windows) = &worker.windows {
                windows.send(window).expect("a worker lives as long as its windows");
            }
            worker.under_way += 1;
            self.under_way.push_back(UnderWay::At(i));
        } else {
            self.own.run(&window.hits, window.between, &mut window.found);
            self.under_way.push_back(UnderWay::Done(window));
        }
    }

    /// Takes the oldest window, waiting for it or not; false when there is none.
    fn collect(&mut self, wait: bool) -> bool {
        let (mut window, worker) = match self.under_way.pop_front() {
            None => return false,
            Some(UnderWay::Done(window)) => (window, None),
            Some(UnderWay::At(worker)) => {
                let answers = &self.workers[worker].answers;
                let answer = if wait { answers.recv().ok() } else { answers.try_recv().ok() };
                let Some(window) = answer else {
                    assert!(!wait, "a worker ended with windows under way");
                    self.under_way.push_front(UnderWay::At(worker));
                    return false;
                };
                (window, Some(worker))
            }
        };
        for (stage, ns) in self.counters.stages[1..].iter_mut().zip(window.found.ns) {
            stage.ns += ns;
        }
        let mut clock = StageClock::start();
        self.merger.add(&mut window.found);
        clock.lap(&mut self.counters.stages[3]);
        match worker {
            Some(i) => {
                self.workers[i].under_way -= 1;
                self.workers[i].unused.push(window);
            }
            None => self.unused.push(window),
        }
        true
    }
}

impl Worker {
    fn start(mut finder: WindowFinder) -> Result<Self> {
        let (windows, inbox) = bounded::<Window>(PER_LANE);
        let (outbox, answers) = bounded(PER_LANE + 1);
        let work = move || {
            set_default_float_mode();
            while let Ok(mut window) = inbox.recv() {
                finder.run(&window.hits, window.between, &mut window.found);
                if outbox.send(window).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("peloton-pixels".into())
            .spawn(work)
            .map_err(|e| Error::System(format!("cannot start a worker: {e}")))?;
        Ok(Self { under_way: 0, unused: Vec::new(), windows: Some(windows), answers, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.windows = None;
        if let Some(thread) = self.thread.take() {
            // Whoever waited for an answer has seen a panic already.
            let _ = thread.join();
        }
    }
}
