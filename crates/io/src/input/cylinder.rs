//! Reads and writes events of the cylinder detector in the toy format of mkFit (2017).
//!
//! A little-endian file holds the i32 number of events, then a record per event: i32 bytes of the whole record; i32
//! number of tracks, tracks of 168 bytes; i32 number of layers (10), per layer i32 number of hits, hits of 40 bytes;
//! i32 number of truth records, 16 bytes each. Track: f32 x, y, z, 1/pT, phi, theta, 21 covariances, i16 charge, two
//! flag bytes, f32 chi2, i32 hit on each layer, last layer, number of hits, label. Hit: f32 x, y, z, covariance (xx,
//! xy, yy, xz, yz, zz), i32 truth record. Truth record: i32 track, layer, hit on the layer, number of the record.

use super::problems::ProblemLog;
use super::source::{PutBack, Stream, entries};
use super::{ByteCount, MAX_EVENT_BYTES, ReadOptions, Source, passing};
use peloton::bytes::Fields;
use peloton::event::{CYLINDER_LAYERS, CylinderBatch, CylinderTruth, NO_HIT};
use peloton::simd::with_default_float_mode;
use peloton::{Error, Result, Status};
use std::collections::VecDeque;
use std::io::{Read, Write};

const TRACK: usize = 168;
const HIT: usize = 40;
const INFO: usize = 16;

/// Largest number of events of a toy file; a file with a larger number has another format.
const MAX_EVENTS: i32 = 100_000_000;

/// Whether a stream with this beginning is a toy file: number of events, size of the first record and number of its
/// tracks are consistent.
pub(super) fn begins_toy_file(head: &[u8]) -> bool {
    let number = |at: usize| {
        let bytes = head.get(4 * at..)?.first_chunk()?;
        Some(i32::from_le_bytes(*bytes))
    };
    match (number(0), number(1), number(2)) {
        (Some(0), None, _) => true,
        (Some(1..=MAX_EVENTS), Some(size), Some(tracks)) => {
            let smallest = 12 + i64::from(tracks) * TRACK as i64;
            tracks >= 0 && smallest <= i64::from(size) && size as usize <= MAX_EVENT_BYTES
        }
        _ => false,
    }
}

/// Reads toy files, compressed or not, one after another.
pub struct CylinderReader {
    waiting: VecDeque<super::source::Entry>,
    current: Option<Current>,
    options: ReadOptions,
    /// Number of the next event over all sources.
    next: usize,
    inputs: usize,
    problems: ProblemLog,
    record: Vec<u8>,
}

struct Current {
    name: String,
    stream: Stream,
    left: usize,
}

impl CylinderReader {
    /// Lists the files of the sources; each file is opened when reading reaches it.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that does not exist.
    pub fn open(sources: &[Source], options: ReadOptions) -> Result<Self> {
        let mut waiting = VecDeque::new();
        for source in sources {
            waiting.extend(entries(source)?);
        }
        Ok(Self::new(waiting, options))
    }

    /// Reads events from any stream, compressed or not. Messages call the stream `name`.
    pub fn from_stream(name: &str, stream: impl Read + Send + 'static, options: ReadOptions) -> Self {
        let stream: Stream = Box::new(std::io::BufReader::new(stream));
        Self::new([super::source::Entry::Stream { name: name.into(), stream }].into(), options)
    }

    fn new(waiting: VecDeque<super::source::Entry>, options: ReadOptions) -> Self {
        let inputs = waiting.len();
        let problems = ProblemLog::default();
        let next = options.start.event;
        Self { waiting, current: None, options, next, inputs, problems, record: Vec::new() }
    }

    /// Counts all events of the sources without decoding them.
    ///
    /// # Errors
    /// Errors of [`CylinderReader::read`].
    pub fn count(mut self) -> Result<u64> {
        self.options = passing(self.options);
        self.read(1, &mut CylinderBatch::default(), &mut CylinderTruth::default())?;
        Ok(self.next as u64)
    }

    /// Problems so far that did not end the job.
    pub fn problems(&self) -> &ProblemLog {
        &self.problems
    }

    /// Appends up to `max_events` events to `batch` and their truth to `truth`. Returns the number of events, 0 at the
    /// end of the input. An event that cannot be decoded has no hits and the status [`Status::Corrupt`].
    ///
    /// # Errors
    /// [`Error::Io`] for an unreadable file, [`Error::Format`] for another format or, in strict mode, any problem.
    pub fn read(
        &mut self,
        max_events: usize,
        batch: &mut CylinderBatch,
        truth: &mut CylinderTruth,
    ) -> Result<usize> {
        with_default_float_mode(|| self.read_events(max_events, batch, truth))
    }

