//! Naive reference of the decoder, for tests: decodes one word after another, then sorts the hits.

use crate::Status;
use crate::event::{BankKind, RawBank, RawEvent, SCIFI_ZONES, SciFiBatch};
use crate::scifi::geometry::{Boards, SciFiGeometry};

/// One hit.
struct Hit {
    zone: usize,
    x: f32,
    z: f32,
    y_end: f32,
    id: u32,
    width: u32,
}

/// One cluster: channel, half of the channel, width from the readout.
type Cluster = (u32, u32, u32);

/// Decodes one event and appends it to `out`.
pub fn reference(geometry: &SciFiGeometry, event: &RawEvent<'_>, out: &mut SciFiBatch) {
    reference_with(false, geometry, event, out);
}

/// Decodes one event like `reference`. If `fault` is true, one comparison is wrong on purpose, which tests must detect.
pub fn reference_with(fault: bool, geometry: &SciFiGeometry, event: &RawEvent<'_>, out: &mut SciFiBatch) {
    let (hits, status) = match hits(fault, geometry, event) {
        Ok(hits) => (hits, Status::Ok),
        Err(status) => (Vec::new(), status),
    };
    let first = out.id.len();
    for hit in &hits {
        out.x.push(hit.x);
        out.z.push(hit.z);
        out.y_end.push(hit.y_end);
        out.id.push(hit.id);
        out.width.push(hit.width);
    }
    for zone in 0..SCIFI_ZONES {
        out.zone_start.push((first + hits.iter().filter(|hit| hit.zone <= zone).count()) as u32);
    }
    out.status.push(status);
}

fn hits(fault: bool, geometry: &SciFiGeometry, event: &RawEvent<'_>) -> Result<Vec<Hit>, Status> {
    if event.status != Status::Ok {
        return Err(event.status);
    }
    let banks = event.banks(BankKind::SciFi);
    if banks.is_empty() {
        return Err(Status::MissingBanks);
    }
    let mut words = 0;
    for bank in banks {
        channels(geometry, bank)?;
        if bank.bytes < 4 {
            return Err(Status::TruncatedBank);
        }
        words += usize::from(bank.bytes) / 2;
    }
    if words > 65_536 {
        return Err(Status::OversizedBank);
    }
    let mut clusters = Vec::new();
    for bank in banks {
        clusters.extend(read(geometry, event, bank)?);
    }
    if clusters.len() > 131_072 {
        return Err(Status::OversizedBank);
    }
    let hits = clusters.iter().map(|&cluster| hit(geometry, cluster));
    let mut hits = hits.collect::<Option<Vec<_>>>().ok_or(Status::BadBank)?;
    hits.sort_by(|a, b| {
        let key = |hit: &Hit| (hit.zone, hit.x, hit.id, hit.width);
        let order = key(a).partial_cmp(&key(b)).expect("finite numbers");
        if fault { order.reverse() } else { order }
    });
    Ok(hits)
}

/// Returns the first channel of each link of a bank.
fn channels(geometry: &SciFiGeometry, bank: &RawBank) -> Result<Vec<u32>, Status> {
    let links = match (&geometry.boards, bank.version) {
        (Boards::Consecutive(first), 4..=6) => {
            let first = first.get(usize::from(bank.source));
            first.map(|first| (0..24).map(|link| first + 128 * link).collect())
        }
        (Boards::Mapped(boards), 7 | 8) => {
            let board = boards.iter().find(|board| board.0 == u32::from(bank.source));
            board.map(|board| board.1.iter().map(|sipm| sipm.wrapping_mul(128)).collect())
        }
        _ => None,
    };
    links.ok_or(Status::BadBank)
}

