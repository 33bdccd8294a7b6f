//! Simulates an imperfect Velo: changes the hits of events, for the table of docs/performance/velo.md.
//!
//! ```text
//! cargo run --release --example disturb_velo -- KIND EVENTS.ndjson[.zst] OUT.ndjson [EVENTS_AT_MOST]
//!
//! none              unchanged
//! misaligned=UM     each module moved in x and y by normal numbers of this width
//! shift=X,Y         all hits moved, mm
//! z=MM              all hits moved along the beam
//! rotated=RAD       all hits turned around the z axis
//! inefficient=PART  without this share of the hits
//! dead=MODULE,...   without the hits of these modules
//! noise=N           N hits of no particle in each event, within 8 mm of others in their sensors
//! twice             each hit twice
//! ```
//! Hits that are removed are removed from the truth, too. The output is the same on every machine.

use peloton::{Error, Result};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MODULES: usize = 52;
const SEED: u64 = 3;
/// Largest distance of a noise hit from another hit, and its largest |x| and |y|, mm.
const BESIDE: f64 = 8.0;
const EDGE: f64 = 50.0;

/// A hit: its number in the original event, none for an added hit, and x, y, z, mm.
type Hit = (Option<usize>, [f64; 3]);

/// A change of the hits.
enum Kind {
    /// Shifts in x and y of each module, mm.
    Misaligned(Vec<[f64; 2]>),
    Moved([f64; 3]),
    Rotated(f64),
    Inefficient(f64),
    Dead(Vec<usize>),
    Noise(usize),
    Twice,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, from, to, rest @ ..] = &arguments[..] else {
        return Err(wrong(
            "usage: disturb_velo KIND EVENTS OUT [EVENTS_AT_MOST]; the head of this example lists the kinds",
        ));
    };
    let most = rest.first().map_or(Ok(usize::MAX), |most| most.parse());
    let most = most.map_err(|_| wrong("EVENTS_AT_MOST is not a whole number"))?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let kind = Kind::of(kind, &mut random)?;
    let failed = |path: &str, e| Error::io(Path::new(path), e);
    let mut out = BufWriter::new(std::fs::File::create(to).map_err(|e| failed(to, e))?);
    let lines = open(from).map_err(|e| failed(from, e))?.lines();
    for line in lines.filter(|line| line.as_ref().map_or(true, |line| !line.trim().is_empty())).take(most) {
        let event = serde_json::from_str(&line.map_err(|e| failed(from, e))?);
        let event = event.ok().and_then(|event| disturbed(&kind, event, &mut random));
        let event = event
            .ok_or_else(|| Error::format(from.as_str(), "not an event of Velo hits with their truth"))?;
        writeln!(out, "{event}").map_err(|e| failed(to, e))?;
    }
    out.flush().map_err(|e| failed(to, e))
}

fn wrong(what: &str) -> Error {
    Error::Config(what.into())
}

fn open(path: &str) -> std::io::Result<BufReader<Box<dyn Read>>> {
    let file = std::fs::File::open(path)?;
    let is_packed = path.ends_with(".zst");
    Ok(BufReader::new(if is_packed { Box::new(zstd::Decoder::new(file)?) } else { Box::new(file) }))
}

impl Kind {
    fn of(text: &str, random: &mut Xoshiro256PlusPlus) -> Result<Self> {
        let (name, numbers) = text.split_once('=').unwrap_or((text, ""));
        let numbers: Vec<f64> = numbers.split(',').filter_map(|number| number.parse().ok()).collect();
        match (name, &numbers[..]) {
            ("none", []) => Ok(Self::Moved([0.0; 3])),
            ("misaligned", &[width]) => {
                let module = |_| [normal(random), normal(random)].map(|moved| moved * width / 1000.0);
                Ok(Self::Misaligned((0..MODULES).map(module).collect()))
            }
            ("shift", &[x, y]) => Ok(Self::Moved([x, y, 0.0])),
            ("z", &[z]) => Ok(Self::Moved([0.0, 0.0, z])),
            ("rotated", &[angle]) => Ok(Self::Rotated(angle)),
            ("inefficient", &[part]) => Ok(Self::Inefficient(part)),
            ("dead", [_, ..]) => Ok(Self::Dead(numbers.iter().map(|module| *module as usize).collect())),
            ("noise", &[hits]) => Ok(Self::Noise(hits as usize)),
            ("twice", []) => Ok(Self::Twice),
            _ => Err(wrong(&format!("`{text}` is not a kind of disturbance"))),
        }
    }
}

/// Returns a number from 0 to 1, not 1.
fn even(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, angle) = ((-2.0 * libm::log(1.0 - even(random))).sqrt(), TAU * even(random));
    radius * libm::cos(angle)
}

/// Returns the event with changed hits; none if it is no event of the Velo.
fn disturbed(kind: &Kind, event: Value, random: &mut Xoshiro256PlusPlus) -> Option<Value> {
    let mut modules = modules(&event)?;
    match kind {
        Kind::Misaligned(moved) => {
            for (hits, moved) in modules.iter_mut().zip(moved) {
                hits.iter_mut().for_each(|(_, [x, y, _])| (*x, *y) = (*x + moved[0], *y + moved[1]));
            }
        }
        Kind::Moved(by) => each(&mut modules, |at| std::array::from_fn(|i| at[i] + by[i])),
        Kind::Rotated(angle) => {
            let (sin, cos) = (libm::sin(*angle), libm::cos(*angle));
            each(&mut modules, |[x, y, z]| [cos * x - sin * y, sin * x + cos * y, z]);
        }
        Kind::Inefficient(part) => modules.iter_mut().for_each(|hits| hits.retain(|_| even(random) >= *part)),
        Kind::Dead(dead) => {
            dead.iter().filter_map(|module| modules.get_mut(*module).map(Vec::clear)).for_each(drop)
        }
        Kind::Noise(hits) => add_noise(&mut modules, *hits, random),
        Kind::Twice => {
            let twice = |hits: &Vec<Hit>| hits.iter().flat_map(|hit| [*hit, (None, hit.1)]).collect();
            modules = modules.iter().map(twice).collect();
        }
    }
    rebuilt(event, &modules)
}

