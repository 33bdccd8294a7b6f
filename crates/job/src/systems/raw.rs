//! Sources of raw banks: files and streams, and the simulation.

use super::banks::HitNames;
use super::inputs;
use super::raw_found::{BanksOf, RawCut, RawFound, Wanted};
use crate::totals::{HITS_NOT_IN_GEOMETRY, UNUSABLE_INPUTS};
use crate::{Beside, CountUnknown, Host, Request, Source};
use peloton::engine::Batch;
use peloton::event::RawBatch;
use peloton::velo::VeloBanks;
use peloton::{Error, Result};
use peloton_io::input::mdf::{HitsOf, decode_mc};
use peloton_io::input::{
    ChecksumPolicy, Format, Geometry, RawReader, ReadOptions, Source as InputSource, find_raw, is_pipe,
    is_raw_stream, look_ahead,
};
use peloton_sim::{LhcbDetector, LhcbReader, SimDetector, SimSpec};
use peloton_truth::Rules;
use serde_json::{Map, Value};
use std::io::{Cursor, Read};
use std::path::Path;

/// Number of bytes that identify the format of a stream.
const HEAD: usize = 64;

/// The origin of raw banks.
enum Origin {
    Files(Box<RawReader>),
    Simulation(Box<Simulated>),
}

/// A simulated detector.
struct Simulated {
    reader: LhcbReader,
    ut: peloton::ut::UtGeometry,
    scifi: peloton::scifi::SciFiGeometry,
    polarity: f32,
}

/// Events of raw banks.
pub struct RawSource {
    origin: Origin,
    /// The hits that true particles list, if the truth is requested.
    truth: Option<HitsOf>,
    /// Geometry of the detectors, and kind of Velo banks to read.
    geometry: Geometry,
    banks: VeloBanks,
    /// Auxiliary data of the events so far.
    found: RawFound,
    checksum: ChecksumPolicy,
    waits_for_faults: bool,
}

/// Counts the hits in a list that an event of raw banks does not have.
pub type CountInBanks = Box<dyn Fn(&RawBatch, usize, &mut dyn Iterator<Item = &u32>) -> u64 + Send + Sync>;

/// The content of the inputs of a request, other than simulated hits.
pub enum Found {
    /// Raw banks.
    Raw(RawSource, Geometry),
    /// Another format, from a pipe whose first bytes were read.
    OtherPipe(String, Box<dyn Read + Send>),
    /// Files of another format.
    OtherFiles(Vec<InputSource>),
}

/// The geometry that a request names, for raw banks.
///
/// # Errors
/// [`Error::Config`] if events are not simulated and no geometry is named.
pub fn geometry(request: &Request, is_simulated: bool) -> Result<Geometry> {
    match &request.geometry {
        Some(folder) => Geometry::named(folder),
        None if is_simulated => Ok(Geometry::Nominal),
        None => {
            let missing = "raw banks need --geometry DIR, the folder of the detector's geometry files";
            Err(Error::Config(missing.into()))
        }
    }
}

impl RawSource {
    /// The simulation of a specification.
    ///
    /// # Errors
    /// Errors of the geometry.
    pub fn simulated(request: &Request, spec: SimSpec, truth: bool) -> Result<(Self, Geometry)> {
        let geometry = geometry(request, true)?;
        let (first, count) = (request.events.first as u64, request.events.count.map(|count| count as u64));
        let simulated = Simulated {
            reader: LhcbReader::new(spec, first, count).with_threads(request.config.thread_count()),
            ut: geometry.ut()?,
            scifi: geometry.scifi()?,
            polarity: geometry.polarity()?,
        };
        let origin = Origin::Simulation(Box::new(simulated));
        Ok((Self::new(request, origin, geometry.clone(), truth), geometry))
    }

    fn files(request: &Request, reader: RawReader, truth: bool) -> Result<Found> {
        let reader = reader.judging_truth(|mc| decode_mc(mc, HitsOf::All).map(drop));
        let geometry = geometry(request, false)?;
        let source = Self::new(request, Origin::Files(Box::new(reader)), geometry.clone(), truth);
        Ok(Found::Raw(source, geometry))
    }

    fn new(request: &Request, origin: Origin, geometry: Geometry, truth: bool) -> Self {
        let truth = truth.then_some(HitsOf::Velo);
        let found = RawFound::new(geometry.clone());
        Self {
            origin,
            truth,
            geometry,
            banks: request.velo_banks,
            found,
            checksum: request.checksum,
            waits_for_faults: inputs::waits_for_faults(request),
        }
    }

    /// Determines the content of the inputs.
    ///
    /// # Errors
    /// Errors of the readers and of the geometry.
    pub fn find(request: &Request, names: &[String], truth: bool) -> Result<Found> {
        let options = inputs::options(request, truth);
        if let [name] = names
            && let Some(mut stream) = inputs::open_pipe(name)?
        {
            // The bytes that were read ahead are put before the rest of the stream, since a pipe can be read only once.
            let mut kept = Vec::new();
            let head = look_ahead(&mut stream, HEAD, &mut kept).map_err(|e| Error::io(name, e))?;
            let is_raw =
                request.format == Format::Mdf || request.format == Format::Auto && is_raw_stream(&head);
            let stream = Cursor::new(kept).chain(stream);
            let name = if name == "-" { "standard input" } else { name };
            if is_raw {
                return Self::files(request, RawReader::from_stream(name, stream, options), truth);
            }
            return Ok(Found::OtherPipe(name.into(), Box::new(stream)));
        }
        let sources = inputs::sources(names);
        if !is_raw(&options, &sources)? {
            return Ok(Found::OtherFiles(sources));
        }
        Self::files(request, RawReader::open(&sources, options)?, truth)
    }

