//! [`Gather`]: collects the data for pictures of a system's events.

use crate::system::Detector;
use crate::systems::{NaiveDecoder, Rows, TrackRows, hits_of};
use crate::{CheckOptions, Chunk, Request, Source};
use peloton::Result;
use peloton::engine::Sliced;
use peloton::event::Columns;
use peloton_plot::Sensor;
use peloton_plot::event::Gathered;
use peloton_truth::{Checker, Rules};

/// One event, by its numbers in its batch and in its results.
pub struct Of<'a> {
    /// The batch, its auxiliary data, and its results.
    pub chunk: &'a Chunk<Sliced>,
    /// Number of the event in the batch.
    pub number: usize,
    /// The piece of the results that contains the event.
    pub results: &'a Columns,
    /// Number of the event in that piece.
    pub event: usize,
}

/// Collects the drawn parts of the events of a system.
pub trait Gather: Send {
    /// The sensors.
    fn sensors(&self) -> Vec<Sensor>;

    /// Collects the drawn parts of an event.
    fn event(&mut self, of: &Of<'_>) -> Gathered;
}

/// Collects events of LHCb.
pub struct GatherTracks {
    /// Decodes the hits.
    decoders: Vec<NaiveDecoder>,
    /// Appends the tracks of an event; none for a sequence that ends at hits.
    rows: Option<Rows>,
    /// The rules that decide which particles are found.
    rules: Rules,
}

impl GatherTracks {
    /// Collects the events of a detector, and requests the necessary truth from the source.
    ///
    /// # Errors
    /// Errors of the rules.
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
