//! Naive reference of the decoder, for tests: decodes one hit after another, then sorts the hits.

use crate::Status;
use crate::event::{BankKind, RawBank, RawEvent, UT_CELLS, UT_GROUPS, UtBatch, UtCellHits};
use crate::ut::geometry::UtGeometry;
use crate::ut::layout::UtLayout;

/// One hit.
struct Hit {
    /// Sector in the order of hits, and quarter of the sector.
    sector: usize,
    part: usize,
    is_flipped: bool,
    group: usize,
    y_begin: f32,
    y_end: f32,
    x: f32,
    z: f32,
    weight: f32,
    id: u32,
}

/// Decodes one event and appends it to `out`.
pub fn reference(geometry: &UtGeometry, event: &RawEvent<'_>, out: &mut UtBatch) {
    reference_with(false, geometry, event, out);
}

/// Decodes one event like [`reference()`]. With `fault`, one comparison is wrong on purpose; tests must detect it.
pub fn reference_with(fault: bool, geometry: &UtGeometry, event: &RawEvent<'_>, out: &mut UtBatch) {
    let (mut hits, status) = match hits(geometry, event) {
        Ok(hits) => (hits, Status::Ok),
        Err(status) => (Vec::new(), status),
    };
    hits.sort_by(|a, b| {
        let key = |hit: &Hit| (hit.group, hit.y_begin, hit.x, hit.id);
        let order = key(a).partial_cmp(&key(b)).expect("finite numbers");
        if fault { order.reverse() } else { order }
    });
    let first = out.id.len();
    for hit in &hits {
        out.y_begin.push(hit.y_begin);
        out.y_end.push(hit.y_end);
        out.x.push(hit.x);
        out.z.push(hit.z);
        out.weight.push(hit.weight);
        out.id.push(hit.id);
    }
    for group in 0..UT_GROUPS {
        out.group_start.push((first + hits.iter().filter(|hit| hit.group <= group).count()) as u32);
    }
    out.status.push(status);
}

/// Decodes one event and appends it to `out`, with hits in the order of cells: sectors by plane and row, the quarters
/// of a sector by x.
pub fn reference_by_cell(
    geometry: &UtGeometry,
    layout: &UtLayout,
    event: &RawEvent<'_>,
    out: &mut UtCellHits,
) {
    let (mut hits, status) = match hits(geometry, event) {
        Ok(hits) => (hits, Status::Ok),
        Err(status) => (Vec::new(), status),
    };
    let cell = |hit: &Hit| {
        let part = if hit.is_flipped { 3 - hit.part } else { hit.part };
        layout.cells.rank()[4 * hit.sector + part] as usize
    };
    // Hits of a cell stay in the order of their bank.
    hits.sort_by_key(cell);
    let first = out.id.len();
    for hit in &hits {
        out.y_begin.push(hit.y_begin);
        out.y_end.push(hit.y_end);
        out.x.push(hit.x);
        out.z.push(hit.z);
        out.weight.push(hit.weight);
        out.id.push(hit.id);
    }
    for number in 0..UT_CELLS {
        out.cell_start.push((first + hits.partition_point(|hit| cell(hit) <= number)) as u32);
    }
    out.status.push(status);
}

fn hits(geometry: &UtGeometry, event: &RawEvent<'_>) -> Result<Vec<Hit>, Status> {
    if event.status != Status::Ok {
        return Err(event.status);
    }
    let banks = event.banks(BankKind::Ut);
    if banks.is_empty() {
        return Err(Status::MissingBanks);
    }
    let mut found = Vec::new();
    for bank in banks {
        match bank.version {
            3 => version_3(geometry, event, bank, &mut found)?,
            4 => version_4(geometry, event, bank, &mut found)?,
            _ => return Err(Status::BadBank),
        }
    }
    let mut hits = Vec::new();
    for strip in found {
        hits.push(strip.hit(geometry).ok_or(Status::BadBank)?);
    }
    Ok(hits)
}

/// A hit strip as given by its bank.
struct Strip {
    board: usize,
    lane: usize,
    /// Counted from 0.
    strip: u32,
    quarter: u32,
    version: u8,
}

fn halfword(bytes: &[u8], at: usize) -> Result<u16, Status> {
    let pair = bytes.get(2 * at..2 * at + 2).ok_or(Status::TruncatedBank)?;
    Ok(u16::from_le_bytes([pair[0], pair[1]]))
}

fn push(found: &mut Vec<Strip>, strip: Strip) -> Result<(), Status> {
    if found.len() == 65_536 {
        return Err(Status::OversizedBank);
    }
    found.push(strip);
    Ok(())
}