    fn read_events(
        &mut self,
        max_events: usize,
        batch: &mut CylinderBatch,
        truth: &mut CylinderTruth,
    ) -> Result<usize> {
        let mut appended = 0;
        while appended < max_events && self.options.reaches(self.next) {
            let Some((name, whole)) = self.next_record()? else { break };
            let number = self.next;
            self.next += 1;
            if number < self.options.first {
                continue;
            }
            let place = format!("{name}, event {number}");
            let status = match whole.and_then(|()| decode(&place, &self.record, batch, truth)) {
                Ok(()) => Status::Ok,
                Err(error) => {
                    batch.drop_unfinished();
                    truth.particles.drop_unfinished();
                    truth.particle_of.truncate(batch.x.len());
                    if self.options.strict {
                        return Err(error);
                    }
                    self.problems.lock().add(error.to_string());
                    Status::Corrupt
                }
            };
            batch.end_event(status);
            truth.particles.end_event();
            appended += 1;
        }
        Ok(appended)
    }

    /// Reads the next record into `record`, complete or not. Returns none when all sources have ended.
    fn next_record(&mut self) -> Result<Option<(String, Result<()>)>> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(entry) = self.waiting.pop_front() else { return Ok(None) };
                let (name, listed) = (entry.name(), entry.is_listed());
                match begin(entry, &self.options.bytes) {
                    Ok(Some(current)) => self.current = Some(current),
                    Ok(None) if listed => {
                        self.problems.lock().add(format!("{name}: skipped, {NO_TOY_FILE}"));
                    }
                    Ok(None) => {
                        let error = Error::format(name, NO_TOY_FILE);
                        self.problems.lock().set_aside(error, self.inputs, self.options.strict)?;
                    }
                    Err(error) => self.problems.lock().set_aside(error, self.inputs, self.options.strict)?,
                }
                continue;
            };
            if current.left == 0 {
                self.current = None;
                continue;
            }
            current.left -= 1;
            let name = current.name.clone();
            self.record.clear();
            let mut head = [0; 4];
            let mut read = current.stream.read_exact(&mut head);
            let size = i32::from_le_bytes(head);
            let mut fault = None;
            match usize::try_from(size) {
                Ok(size @ 4..=MAX_EVENT_BYTES) => {
                    let body = current.stream.by_ref().take(size as u64 - 4).read_to_end(&mut self.record);
                    read = read.and(body).and_then(|found| match found == size - 4 {
                        true => Ok(()),
                        false => Err(std::io::ErrorKind::UnexpectedEof.into()),
                    });
                }
                _ => fault = Some(Error::format(&name, format!("a record claims {size} bytes"))),
            }
            if let Err(error) = read {
                fault = Some(Error::io(&name, error));
            }
            let lost = current.left;
            let whole = fault.map_or(Ok(()), |fault| {
                // The beginning of the next record is not known.
                self.current = None;
                if lost > 0 {
                    let words = format!("{name}: {lost} events after a damaged record are lost");
                    self.problems.lock().add(words);
                }
                Err(fault)
            });
            return Ok(Some((name, whole)));
        }
    }
}

/// Message for a file of another format.
const NO_TOY_FILE: &str = "not a file of the cylinder detector: it does not begin with a number of events and the size \
                           of the first event";

/// Opens a source; none when it is not a toy file.
fn begin(entry: super::source::Entry, bytes: &ByteCount) -> Result<Option<Current>> {
    let name = entry.name();
    let (stream, _) = entry.open(bytes)?;
    let mut stream = PutBack::new(stream);
    let head = stream.peek(12);
    if head.is_empty() {
        return Err(Error::format(name, "the file is empty"));
    }
    if !begins_toy_file(&head) {
        return Ok(None);
    }
    let mut count = [0; 4];
    stream.read_exact(&mut count).map_err(|e| Error::io(&name, e))?;
    let left = usize::try_from(i32::from_le_bytes(count)).unwrap_or(0);
    Ok(Some(Current { name, stream: Box::new(stream), left }))
}

/// Reads a number of records of `size` bytes, which must fit into the remaining bytes.
fn count(fields: &mut Fields, field: &str, size: usize) -> Result<usize> {
    let count = fields.i32(field)?;
    match usize::try_from(count) {
        Ok(count) if count <= fields.left() / size => Ok(count),
        _ => Err(fields.wrong(field, &format!("{count} items of {size} bytes do not fit the record"))),
    }
}

