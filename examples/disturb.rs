//! Simulates an imperfect SciFi: writes a geometry with moved modules, or events with changed hits, for the tables in
//! docs/performance/tracks.md.
//!
//! ```text
//! cargo run --release --example disturb -- modules=SIGMA,SEED FOLDER OUT   modules moved in x, normal numbers of this width, mm
//! cargo run --release --example disturb -- along=MM FOLDER OUT             the SciFi moved along the beam
//! cargo run --release --example disturb -- up FOLDER OUT                   the magnet's other polarity
//! cargo run --release --example disturb -- twice EVENTS.mdf OUT.mdf        each hit twice
//! cargo run --release --example disturb -- noise=N EVENTS.mdf OUT.mdf      N noise hits within 5 mm of each hit
//! cargo run --release --example disturb -- lost=PART EVENTS.mdf OUT.mdf    without this share of the hits
//! ```
//! The first three commands copy a folder of geometry files and change one file. The truth of events does not change:
//! true particles still list removed hits. The output is the same on every machine.

use peloton::event::BankKind;
use peloton::{Error, Result};
use peloton_io::input::mdf::{Bank, Banks, RecordHeader, put_bank, whole_records, write_record};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;

/// Number of mats, and number of mats in a module.
const MATS: usize = 1536;
const MATS_OF_MODULE: usize = 4;
/// Columns of numbers at the end of a geometry file: x, y and z of mats at the mirror come first.
const COLUMNS: usize = 13;
const X: usize = 0;
const Z: usize = 2;
/// Bytes of a record before its banks: its size three times, four words, and the header.
const HEAD: usize = 20;
const BEFORE_BANKS: usize = 48;
/// The version of SciFi banks that can be changed, and the number of bytes before its words.
const VERSION: u8 = 5;
const BEFORE_WORDS: usize = 4;
/// Number of cells of a SiPM, and the largest distance of a noise hit from the hit near it, cells.
const CELLS: i32 = 128;
const BESIDE: i32 = 20;

/// A change of the detector or of the hits.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Modules(f64, u64),
    Along(f64),
    Up,
    Twice,
    Noise(u32),
    Lost(f64),
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, from, to] = &arguments[..] else {
        return Err(Error::Config(
            "usage: disturb KIND FROM TO; the head of this example lists the kinds".into(),
        ));
    };
    let (from, to) = (Path::new(from), Path::new(to));
    match Kind::of(kind)? {
        kind @ (Kind::Modules(..) | Kind::Along(_) | Kind::Up) => geometry(kind, from, to),
        kind => events(kind, from, to),
    }
}

impl Kind {
    fn of(text: &str) -> Result<Self> {
        let (name, numbers) = text.split_once('=').unwrap_or((text, ""));
        let numbers: Vec<f64> = numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        match (name, &numbers[..]) {
            ("modules", &[sigma, seed]) => Ok(Self::Modules(sigma, seed as u64)),
            ("along", &[mm]) => Ok(Self::Along(mm)),
            ("up", []) => Ok(Self::Up),
            ("twice", []) => Ok(Self::Twice),
            ("noise", &[hits]) => Ok(Self::Noise(hits as u32)),
            ("lost", &[part]) => Ok(Self::Lost(part)),
            _ => Err(Error::Config(format!("`{text}` is not a kind of disturbance"))),
        }
    }
}

/// Returns a number from 0 to 1, not 1.
fn even(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns an almost normal number: the sum of twelve evenly distributed numbers has the variance 1.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (0..12).map(|_| even(random)).sum::<f64>() - 6.0
}

/// Copies a folder of geometry files, and changes one of them.
fn geometry(kind: Kind, from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(|error| Error::io(to, error))?;
    for entry in std::fs::read_dir(from).map_err(|error| Error::io(from, error))? {
        let path = entry.map_err(|error| Error::io(from, error))?.path();
        let mut bytes = std::fs::read(&path).map_err(|error| Error::io(&path, error))?;
        let name = path.file_name().unwrap_or_default();
        match kind {
            Kind::Up if name == "polarity.bin" => turn(&mut bytes)?,
            Kind::Modules(..) | Kind::Along(_) if name == "scifi_geometry.bin" => {
                move_mats(kind, &mut bytes)?
            }
            _ => {}
        }
        let path = to.join(name);
        std::fs::write(&path, bytes).map_err(|error| Error::io(&path, error))?;
    }
    Ok(())
}

/// Changes the sign of the polarity.
fn turn(bytes: &mut [u8]) -> Result<()> {
    let number =
        bytes.first_chunk_mut().ok_or_else(|| Error::Config("the file of the polarity is empty".into()))?;
    *number = (-f32::from_le_bytes(*number)).to_le_bytes();
    Ok(())
}

