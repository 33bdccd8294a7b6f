//! Writes events as Velo JSON, in the same schema as the reader's.

use super::velo_json_truth::COLUMNS;
use peloton::event::{Particle, TruthEvent, VELO_MODULES, VeloEvent};
use peloton::units::MEV_PER_GEV;
use std::collections::HashMap;
use std::io::{Result, Write};

/// Writes one event, with its truth if given, as one line of NDJSON, which is also a complete Velo JSON file. Reading
/// the line gives the same columns and truth, except that origins of particles are not stored, and that the id of a hit
/// is its index in the event.
///
/// # Errors
/// Errors of `writer`.
pub fn write_velo_json(
    event: VeloEvent<'_>,
    truth: Option<&TruthEvent>,
    writer: &mut dyn Write,
) -> Result<()> {
    let mut line = Vec::new();
    write_line(event, truth, &mut line)?;
    writer.write_all(&line)
}

fn write_line(event: VeloEvent<'_>, truth: Option<&TruthEvent>, writer: &mut Vec<u8>) -> Result<()> {
    let first = event.module_start[0];
    let sums: Vec<u32> = event.module_start[..=VELO_MODULES].iter().map(|start| start - first).collect();
    write!(writer, "{{\"description\":\"Upgrade 1\",\"module_prefix_sum\":")?;
    serde_json::to_writer(&mut *writer, &sums)?;
    if let Some(truth) = truth {
        write!(writer, ",\"montecarlo\":{{\"description\":")?;
        serde_json::to_writer(&mut *writer, &COLUMNS)?;
        write!(writer, ",\"particles\":[")?;
        let index = HitIndex::new(event.id);
        for (number, particle) in truth.particles.iter().enumerate() {
            writer.write_all(if number > 0 { b"," } else { b"" })?;
            write_particle(particle, &index, writer)?;
        }
        write!(writer, "]}}")?;
    }
    for (name, column) in [("x", event.x), ("y", event.y), ("z", event.z)] {
        write!(writer, ",\"{name}\":")?;
        serde_json::to_writer(&mut *writer, column)?;
    }
    writer.write_all(b"}\n")
}

fn write_particle(particle: &Particle, index: &HitIndex, writer: &mut Vec<u8>) -> Result<()> {
    let flags = [
        particle.is_long,
        particle.is_down,
        particle.has_velo,
        particle.has_ut,
        particle.has_scifi,
        particle.from_beauty,
        particle.from_charm,
        particle.from_strange,
    ];
    let Particle { key, pid, .. } = particle;
    write!(writer, "[{key},{pid}")?;
    for value in [mev(particle.p), mev(particle.pt), particle.eta, particle.phi] {
        writer.write_all(b",")?;
        serde_json::to_writer(&mut *writer, &value)?;
    }
    for flag in flags {
        writer.write_all(if flag { b",1" } else { b",0" })?;
    }
    writer.write_all(b",")?;
    serde_json::to_writer(&mut *writer, &particle.charge)?;
    writer.write_all(b",")?;
    let hits: Vec<u32> = particle.hits.iter().filter_map(|&hit| index.of(hit)).collect();
    serde_json::to_writer(&mut *writer, &hits)?;
    writer.write_all(b"]")
}

/// Converts GeV/c to MeV/c, with the fewest decimals that read back as the same number.
fn mev(gev: f64) -> f64 {
    let exact = gev * MEV_PER_GEV;
    [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6]
        .into_iter()
        .map(|scale| (exact * scale).round() / scale)
        .find(|rounded| rounded / MEV_PER_GEV == gev)
        .unwrap_or(exact)
}

/// Maps the ids of hits to their indices in the event.
enum HitIndex {
    /// Ids and indices are equal.
    Same(u32),
    Map(HashMap<u32, u32>),
}

impl HitIndex {
    fn new(ids: &[u32]) -> Self {
        let numbered = ids.iter().zip(0u32..);
        if numbered.clone().all(|(id, index)| *id == index) {
            return Self::Same(ids.len() as u32);
        }
        Self::Map(numbered.map(|(id, index)| (*id, index)).collect())
    }

    /// The index, if the event has the hit: a particle may also name hits of other detectors.
    fn of(&self, id: u32) -> Option<u32> {
        match self {
            Self::Same(hits) => (id < *hits).then_some(id),
            Self::Map(map) => map.get(&id).copied(),
        }
    }
}
