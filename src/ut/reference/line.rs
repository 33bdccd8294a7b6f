//! A Velo track as a straight line, and hits near this line.

use crate::event::{States, UT_PLANES};

pub(super) const SLOPE: [f32; UT_PLANES] = [0.0, 0.087_488_67, -0.087_488_6, 0.0];
pub(super) const MIDDLE: f32 = 2484.6;
pub(super) const KINK: f32 = 1780.0;
/// A straight line, mm.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) z: f32,
    pub(super) tx: f32,
    pub(super) ty: f32,
}

impl Line {
    #[inline(always)]
    pub(super) fn of(states: &States, track: usize) -> Self {
        let [x, y, z] = [&states.x, &states.y, &states.z].map(|column| column[track]);
        Self { x, y, z, tx: states.tx[track], ty: states.ty[track] }
    }

    #[inline(always)]
    pub(super) fn at(&self, z: f32) -> [f32; 2] {
        let dz = z - self.z;
        [dz.mul_add(self.tx, self.x), dz.mul_add(self.ty, self.y)]
    }
}

/// A hit near a line.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub(super) d: f32,
    pub(super) z: f32,
    pub(super) weight: f32,
    pub(super) plane: usize,
    /// Number of the hit in the batch.
    pub(super) hit: usize,
}
