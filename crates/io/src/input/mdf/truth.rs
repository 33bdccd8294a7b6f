//! Decodes the truth of LHCb's simulated raw events: particles with their hits, and vertices.

use crate::input::{McBanks, McFormat};
use peloton::Result;
use peloton::bytes::Fields;
use peloton::event::{Particle, TruthEvent};
use peloton::units::MEV_PER_GEV;

/// Smallest size of a particle without its hits, bytes; it bounds the number of particles that a file claims.
const SMALLEST: usize = 84;

/// The detector whose hits a [`Particle`] lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitsOf {
    /// The vertex locator.
    Velo,
    /// The upstream tracker.
    Ut,
    /// The fibre tracker.
    SciFi,
    /// Velo, UT and SciFi, in this order.
    All,
}

/// A true vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vertex {
    /// Number of charged particles from the vertex.
    pub tracks: i32,
    /// Position of the vertex, mm.
    pub position: [f64; 3],
}

/// Decodes all true particles of an event, including particles without hits.
///
/// # Errors
/// [`Error::Format`](peloton::Error::Format) names the place, the field and its offset.
pub fn decode_mc(banks: &McBanks, hits_of: HitsOf) -> Result<TruthEvent> {
    let mut fields = Fields::new(&banks.place, &banks.tracks);
    let count = fields.u32("number of particles")? as usize;
    if count > fields.left() / SMALLEST {
        let message = format!("{count} particles do not fit into {} bytes", fields.left());
        return Err(fields.wrong("number of particles", &message));
    }
    let mut particles = Vec::with_capacity(count);
    for _ in 0..count {
        particles.push(particle(&mut fields, banks, hits_of)?);
    }
    // Banks are padded to whole words.
    if fields.left() >= 4 {
        fields.end()?;
    }
    Ok(TruthEvent { particles })
}

fn particle(fields: &mut Fields<'_>, banks: &McBanks, hits_of: HitsOf) -> Result<Particle> {
    let key = fields.u32("key")?;
    let pid = fields.i32("pid")?;
    let p = f64::from(fields.f32("p")?) / MEV_PER_GEV;
    let pt = f64::from(fields.f32("pt")?) / MEV_PER_GEV;
    let (eta, phi) = (f64::from(fields.f32("eta")?), f64::from(fields.f32("phi")?));
    let origin = [fields.f32("origin x")?, fields.f32("origin y")?, fields.f32("origin z")?];
    let mut flags = [false; 8];
    for flag in &mut flags {
        *flag = fields.u8("flag")? != 0;
    }
    let [is_long, is_down, has_velo, has_ut, has_scifi, from_beauty, from_charm, from_strange] = flags;
    let from_signal = matches!(banks.format, McFormat::Bank(2..)) && fields.u8("from signal")? != 0;
    let mother = fields.i32("key of the mother")?;
    if matches!(banks.format, McFormat::Bank(_)) {
        fields.i32("pid of the mother")?;
    }
    fields.take("decay origin", 16)?;
    let charge = f64::from(fields.f32("charge")?);
    fields.u32("number of vertices")?;
    let mut hits = Vec::new();
    for (of, field) in [(HitsOf::Velo, "Velo hits"), (HitsOf::Ut, "UT hits"), (HitsOf::SciFi, "SciFi hits")] {
        let count = fields.u32(field)? as usize;
        let ids = fields.u32s(field, count)?;
        if hits_of == of || hits_of == HitsOf::All {
            hits.extend(ids);
        }
    }
    Ok(Particle {
        key: key.into(),
        pid,
        p,
        pt,
        eta,
        phi,
        charge,
        origin: Some(origin),
        states: banks.states_of(key),
        mother: (mother >= 0).then_some(mother.into()),
        is_long,
        is_down,
        has_velo,
        has_ut,
        has_scifi,
        from_beauty,
        from_charm,
        from_strange,
        from_signal,
        hits,
    })
}

/// Decodes the true vertices of an event; returns an empty list if the input has no vertices.
///
/// # Errors
/// [`Error::Format`](peloton::Error::Format) names the place, the field and its offset.
pub fn decode_vertices(banks: &McBanks) -> Result<Vec<Vertex>> {
    if banks.vertices.is_empty() {
        return Ok(Vec::new());
    }
    let mut fields = Fields::new(&banks.place, &banks.vertices);
    let count = fields.u32("number of vertices")? as usize;
    if count > fields.left() / 28 {
        let message = format!("{count} vertices do not fit into {} bytes", fields.left());
        return Err(fields.wrong("number of vertices", &message));
    }
    let mut vertices = Vec::with_capacity(count);
    for _ in 0..count {
        let tracks = fields.i32("tracks")?;
        vertices.push(Vertex { tracks, position: [fields.f64("x")?, fields.f64("y")?, fields.f64("z")?] });
    }
    Ok(vertices)
}
