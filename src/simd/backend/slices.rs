//! Views of slices as bits, and slices for gathers, which are never empty. Kernels of `src/gpu/lanes` use this file.

/// Returns the slice that a gather from `from` reads, and the index of its last element. An empty `from` is replaced by
/// one zero. There is no branch, so that a gang of many registers stays one straight line of code.
#[inline(always)]
pub(super) fn gather_source(from: &[u32]) -> (&[u32], u32) {
    let from = if from.is_empty() { &[0] } else { from };
    // Hardware gathers take signed 32-bit indices, so elements from 2^31 on are out of reach on every gang.
    (from, (from.len() - 1).min(i32::MAX as usize) as u32)
}

/// The same for records of four values.
#[inline(always)]
pub(super) fn gather_record_source(from: &[[f32; 4]]) -> (&[[f32; 4]], u32) {
    let from = if from.is_empty() { &[[0.0; 4]] } else { from };
    // Byte offsets of records fit 32 bits.
    (from, (from.len() - 1).min((1 << 28) - 1) as u32)
}

/// The bits of f32 as u32, in place.
#[inline(always)]
pub(super) fn bits(from: &[f32]) -> &[u32] {
    // SAFETY: f32 and u32 have the same size and alignment, and every bit pattern is valid for both.
    unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) }
}

/// u32 as f32 of the same bits, in place.
#[inline(always)]
pub(crate) fn floats(from: &[u32]) -> &[f32] {
    // SAFETY: as in `bits`.
    unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) }
}

/// The bits of f32 as u32, in place, to write.
#[inline(always)]
pub(super) fn bits_mut(to: &mut [f32]) -> &mut [u32] {
    // SAFETY: as in `bits`, and the borrow stays unique.
    unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }
}

/// The bits of i32 as u32, in place.
#[inline(always)]
pub(super) fn signed_bits(from: &[i32]) -> &[u32] {
    // SAFETY: i32 and u32 have the same size and alignment, and every bit pattern is valid for both.
    unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), from.len()) }
}

/// The bits of i32 as u32, in place, to write.
#[inline(always)]
pub(super) fn signed_bits_mut(to: &mut [i32]) -> &mut [u32] {
    // SAFETY: as in `signed_bits`, and the borrow stays unique.
    unsafe { std::slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }
}

/// The memory operations of f32 and i32 through those of u32: memory knows no types.
macro_rules! memory_through_u32 {
    () => {
        #[inline(always)]
        fn f_load(self, from: &[f32]) -> Self::F {
            self.u_as_f(self.u_load(super::slices::bits(from)))
        }
        #[inline(always)]
        fn f_load_some(self, from: &[f32], mask: Self::M) -> Self::F {
            self.u_as_f(self.u_load_some(super::slices::bits(from), mask))
        }
        #[inline(always)]
        fn f_store(self, value: Self::F, to: &mut [f32]) {
            self.u_store(self.f_bits(value), super::slices::bits_mut(to));
        }
        #[inline(always)]
        fn f_store_some(self, value: Self::F, to: &mut [f32], mask: Self::M) {
            self.u_store_some(self.f_bits(value), super::slices::bits_mut(to), mask);
        }
        #[inline(always)]
        fn f_store_packed(self, value: Self::F, to: &mut [f32], mask: Self::M) -> usize {
            self.u_store_packed(self.f_bits(value), super::slices::bits_mut(to), mask)
        }
        #[inline(always)]
        fn f_gather(self, from: &[f32], index: Self::U) -> Self::F {
            self.u_as_f(self.u_gather(super::slices::bits(from), index))
        }
        #[inline(always)]
        fn i_load(self, from: &[i32]) -> Self::I {
            self.u_as_i(self.u_load(super::slices::signed_bits(from)))
        }
        #[inline(always)]
        fn i_store(self, value: Self::I, to: &mut [i32]) {
            self.u_store(self.i_bits(value), super::slices::signed_bits_mut(to));
        }
    };
}
pub(super) use memory_through_u32;
