//! States in memory, in records of four values: gathering a state takes five memory accesses, instead of twenty with
//! one column per value, as in [`Matriplex`](crate::kalman::matriplex::Matriplex).

use crate::event::Column;
use crate::kalman::CylinderState;
use crate::kalman::matriplex::{Symmetric, packed};
use crate::simd::Gang;
use crate::simd::varying::{F32, U32};
use std::ops::Range;

/// Number of values of a state on a known radius: its parameters, then the packed covariance.
const VALUES: usize = 5 + 15;
const RECORDS: usize = VALUES / 4;

/// States on a known radius: values 4 r to 4 r + 3 of state s are record s of column r.
#[derive(Debug, Default)]
pub(super) struct States([Column<[f32; 4]>; RECORDS]);

impl States {
    /// Reserves memory for this many states; their values are arbitrary.
    pub fn resize(&mut self, states: usize) {
        self.0.iter_mut().for_each(|column| column.set_len(states));
    }

    /// Returns the azimuths of the states.
    pub fn azimuths(&self) -> impl Iterator<Item = f32> {
        self.0[0].iter().map(|[azimuth, ..]| *azimuth)
    }

    /// Copies the states of `range` from `other`.
    pub fn take(&mut self, other: &Self, range: Range<usize>) {
        for (column, from) in self.0.iter_mut().zip(&other.0) {
            column[range.clone()].copy_from_slice(&from[range.clone()]);
        }
    }

    /// Writes a gang of states to `at` and the following positions.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn store<G: Gang>(&mut self, state: &CylinderState<G>, at: usize) {
        let mut values = [state.p[0]; VALUES];
        values[..5].copy_from_slice(&state.p);
        for i in 0..5 {
            for j in 0..=i {
                values[5 + packed(i) + j] = state.c.at(i, j);
            }
        }
        let (records, _) = values.as_chunks::<4>();
        for (column, record) in self.0.iter_mut().zip(records) {
            F32::store_records(*record, &mut column.padded_mut()[at..]);
        }
    }

    /// Returns the states whose numbers are `index`.
    #[cfg_attr(not(feature = "small-kernels"), inline(always))]
    #[cfg_attr(feature = "small-kernels", inline(never))]
    pub fn gather<G: Gang>(&self, g: G, index: U32<G>, radius: f32) -> CylinderState<G> {
        let mut values = [F32::splat(g, 0.0); VALUES];
        let (records, _) = values.as_chunks_mut::<4>();
        for (column, record) in self.0.iter().zip(records) {
            *record = F32::gather_records(column.padded(), index);
        }
        let mut c = Symmetric::splat(g, 0.0);
        for i in 0..5 {
            for j in 0..=i {
                c.set(i, j, values[5 + packed(i) + j]);
            }
        }
        let [p0, p1, p2, p3, p4, ..] = values;
        CylinderState { radius: F32::splat(g, radius), p: [p0, p1, p2, p3, p4], c }
    }
}