fn each(modules: &mut [Vec<Hit>], place: impl Fn([f64; 3]) -> [f64; 3]) {
    modules.iter_mut().flatten().for_each(|(_, at)| *at = place(*at));
}

fn add_noise(modules: &mut [Vec<Hit>], hits: usize, random: &mut Xoshiro256PlusPlus) {
    let there: Vec<usize> = (0..modules.len()).filter(|module| !modules[*module].is_empty()).collect();
    let mut one_of = |length: usize| (even(random) * length as f64) as usize;
    let drawn: Vec<_> = (0..if there.is_empty() { 0 } else { hits })
        .map(|_| {
            let module = there[one_of(there.len())];
            let [x, y, z] = modules[module][one_of(modules[module].len())].1;
            let mut near = |at: f64| (at + BESIDE * (one_of(2001) as f64 / 1000.0 - 1.0)).clamp(-EDGE, EDGE);
            (module, [near(x), near(y), z])
        })
        .collect();
    drawn.into_iter().for_each(|(module, at)| modules[module].push((None, at)));
}

/// Returns the hits of each module.
fn modules(event: &Value) -> Option<Vec<Vec<Hit>>> {
    let numbers =
        |key: &str| event.get(key)?.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
    let (x, y, z, starts) = (numbers("x")?, numbers("y")?, numbers("z")?, numbers("module_prefix_sum")?);
    let hit = |i: usize| Some((Some(i), [*x.get(i)?, *y.get(i)?, *z.get(i)?]));
    starts.windows(2).map(|ends| (ends[0] as usize..ends[1] as usize).map(hit).collect()).collect()
}

/// Returns the event with these hits, and a truth that lists them.
fn rebuilt(mut event: Value, modules: &[Vec<Hit>]) -> Option<Value> {
    let (mut starts, mut columns) = (vec![0], [const { Vec::new() }; 3]);
    let mut place = vec![None; event.get("x")?.as_array()?.len()];
    for hits in modules {
        for (old, at) in hits {
            if let Some(place) = old.and_then(|old| place.get_mut(old)) {
                place.get_or_insert(columns[0].len());
            }
            columns.iter_mut().zip(at).for_each(|(column, value)| column.push(*value));
        }
        starts.push(columns[0].len());
    }
    event["module_prefix_sum"] = json!(starts);
    for (key, column) in ["x", "y", "z"].into_iter().zip(columns) {
        event[key] = json!(column);
    }
    let truth = event.get_mut("montecarlo")?;
    let hits = truth.get("description")?.as_array()?.iter().position(|name| name == "hits")?;
    for particle in truth.get_mut("particles")?.as_array_mut()? {
        let hits = particle.get_mut(hits)?;
        let new = |hit: &Value| place.get(hit.as_u64()? as usize).copied().flatten();
        *hits = json!(hits.as_array()?.iter().filter_map(new).collect::<Vec<_>>());
    }
    Some(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes an event with two modules of two hits each, and a particle with one hit in each module.
    fn changed(kind: &str) -> Value {
        let event = json!({
            "module_prefix_sum": [0, 2, 4], "x": [1.0, 2.0, 3.0, 4.0], "y": [0.0, 0.0, 1.0, 1.0], "z": [5.0, 5.0, 9.0, 9.0],
            "montecarlo": { "description": ["key", "hits"], "particles": [[7, [1, 2]]] },
        });
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let kind = Kind::of(kind, &mut random).unwrap();
        disturbed(&kind, event, &mut random).unwrap()
    }

    #[test]
    fn truth_names_the_hits_that_are_left() {
        let twice = changed("twice");
        assert_eq!(twice["x"], json!([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]));
        assert_eq!(twice["montecarlo"]["particles"], json!([[7, [2, 4]]]));
        let dead = changed("dead=0");
        assert_eq!((&dead["module_prefix_sum"], &dead["x"]), (&json!([0, 0, 2]), &json!([3.0, 4.0])));
        assert_eq!(dead["montecarlo"]["particles"], json!([[7, [0]]]));
        assert_eq!(changed("inefficient=1")["montecarlo"]["particles"], json!([[7, []]]));
    }

    #[test]
    fn hits_move_and_noise_belongs_to_nobody() {
        let moved = changed("shift=1,-1");
        assert_eq!(
            (&moved["x"], &moved["y"]),
            (&json!([2.0, 3.0, 4.0, 5.0]), &json!([-1.0, -1.0, 0.0, 0.0]))
        );
        assert_eq!(changed("z=2")["z"], json!([7.0, 7.0, 11.0, 11.0]));
        let noise = changed("noise=6");
        assert_eq!(noise["x"].as_array().unwrap().len(), 10);
        let owned = noise["montecarlo"]["particles"][0][1].as_array().unwrap();
        let x: Vec<_> =
            owned.iter().map(|hit| noise["x"][hit.as_u64().unwrap() as usize].as_f64().unwrap()).collect();
        assert_eq!(x, [2.0, 3.0]);
    }

    #[test]
    fn kinds_are_refused_by_name() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        for kind in ["shift=1", "noise", "more", ""] {
            assert!(Kind::of(kind, &mut random).err().is_some_and(|e| e.to_string().contains(kind)));
        }
    }
}
