//! Weak track filter: which tracks of three hits are tracks.

use super::config::PaperConfig;
use crate::velo::find::Rows;
use crate::velo::index::Index;
use crate::velo::scratch::Found;

/// Takes over all tracks with four hits or more, and those with three that are straight and whose hits are on
/// none of the longer ones.
pub(super) fn accept(config: &PaperConfig, index: &Index, rows: &Rows, found: &mut Found) {
    for row in 0..rows.count() {
        let hits = rows.hits(row);
        if let &[a, b, c] = hits {
            let free = hits.iter().all(|&hit| index.is_free(hit as usize));
            let positions = [a, b, c].map(|hit| index.hits[hit as usize]);
            if !(free && three_hit_chi2(positions, config.weak_weight) < config.weak_chi2) {
                continue;
            }
        }
        found.push_track(hits, None);
    }
}

/// chi2 per degree of freedom of the least-squares line through three hits, both projections.
pub(in crate::velo) fn three_hit_chi2(hits: [[f32; 4]; 3], weight: f32) -> f32 {
    let mean = |column: usize| (hits[0][column] + hits[1][column] + hits[2][column]) / 3.0;
    let [x, y, z] = [mean(0), mean(1), mean(2)];
    let [mut zz, mut zx, mut zy] = [0.0; 3];
    for hit in &hits {
        let dz = hit[2] - z;
        zz += dz * dz;
        zx += dz * (hit[0] - x);
        zy += dz * (hit[1] - y);
    }
    let (tx, ty) = (zx / zz, zy / zz);
    let mut sum = 0.0;
    for hit in &hits {
        let dz = hit[2] - z;
        let (dx, dy) = ((hit[0] - x) - tx * dz, (hit[1] - y) - ty * dz);
        sum += weight * (dx * dx + dy * dy);
    }
    const DEGREES_OF_FREEDOM: f32 = 2.0;
    sum / DEGREES_OF_FREEDOM
}