    /// Opens inputs that must be raw banks.
    ///
    /// # Errors
    /// [`Error::Config`] for other inputs, and errors of the readers and of the geometry.
    pub fn open(request: &Request, sequence: &str, truth: bool, host: Host<'_>) -> Result<(Self, Geometry)> {
        let names = &request.inputs;
        let wrong = || {
            let message = "takes raw banks: MDF, bank containers or sim:lhcb, not hits";
            Error::Config(format!("sequence {sequence} {message}"))
        };
        if let Some(spec) = inputs::special(names, &["sim:"])? {
            warn_of_format(request, host);
            let spec: SimSpec = spec.parse()?;
            if spec.detector != SimDetector::Lhcb {
                return Err(wrong());
            }
            return Self::simulated(request, spec, truth);
        }
        match Self::find(request, names, truth)? {
            Found::Raw(source, geometry) => Ok((source, geometry)),
            Found::OtherPipe(..) | Found::OtherFiles(_) => Err(wrong()),
        }
    }
}

/// Warns of a format for simulated events, which has no effect.
pub fn warn_of_format(request: &Request, host: Host<'_>) {
    if request.format != Format::Auto {
        host.warn("--format has no effect: the events are simulated");
    }
}

/// Whether the first file holds raw banks; the other files must be of the same kind.
fn is_raw(options: &ReadOptions, sources: &[InputSource]) -> Result<bool> {
    match (options.format, sources.first()) {
        (Format::Auto, Some(InputSource::Path(path))) if is_pipe(path) => Err(Error::Config(format!(
            "{} is a pipe, which can be read only once: with other inputs it needs --format",
            path.display()
        ))),
        (Format::Auto, Some(InputSource::Path(path))) => Ok(find_raw(path)?.is_some() || is_named_mdf(path)),
        (format, _) => Ok(format.is_raw()),
    }
}

/// Whether the name identifies the format when the beginning is damaged.
pub fn is_named_mdf(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    path.is_file() && (name.ends_with(".mdf") || name.ends_with(".mdf.zst"))
}

impl RawSource {
    /// Like [`Source::cut`], for batches in which `banks_of` finds the raw banks.
    ///
    /// # Errors
    /// Errors of the reader.
    pub fn cut_banks(
        &mut self,
        events: usize,
        batch: &mut dyn Batch,
        beside: &mut Beside,
        banks_of: BanksOf,
    ) -> Result<usize> {
        let looks_up_hits = matches!(self.origin, Origin::Files(_));
        let wanted = Wanted { truth: self.truth, looks_up_hits };
        match &mut self.origin {
            Origin::Files(reader) => {
                let cut = beside.unparsed(|| RawCut::new(self.found.clone(), wanted, banks_of));
                reader.cut(events, banks_of(batch)?, &mut cut.events)
            }
            Origin::Simulation(simulated) => {
                let Simulated { reader, ut, scifi, polarity } = &mut **simulated;
                let (detector, batch) = (LhcbDetector { ut, scifi, polarity: *polarity }, banks_of(batch)?);
                let (first, mut notes) = (batch.len(), Vec::new());
                let read = reader.read(events, &detector, batch, &mut notes);
                self.found.note((batch, first), &notes, wanted, beside)?;
                read
            }
        }
    }
}

impl RawSource {
    /// Like [`Source::count_unknown`], for a batch of raw banks.
    pub fn count_unknown_in_banks(&self, rules: Rules) -> CountInBanks {
        let names = HitNames::new(&self.geometry, self.banks, rules.hits_of());
        Box::new(move |banks, event, hits| names.unknown(&banks.view().event(event), hits))
    }
}

impl Source for RawSource {
    fn empty(&self) -> Box<dyn Batch> {
        Box::new(RawBatch::default())
    }

    fn cut(&mut self, events: usize, batch: &mut dyn Batch, beside: &mut Beside) -> Result<usize> {
        self.cut_banks(events, batch, beside, |batch| batch.of_mut())
    }

    fn waits_for_faults(&self) -> bool {
        self.waits_for_faults
    }

    fn bytes_read(&self) -> Option<u64> {
        match &self.origin {
            Origin::Files(reader) => Some(reader.bytes_read()),
            Origin::Simulation(_) => None,
        }
    }

    fn known_items(&self) -> Option<u64> {
        match &self.origin {
            Origin::Files(_) => None,
            Origin::Simulation(simulated) => Some(simulated.reader.left()),
        }
    }

    fn problems(&self) -> (Vec<String>, u64) {
        self.found.problems()
    }

    fn dropped(&self) -> Vec<(&'static str, u64)> {
        match &self.origin {
            Origin::Files(_) => {
                let unknown = (HITS_NOT_IN_GEOMETRY, self.found.unknown_hits());
                vec![(UNUSABLE_INPUTS, self.found.unusable_inputs()), unknown]
            }
            Origin::Simulation(_) => Vec::new(),
        }
    }

    fn facts(&self) -> Map<String, Value> {
        let not_nominal = self.found.not_nominal();
        let facts = [
            (not_nominal > 0).then(|| ("events_not_nominal", not_nominal.into())),
            (self.checksum == ChecksumPolicy::Skip).then(|| ("checksum", self.checksum.name().into())),
        ];
        facts.into_iter().flatten().map(|(name, value)| (name.to_string(), value)).collect()
    }

    fn count_unknown(&self, rules: Rules) -> CountUnknown {
        let count = self.count_unknown_in_banks(rules);
        Box::new(move |batch, event, hits| batch.of().map_or(0, |banks| count(banks, event, hits)))
    }

    fn check_by(&mut self, rules: Rules) {
        self.truth = Some(rules.hits_of());
    }
}
