//! Times of products of small matrices in five memory layouts (Matriplex, figure 4). Values per run: `isa`, `gang`, the
//! number of `products`, and by layout the least ns per product: `array`, `gathered`, `gang_wide`, `some`, `together`.

use super::job::{Facts, Job};
use peloton::kalman::layouts::{Layout, Products};
use peloton::simd::Level;
use peloton::{Error, Result};
use peloton_job::Config;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Matrices of the Matriplex of medium size: rows of a few cache lines.
const SOME: usize = 256;
/// Rounds in which the layouts take turns.
const ROUNDS: usize = 5;

/// Measures the time per product in every layout, for every configuration and number of products.
///
/// # Errors
/// An error when layouts give different products, or when the run is interrupted.
pub fn measure(products: &[Vec<usize>; 2], configs: &[Config], job: &Job<'_>) -> Result<Facts> {
    let (mut facts, mut hashes) = (Vec::new(), Vec::new());
    for config in configs {
        for &count in job.size(products).into_iter().flatten() {
            let (one, hash) = times(job, config.level()?, count)?;
            facts.push(one);
            hashes.push(format!("{hash:016x}"));
        }
    }
    Ok((facts, hashes))
}

/// Returns the times, and a hash of the products, which all layouts must share.
fn times(job: &Job<'_>, level: Level, count: usize) -> Result<(Value, u64)> {
    let lanes = Layout::Matriplex(level.gang());
    let layouts =
        [Layout::Array, Layout::ArrayInLanes, lanes, Layout::Matriplex(SOME), Layout::Matriplex(usize::MAX)];
    let mut all = layouts.map(|layout| Products::new(level, layout, count));
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
    let [array, gathered, gang_wide, some, together] = least;
    let facts = json!({
        "isa": level.isa().name(), "gang": level.gang(), "products": count,
        "array": array, "gathered": gathered, "gang_wide": gang_wide, "some": some, "together": together,
    });
    Ok((facts, hashes[0]))
}
