//! Three small kernels of the kinds that occur in tracking, each on gangs and as plain loops.

use peloton::simd::Gang;
use peloton::simd::varying::{F32, I32, Mask, U32};

/// Iterations of z -> z^2 + c until |z| > 2, for every pixel of a frame: pure arithmetic, with lanes that finish
/// at different times.
pub struct Mandelbrot {
    pub width: usize,
    pub height: usize,
    pub limit: i32,
    pub out: Vec<u32>,
}

impl Mandelbrot {
    pub fn new() -> Self {
        let (width, height) = (512, 384);
        Self { width, height, limit: 256, out: vec![0; width * height] }
    }

    /// Returns the point of pixel 0, and the steps to its neighbours.
    fn frame(&self) -> (f32, f32, f32, f32) {
        (-2.0, 3.0 / self.width as f32, -1.0, 2.0 / self.height as f32)
    }

    /// Returns the number of all iterations.
    pub fn work(&self) -> f64 {
        self.out.iter().map(|&n| n as f64).sum()
    }

    #[inline(always)]
    pub fn gang<G: Gang>(&mut self, g: G) {
        let (x0, dx, y0, dy) = self.frame();
        let (x0, dx) = (F32::splat(g, x0), F32::splat(g, dx));
        let four = F32::splat(g, 4.0);
        for (row, out) in self.out.chunks_exact_mut(self.width).enumerate() {
            let ci = F32::splat(g, (row as f32).mul_add(dy, y0));
            for start in (0..out.len()).step_by(G::LANES) {
                let pixel = U32::iota(g) + U32::splat(g, start as u32);
                let cr = pixel.as_i32().to_f32().mul_add(dx, x0);
                let inside = Mask::first(g, out.len() - start);
                let (mut zr, mut zi) = (cr, ci);
                let (mut active, mut count) = (inside, U32::splat(g, 0));
                for _ in 0..self.limit {
                    let (rr, ii) = (zr * zr, zi * zi);
                    active = active & (rr + ii).le(four);
                    if !active.any() {
                        break;
                    }
                    count = count.count(active);
                    zi = (zr + zr).mul_add(zi, ci);
                    zr = cr + (rr - ii);
                }
                count.store_some(&mut out[start..], inside);
            }
        }
    }

    pub fn plain(&mut self) {
        let (x0, dx, y0, dy) = self.frame();
        for row in 0..self.height {
            for column in 0..self.width {
                let (cr, ci) = ((column as f32).mul_add(dx, x0), (row as f32).mul_add(dy, y0));
                let (mut zr, mut zi, mut count) = (cr, ci, 0);
                while count < self.limit && zr * zr + zi * zi <= 4.0 {
                    let next = cr + (zr * zr - zi * zi);
                    zi = (zr + zr).mul_add(zi, ci);
                    zr = next;
                    count += 1;
                }
                self.out[row * self.width + column] = count as u32;
            }
        }
    }
}

/// A pseudo-random sequence, the same on every machine.
pub struct Random(pub u32);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 8) as f32 * (1.0 / 16_777_216.0)
    }
}

/// Linear interpolation in a table for particles that are given by their indices: four gathers each.
pub struct Lookup {
    table: Vec<f32>,
    slope: Vec<f32>,
    x: Vec<f32>,
    id: Vec<u32>,
    pub out: Vec<f32>,
}

impl Lookup {
    pub fn new() -> Self {
        let (nodes, len) = (4096, 1 << 18);
        let table: Vec<f32> = (0..nodes).map(|i| libm::sin(i as f64 * 0.01) as f32).collect();
        let slope = (0..nodes).map(|i| table[(i + 1).min(nodes - 1)] - table[i]).collect();
        let mut random = Random(12345);
        let x = (0..len).map(|_| random.unit()).collect();
        let mut id: Vec<u32> = (0..len as u32).collect();
        for i in (1..len).rev() {
            id.swap(i, random.next() as usize % (i + 1));
        }
        Self { table, slope, x, id, out: vec![0.0; len] }
    }

    pub fn work(&self) -> f64 {
        self.out.len() as f64
    }

    #[inline(always)]
    pub fn gang<G: Gang>(&mut self, g: G) {
        let nodes = self.table.len() as u32;
        let scale = F32::splat(g, (nodes - 1) as f32);
        let (zero, last) = (I32::splat(g, 0), I32::splat(g, nodes as i32 - 2));
        let (seven, wrap, half) = (U32::splat(g, 7), U32::splat(g, nodes - 1), F32::splat(g, 0.5));
        for (out, id) in self.out.chunks_mut(G::LANES).zip(self.id.chunks(G::LANES)) {
            let inside = Mask::first(g, out.len());
            let id = U32::load_some(id, inside);
            let t = F32::gather(&self.x, id) * scale;
            let below = t.to_i32().max(zero).min(last);
            let fraction = t - below.to_f32();
            let below = below.to_bits();
            let other = (below * seven + id) & wrap;
            let value = F32::gather(&self.slope, below).mul_add(fraction, F32::gather(&self.table, below));
            F32::gather(&self.table, other).mul_add(half, value).store_some(out, inside);
        }
    }

