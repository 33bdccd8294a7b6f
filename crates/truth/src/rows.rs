//! Rows of the tables that `--truth-output` writes: results for every particle and every track.

use peloton::event::{CYLINDER_LAYERS, CylinderTruth, NO_HIT, Particle, TruthEvent};
use peloton_io::input::EventId;
use peloton_io::output::{Cell, CellKind, ID_FIELDS, TableField, id_cells};

/// Results for the particles and tracks of one event, by the rules of a checker.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventMatches {
    /// The result for each particle of the truth, in order.
    pub particles: Vec<ParticleMatch>,
    /// The result for each track, in order.
    pub tracks: Vec<TrackMatch>,
}

/// Result of a check for one particle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParticleMatch {
    /// Categories of the particle.
    pub categories: Vec<&'static str>,
    /// Number of tracks that match this particle.
    pub tracks: u32,
    /// Number of the particle's hits in the detector that the rules use for hit efficiencies.
    pub hits: u32,
    /// Index of the matching track with most of the particle's hits, and its hit efficiency; none without a match.
    pub best: Option<(u32, f64)>,
}

/// Result of a check for one track.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TrackMatch {
    /// Number of hits of the track.
    pub hits: u32,
    /// Index of the matched particle from which most of the track's hits come (the first of equals), and the purity of
    /// the track; none for a ghost.
    pub particle: Option<(u32, f64)>,
    /// Number of particles that the track matches, more than 1 if particles share hits.
    pub particles: u32,
    /// Whether an earlier track of the event matches the same particle.
    pub is_clone: bool,
    /// Whether the rules skip the track because it has exactly the hits of an earlier track.
    pub is_repeated: bool,
}

const fn field(name: &'static str, kind: CellKind, unit: &'static str, meaning: &'static str) -> TableField {
    TableField { name, kind, unit, meaning }
}

/// The columns of the table of particles.
pub const PARTICLE_FIELDS: [TableField; 29] = {
    use CellKind::{Bool, F64, I64, U32, Words};
    let [event_id, run_number, event_number] = ID_FIELDS;
    [
        event_id,
        run_number,
        event_number,
        field("particle", U32, "1", "number of the particle in its event, from 0, in the order of the input"),
        field("key", I64, "1", "key that the generator gave the particle; null if there is none"),
        field("pid", I64, "1", "PDG code; null if unknown"),
        field("charge", F64, "e", "charge"),
        field("p", F64, "GeV/c", "momentum"),
        field("pt", F64, "GeV/c", "transverse momentum"),
        field("eta", F64, "1", "pseudorapidity"),
        field("phi", F64, "rad", "azimuth of the momentum"),
        field("origin_x", F64, "mm", "x of the particle's origin; null if the origin is unknown"),
        field("origin_y", F64, "mm", "y of the particle's origin; null if the origin is unknown"),
        field("origin_z", F64, "mm", "z of the particle's origin; null if the origin is unknown"),
        field("mother", I64, "1", "key of the mother particle; null if there is none"),
        field(
            "is_long",
            Bool,
            "1",
            "reconstructible in Velo and SciFi; the columns is_long to from_strange are null for the cylinder",
        ),
        field("is_down", Bool, "1", "reconstructible in UT and SciFi"),
        field("has_velo", Bool, "1", "reconstructible in the Velo"),
        field("has_ut", Bool, "1", "reconstructible in the UT"),
        field("has_scifi", Bool, "1", "reconstructible in the SciFi"),
        field("from_beauty", Bool, "1", "from the decay of a b hadron"),
        field("from_charm", Bool, "1", "from the decay of a c hadron"),
        field("from_strange", Bool, "1", "from the decay of a strange hadron"),
        field("categories", Words, "1", "categories of the rules in which the particle counts"),
        field("reconstructible", Bool, "1", "whether the particle counts in any category"),
        field("found", Bool, "1", "whether a track matches this particle"),
        field(
            "tracks",
            U32,
            "1",
            "number of tracks that match this particle; all but the first track are clones",
        ),
        field(
            "best_track",
            U32,
            "1",
            "number of the matching track that has most of the particle's hits; null when not found. If particles share hits, a track can match several particles, and its column particle names one of them",
        ),
        field(
            "hit_efficiency",
            F64,
            "1",
            "share of the particle's hits that best_track has, 0 to 1; null when not found",
        ),
    ]
};

/// The columns of the table of tracks.
pub const TRACK_FIELDS: [TableField; 12] = {
    use CellKind::{Bool, F64, I64, U32};
    let [event_id, run_number, event_number] = ID_FIELDS;
    [
        event_id,
        run_number,
        event_number,
        field("track", U32, "1", "number of the track in its event, from 0, as in the results of run"),
        field("hits", U32, "1", "number of hits of the track"),
        field(
            "particle",
            U32,
            "1",
            "number in the event of the matched particle from which most of the track's hits come; the first of several with equally many hits; null for a ghost",
        ),
        field(
            "particles",
            U32,
            "1",
            "number of particles that the track matches: 0 for a ghost, more than 1 where particles share hits; the track counts for each of them",
        ),
        field("key", I64, "1", "key of the particle in column particle; null for a ghost and if unknown"),
        field(
            "purity",
            F64,
            "1",
            "share of the track's hits that come from the particle in column particle, 0 to 1; null for a ghost",
        ),
        field("ghost", Bool, "1", "whether the track is a ghost"),
        field("clone", Bool, "1", "whether an earlier track of the event matches the same particle"),
        field(
            "repeated",
            Bool,
            "1",
            "whether the rules skip the track because it has exactly the hits of an earlier track",
        ),
    ]
};

