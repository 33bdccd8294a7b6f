//! The only folder with `core::arch`: one file per register kind, each a [`Gang`](super::Gang).
#![allow(unsafe_code, reason = "intrinsics and gathers; every block says why it is sound")]

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
mod portable;
mod prefetch;
mod scalar;

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
#[cfg(target_arch = "aarch64")]
pub use neon::Quad;
pub use portable::Portable;
pub use prefetch::prefetch;
pub use scalar::Scalar;

#[cfg(target_arch = "x86_64")]
use super::gang::same_length;

/// What a gather from `from` reads: never empty (nothing becomes one zero), with the index of its last
/// element. No branch, so that a gang of many registers stays one straight line.
#[inline(always)]
fn gather_source(from: &[u32]) -> (&[u32], u32) {
    let from = if from.is_empty() { &[0] } else { from };
    // Hardware gathers take signed 32-bit indices, so elements from 2^31 on are out of reach on every gang.
    (from, (from.len() - 1).min(i32::MAX as usize) as u32)
}

/// The same for columns, all of them as long as the shortest, as bits.
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

/// The same for records of four values.
#[inline(always)]
fn gather_record_source(from: &[[f32; 4]]) -> (&[[f32; 4]], u32) {
    let from = if from.is_empty() { &[[0.0; 4]] } else { from };
    // Byte offsets of records fit 32 bits.
    (from, (from.len() - 1).min((1 << 28) - 1) as u32)
}

/// What a gather of four neighbours reads: at least four values (zeros where there are fewer), with the last index that has three
/// behind it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn gather_four_source(from: &[f32]) -> (&[f32], u32) {
    let from = if from.len() < 4 { &[0.0; 4] } else { from };
    (from, (from.len() - 4).min(i32::MAX as usize) as u32)
}

/// A slice of indices is shorter than the gang.
#[cfg(target_arch = "x86_64")]
#[cold]
#[inline(never)]
fn index_too_short() -> ! {
    panic!("fewer places than the gang has lanes")
}

/// The masked load of a slice that is shorter than the gang: rare, so out of the way.
#[cold]
#[inline(never)]
fn load_short<const N: usize>(from: &[u32]) -> [u32; N] {
    std::array::from_fn(|lane| from.get(lane).copied().unwrap_or(0))
}

/// The masked store to a slice that is shorter than the gang: rare, so out of the way.
#[cold]
#[inline(never)]
fn store_short(value: &[u32], to: &mut [u32], bits: u64) {
    for (lane, (place, value)) in to.iter_mut().zip(value).enumerate() {
        if bits >> lane & 1 == 1 {
            *place = *value;
        }
    }
}

/// The scatter of gangs whose CPU has none, lane 0 first. Bound by memory: a call costs nothing more.
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

/// The bits of f32 as u32, in index.
#[inline(always)]
fn bits(from: &[f32]) -> &[u32] {
    // SAFETY: f32 and u32 have the same size and alignment, and every bit pattern is valid for both.
    unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) }
}

/// The bits of f32 as u32, in place, to write.
#[inline(always)]
fn bits_mut(to: &mut [f32]) -> &mut [u32] {
    // SAFETY: as in `bits`, and the borrow stays unique.
    unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }
}

/// The bits of i32 as u32, in index.
#[inline(always)]
fn signed_bits(from: &[i32]) -> &[u32] {
    // SAFETY: i32 and u32 have the same size and alignment, and every bit pattern is valid for both.
    unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) }
}

/// The bits of i32 as u32, in place, to write.
#[inline(always)]
fn signed_bits_mut(to: &mut [i32]) -> &mut [u32] {
    // SAFETY: as in `signed_bits`, and the borrow stays unique.
    unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }
}

/// The memory operations of f32 and i32 through those of u32: memory knows no types.
macro_rules! memory_through_u32 {
    () => {
        #[inline(always)]
        fn f_load(self, from: &[f32]) -> Self::F {
            self.u_as_f(self.u_load(super::bits(from)))
        }
        #[inline(always)]
        fn f_load_some(self, from: &[f32], mask: Self::M) -> Self::F {
            self.u_as_f(self.u_load_some(super::bits(from), mask))
        }
        #[inline(always)]
        fn f_store(self, value: Self::F, to: &mut [f32]) {
            self.u_store(self.f_bits(value), super::bits_mut(to));
        }
        #[inline(always)]
        fn f_store_some(self, value: Self::F, to: &mut [f32], mask: Self::M) {
            self.u_store_some(self.f_bits(value), super::bits_mut(to), mask);
        }
        #[inline(always)]
        fn f_store_packed(self, value: Self::F, to: &mut [f32], mask: Self::M) -> usize {
            self.u_store_packed(self.f_bits(value), super::bits_mut(to), mask)
        }
        #[inline(always)]
        fn f_gather(self, from: &[f32], index: Self::U) -> Self::F {
            self.u_as_f(self.u_gather(super::bits(from), index))
        }
        #[inline(always)]
        fn i_load(self, from: &[i32]) -> Self::I {
            self.u_as_i(self.u_load(super::signed_bits(from)))
        }
        #[inline(always)]
        fn i_store(self, value: Self::I, to: &mut [i32]) {
            self.u_store(self.i_bits(value), super::signed_bits_mut(to));
        }
    };
}
use memory_through_u32;

/// Gathers of a gang that has the unsafe function `columns`, `from[index]` of columns that are long enough.
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

/// Lane-wise operations of a gang: `name(arguments) -> type { expression }`.
macro_rules! lanewise {
    ($($name:ident$(<const $bits:ident>)?($($arg:ident: $kind:ident),*) -> $out:ident { $body:expr })*) => {
        $(#[inline(always)]
        #[allow(unused_unsafe, reason = "a change of type alone is no instruction")]
        fn $name$(<const $bits: u32>)?(self, $($arg: Self::$kind),*) -> Self::$out {
            // SAFETY: the token `self` proves that the CPU has every instruction used here; none of them
            // touches memory.
            unsafe { $body }
        })*
    };
}
use lanewise;