fn version_3(
    geometry: &UtGeometry,
    event: &RawEvent<'_>,
    bank: &RawBank,
    found: &mut Vec<Strip>,
) -> Result<(), Status> {
    let board = usize::from(bank.source);
    if board >= geometry.boards {
        return Err(Status::BadBank);
    }
    let bytes = event.bytes(bank);
    if bytes.len() < 4 {
        return Err(Status::TruncatedBank);
    }
    let count = usize::from(halfword(bytes, 0)?);
    if bytes.len() < 4 + 2 * count {
        return Err(Status::TruncatedBank);
    }
    for hit in 0..count {
        let word = u32::from(halfword(bytes, 2 + hit)?);
        let channel = word >> 2 & 0xFFF;
        let (lane, strip) = ((channel / 512) as usize, channel % 512);
        push(found, Strip { board, lane, strip, quarter: word & 3, version: 3 })?;
    }
    Ok(())
}

fn version_4(
    geometry: &UtGeometry,
    event: &RawEvent<'_>,
    bank: &RawBank,
    found: &mut Vec<Strip>,
) -> Result<(), Status> {
    let source = usize::from(bank.source);
    let board = match source >> 11 {
        0 => source,
        _ => (2 * (source & 0xFF) + (source >> 10 & 1)).checked_sub(2).ok_or(Status::BadBank)?,
    };
    if board >= geometry.boards {
        return Err(Status::BadBank);
    }
    let bytes = event.bytes(bank);
    if bytes.len() < 8 {
        return Err(Status::TruncatedBank);
    }
    let counts = [bytes[4], bytes[5], bytes[6], bytes[7], bytes[0], bytes[1]];
    if counts.contains(&255) {
        return Ok(());
    }
    for (lane, count) in counts.into_iter().enumerate() {
        for hit in 0..usize::from(count) {
            let word = halfword(&bytes[8..], 16 * (hit / 2) + 2 * (5 - lane) + hit % 2)?;
            let strip = u32::from(word >> 5);
            if strip >= 512 {
                return Err(Status::BadBank);
            }
            if word % 32 != 0 {
                push(found, Strip { board, lane, strip, quarter: 0, version: 4 })?;
            }
        }
    }
    Ok(())
}

impl Strip {
    /// Returns the hit; `None` if the lane reads out no sector.
    fn hit(&self, geometry: &UtGeometry) -> Option<Hit> {
        let sector = geometry.sector[8 * self.board + self.lane];
        if sector == u32::MAX {
            return None;
        }
        let sector = sector as usize;
        let [y, y_step, x, x_step] = geometry.across[sector];
        let [z, z_step, length, weight] = geometry.along[sector];
        let mut s = self.strip as f32 + 0.25 * self.quarter as f32;
        if self.version == 4 && z < 0.0 {
            s = 511.0 - s;
        }
        let y_begin = s.mul_add(y_step, y);
        let number = if self.version == 3 { geometry.first_number } else { 0 };
        Some(Hit {
            sector,
            part: self.strip as usize / 128,
            is_flipped: self.version == 4 && z < 0.0,
            group: geometry.group[sector] as usize,
            y_begin,
            y_end: y_begin + length,
            x: s.mul_add(x_step, x),
            z: s.mul_add(z_step, z.abs()),
            weight,
            id: geometry.sector_channel[sector] + number + self.strip,
        })
    }
}

/// Returns the position of a hit's strip, mm, computed in f64: x at y = 0, y of the lower end, and z. The hit is given
/// by the bank's version, the LHCbID and the quarter of the strip.
pub fn position_f64(geometry: &UtGeometry, version: u8, id: u32, quarter: u32) -> Option<[f64; 3]> {
    let number = if version == 3 { geometry.first_number } else { 0 };
    let strips = 0..crate::ut::geometry::STRIPS;
    let sector = geometry
        .sector_channel
        .iter()
        .position(|&first| strips.contains(&id.wrapping_sub(first).wrapping_sub(number)))?;
    let strip = f64::from(id - geometry.sector_channel[sector] - number) + f64::from(quarter) / 4.0;
    let [y, y_step, x, x_step] = geometry.across[sector].map(f64::from);
    let [z, z_step, ..] = geometry.along[sector].map(f64::from);
    let strip = if version == 4 && z < 0.0 { 511.0 - strip } else { strip };
    Some([x + strip * x_step, y + strip * y_step, z.abs() + strip * z_step])
}
