//! Naive reference of the decoder, for tests: pixels in a grid, a flood fill, one cluster after another.

use super::VeloBanks;
use crate::Status;
use crate::event::{BankKind, RawBank, RawEvent, VELO_MODULES, VeloBatch};
use crate::velo::sensors::VeloSensors;

/// Columns of a sensor, rows of a sensor, and number of all sensors.
const COLUMNS: usize = 768;
const ROWS: usize = 256;
const SENSORS: usize = 208;

/// A cluster before its position is computed.
struct Cluster {
    sensor: usize,
    column: u32,
    row: u32,
    fx: f32,
    fy: f32,
    /// Bits of the LHCbID other than sensor, column and row.
    flags: u32,
}

/// Decodes one event and appends it to `out`, with `number` as its id.
pub fn reference(
    sensors: &VeloSensors,
    banks: VeloBanks,
    event: &RawEvent<'_>,
    number: u64,
    out: &mut VeloBatch,
) {
    reference_with(false, sensors, banks, event, number, out);
}

/// Decodes one event like [`reference()`]. With `fault`, one comparison is wrong on purpose; tests must detect it.
pub fn reference_with(
    fault: bool,
    sensors: &VeloSensors,
    banks: VeloBanks,
    event: &RawEvent<'_>,
    number: u64,
    out: &mut VeloBatch,
) {
    let retina = match banks {
        VeloBanks::Auto => !event.banks(BankKind::VeloRetina).is_empty(),
        VeloBanks::Retina => true,
        VeloBanks::Superpixel => false,
    };
    let kind = if retina { BankKind::VeloRetina } else { BankKind::VeloSuperpixel };
    match clusters(fault, event, kind) {
        Ok(clusters) => append(sensors, &clusters, number, out),
        Err(status) => out.push_failed(number, status),
    }
}

fn clusters(fault: bool, event: &RawEvent<'_>, kind: BankKind) -> Result<Vec<Cluster>, Status> {
    let banks = event.banks(kind);
    if event.status != Status::Ok {
        return Err(event.status);
    }
    if banks.is_empty() {
        return Err(Status::MissingBanks);
    }
    if banks.iter().map(|bank| usize::from(bank.bytes) / 4).sum::<usize>() > 65_536 {
        return Err(Status::OversizedBank);
    }
    let (mut single, mut joined, mut twice) = (Vec::new(), Vec::new(), false);
    for bank in banks {
        if kind == BankKind::VeloRetina {
            if bank.version != banks[0].version {
                return Err(Status::BadBank);
            }
            retina(event, bank, &mut single)?;
        } else {
            twice |= superpixels(event, bank, &mut single, &mut joined)?;
        }
    }
    if twice {
        return Err(Status::BadBank);
    }
    single.extend(joined);
    // A stable sort: the clusters of single superpixels of a module come first, then the others, each in their order.
    single.sort_by_key(|cluster| if fault { !(cluster.sensor / 4) } else { cluster.sensor / 4 });
    Ok(single)
}

/// Returns the words of a bank that begins with their number.
fn counted(event: &RawEvent<'_>, bank: &RawBank) -> Result<Vec<u32>, Status> {
    let bytes = event.bytes(bank);
    let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|&four| u32::from_le_bytes(four)).collect();
    let count = *words.first().ok_or(Status::TruncatedBank)? as usize;
    let counted = words.get(1..=count).ok_or(Status::TruncatedBank)?;
    if words[count + 1..].iter().any(|&word| word != 0) {
        return Err(Status::BadBank);
    }
    Ok(counted.to_vec())
}

fn retina(event: &RawEvent<'_>, bank: &RawBank, out: &mut Vec<Cluster>) -> Result<(), Status> {
    let pair = bank.version == 4;
    let first = if pair { 2 * usize::from(bank.source & 0x1FF) } else { usize::from(bank.source) };
    if first >= SENSORS {
        return Err(Status::BadBank);
    }
    let words = match bank.version {
        2 | 3 => counted(event, bank)?,
        4 if bank.bytes.is_multiple_of(4) => event.words(bank).to_vec(),
        4 => return Err(Status::TruncatedBank),
        _ => return Err(Status::BadBank),
    };
    let (start, bits) = (out.len(), if bank.version == 2 { 3 } else { 2 });
    let unit = (1 << bits) as f32;
    for word in words.into_iter().filter(|&word| word != 0) {
        let field = |from: u32, bits: u32| word >> from & ((1 << bits) - 1);
        let (fy, fx) = (field(0, bits), field(8 + bits, bits));
        let told = bank.version > 2;
        out.push(Cluster {
            sensor: first + if pair { field(22, 1) as usize } else { 0 },
            column: field(8 + 2 * bits, 10),
            row: field(bits, 8),
            fx: fx as f32 / unit,
            fy: fy as f32 / unit,
            flags: 2 << 28 | u32::from(told && fy > 0) << 26 | u32::from(told && fx > 0) << 27,
        });
    }
    if out[start..].iter().any(|cluster| cluster.column >= COLUMNS as u32) {
        return Err(Status::BadBank);
    }
    Ok(())
}

