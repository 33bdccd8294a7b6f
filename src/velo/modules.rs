//! Code shared by the presets `paper` and `forwarding`: the hits of an event, sorted within each module.

use crate::event::{Column, VELO_MODULES, VeloEvent};
use std::ops::{Add, Div, Mul, Range, Sub};

/// The hits of an event, module by module.
#[derive(Debug)]
pub(super) struct Modules {
    /// x, y, z of each hit, and x again while no track uses the hit, then NaN: a hit at NaN is never the nearest.
    pub(super) hits: Column<[f32; 4]>,
    /// Id of each hit.
    pub(super) id: Column<u32>,
    start: [u32; VELO_MODULES + 1],
}

impl Default for Modules {
    fn default() -> Self {
        Self { hits: Column::default(), id: Column::default(), start: [0; VELO_MODULES + 1] }
    }
}

impl Modules {
    /// Reserves memory for the hits of an event, without setting their values.
    pub(super) fn open(&mut self, event: &VeloEvent<'_>) {
        self.hits.set_len(event.len());
        self.id.set_len(event.len());
        self.start[VELO_MODULES] = event.len() as u32;
        for module in 0..VELO_MODULES {
            self.start[module] = event.module(module).start as u32;
        }
    }

    /// Puts the hits of one module in the order of `order` (indices in the module).
    #[inline(always)]
    pub(super) fn arrange(&mut self, event: &VeloEvent<'_>, module: usize, order: &[u32]) {
        let range = event.module(module);
        for (index, &from) in range.clone().zip(order) {
            let hit = range.start + from as usize;
            let [x, y, z] = [event.x[hit], event.y[hit], event.z[hit]];
            self.hits[index] = [x, y, z, x];
            self.id[index] = event.id[hit];
        }
    }

    /// Returns the indices of a module's hits.
    #[inline(always)]
    pub(super) fn range(&self, module: usize) -> Range<usize> {
        self.start[module] as usize..self.start[module + 1] as usize
    }

    #[inline(always)]
    pub(super) fn is_free(&self, hit: u32) -> bool {
        !self.hits[hit as usize][3].is_nan()
    }

    #[inline(always)]
    pub(super) fn mark_used(&mut self, hit: u32) {
        self.hits[hit as usize][3] = f32::NAN;
    }

    /// Returns chi2 per degree of freedom of the least-squares line through three hits of weight `weight`, 1/mm^2.
    pub(super) fn three_hit_chi2(&self, hits: [u32; 3], weight: f32) -> f32 {
        let hits = hits.map(|hit| self.hits[hit as usize]).map(|[x, y, z, _]| [x, y, z]);
        three_hit_chi2(&hits, weight, |value| value)
    }
}

/// Computes [`Modules::three_hit_chi2`] from positions of one track, or of one track per lane. `number` converts a
/// number to `T`.
#[inline(always)]
pub(super) fn three_hit_chi2<T>(hits: &[[T; 3]; 3], weight: T, number: impl Fn(f32) -> T) -> T
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>,
{
    let three = number(3.0);
    let mut mean = [number(0.0); 3];
    for (column, mean) in mean.iter_mut().enumerate() {
        *mean = (hits[0][column] + hits[1][column] + hits[2][column]) / three;
    }
    let [x, y, z] = mean;
    let [mut zz, mut zx, mut zy] = [number(0.0); 3];
    for hit in hits {
        let dz = hit[2] - z;
        zz = zz + dz * dz;
        zx = zx + dz * (hit[0] - x);
        zy = zy + dz * (hit[1] - y);
    }
    let (tx, ty) = (zx / zz, zy / zz);
    let mut sum = number(0.0);
    for hit in hits {
        let dz = hit[2] - z;
        let (dx, dy) = ((hit[0] - x) - tx * dz, (hit[1] - y) - ty * dz);
        sum = sum + weight * (dx * dx + dy * dy);
    }
    const DEGREES_OF_FREEDOM: f32 = 2.0;
    sum / number(DEGREES_OF_FREEDOM)
}