fn read(geometry: &SciFiGeometry, event: &RawEvent<'_>, bank: &RawBank) -> Result<Vec<Cluster>, Status> {
    let first = channels(geometry, bank)?;
    let pairs = event.bytes(bank)[4..].as_chunks::<2>().0;
    let mut words: Vec<u32> = pairs.iter().map(|&pair| u16::from_le_bytes(pair).into()).collect();
    if words.last() == Some(&0) {
        words.pop();
    }
    let (link, cell) = (|word: u32| (word >> 9) as usize, |word: u32| (word >> 2 & 127) as i32);
    let (half, large) = (|word: u32| word >> 1 & 1, |word: u32| word & 1 == 1);
    if words.iter().any(|&word| link(word) >= 24) {
        return Err(Status::BadBank);
    }
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = words[at];
        let channel = (first[link(word)] as i32).wrapping_add(cell(word));
        let mut push = |shift: i32, half: u32, width: i32| {
            out.push((channel.wrapping_add(shift) as u32 & 0xF_FFFF, half, width as u32));
        };
        let next = words.get(at + 1).copied().filter(|&next| large(next) && link(next) == link(word));
        at += 1;
        match (bank.version, next) {
            (4, _) => push(0, half(word), if large(word) { 0 } else { 4 }),
            (5, Some(next)) if large(word) => {
                at += 1;
                let d = cell(next) - cell(word);
                if d < 1 {
                    return Err(Status::BadBank);
                }
                if d > 4 {
                    (1..).map(|i| 4 * i).take_while(|&i| i < d).for_each(|i| push(i, half(word), 0));
                    push(d, half(next), 0);
                } else {
                    let w = 2 * d - 1 + half(next) as i32;
                    push((w - 1) / 2 - 1, ((w - 1) % 2) as u32, w);
                }
            }
            (5, _) => push(0, half(word), 4),
            _ if !large(word) => push(0, half(word), 4),
            (version, next) => {
                let start = u32::from(version != 7);
                match next.filter(|&next| half(word) == start && half(next) != start) {
                    None => push(0, half(word), 0),
                    Some(next) => {
                        at += 1;
                        let w = cell(next) - cell(word) + 2;
                        if w < 2 {
                            return Err(Status::BadBank);
                        }
                        let mut j = 0;
                        while w > 8 && j < w - 4 {
                            push(j, 1, 0);
                            j += 4;
                        }
                        push(j + (w - j - 1) / 2 - 1, ((w - 1) % 2) as u32, if w > 8 { 0 } else { w });
                    }
                }
            }
        }
    }
    Ok(out)
}

/// Returns the hit of a cluster; none when the mat does not exist.
fn hit(geometry: &SciFiGeometry, (channel, half, width): Cluster) -> Option<Hit> {
    let mat = (channel >> 9) as usize;
    let [x, x_step, y, y_step] = *geometry.across.get(mat)?;
    let [z, z_step, slope_x, slope_z] = geometry.along[mat];
    if slope_z.is_nan() {
        return None;
    }
    let halves = (2 * (channel & 127) + 1 + half) as f32;
    let sipm = (channel >> 7 & 3) as f32;
    let gap = if channel & 64 != 0 { geometry.die_gap } else { 0.0 };
    let u = halves.mul_add(geometry.half_pitch, sipm.mul_add(geometry.sipm_pitch, geometry.begin)) + gap;
    let y_end = y_step.mul_add(u, y);
    Some(Hit {
        zone: 2 * ((channel >> 16) as usize - 4) + (channel >> 15 & 1) as usize,
        x: (-y_end).mul_add(slope_x, x_step.mul_add(u, x)),
        z: (-y_end).mul_add(slope_z, z_step.mul_add(u, z)),
        y_end,
        id: channel | geometry.detector,
        width: width << 1 | half,
    })
}

/// Returns the position of a hit's fibre, mm, computed in f64: x at y = 0, z at y = 0, and y of its end at the mirror.
/// The LHCbID `id` and the half of the channel identify the hit.
pub fn position_f64(geometry: &SciFiGeometry, id: u32, half: u32) -> Option<[f64; 3]> {
    let channel = id & 0xF_FFFF;
    let mat = (channel >> 9) as usize;
    let [x, x_step, y, y_step] = geometry.across.get(mat)?.map(f64::from);
    let [z, z_step, slope_x, slope_z] = geometry.along[mat].map(f64::from);
    let [begin, half_pitch, die_gap, sipm_pitch] =
        [geometry.begin, geometry.half_pitch, geometry.die_gap, geometry.sipm_pitch].map(f64::from);
    // Positions are from the mat's middle. A SiPM has two dies, and a channel is two halves wide; half 0 is the left one.
    let (sipm, cell) = (channel >> 7 & 3, channel & 127);
    let dies = f64::from(cell / 64) * die_gap;
    let u = begin + f64::from(sipm) * sipm_pitch + dies + f64::from(2 * cell + 1 + half) * half_pitch;
    let y_end = y + u * y_step;
    let to_middle = |end: f64, slope: f64| end - y_end * slope;
    Some([to_middle(x + u * x_step, slope_x), to_middle(z + u * z_step, slope_z), y_end])
}
