//! [`Gather`]: collects the data for drawing a system's events.

use crate::system::Detector;
use crate::systems::{NaiveDecoder, Rows, TrackRows, hits_of};
use crate::{CheckOptions, Chunk, Request, Source};
use peloton::Result;
use peloton::engine::Sliced;
use peloton::event::Columns;
use peloton_plot::Sensor;
use peloton_plot::event::Gathered;
use peloton_truth::{Checker, Rules};

/// One event: its number in a batch of input, and its number in the results.
pub struct Of<'a> {
    /// The batch, its auxiliary data, and its results.
    pub chunk: &'a Chunk<Sliced>,
    /// Number of the event in the batch.
    pub number: usize,
    /// The piece of the results that contains the event.
    pub results: &'a Columns,
    /// Number of the event in `results`.
    pub event: usize,
}

/// Collects the data of events that a picture shows.
pub trait Gather: Send {
    /// Returns the sensors to draw.
    fn sensors(&self) -> Vec<Sensor>;

    /// Returns the data of an event that a picture shows.
    fn event(&mut self, of: &Of<'_>) -> Gathered;
}

/// Collects the data of LHCb events that a picture shows.
pub struct GatherTracks {
    /// Decoders of the hits.
    decoders: Vec<NaiveDecoder>,
    /// Function that appends the tracks of an event; none for a sequence that finds only hits.
    rows: Option<Rows>,
    /// Rules that decide whether a particle counts as found.
    rules: Rules,
}

impl GatherTracks {
    /// Returns the collector for a detector, and requests the necessary truth from the source.
    ///
    /// # Errors
    /// Returns an error if the detector has no rules for checking tracks of this request.
    pub fn of(
        detector: &dyn Detector,
        request: &Request,
        source: &mut dyn Source,
        rows: Option<Rows>,
    ) -> Result<Box<dyn Gather>> {
        let rules = detector.track_rules(request, &CheckOptions::default())?;
        source.check_by(rules);
        Ok(Box::new(Self { decoders: detector.decoders(), rows, rules }))
    }
}

impl Gather for GatherTracks {
    fn sensors(&self) -> Vec<Sensor> {
        self.decoders.iter().flat_map(NaiveDecoder::sensors).collect()
    }

    fn event(&mut self, of: &Of<'_>) -> Gathered {
        let hits = hits_of(&self.decoders, &*of.chunk.batch, of.number);
        let Some(rows) = self.rows else { return Gathered::of_lhcb(hits, std::iter::empty(), None) };
        let mut found = TrackRows::default();
        rows(of.results, of.event, &mut found);
        let truth = of.chunk.beside.truth.get(of.number).map(|truth| {
            let mut checker = Checker::new(self.rules);
            checker.event(truth, found.iter().map(|(ids, _)| ids));
            (truth, checker.last_event(truth))
        });
        let tracks =
            found.iter().zip(0..).map(|((ids, measured), track)| (ids, measured, found.states(track)));
        Gathered::of_lhcb(hits, tracks, truth)
    }
}
