//! Matriplex, figure 4: products of small matrices by memory layout, on the CPU.

use super::entry::{Job, SEED};
use super::report::{Asked, Report};
use super::table::Origin::{self, Here, Setting};
use super::table::{Cell, Table};
use crate::{Preset, SequenceName};
use peloton::kalman::layouts::{Layout, Products};
use peloton::simd::Level;
use peloton::{Error, Result};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Matrices of a Matriplex in between: rows of a few cache lines.
const SOME: usize = 256;
/// Products whose matrices caches hold: beyond, it is memory that is measured.
const IN_CACHE: usize = 4096;
/// Rounds in which the layouts take turns.
const ROUNDS: usize = 5;

/// The layouts for a gang, in the order of the columns.
fn layouts(level: Level) -> [Layout; 5] {
    let lanes = Layout::Matriplex(level.gang());
    [Layout::Array, Layout::ArrayInLanes, lanes, Layout::Matriplex(SOME), Layout::Matriplex(usize::MAX)]
}

const COLUMNS: [(&str, &str); 5] = [
    ("array", "ns"),
    ("array, gathered into lanes", "ns"),
    ("Matriplex, of the gang", "ns"),
    ("of 256", "ns"),
    ("of all", "ns"),
];

/// Least times of a product, ns, of each layout, and a hash of the products, which must be the same.
fn times(job: &Job<'_>, level: Level, count: usize) -> Result<([f64; 5], u64)> {
    let mut all = layouts(level).map(|layout| Products::new(level, layout, count));
    let mut least = [f64::INFINITY; 5];
    let at_least = job.plan().time / (ROUNDS * all.len() * 10) as u32;
    for _ in 0..if job.options.quick { 1 } else { ROUNDS } {
        for (products, least) in all.iter_mut().zip(&mut least) {
            products.multiply();
            let (start, mut passes) = (Instant::now(), 0);
            while passes == 0 || start.elapsed() < at_least.max(Duration::from_micros(50)) {
                let before = Instant::now();
                products.multiply();
                *least = least.min(before.elapsed().as_nanos() as f64 / count as f64);
                passes += 1;
            }
        }
        job.complete(Ok(()))?;
    }
    let hash = |products: &Products| {
        let values: Vec<u8> =
            (0..count).flat_map(|pair| products.product(pair)).flat_map(f32::to_le_bytes).collect();
        xxh3_64(&values)
    };
    let hashes = all.each_ref().map(hash);
    if hashes.iter().any(|hash| *hash != hashes[0]) {
        return Err(Error::Internal(format!("{level}: layouts give other products: {hashes:016x?}")));
    }
    Ok((least, hashes[0]))
}

/// Figure 4: time against the number of products, and against the width of vectors.
///
/// # Errors
/// When nothing would run, or layouts differ.
pub fn figure_4(job: &Job<'_>) -> Result<Report> {
    let request = job.timed(SequenceName::Cylinder, Preset::Paper, &format!("sim:cylinder,seed={SEED}"));
    let level = request.config.level()?;
    let mut hashes = Vec::new();
    let table = Table::new("Time of a product against the number of products")
        .columns(Setting, &[("products", "")])
        .columns(Here, &COLUMNS);
    let mut against_count = table.drawn(0, &[1, 2, 3, 4, 5], None, true);
    let counts: &[usize] = if job.options.quick { &[64, 1024] } else { &[64, 512, 4096, 32_768, 262_144] };
    let mut of_array = f64::INFINITY;
    for &count in counts {
        let (least, hash) = times(job, level, count)?;
        if count <= IN_CACHE {
            of_array = of_array.min(least[0] / least[2]);
        }
        hashes.push(format!("{hash:016x}"));
        let mut row = vec![Cell::Count(count as u64)];
        row.extend(least.map(|ns| Cell::Number(ns, 2)));
        against_count.row(row);
    }
    let mut against_width = Table::new("Time of a product of 4,096 against the width of vectors")
        .columns(Setting, &[("instruction set", ""), ("lanes", "")])
        .columns(Here, &COLUMNS);
    let count = job.size(4096, 256) as usize;
    for level in Level::supported() {
        let (least, hash) = times(job, level, count)?;
        hashes.push(format!("{hash:016x}"));
        let mut row = vec![level.isa().name().into(), Cell::Count(level.gang() as u64)];
        row.extend(least.map(|ns| Cell::Number(ns, 2)));
        against_width.row(row);
    }
    let faster =
        "a Matriplex of the gang is faster than an array for up to 4,096 products, which caches hold";
    let asked = Asked::new(Origin::Here, faster, format!("{of_array:.2} times at least"), of_array > 1.0);
    let notes = [
        super::figures::GANGS,
        "Least time of a product of two 6 x 6 matrices in single precision, 432 bytes in and out, from memory to memory: \
         beyond some thousand products that is what decides; an array of matrices one at a \
         time is what the compiler makes of the plain loops for that instruction set. All layouts give the same bits",
        "The paper's figure is of a GPU (cuBLAS on arrays of matrices against the Matriplex, as large as can be) and has no \
         numbers: the Matriplex is the fastest, shared memory matters by up to two orders of magnitude. On a CPU it has \
         a Matriplex of as many matrices as the vector has lanes",
    ];
    Ok(Report {
        input: vec![format!(
            "matrices of numbers between -0.5 and 0.5, {} to {} pairs",
            counts[0],
            counts[counts.len() - 1]
        )],
        machine: job.machine(&request.config)?,
        paper_machine: "GPUs; time against the number of products",
        hashes,
        tables: vec![against_count, against_width],
        asked: if job.options.quick { Vec::new() } else { vec![asked] },
        notes: notes.map(String::from).to_vec(),
        ..Report::default()
    })
}
