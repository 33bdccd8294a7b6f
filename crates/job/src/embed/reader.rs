//! [`Reader`]: reads the events of any input, batch by batch, for programs that reconstruct events themselves.

use crate::system::open;
use crate::threads::common_threads;
use crate::{Beside, Host, Opened, Request, Source};
use peloton::Result;
use peloton::engine::{Batch, Events, Spread};
use peloton::event::TruthEvent;
use peloton::simd::with_default_float_mode;
use peloton_io::input::EventId;

/// Reads the inputs of a request in the same way as a job with the same sequence.
pub struct Reader {
    source: Box<dyn Source>,
    threads: &'static dyn Spread,
    /// Whether the caller requested true particles; simulations always make them.
    truth: bool,
    /// Whether an error ended the input.
    is_over: bool,
}

/// Events in memory, in a form that every engine for this kind of events accepts.
pub struct ReadEvents {
    batch: Box<dyn Batch>,
    beside: Beside,
}

impl Reader {
    /// Opens the inputs; if `truth` is true, the true particles are read, too.
    ///
    /// # Errors
    /// Returns errors of the readers, and an error for the sequence of an endless stream, whose input has no events.
    pub fn open(request: &Request, truth: bool, host: Host<'_>) -> Result<Self> {
        let system = request.config.sequence.system();
        if system.stream().is_some() {
            let words = "has an endless stream as input, not events";
            return Err(peloton::Error::Unsupported(format!("the sequence {} {words}", system.name())));
        }
        let Opened { source, .. } = with_default_float_mode(|| open(request, truth, host))?;
        Ok(Self { source, threads: common_threads(&request.config), truth, is_over: false })
    }

    /// Returns the next events, at most `events` of them; none at the end of the input and after an error.
    ///
    /// # Errors
    /// Fails when reading cannot continue, or a fault in an event ends the input.
    pub fn read(&mut self, events: usize) -> Result<Option<ReadEvents>> {
        let (events, mut batch, mut beside) = (events.max(1), self.source.empty(), Beside::default());
        while batch.len() < events && !self.is_over {
            // An error ends the input: events after it are lost.
            self.is_over = true;
            if self.source.read(events - batch.len(), self.threads, &mut *batch, &mut beside)? == 0 {
                break;
            }
            self.is_over = false;
        }
        beside.forget_unparsed();
        if !self.truth {
            beside.truth.clear();
        }
        Ok((!batch.is_empty()).then_some(ReadEvents { batch, beside }))
    }

    /// Returns messages about the faults so far that did not end the input, and the total number of these faults.
    pub fn problems(&self) -> (Vec<String>, u64) {
        self.source.problems()
    }

    /// Returns the data that were lost before they became events, as pairs of reason and count.
    pub fn dropped(&self) -> Vec<(&'static str, u64)> {
        self.source.dropped()
    }
}

impl ReadEvents {
    /// Returns the events in the form that engines accept.
    pub fn events(&self) -> Events<'_> {
        self.batch.events()
    }

    /// Returns the run and event numbers of the events.
    pub fn ids(&self) -> &[EventId] {
        &self.beside.ids
    }

    /// Returns the true particles of each LHCb event, if requested and known.
    pub fn truth(&self) -> &[TruthEvent] {
        &self.beside.truth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cancel, Config, SequenceName, Silent};

    #[test]
    fn events_are_read_once_whatever_the_batches() {
        let (progress, cancel) = (Silent, Cancel::default());
        let host = Host { progress: &progress, cancel: &cancel };
        let sequences = [
            (SequenceName::Velo, "sim:velo,events=7,seed=1", true),
            (SequenceName::Ut, "sim:lhcb,events=7,seed=1", true),
            (SequenceName::Cylinder, "sim:cylinder,events=7,tracks=20,seed=1", false),
            (SequenceName::CylinderFit, "sim:cylinder,events=7,tracks=20,seed=1", false),
        ];
        for (sequence, input, has_truth) in sequences {
            let config = Config { sequence, ..Config::default() };
            let request = Request { inputs: vec![input.into()], config, ..Request::default() };
            let mut reader = Reader::open(&request, true, host).unwrap();
            let (mut numbers, mut sizes) = (Vec::new(), Vec::new());
            while let Some(read) = reader.read(3).unwrap() {
                assert_eq!(read.events().len(), read.ids().len());
                assert_eq!(read.truth().len(), if has_truth { read.ids().len() } else { 0 });
                sizes.push(read.ids().len());
                numbers.extend(read.ids().iter().map(|id| id.number));
            }
            assert_eq!((numbers, sizes), ((0..7).collect(), vec![3, 3, 1]), "{sequence}");
        }
    }
}