/// Moves modules in x, or all mats along the beam.
fn move_mats(kind: Kind, bytes: &mut [u8]) -> Result<()> {
    let end = bytes.len().checked_sub(COLUMNS * MATS * size_of::<f32>());
    let begin = end.ok_or_else(|| Error::Config("a SciFi geometry file with too few values".into()))?;
    let (numbers, _) = bytes[begin..].as_chunks_mut::<{ size_of::<f32>() }>();
    let moved = |mats: &mut [[u8; 4]], by: f64| {
        for number in mats {
            *number = ((f64::from(f32::from_le_bytes(*number)) + by) as f32).to_le_bytes();
        }
    };
    match kind {
        Kind::Modules(sigma, seed) => {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let modules = numbers[X * MATS..][..MATS].chunks_exact_mut(MATS_OF_MODULE);
            modules.for_each(|module| moved(module, sigma * normal(&mut random)));
        }
        Kind::Along(mm) => moved(&mut numbers[Z * MATS..][..MATS], mm),
        _ => {}
    }
    Ok(())
}

/// Changes the hits of all events of a file.
fn events(kind: Kind, from: &Path, to: &Path) -> Result<()> {
    let bytes = std::fs::read(from).map_err(|error| Error::io(from, error))?;
    let out = disturbed(kind, &bytes)?;
    std::fs::write(to, out).map_err(|error| Error::io(to, error))
}

/// Returns the events of a file with changed hits.
fn disturbed(kind: Kind, bytes: &[u8]) -> Result<Vec<u8>> {
    let wrong = |what: &str| Error::Config(format!("events that cannot be changed: {what}"));
    let (mut rest, mut out) = (bytes, Vec::new());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    while let Some(&size) = rest.first_chunk() {
        let size = u32::from_le_bytes(size) as usize;
        if whole_records(rest) < size || size < BEFORE_BANKS {
            return Err(wrong("no whole records of MDF"));
        }
        let (record, after) = rest.split_at(size);
        if record[HEAD - 4] != 0 {
            return Err(wrong("they are compressed"));
        }
        let mut words =
            record[HEAD..BEFORE_BANKS].as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        let mut word = || words.next().unwrap_or(0);
        let trigger_mask = [word(), word(), word(), word()];
        let header = RecordHeader { trigger_mask, run: word(), orbit: word(), bunch: word() };
        let mut body = Vec::with_capacity(2 * size);
        for bank in Banks::new(&record[BEFORE_BANKS..]) {
            let bank = bank.map_err(|status| wrong(&format!("a bank is {}", status.name())))?;
            let changed = (bank.kind == BankKind::SciFi.code()).then(|| changed(kind, &bank, &mut random));
            let payload = changed.transpose()?;
            let bank = Bank { payload: payload.as_deref().unwrap_or(bank.payload), ..bank };
            put_bank(&mut body, &bank).map_err(|error| wrong(&error.to_string()))?;
        }
        write_record(&mut out, &header, &body, None).map_err(|error| wrong(&error.to_string()))?;
        rest = after;
    }
    Ok(out)
}

/// A word of version 5: link, cell, half, and whether it is one of the two edges of a wide cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Word(u16);

impl Word {
    fn link(self) -> u16 {
        self.0 >> 9
    }

    fn cell(self) -> i32 {
        i32::from(self.0 >> 2 & 0x7f)
    }