fn decode(place: &str, record: &[u8], batch: &mut CylinderBatch, truth: &mut CylinderTruth) -> Result<()> {
    let mut fields = Fields::new(place, record);
    let tracks = count(&mut fields, "tracks", TRACK)?;
    let mut particles: Vec<Option<Particle>> = vec![None; tracks];
    for _ in 0..tracks {
        let mut track = Fields::new(place, fields.take("track", TRACK)?);
        let (label, particle) = read_track(&mut track)?;
        let slot = usize::try_from(label).ok().and_then(|label| particles.get_mut(label));
        match slot {
            Some(slot @ None) => *slot = Some(particle),
            _ => {
                return Err(
                    fields.wrong("label", &format!("{label} is not the number of a track, or occurs twice"))
                );
            }
        }
    }
    let layers = fields.i32("layers")?;
    if layers != CYLINDER_LAYERS as i32 {
        return Err(fields.wrong("layers", &format!("{layers} instead of {CYLINDER_LAYERS}")));
    }
    let mut records = Vec::new();
    let mut starts = [0; CYLINDER_LAYERS + 1];
    for layer in 0..CYLINDER_LAYERS {
        let hits = count(&mut fields, "hits", HIT)?;
        for _ in 0..hits {
            let mut hit = Fields::new(place, fields.take("hit", HIT)?);
            let (position, variance, info) = read_hit(&mut hit)?;
            batch.push(position, variance);
            records.push(info);
        }
        batch.end_layer();
        starts[layer + 1] = records.len();
    }
    let infos = count(&mut fields, "truth records", INFO)?;
    let owners = (0..infos)
        .map(|_| {
            let mut info = Fields::new(place, fields.take("truth record", INFO)?);
            info.i32("track")
        })
        .collect::<Result<Vec<_>>>()?;
    let owner = |record: &i32| {
        let track = usize::try_from(*record).ok().and_then(|record| owners.get(record));
        track.and_then(|track| u32::try_from(*track).ok()).filter(|track| (*track as usize) < tracks)
    };
    truth.particle_of.extend(records.iter().map(|record| owner(record).unwrap_or(NO_HIT)));
    for (vertex, hits) in particles.into_iter().flatten() {
        let mut places = [NO_HIT; CYLINDER_LAYERS];
        for (layer, place) in places.iter_mut().enumerate() {
            // A negative number means no hit on this layer.
            let Ok(hit) = usize::try_from(hits[layer]) else { continue };
            let count = starts[layer + 1] - starts[layer];
            if hit >= count {
                let words = format!("a track has hit {hit} on layer {layer}, which has {count} hits");
                return Err(fields.wrong("hit of a track", &words));
            }
            *place = (starts[layer] + hit) as u32;
        }
        truth.particles.push(vertex, places);
    }
    Ok(())
}

type Particle = ([f32; 6], [i32; CYLINDER_LAYERS]);

/// The label, and the vertex and hits of a track.
fn read_track(fields: &mut Fields) -> Result<(i32, Particle)> {
    let mut vertex = [0.0; 6];
    for value in &mut vertex {
        *value = fields.f32("parameter")?;
    }
    fields.take("covariance", 21 * 4)?;
    let charge = fields.u16("charge")? as i16;
    if charge != 1 && charge != -1 {
        return Err(fields.wrong("charge", &format!("{charge} is not 1 or -1")));
    }
    vertex[3] *= f32::from(charge);
    fields.take("flags and chi2", 2 + 4)?;
    let mut hits = [0; CYLINDER_LAYERS];
    for hit in &mut hits {
        *hit = fields.i32("hit")?;
    }
    fields.take("last layer and hits", 8)?;
    Ok((fields.i32("label")?, (vertex, hits)))
}

/// Position, variances along r, r-phi and z, and the number of the truth record.
fn read_hit(fields: &mut Fields) -> Result<([f32; 3], [f32; 3], i32)> {
    let mut values = [0.0; 9];
    for value in &mut values {
        *value = fields.f32("hit")?;
    }
    let record = fields.i32("truth record of a hit")?;
    let [x, y, _, xx, xy, yy, xz, yz, zz] = values.map(f64::from);
    let square = x * x + y * y;
    let along = (x * x * xx + 2.0 * x * y * xy + y * y * yy) / square;
    let across = (y * y * xx - 2.0 * x * y * xy + x * x * yy) / square;
    let mixed = (x * y * (yy - xx) + (x * x - y * y) * xy) / square;
    let small = |covariance: f64, a: f64, b: f64| covariance * covariance <= 1e-6 * a * b;
    let independent = small(mixed, along, across)
        && small((x * xz + y * yz) / square.sqrt(), along, zz)
        && small((x * yz - y * xz) / square.sqrt(), across, zz);
    // Also false for NaN.
    if !independent {
        return Err(fields.wrong("hit", "the errors along r, r-phi and z are not independent"));
    }
    Ok(([values[0], values[1], values[2]], [along as f32, across as f32, values[8]], record))
}

