//! Shapes and times of simulated clusters. All hits of a cluster arrive within less than 200 ns, and each hit touches
//! another hit, so that every definition of a cluster gives the same cluster.

use super::preset::PixelPreset;
use crate::random::Random;
use peloton::event::{NS_PER_TICK, PixelHits};
use std::f64::consts::TAU;

/// Side of the simulated chip, pixels.
const SIDE: i32 = 256;
/// Longest time between the first and the last hit of a cluster, ns.
const LONGEST: f64 = 195.0;
/// Largest size of a cluster that is a blob in every sample, hits.
const SMALL: usize = 4;

/// Shape of the large clusters of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// A few pixels around a point.
    Blob,
    /// A thin line, along which drift times of charge increase.
    Track,
    /// A filled ellipse with this ratio of length to breadth; hits at its rim are late.
    Disc(f64),
}

/// Makes clusters.
pub(super) struct Shaper {
    kind: Kind,
    /// For each pixel, the number of the last cluster that contained it.
    seen: Vec<u32>,
    cluster: u32,
    pixels: Vec<(i32, i32)>,
}

impl Shaper {
    pub fn new(preset: PixelPreset) -> Self {
        let kind = match preset {
            PixelPreset::Am241 => Kind::Blob,
            PixelPreset::Pion0 | PixelPreset::Pion45 | PixelPreset::Pion75 => Kind::Track,
            PixelPreset::Lead0 | PixelPreset::Lead0Large => Kind::Disc(1.0),
            PixelPreset::Lead50 | PixelPreset::Lead50Large => Kind::Disc(2.0),
            PixelPreset::Lead90 | PixelPreset::Lead90Large => Kind::Disc(6.0),
        };
        Self { kind, seen: vec![0; (SIDE * SIDE) as usize], cluster: 0, pixels: Vec::new() }
    }

    /// Appends a cluster of `size` hits, none earlier than `time`, ticks.
    pub fn make(&mut self, size: usize, time: i64, random: &mut Random, to: &mut PixelHits) {
        self.cluster = self.cluster.wrapping_add(1);
        self.pixels.clear();
        let kind = if size <= SMALL { Kind::Blob } else { self.kind };
        let place = |random: &mut Random| (random.uniform() * f64::from(SIDE)) as i32;
        let start = (place(random), place(random));
        match kind {
            Kind::Blob => {}
            Kind::Track => self.track(size, start, random),
            Kind::Disc(ratio) => self.disc(size, start, ratio, random),
        }
        self.grow(size, start, random);
        for (i, &(x, y)) in self.pixels.iter().enumerate() {
            let part = i as f64 / size as f64;
            let ns = match kind {
                Kind::Blob => 12.0 * random.exponential(),
                Kind::Track => 60.0 * part + 4.0 * random.exponential(),
                // Pixels are in order from the middle outwards.
                Kind::Disc(_) if part < 0.85 => 10.0 * random.uniform() + 25.0 * part,
                Kind::Disc(_) => 35.0 + 40.0 * random.exponential(),
            };
            let late = (ns.min(LONGEST) / NS_PER_TICK) as i64;
            let tot = 1 + (400.0 * random.uniform()) as u16;
            to.push(time + late, x as u16, y as u16, tot);
        }
    }

    /// Adds a pixel unless it is outside the chip or already in the cluster.
    fn add(&mut self, (x, y): (i32, i32)) -> bool {
        if !(0..SIDE).contains(&x) || !(0..SIDE).contains(&y) {
            return false;
        }
        let seen = &mut self.seen[(y * SIDE + x) as usize];
        let is_new = *seen != self.cluster;
        if is_new {
            *seen = self.cluster;
            self.pixels.push((x, y));
        }
        is_new
    }

    /// Grows the cluster at random to its size, from its pixels or from `start`.
    fn grow(&mut self, size: usize, start: (i32, i32), random: &mut Random) {
        if self.pixels.is_empty() {
            self.add(start);
        }
        // Pixels far inside have no free neighbours: the later ones are tried first.
        let mut from = 0;
        while self.pixels.len() < size {
            let len = self.pixels.len();
            let (x, y) = self.pixels[from + (random.uniform() * (len - from) as f64) as usize];
            let step = |random: &mut Random| (random.uniform() * 3.0) as i32 - 1;
            if !self.add((x + step(random), y + step(random))) && random.chance(0.02) {
                from = (from + len) / 2 % len;
            }
        }
    }

    /// Adds a line that is reflected at the rims, with occasional pixels next to it.
    fn track(&mut self, size: usize, start: (i32, i32), random: &mut Random) {
        let angle = TAU * random.uniform();
        let mut step = [0.7 * libm::cos(angle), 0.7 * libm::sin(angle)];
        let mut at = [f64::from(start.0) + 0.5, f64::from(start.1) + 0.5];
        for _ in 0..20 * size {
            let (x, y) = (at[0] as i32, at[1] as i32);
            if self.pixels.len() >= size {
                return;
            }
            let is_new = self.add((x, y));
            if is_new && self.pixels.len() < size && random.chance(0.6) {
                let beside = |random: &mut Random| (random.uniform() * 3.0) as i32 - 1;
                self.add((x + beside(random), y + beside(random)));
            }
            for (at, step) in at.iter_mut().zip(&mut step) {
                if !(0.0..f64::from(SIDE)).contains(&(*at + *step)) {
                    *step = -*step;
                }
                *at += *step;
            }
        }
    }

    /// Adds a filled ellipse row by row, from the middle outwards.
    fn disc(&mut self, size: usize, start: (i32, i32), ratio: f64, random: &mut Random) {
        let turned = random.chance(0.5);
        let short = (size as f64 / (std::f64::consts::PI * ratio)).sqrt();
        let inside = |at: i32, half: f64| {
            let half = (half as i32).min(SIDE / 2 - 1);
            at.clamp(half, SIDE - 1 - half)
        };
        let (x0, y0) = (inside(start.0, ratio * short), inside(start.1, short));
        for scale in 0.. {
            let (short, long) = (short + f64::from(scale), ratio * short + f64::from(scale));
            for row in 0..=2 * SIDE {
                // 0, 1, -1, 2, -2, ...
                let dy = if row % 2 == 1 { row / 2 + 1 } else { -(row / 2) };
                let part = 1.0 - f64::from(dy * dy) / (short * short).max(1.0);
                if part < 0.0 {
                    break;
                }
                let half = (long * part.sqrt()) as i32;
                for dx in 0..=2 * half {
                    let dx = if dx % 2 == 1 { dx / 2 + 1 } else { -(dx / 2) };
                    if self.pixels.len() >= size {
                        return;
                    }
                    let (x, y) = (x0 + dx, y0 + dy);
                    self.add(if turned { (y, x) } else { (x, y) });
                }
            }
        }
    }
}
