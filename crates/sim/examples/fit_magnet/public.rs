//! Public data on LHCb's real magnetic field.

use peloton::{Error, Result};
use peloton_io::input::Geometry;
use std::path::Path;

/// z of the middle of the UT, to which the public UT tables refer, mm.
pub const UT_MIDDLE: f64 = 2484.6;
const UT_PLANES: [f64; 4] = [2327.5, 2372.5, 2597.5, 2642.5];
/// Index in [`Public::layers`] of the pair of layers to which the other pairs are compared.
pub const REFERENCE_LAYER: usize = 4;

/// Transport of a particle through the magnet: its state behind the UT, its charge over momentum (c/GeV), and its
/// states in the first and in the last layer of the SciFi.
pub struct Ray {
    pub start: [f64; 4],
    pub qop: f64,
    pub ends: [[f64; 4]; 2],
}

/// Integral of the field along a straight path from `z` to the middle of the UT, T m.
pub struct Integral {
    pub ty: f64,
    pub origin: f64,
    pub z: f64,
    pub value: f64,
}

/// Ratio of the deflection in the middle of the UT to the deflection at a UT plane.
pub struct Factor {
    pub ty: f64,
    pub z: f64,
    pub value: f64,
}

pub struct Public {
    pub rays: Vec<Ray>,
    /// z where rays start, and z of both of their ends, mm.
    pub z: [f64; 3],
    pub integrals: Vec<Integral>,
    pub factors: Vec<Factor>,
    /// For each pair of neighbouring SciFi layers: z halfway, and the bending (6th number of `params_predictT.txt`).
    pub layers: Vec<(f64, f64)>,
}

const NODES: [usize; 2] = [60, 50];
const NUMBERS: usize = 80;

fn table(path: &Path) -> Result<Vec<f64>> {
    let failed = |e| Error::io(path, e);
    let bytes = zstd::decode_all(std::fs::File::open(path).map_err(failed)?).map_err(failed)?;
    let text = String::from_utf8_lossy(&bytes);
    let numbers = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>();
    let numbers = numbers.filter(|numbers| numbers.len() == 19 + NODES[0] * NODES[1] * NUMBERS);
    numbers.ok_or_else(|| Error::format(path.display().to_string(), "not a table of particle transport"))
}

/// x, y and slopes where a table ends, of a node's particle.
fn end(table: &[f64], node: usize, start: [f64; 4], qop: f64) -> [f64; 4] {
    let numbers = &table[19 + node * NUMBERS..][..NUMBERS];
    let power = |at: usize, degrees: usize| {
        let (mut sum, mut power) = (0.0, 1.0);
        for number in &numbers[at..at + degrees] {
            power *= 1.5 * qop;
            sum += number * power;
        }
        sum
    };
    let way = table[1] - table[0];
    [
        start[0] + start[2] * way + power(0, 9),
        start[1] + start[3] * way + power(46, 7),
        start[2] + 1e-3 * power(9, 9),
        start[3] + 1e-3 * power(53, 7),
    ]
}

fn rays(first: &[f64], last: &[f64]) -> Vec<Ray> {
    let mut all = Vec::new();
    for ix in (1..NODES[0]).step_by(3) {
        for iy in (1..NODES[1]).step_by(3) {
            let a = 0.3 * (2.0 * (ix as f64 + 0.5) / NODES[0] as f64 - 1.0);
            let b = 0.25 * (2.0 * (iy as f64 + 0.5) / NODES[1] as f64 - 1.0);
            if a.abs() > 0.255 || b.abs() > 0.205 {
                continue;
            }
            for p in [5.0, 7.0, 12.0, 30.0] {
                for charge in [-1.0, 1.0] {
                    let qop: f64 = charge / p;
                    let bent = qop / 1000.0;
                    let tx = a + (29.5 + 35.0 * a * a - 310.0 * b * b) * bent;
                    let start = [a * first[0], b * first[0], tx, b + 140.0 * a * b * bent];
                    let node = ix * NODES[1] + iy;
                    all.push(Ray {
                        start,
                        qop,
                        ends: [end(first, node, start, qop), end(last, node, start, qop)],
                    });
                }
            }
        }
    }
    all
}

/// z halfway between neighbouring layers, and the mean of what the two halves of the detector say there.
fn layers(path: &Path) -> Result<Vec<(f64, f64)>> {
    const LAYERS: [f64; 12] =
        [7826.0, 7896.0, 7966.0, 8036.0, 8508.0, 8578.0, 8648.0, 8718.0, 9193.0, 9263.0, 9333.0, 9403.0];
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    let bends: Vec<f64> =
        text.lines().filter_map(|line| line.split_ascii_whitespace().nth(6)?.parse().ok()).collect();
    if bends.len() < 2 * (LAYERS.len() - 1) {
        return Err(Error::format(path.display().to_string(), "the file has too few lines of parameters"));
    }
    let between = |(pair, bends): (&[f64], &[f64])| (0.5 * (pair[0] + pair[1]), 0.5 * (bends[0] + bends[1]));
    Ok(LAYERS.windows(2).zip(bends.chunks(2)).map(between).collect())
}

impl Public {
    /// Reads the public data from the folder `data/lhcb`.
    pub fn read(folder: &Path) -> Result<Self> {
        let [first, last] =
            ["test_UT_T1", "test_UT_T3"].map(|name| folder.join(format!("field/{name}.tab.zst")));
        let (first, last) = (table(&first)?, table(&last)?);
        let tables = Geometry::named(&folder.join("geometry"))?.ut_tables()?;
        let mut integrals = Vec::new();
        for state in 0..11 {
            for origin in (0..11).step_by(5) {
                for slope in (3..28).step_by(3) {
                    let value = tables.field_integral[(state * 11 + origin) * 31 + slope];
                    integrals.push(Integral {
                        ty: -0.3 + 0.02 * slope as f64,
                        origin: -250.0 + 50.0 * origin as f64,
                        z: 80.0 * state as f64,
                        value: f64::from(value),
                    });
                }
            }
        }
        let mut factors = Vec::new();
        for k in (0..27).step_by(3) {
            for (plane, z) in UT_PLANES.into_iter().enumerate() {
                factors.push(Factor {
                    ty: 0.01 * k as f64,
                    z,
                    value: f64::from(tables.plane_factor[4 * k + plane]),
                });
            }
        }
        Ok(Self {
            rays: rays(&first, &last),
            z: [first[0], first[1], last[1]],
            integrals,
            factors,
            layers: layers(&folder.join("field/params_predictT.txt"))?,
        })
    }
}