    fn is_large(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A cluster: a word, or two edges.
type Hit = (Word, Option<Word>);

/// Returns the payload of a SciFi bank with changed hits.
fn changed(kind: Kind, bank: &Bank<'_>, random: &mut Xoshiro256PlusPlus) -> Result<Vec<u8>> {
    if bank.version != VERSION || bank.payload.len() < BEFORE_WORDS {
        let version = bank.version;
        return Err(Error::Config(format!(
            "SciFi banks of version {version}: only version {VERSION} can be changed"
        )));
    }
    let (before, words) = bank.payload.split_at(BEFORE_WORDS);
    let words: Vec<Word> = words.as_chunks().0.iter().map(|word| Word(u16::from_le_bytes(*word))).collect();
    // A 0 at the end is padding.
    let mut rest = words.strip_suffix(&[Word(0)]).unwrap_or(&words);
    let mut hits = Vec::<Hit>::new();
    while let Some((&word, after)) = rest.split_first() {
        let edge =
            after.first().filter(|next| word.is_large() && next.is_large() && next.link() == word.link());
        rest = &after[usize::from(edge.is_some())..];
        // An edge without a second edge is a hit by itself; next to its copy, both would be one cluster.
        hits.push((if edge.is_some() { word } else { Word(word.0 & !1) }, edge.copied()));
    }
    let mut out = Vec::with_capacity(4 * hits.len());
    for hit in hits {
        match kind {
            Kind::Twice => out.extend([hit, hit]),
            Kind::Lost(part) => out.extend((even(random) >= part).then_some(hit)),
            Kind::Noise(number) => {
                out.push(hit);
                out.extend((0..number).map(|_| (beside(hit.0, random), None)));
            }
            Kind::Modules(..) | Kind::Along(_) | Kind::Up => out.push(hit),
        }
    }
    // The readout sends the hits of a link in the order of cells.
    out.sort_by_key(|(word, _)| (word.link(), word.cell()));
    let words = out.into_iter().flat_map(|(word, edge)| [Some(word), edge]).flatten();
    let mut payload = before.to_vec();
    payload.extend(words.flat_map(|word| word.0.to_le_bytes()));
    payload.resize(payload.len().next_multiple_of(4), 0);
    Ok(payload)
}

/// Returns a noise hit near another hit, on the same SiPM.
fn beside(word: Word, random: &mut Xoshiro256PlusPlus) -> Word {
    let off = (even(random) * f64::from(2 * BESIDE)) as i32 - BESIDE;
    let cell = (word.cell() + off).clamp(0, CELLS - 1) as u16;
    let half = u16::from(even(random) < 0.5);
    Word(word.link() << 9 | cell << 2 | half << 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster, a wide cluster, a single edge, and padding.
    const WORDS: [u16; 5] = [3 << 2, 2 << 9 | 10 << 2 | 1, 2 << 9 | 13 << 2 | 3, 4 << 9 | 127 << 2 | 1, 0];

    fn words_of(kind: Kind) -> Vec<u16> {
        let payload: Vec<u8> =
            [0; 4].into_iter().chain(WORDS.iter().flat_map(|word| word.to_le_bytes())).collect();
        let bank = Bank { kind: BankKind::SciFi.code(), version: VERSION, source: 1, payload: &payload };
        let payload = changed(kind, &bank, &mut Xoshiro256PlusPlus::seed_from_u64(1)).unwrap();
        assert_eq!((payload.len() % 4, &payload[..4]), (0, &[0; 4][..]));
        payload[4..].as_chunks().0.iter().map(|word| u16::from_le_bytes(*word)).collect()
    }

    #[test]
    fn hits_come_twice_or_not_at_all() {
        let [one, left, right, edge, _] = WORDS;
        let alone = edge & !1;
        assert_eq!(words_of(Kind::Twice), [one, one, left, right, left, right, alone, alone]);
        assert_eq!(words_of(Kind::Lost(0.0)), [one, left, right, alone]);
        assert!(words_of(Kind::Lost(1.0)).is_empty());
    }

    #[test]
    fn noise_stands_near_hits_on_the_same_link() {
        let words = words_of(Kind::Noise(3));
        // Three hits, one of which has two words, nine noise hits, and one 0.
        assert_eq!(words.len(), 14);
        let near = |word: &u16| {
            [(0, 3), (2, 10), (2, 13), (4, 127)].iter().any(|&(link, cell): &(u16, i32)| {
                Word(*word).link() == link && (Word(*word).cell() - cell).abs() <= BESIDE
            })
        };
        assert!(words.iter().all(near), "{words:?}");
        assert!(words[..13].is_sorted_by_key(|word| Word(*word).link()));
    }

    #[test]
    fn kinds_are_read() {
        assert_eq!(Kind::of("modules=0.1,3").unwrap(), Kind::Modules(0.1, 3));
        assert_eq!(Kind::of("up").unwrap(), Kind::Up);
        assert!(["modules=0.1", "noise", "more", ""].iter().all(|text| Kind::of(text).is_err()));
    }

    #[test]
    fn modules_are_moved_and_nothing_else() {
        let file = vec![0u8; 40 + 4 * COLUMNS * MATS];
        let number =
            |bytes: &[u8], at: usize| f32::from_le_bytes(*bytes[40 + 4 * at..].first_chunk().unwrap());
        let mut moved = file.clone();
        move_mats(Kind::Modules(0.1, 1), &mut moved).unwrap();
        assert!(moved[..40] == file[..40] && moved[40 + 4 * MATS..] == file[40 + 4 * MATS..]);
        let x: Vec<f32> = (0..MATS).map(|mat| number(&moved, mat)).collect();
        assert!(x.chunks(MATS_OF_MODULE).all(|module| module.iter().all(|x| *x == module[0])));
        let width = (x.iter().map(|x| x * x).sum::<f32>() / MATS as f32).sqrt();
        assert!((0.09..0.11).contains(&width), "{width}");
        let mut along = file;
        move_mats(Kind::Along(20.0), &mut along).unwrap();
        assert_eq!(
            [number(&along, 2 * MATS), number(&along, MATS), number(&along, 3 * MATS)],
            [20.0, 0.0, 0.0]
        );
        assert!(move_mats(Kind::Along(20.0), &mut [0; 100]).is_err());
    }
}
