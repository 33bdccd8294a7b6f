//! The only folder with `core::arch`: one file per register kind, each a [`Gang`](super::Gang).
#![allow(unsafe_code, reason = "intrinsics and gathers; a comment at each block says why it is sound")]

mod arrays;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod context;
mod cpu;
mod float_mode;
mod hand_over;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(feature = "all-gangs", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
mod prefetch;
mod scalar;
mod slices;

pub(crate) use arrays::{array_of, call_for_each, copies, for_each, make_array};
#[cfg(target_arch = "x86_64")]
pub use avx2::Ymm;
#[cfg(target_arch = "x86_64")]
pub use avx512::Zmm;
pub use context::*;
pub(in crate::simd) use cpu::has_fast_gathers;
pub(crate) use cpu::is_amd;
pub use float_mode::{set_default_float_mode, with_default_float_mode};
pub use hand_over::copy_to_hand_over;
#[cfg(feature = "cuda")]
pub(crate) use hand_over::{copy_past_caches, finish_copies};
#[cfg(target_arch = "aarch64")]
pub use neon::Quad;
#[cfg(any(feature = "all-gangs", not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub use portable::Portable;
pub use prefetch::prefetch;
pub use scalar::Scalar;

#[cfg(target_arch = "x86_64")]
use super::gang::same_length;
#[cfg(target_arch = "x86_64")]
use slices::bits;
pub(crate) use slices::floats;
use slices::{gather_record_source, gather_source, memory_through_u32};

/// The columns that a gather reads, as bits: not empty, all as long as the shortest, and their last index.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn gather_columns_source<const K: usize>(from: [&[f32]; K]) -> ([&[u32]; K], u32) {
    let (from, mut last) = (same_length(from), 0);
    let columns = array_of!(k => {
        let source = gather_source(bits(from[k]));
        last = source.1;
        source.0
    });
    (columns, last)
}

/// The values that a gather of four neighbours reads: at least four (zeros if `from` has fewer), and the last index with three
/// values after it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn gather_four_source(from: &[f32]) -> (&[f32], u32) {
    let from = if from.len() < 4 { &[0.0; 4] } else { from };
    (from, (from.len() - 4).min(i32::MAX as usize) as u32)
}

/// Panics because a slice of indices is shorter than the gang.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn index_too_short() -> ! {
    panic!("the slice has fewer indices than the gang has lanes")
}

/// The masked load of a slice that is shorter than the gang. It is rare, so it is not inlined.
#[cfg(any(feature = "all-gangs", not(target_arch = "x86_64")))]
#[cold]
#[inline(never)]
fn load_short<const N: usize>(from: &[u32]) -> [u32; N] {
    std::array::from_fn(|lane| from.get(lane).copied().unwrap_or(0))
}

/// The masked store to a slice that is shorter than the gang. It is rare, so it is not inlined.
#[cfg(any(feature = "all-gangs", not(target_arch = "x86_64")))]
#[cold]
#[inline(never)]
fn store_short(value: &[u32], to: &mut [u32], bits: u64) {
    for (lane, (place, value)) in to.iter_mut().zip(value).enumerate() {
        if bits >> lane & 1 == 1 {
            *place = *value;
        }
    }
}

/// The scatter for gangs without a scatter instruction, lane 0 first. Memory limits its speed, so a function call adds no time.
#[inline(never)]
fn scatter_lanes(value: &[u32], to: &mut [u32], index: &[u32], mut bits: u64) {
    while bits != 0 {
        let lane = bits.trailing_zeros() as usize;
        if let Some(place) = to.get_mut(index[lane] as usize) {
            *place = value[lane];
        }
        bits &= bits - 1;
    }
}

/// Defines the gathers of a gang through its unsafe function `columns`, which loads `from[index]` of each column.
#[cfg(target_arch = "x86_64")]
macro_rules! gathers_by_columns {
    () => {
        #[inline(always)]
        fn u_gather(self, from: &[u32], index: Self::U) -> Self::U {
            let (from, last) = super::gather_source(from);
            // SAFETY: every index is at most the last of a slice that is not empty, and below 2^31.
            let [out] = unsafe { self.columns([from], self.u_min(index, self.u_splat(last))) };
            out
        }
        #[inline(always)]
        fn f_gather_columns<const K: usize>(self, from: [&[f32]; K], index: Self::U) -> [Self::F; K] {
            let (from, last) = super::gather_columns_source(from);
            // SAFETY: every index is at most the last of slices of one length, none of them empty, and below 2^31.
            let columns = unsafe { self.columns(from, self.u_min(index, self.u_splat(last))) };
            array_of!(k => self.u_as_f(columns[k]))
        }
    };
}
#[cfg(target_arch = "x86_64")]
use gathers_by_columns;

/// Defines the gathers of four values of a gang through its unsafe function `records`, which loads four values for each
/// lane, from an address per lane.
#[cfg(target_arch = "x86_64")]
macro_rules! records_by_lane {
    () => {
        #[inline(always)]
        fn f_gather_records(self, from: &[[f32; 4]], index: Self::U) -> [Self::F; 4] {
            let (from, last) = super::gather_record_source(from);
            let mut offsets = [0; N];
            self.u_store(self.u_shl::<4>(self.u_min(index, self.u_splat(last))), &mut offsets);
            let at: *const u8 = from.as_ptr().cast();
            // SAFETY: every offset is the offset of a record in a slice that is not empty (`gather_record_source` keeps
            // indices below 2^28).
            unsafe { self.records(|lane| at.add(offsets[lane] as usize).cast()) }
        }
        #[inline(always)]
        fn f_gather_four(self, from: &[f32], index: Self::U) -> [Self::F; 4] {
            let (from, last) = super::gather_four_source(from);
            let mut places = [0; N];
            self.u_store(self.u_min(index, self.u_splat(last)), &mut places);
            // SAFETY: three more values follow every index.
            unsafe { self.records(|lane| from.as_ptr().add(places[lane] as usize)) }
        }
        #[inline(always)]
        fn f_load_records(self, from: &[[f32; 4]], index: &[u32]) -> [Self::F; 4] {
            let (from, last) = super::gather_record_source(from);
            let Some(mut places) = index.first_chunk() else { super::index_too_short() };
            let (register, last) = (self.u_load(places), self.u_splat(last));
            let mut clamped = [0; N];
            if self.m_any(self.u_lt(last, register)) {
                self.u_store(self.u_min(register, last), &mut clamped);
                places = &clamped;
            }
            // SAFETY: every index is at most the last of a slice that is not empty.
            unsafe { self.records(|lane| from.as_ptr().add(places[lane] as usize).cast()) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
use records_by_lane;

/// Defines lane-wise operations of a gang: `name(arguments) -> type { expression }`.
macro_rules! lanewise {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident { $body:expr })*) => {
        $(#[inline(always)]
        #[allow(unused_unsafe, reason = "an operation that only changes the type is safe")]
        fn $name$(<const $bits: u32>)?(self, $($arg: Self::$kind),*) -> Self::$out {
            // SAFETY: the token `self` proves that the CPU has every instruction used here; none of them
            // touches memory.
            unsafe { $body }
        })*
    };
}
use lanewise;
