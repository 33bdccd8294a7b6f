//! [`Workers`]: finds the clusters of a stream on several threads, in windows of time, and merges them at borders (the
//! paper, sections 3.2.3 and 3.3).
//!
//! ```text
//! hits -> windows -> worker 0 -- complete clusters --> in order of first hits -> out
//!                    worker 1        ...                  ^
//!                     ...   '--- hits at borders -> merger
//! ```
//! A window is all hits between two times. A worker sorts a window and finds its clusters without the rest of the
//! stream. One worker is the calling thread, which processes a window when the other workers have enough hits, and
//! takes a window back when it would have to wait. Clusters away from both ends of a window are complete, and output
//! unchanged. All other clusters may have neighbours in other windows, so the merger clusters their hits once more.
//!
//! Writing to memory that another core has read or written takes several times as long as writing to a core's own
//! memory, so windows and tables return to the worker that made them.

use super::merge::{Merger, OWN};
use super::{Chain, ChainCounts, Definition, Front, TimepixConfig, WindowClusters, WindowFinder};
use crate::event::{Counters, Layout, PixelClusters, PixelHits, StageClock};
use crate::simd::{Level, set_default_float_mode, with_default_float_mode};
use crate::{Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::collections::VecDeque;
use std::thread::JoinHandle;

/// Largest number of windows in each worker; few hits make many windows.
const PER_WORKER: usize = 8;
/// Largest number of windows per worker that are in progress or wait for earlier ones.
const WAITING: usize = 8;
/// Largest number of hits added for a window, besides hits that waited; workers take turns. With all data made of them (100
/// bytes per hit) they stay in a second-level cache of 1 or 2 MiB.
const WINDOW: usize = 1 << 14;
/// Number of hits that a worker has, beyond the hits of a window that the calling thread processes itself: enough that the
/// worker does not run out of hits meanwhile, even if it has nearly finished the first of its windows.
const AHEAD: usize = 2 * WINDOW;

/// A window on its way to a worker and back.
#[derive(Default)]
struct Window {
    /// Windows are numbered in the order of their times.
    number: u64,
    /// Owner of the memory: [`OWN`], or 1 for the first of the other workers.
    home: usize,
    hits: PixelHits,
    between: [i64; 2],
    found: WindowClusters,
}

/// A window that has not left yet.
#[allow(clippy::large_enum_variant, reason = "the queue has few entries, whose memory is reused")]
enum UnderWay {
    /// At a worker.
    At(usize),
    /// Processed by the calling thread, even if it was sent to a worker.
    Done(Window),
}

/// A worker with its own thread.
struct Worker {
    /// Number of windows that it has, and of the hits in them.
    under_way: usize,
    hits: usize,
    /// Channel to the worker; none once the worker is to end.
    windows: Option<Sender<Window>>,
    /// Receiving end of the same channel: windows that the worker has not begun can be taken back.
    waiting: Receiver<Window>,
    answers: Receiver<Window>,
    thread: Option<JoinHandle<()>>,
}

/// One or more threads that turn a stream of hits into clusters.
pub enum Workers {
    /// Only the calling thread; for all definitions.
    One(Box<Chain>),
    /// Several threads, including the calling thread.
    Many(Box<ManyWorkers>),
}

/// Several workers, only for the local definition.
pub struct ManyWorkers {
    front: Front,
    /// Hits for the next window, in memory that no other thread sees.
    part: PixelHits,
    /// All workers except the calling thread.
    workers: Vec<Worker>,
    /// The worker on the calling thread.
    own: WindowFinder,
    /// Memory that a worker had before, which its caches may still hold, per worker; the calling thread is first.
    unused: Vec<Vec<Window>>,
    /// Windows in progress, in order.
    under_way: VecDeque<UnderWay>,
    /// Number of windows that are no longer in progress.
    gone: u64,
    merger: Merger,
    counters: Counters,
}

impl Workers {
    /// Starts `workers` workers; one worker is the calling thread.
    ///
    /// # Errors
    /// Errors of the configuration, and [`Error::Config`] when the system cannot start threads. Only the local
    /// definition runs on several threads.
    pub fn new(config: &TimepixConfig, level: Level, layout: &Layout, workers: usize) -> Result<Self> {
        if workers <= 1 {
            return Chain::new(config, level, layout).map(Box::new).map(Self::One);
        }
        if config.find.definition != Definition::Local {
            return Err(Error::Config("only the local definition runs on several threads".into()));
        }
        ManyWorkers::new(config, level, layout, workers).map(Box::new).map(Self::Many)
    }

    /// Drops the hits of a pixel from now on.
    pub fn mask(&mut self, x: u16, y: u16) {
        match self {
            Self::One(chain) => chain.mask(x, y),
            Self::Many(workers) => workers.front.mask(x, y),
        }
    }

    /// Adds hits like [`Chain::push`]; returns the clusters in any number of tables, in order.
    pub fn push(&mut self, hits: &PixelHits, end: bool) -> &mut [PixelClusters] {
        match self {
            Self::One(chain) => std::slice::from_mut(chain.push(hits, end)),
            Self::Many(workers) => workers.push(hits, end),
        }
    }

    /// Returns the counts of the hits so far.
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

    /// Returns the times and the numbers of items of the stages, summed over threads.
    pub fn counters(&self) -> &Counters {
        match self {
            Self::One(chain) => chain.counters(),
            Self::Many(workers) => &workers.counters,
        }
    }

    /// Returns the number of waiting hits.
    pub fn waiting(&self) -> usize {
        let counts = self.counts();
        let accounted = counts.hits_out + counts.masked + counts.late + counts.filtered;
        (counts.hits_in - accounted) as usize
    }

    /// Returns the number of threads that find clusters.
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
        let unused = (0..workers).map(|_| Vec::new()).collect();
        let workers = (1..workers).map(|_| Worker::start(finder()?)).collect::<Result<Vec<_>>>()?;
        let merger = Merger::new(config, level, front.calibration(), sides)?;
        Ok(Self {
            front,
            part: PixelHits::default(),
            workers,
            own,
            unused,
            under_way: VecDeque::new(),
            gone: 0,
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
        // Also without new hits, since waiting hits may leave now.
        for start in (0..hits.len().max(1)).step_by(WINDOW) {
            let part = start..hits.len().min(start + WINDOW);
            let is_last = part.end == hits.len();
            self.make_room();
            let front = &mut self.front;
            let between = front.push_unsorted(hits, part, end && is_last, &mut self.part, &mut self.counters);
            self.send(between);
        }
        while end && self.front.waiting() > 0 {
            self.make_room();
            let between = self.front.finish_unsorted(&mut self.part, &mut self.counters);
            self.send(between);
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

    /// Takes finished windows, and waits for some when many are in progress.
    fn make_room(&mut self) {
        while self.collect(self.under_way.len() >= WAITING * (self.workers.len() + 1)) {}
    }

    /// Sends the hits that have left, and the range of their times, to a worker.
    fn send(&mut self, between: [i64; 2]) {
        let hits = self.part.len();
        if hits == 0 {
            return;
        }
        let least = self.workers.iter_mut().enumerate().min_by_key(|(_, worker)| worker.hits);
        let free = least.filter(|(_, worker)| worker.hits < AHEAD + hits && worker.under_way < PER_WORKER);
        let home = free.as_ref().map_or(OWN, |(i, _)| i + 1);
        let mut window = self.unused[home].pop().unwrap_or_default();
        let number = self.gone + self.under_way.len() as u64;
        (window.number, window.home, window.between) = (number, home, between);
        if let Some((i, worker)) = free {
            let mut clock = StageClock::start();
            window.hits.copy_to_hand_over(&self.part);
            clock.lap(&mut self.counters.stages[1]);
            (worker.under_way, worker.hits) = (worker.under_way + 1, worker.hits + hits);
            if let Some(windows) = &worker.windows {
                windows.send(window).expect("the worker has not ended");
            }
            self.under_way.push_back(UnderWay::At(i));
        } else {
            std::mem::swap(&mut window.hits, &mut self.part);
            self.own.run(&window.hits, window.between, &mut window.found);
            self.under_way.push_back(UnderWay::Done(window));
        }
    }

    /// Takes the oldest window, waiting for it if `wait`. Returns false when there is none.
    fn collect(&mut self, wait: bool) -> bool {
        let Some(mut window) = self.take_oldest(wait) else { return false };
        self.gone += 1;
        for (stage, ns) in self.counters.stages[1..].iter_mut().zip(window.found.ns) {
            stage.ns += ns;
        }
        let mut clock = StageClock::start();
        self.merger.add(&mut window.found, window.home);
        clock.lap(&mut self.counters.stages[3]);
        self.unused[window.home].push(window);
        true
    }

    /// Returns the oldest window; none when it is not finished and `wait` is false, or when there is none.
    fn take_oldest(&mut self, wait: bool) -> Option<Window> {
        while let &UnderWay::At(worker) = self.under_way.front()? {
            let answers = &self.workers[worker].answers;
            let mut answer = answers.try_recv().ok();
            if answer.is_none() {
                if !wait {
                    return None;
                }
                if self.take_back() {
                    continue;
                }
                answer = self.workers[worker].answers.recv().ok();
                assert!(answer.is_some(), "a worker ended with windows under way");
            }
            self.workers[worker].has_less(answer.as_ref());
            self.under_way.pop_front();
            return answer;
        }
        match self.under_way.pop_front() {
            Some(UnderWay::Done(window)) => Some(window),
            _ => None,
        }
    }

    /// Processes a window that waits for its worker. Returns false when there is none.
    fn take_back(&mut self) -> bool {
        let Some(worker) = self.workers.iter_mut().max_by_key(|worker| worker.waiting.len()) else {
            return false;
        };
        let Ok(mut window) = worker.waiting.try_recv() else { return false };
        worker.has_less(Some(&window));
        self.own.run(&window.hits, window.between, &mut window.found);
        let place = (window.number - self.gone) as usize;
        self.under_way[place] = UnderWay::Done(window);
        true
    }
}

impl Worker {
    fn start(mut finder: WindowFinder) -> Result<Self> {
        let (windows, inbox) = bounded::<Window>(PER_WORKER);
        let waiting = inbox.clone();
        let (outbox, answers) = bounded(PER_WORKER);
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
        Ok(Self { under_way: 0, hits: 0, windows: Some(windows), waiting, answers, thread: Some(thread) })
    }

    /// Updates the counts after a window has left the worker.
    fn has_less(&mut self, window: Option<&Window>) {
        self.under_way -= 1;
        self.hits -= window.map_or(0, |window| window.hits.len());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.windows = None;
        if let Some(thread) = self.thread.take() {
            // The thread that waited for an answer has already seen the panic.
            let _ = thread.join();
        }
    }
}