/// Appends the clusters of one sensor; returns true when a superpixel with neighbours occurs twice.
fn superpixels(
    event: &RawEvent<'_>,
    bank: &RawBank,
    single: &mut Vec<Cluster>,
    joined: &mut Vec<Cluster>,
) -> Result<bool, Status> {
    let sensor = usize::from(bank.source);
    if sensor >= SENSORS || bank.version != 2 {
        return Err(Status::BadBank);
    }
    let words = counted(event, bank)?;
    let place = |word: u32| ((word >> 14 & 0x1FF) as usize, (word >> 8 & 0x3F) as usize);
    let words: Vec<u32> = words.into_iter().filter(|word| word & 0xFF != 0).collect();
    if words.iter().any(|&word| place(word).0 >= COLUMNS / 2) {
        return Err(Status::BadBank);
    }
    for &word in words.iter().filter(|&&word| word >> 31 == 1) {
        let mut grid = Grid::default();
        grid.set(word, place(word));
        single.extend(grid.fill(place(word)).into_iter().map(|group| group.cluster(sensor)));
    }
    let mut grid = Grid::default();
    let mut linked: Vec<_> = words.iter().filter(|&&word| word >> 31 == 0).map(|&word| place(word)).collect();
    words.iter().filter(|&&word| word >> 31 == 0).for_each(|&word| grid.set(word, place(word)));
    linked.sort_unstable();
    for &at in &linked {
        joined.extend(grid.fill(at).into_iter().map(|group| group.cluster(sensor)));
    }
    Ok(linked.windows(2).any(|pair| pair[0] == pair[1]))
}

/// Pixels of a sensor that belong to no cluster yet.
#[derive(Default)]
struct Grid(std::collections::HashSet<(i32, i32)>);

/// Sums over the pixels of a group.
#[derive(Default)]
struct Group {
    pixels: u32,
    columns: u32,
    rows: u32,
}

impl Grid {
    /// Sets the pixels of a superpixel.
    fn set(&mut self, word: u32, (column, row): (usize, usize)) {
        for bit in (0..8).filter(|bit| word >> bit & 1 == 1) {
            self.0.insert((2 * column as i32 + bit / 4, 4 * row as i32 + bit % 4));
        }
    }

    /// Removes the groups that begin in a superpixel and returns them, the lower group first.
    fn fill(&mut self, (column, row): (usize, usize)) -> Vec<Group> {
        let mut groups = Vec::new();
        for (y, x) in (0..4).flat_map(|y| [(y, 0), (y, 1)]) {
            let mut open = vec![(2 * column as i32 + x, 4 * row as i32 + y)];
            let mut group = Group::default();
            while let Some((x, y)) = open.pop() {
                if self.0.remove(&(x, y)) {
                    group.pixels += 1;
                    group.columns += x as u32;
                    group.rows += y as u32;
                    open.extend((-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (x + dx, y + dy))));
                }
            }
            groups.extend((group.pixels > 0).then_some(group));
        }
        groups
    }
}

impl Group {
    fn cluster(&self, sensor: usize) -> Cluster {
        let n = self.pixels;
        Cluster {
            sensor,
            column: self.columns / n,
            row: self.rows / n,
            fx: (self.columns % n) as f32 / n as f32,
            fy: (self.rows % n) as f32 / n as f32,
            flags: 8 << 28,
        }
    }
}

fn append(sensors: &VeloSensors, clusters: &[Cluster], number: u64, out: &mut VeloBatch) {
    let first = out.x.len();
    for cluster in clusters {
        let Cluster { sensor, column, row, fx, fy, flags } = *cluster;
        let column_at = column as usize;
        let u = fx.mul_add(sensors.column_pitch[column_at], sensors.column_x[column_at]);
        let v = (row as f32 + 0.5 + fy) * 0.055;
        for (axis, out) in [&mut out.x, &mut out.y, &mut out.z].into_iter().enumerate() {
            let [a, b, _, t] = sensors.rows[3 * sensor + axis];
            out.push(u.mul_add(a, v.mul_add(b, t)));
        }
        debug_assert!((row as usize) < ROWS);
        out.id.push(row | column << 8 | (sensor as u32) << 18 | flags);
    }
    for module in 0..VELO_MODULES {
        let end = clusters.iter().filter(|cluster| cluster.sensor / 4 <= module).count();
        out.module_start.push((first + end) as u32);
    }
    out.event_id.push(number);
    out.status.push(Status::Ok);
}

/// Returns the position of a hit, mm, computed in f64 from the sensors. The hit is given by its LHCbID and the
/// cluster's offset from the pixel's middle, in pixels.
pub fn position_f64(sensors: &VeloSensors, id: u32, [fx, fy]: [f64; 2]) -> Option<[f64; 3]> {
    let (row, column, sensor) = (id & 0xFF, (id >> 8 & 0x3FF) as usize, (id >> 18 & 0xFF) as usize);
    let u = f64::from(*sensors.column_x.get(column)?) + fx * f64::from(sensors.column_pitch[column]);
    let v = (f64::from(row) + 0.5 + fy) * 0.055;
    let rows = sensors.rows.get(3 * sensor..3 * sensor + 3)?;
    let axis = |at: usize| {
        let [a, b, _, t] = rows[at].map(f64::from);
        a * u + b * v + t
    };
    Some([axis(0), axis(1), axis(2)])
}
