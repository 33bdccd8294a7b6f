//! The nominal magnet against public data of the real one: transport of particles from behind the UT to the SciFi.

use crate::common::data;
use peloton_sim::Track;
use std::path::Path;

/// A table of the real field's transport, magnet down: 60 x 50 nodes in x/z and y/z, 80 numbers each.
struct Table {
    from: f64,
    to: f64,
    numbers: Vec<f64>,
}

const NODES: [usize; 2] = [60, 50];
const NUMBERS: usize = 80;
/// Largest x/z and y/z.
const REACH: [f64; 2] = [0.3, 0.25];
/// Degrees in the inverse momentum of x and its slope, and of y and its slope. A node first has the numbers of x and its slope,
/// then 28 numbers for their dependence on the slopes, then the numbers of y and its slope.
const DEGREES: [usize; 2] = [9, 7];
const Y_AT: usize = 46;
/// Units of the inverse momentum, 1 / 1500 MeV, and of slopes.
const UNIT: f64 = 1.5;
const SLOPE_UNIT: f64 = 1e-3;

impl Table {
    fn read(path: &Path) -> Self {
        let bytes =
            zstd::decode_all(std::fs::File::open(path).expect("a table")).expect("a compressed table");
        let text = String::from_utf8(bytes).expect("text");
        let all: Vec<f64> =
            text.split_ascii_whitespace().map(|word| word.parse().expect("a number")).collect();
        // The first two lines have both z and nine constants, then numbers of nodes and degrees.
        let numbers = all[19..].to_vec();
        assert_eq!(numbers.len(), NODES[0] * NODES[1] * NUMBERS);
        Self { from: all[0], to: all[1], numbers }
    }

    /// The particle at a node, flying as if from the beam: its slopes belong to a line through the origin, plus the bending by
    /// the field.
    fn start(&self, node: [usize; 2], qop: f64) -> Track {
        let [a, b] =
            std::array::from_fn(|i| REACH[i] * (2.0 * (node[i] as f64 + 0.5) / NODES[i] as f64 - 1.0));
        // The constants are for inverse MeV.
        let bent = qop / 1000.0;
        let tx = a + (29.5 + 35.0 * a * a - 310.0 * b * b) * bent;
        Track { x: a * self.from, y: b * self.from, z: self.from, tx, ty: b + 140.0 * a * b * bent, qop }
    }

    /// x, y and slopes at the end of the table.
    fn end(&self, node: [usize; 2], qop: f64) -> [f64; 4] {
        let start = self.start(node, qop);
        let numbers = &self.numbers[(node[0] * NODES[1] + node[1]) * NUMBERS..][..NUMBERS];
        let power = |at: usize, degrees: usize| {
            let terms = numbers[at..at + degrees].iter();
            terms.rev().fold(0.0, |sum, term| (sum + term) * (UNIT * qop))
        };
        let way = self.to - self.from;
        [
            start.x + start.tx * way + power(0, DEGREES[0]),
            start.y + start.ty * way + power(Y_AT, DEGREES[1]),
            start.tx + SLOPE_UNIT * power(DEGREES[0], DEGREES[0]),
            start.ty + SLOPE_UNIT * power(Y_AT + DEGREES[1], DEGREES[1]),
        ]
    }

    /// Mean |difference| of x, y and slopes, mm and 1, over all nodes with |x/z| < 0.25 and |y/z| < 0.2, and over
    /// particles of 5 GeV/c and more.
    fn mean_difference(&self) -> [f64; 4] {
        let (mut sum, mut count) = ([0.0; 4], 0.0);
        for ix in 0..NODES[0] {
            for iy in 0..NODES[1] {
                for p in
                    [5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 100.0, -5.0, -7.0, -10.0, -15.0, -25.0, -50.0, -100.0]
                {
                    let qop = 1.0 / p;
                    let start = self.start([ix, iy], qop);
                    if (start.x / start.z).abs() >= 0.25 || (start.y / start.z).abs() >= 0.2 {
                        continue;
                    }
                    let found = start.to(self.to, -1.0).expect("not lost");
                    let real = self.end([ix, iy], qop);
                    for (sum, (a, b)) in
                        sum.iter_mut().zip([found.x, found.y, found.tx, found.ty].iter().zip(real))
                    {
                        *sum += (a - b).abs();
                    }
                    count += 1.0;
                }
            }
        }
        sum.map(|sum| sum / count)
    }
}

/// Mean differences of the previous field, which was vertical and depended on z alone, at z = 7826 mm and 9403 mm: measured
/// with a copy of this field, which is not in this repository.
const BEFORE: [[f64; 4]; 2] =
    [[6.719_420, 3.984_842, 0.003_267, 0.001_609], [10.644_302, 5.618_126, 0.002_008, 0.002_019]];

#[test]
fn the_field_bends_as_the_real_one() {
    let Some(data) = data() else { return };
    for (name, before, times) in [
        ("test_UT_T1", BEFORE[0], [5.0, 3.0, 5.0, 3.0]),
        // The limit is weaker at the last layer, since the tables are less accurate there.
        ("test_UT_T3", BEFORE[1], [5.0, 3.0, 4.0, 3.0]),
    ] {
        let table = Table::read(&data.join(format!("lhcb/field/{name}.tab.zst")));
        let found = table.mean_difference();
        let gain: [f64; 4] = std::array::from_fn(|i| before[i] / found[i]);
        println!(
            "to {} mm: x, y, tx, ty {found:.6?}, before {before:.6?}: {gain:.1?} times smaller",
            table.to
        );
        assert!(gain.iter().zip(times).all(|(gain, least)| *gain >= least), "{gain:?} at {} mm", table.to);
    }
}