/// Returns a row of the table of particles.
fn particle_row(id: &EventId, number: usize, about: Vec<Cell>, fate: &ParticleMatch) -> Vec<Cell> {
    let ParticleMatch { categories, tracks, best, .. } = fate;
    let mut row = id_cells(id).to_vec();
    row.push((number as u32).into());
    row.extend(about);
    row.extend([
        Cell::Words(categories.clone()),
        (!categories.is_empty()).into(),
        (*tracks > 0).into(),
        (*tracks).into(),
        best.map(|(track, _)| track).into(),
        best.map(|(_, share)| share).into(),
    ]);
    row
}

/// Returns a row of the table of tracks.
fn track_row(id: &EventId, number: usize, track: &TrackMatch, key: Option<i64>) -> Vec<Cell> {
    let TrackMatch { hits, particle, particles, is_clone, is_repeated } = *track;
    let mut row = id_cells(id).to_vec();
    row.extend([
        (number as u32).into(),
        hits.into(),
        particle.map(|(particle, _)| particle).into(),
        particles.into(),
        key.into(),
        particle.map(|(_, purity)| purity).into(),
        (particle.is_none() && !is_repeated).into(),
        is_clone.into(),
        is_repeated.into(),
    ]);
    row
}

/// Returns the cells of a particle from its key to its flags.
fn about(particle: &Particle) -> Vec<Cell> {
    let Particle { key, pid, p, pt, eta, phi, charge, origin, mother, .. } = particle;
    let [x, y, z] = origin.map_or([None; 3], |origin| origin.map(Some));
    vec![
        (*key).into(),
        (*pid).into(),
        (*charge).into(),
        (*p).into(),
        (*pt).into(),
        (*eta).into(),
        (*phi).into(),
        x.into(),
        y.into(),
        z.into(),
        (*mother).into(),
        particle.is_long.into(),
        particle.is_down.into(),
        particle.has_velo.into(),
        particle.has_ut.into(),
        particle.has_scifi.into(),
        particle.from_beauty.into(),
        particle.from_charm.into(),
        particle.from_strange.into(),
    ]
}

/// Millimetres in a centimetre.
const MM_PER_CM: f64 = 10.0;

/// Returns the cells of a particle of the cylinder detector from its key to its flags.
fn about_cylinder(truth: &CylinderTruth, particle: usize) -> Vec<Cell> {
    let [x, y, z, qpt, phi, theta] =
        truth.particles.vertex.each_ref().map(|column| f64::from(column[particle]));
    let pt = 1.0 / qpt.abs();
    let mut cells = vec![Cell::Null, Cell::Null, qpt.signum().into()];
    cells.extend([pt / libm::sin(theta), pt, -libm::log(libm::tan(0.5 * theta)), phi].map(Cell::Float));
    cells.extend([x, y, z].map(|cm| Cell::Float(MM_PER_CM * cm)));
    cells.resize(cells.len() + 9, Cell::Null);
    cells
}

/// Rows of one event for the table of particles and the table of tracks.
#[derive(Debug, Default)]
pub struct EventRows {
    /// Rows with the columns [`PARTICLE_FIELDS`].
    pub particles: Vec<Vec<Cell>>,
    /// Rows with the columns [`TRACK_FIELDS`].
    pub tracks: Vec<Vec<Cell>>,
}

impl EventRows {
    /// Creates the rows of an LHCb event.
    pub fn of_event(id: &EventId, truth: &TruthEvent, matches: &EventMatches) -> Self {
        let particles = matches.particles.iter().enumerate();
        let key = |track: &TrackMatch| Some(truth.particles[track.particle?.0 as usize].key);
        let tracks = matches.tracks.iter().enumerate();
        Self {
            particles: particles
                .map(|(number, fate)| particle_row(id, number, about(&truth.particles[number]), fate))
                .collect(),
            tracks: tracks.map(|(number, track)| track_row(id, number, track, key(track))).collect(),
        }
    }

    /// Creates the rows of event `number` of a batch of the cylinder detector.
    pub fn of_cylinder(id: &EventId, truth: &CylinderTruth, number: usize, matches: &EventMatches) -> Self {
        let first = truth.particles.start[number] as usize;
        let particles = matches.particles.iter().enumerate();
        let tracks = matches.tracks.iter().enumerate();
        Self {
            particles: particles
                .map(|(number, fate)| particle_row(id, number, about_cylinder(truth, first + number), fate))
                .collect(),
            tracks: tracks.map(|(number, track)| track_row(id, number, track, None)).collect(),
        }
    }
}

/// Returns the number of hits of a particle of the cylinder detector.
pub(super) fn cylinder_hits(truth: &CylinderTruth, particle: usize) -> u32 {
    (0..CYLINDER_LAYERS).filter(|&layer| truth.particles.hits[layer][particle] != NO_HIT).count() as u32
}