    pub fn plain(&mut self) {
        let nodes = self.table.len() as u32;
        for (out, &id) in self.out.iter_mut().zip(&self.id) {
            let t = self.x[id as usize] * (nodes - 1) as f32;
            let below = (t as i32).clamp(0, nodes as i32 - 2) as u32;
            let fraction = t - below as f32;
            let other = (below.wrapping_mul(7).wrapping_add(id)) & (nodes - 1);
            let value = self.slope[below as usize].mul_add(fraction, self.table[below as usize]);
            *out = self.table[other as usize].mul_add(0.5, value);
        }
    }
}

/// A walk of varying length per lane; each step is a binary search in an uneven grid, a hash and a decision.
pub struct Track {
    edge: Vec<f32>,
    sigma: Vec<f32>,
    seed: Vec<u32>,
    pub out: Vec<f32>,
    pub steps: Vec<u32>,
}

impl Track {
    const MOST_STEPS: u32 = 200;
    const STOP: f32 = 0.01;

    pub fn new() -> Self {
        let (nodes, len) = (1024, 1 << 15);
        let unit = |i: usize| i as f64 / nodes as f64;
        let mut random = Random(54321);
        Self {
            edge: (0..nodes).map(|i| (1.2 * unit(i) * unit(i)) as f32).collect(),
            sigma: (0..nodes).map(|i| (0.2 + 0.8 * libm::fabs(libm::sin(i as f64 * 0.37))) as f32).collect(),
            seed: (0..len).map(|_| random.next()).collect(),
            out: vec![0.0; len],
            steps: vec![0; len],
        }
    }

    /// Returns the number of all steps.
    pub fn work(&self) -> f64 {
        self.steps.iter().map(|&n| n as f64).sum()
    }

    #[inline(always)]
    pub fn gang<G: Gang>(&mut self, g: G) {
        let (f, u) = (
            #[inline(always)]
            |value| F32::splat(g, value),
            #[inline(always)]
            |value| U32::splat(g, value),
        );
        let (one, limit) = (u(1), u(Self::MOST_STEPS));
        for start in (0..self.seed.len()).step_by(G::LANES) {
            let inside = Mask::first(g, self.seed.len() - start);
            let mut seed = U32::load_some(&self.seed[start..], inside);
            let (mut energy, mut sum, mut steps) = (f(1.0), f(0.0), u(0));
            let mut active = inside;
            while active.any() {
                let (mut low, mut high) = (u(0), u(self.edge.len() as u32 - 1));
                let mut search = active & one.lt(high - low);
                while search.any() {
                    let middle = (low + high).shr::<1>();
                    let left = F32::gather(&self.edge, middle).le(energy);
                    low = (search & left).select_u(middle, low);
                    high = search.and_not(left).select_u(middle, high);
                    search = search & one.lt(high - low);
                }
                let sigma = F32::gather(&self.sigma, low);
                seed = active.select_u(seed * u(747_796_405) + u(2_891_336_453), seed);
                let word = (seed.shr::<16>() ^ seed) * u(0x045d_9f3b);
                let word = word.shr::<16>() ^ word;
                let loss = word.shr::<8>().as_i32().to_f32() * f(1.0 / 16_777_216.0) * sigma;
                sum = active.select_f(sum + loss, sum);
                energy = active.select_f(energy * loss.neg_mul_add(f(0.3), f(1.0)), energy);
                steps = steps.count(active);
                active = active & f(Self::STOP).lt(energy) & steps.lt(limit);
            }
            sum.store_some(&mut self.out[start..], inside);
            steps.store_some(&mut self.steps[start..], inside);
        }
    }

    pub fn plain(&mut self) {
        for i in 0..self.seed.len() {
            let (mut seed, mut energy, mut sum, mut steps) = (self.seed[i], 1.0f32, 0.0, 0);
            while energy > Self::STOP && steps < Self::MOST_STEPS {
                let (mut low, mut high) = (0, self.edge.len() - 1);
                while high - low > 1 {
                    let middle = (low + high) / 2;
                    if self.edge[middle] <= energy { low = middle } else { high = middle }
                }
                seed = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                let word = ((seed >> 16) ^ seed).wrapping_mul(0x045d_9f3b);
                let word = (word >> 16) ^ word;
                let loss = (word >> 8) as f32 * (1.0 / 16_777_216.0) * self.sigma[low];
                sum += loss;
                energy *= (-loss).mul_add(0.3, 1.0);
                steps += 1;
            }
            (self.out[i], self.steps[i]) = (sum, steps);
        }
    }
}