/// Writes all events in the toy format, with zeros as covariances of tracks.
///
/// # Errors
/// Errors of `out`; [`std::io::ErrorKind::InvalidInput`] for an event larger than the format's limit of 2 GiB.
pub fn write_cylinder(
    batch: &CylinderBatch,
    truth: &CylinderTruth,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let too_large = |_| std::io::Error::from(std::io::ErrorKind::InvalidInput);
    out.write_all(&i32::try_from(batch.len()).map_err(too_large)?.to_le_bytes())?;
    let mut record = Vec::new();
    for event in 0..batch.len() {
        record.clear();
        encode(batch, truth, event, &mut record);
        out.write_all(&i32::try_from(record.len() + 4).map_err(too_large)?.to_le_bytes())?;
        out.write_all(&record)?;
    }
    Ok(())
}

fn encode(batch: &CylinderBatch, truth: &CylinderTruth, event: usize, record: &mut Vec<u8>) {
    let starts = &batch.layer_start[event * CYLINDER_LAYERS..][..CYLINDER_LAYERS + 1];
    let particles = &truth.particles;
    let (from, to) = (particles.start[event] as usize, particles.start[event + 1] as usize);
    let mut put = |bytes: &[u8]| record.extend_from_slice(bytes);
    put(&((to - from) as i32).to_le_bytes());
    for particle in from..to {
        for i in 0..6 {
            let value = particles.vertex[i][particle];
            put(&if i == 3 { value.abs() } else { value }.to_le_bytes());
        }
        put(&[0; 21 * 4]);
        let charge = if particles.vertex[3][particle] < 0.0 { -1i16 } else { 1 };
        put(&charge.to_le_bytes());
        put(&[1, 0]);
        put(&0f32.to_le_bytes());
        let hits: [i32; CYLINDER_LAYERS] =
            std::array::from_fn(|layer| match particles.hits[layer][particle] {
                NO_HIT => -1,
                hit => (hit - (starts[layer] - starts[0])) as i32,
            });
        hits.iter().for_each(|hit| put(&hit.to_le_bytes()));
        put(&(CYLINDER_LAYERS as i32 - 1).to_le_bytes());
        put(&(hits.iter().filter(|hit| **hit >= 0).count() as i32).to_le_bytes());
        put(&((particle - from) as i32).to_le_bytes());
    }
    put(&(CYLINDER_LAYERS as i32).to_le_bytes());
    let all = starts[0] as usize..starts[CYLINDER_LAYERS] as usize;
    for layer in 0..CYLINDER_LAYERS {
        put(&((starts[layer + 1] - starts[layer]) as i32).to_le_bytes());
        for hit in starts[layer] as usize..starts[layer + 1] as usize {
            let [x, y] = [batch.x[hit], batch.y[hit]].map(f64::from);
            let [along, across] = [batch.var_r[hit], batch.var_rphi[hit]].map(f64::from);
            let square = x * x + y * y;
            let covariance = [
                (x * x * along + y * y * across) / square,
                x * y * (along - across) / square,
                (y * y * along + x * x * across) / square,
                0.0,
                0.0,
                f64::from(batch.var_z[hit]),
            ];
            [batch.x[hit], batch.y[hit], batch.z[hit]].iter().for_each(|value| put(&value.to_le_bytes()));
            covariance.iter().for_each(|value| put(&(*value as f32).to_le_bytes()));
            put(&((hit - all.start) as i32).to_le_bytes());
        }
    }
    put(&(all.len() as i32).to_le_bytes());
    for layer in 0..CYLINDER_LAYERS {
        for hit in starts[layer]..starts[layer + 1] {
            let owner = truth.particle_of[hit as usize];
            let track = if owner == NO_HIT { -1 } else { owner as i32 };
            let numbers =
                [track, layer as i32, (hit - starts[layer]) as i32, (hit as usize - all.start) as i32];
            numbers.iter().for_each(|number| put(&number.to_le_bytes()));
        }
    }
}
