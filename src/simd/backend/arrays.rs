//! Makes short arrays without loops. The compiler turns `[value; N]`, `std::array::from_fn` and `for` over an array
//! into loops, which it then unrolls; thousands of such loops took a large part of the library's build time.

use std::mem::MaybeUninit;

/// Up to this length arrays are written out.
const WRITTEN: usize = 10;

/// `for_each!(i < N => body)`: the body for `i` = 0, 1, ... N - 1.
macro_rules! for_each {
    ($i:ident < $n:expr => $body:expr) => {
        $crate::simd::call_for_each::<{ $n }>(
            #[inline(always)]
            |$i| $body,
        )
    };
}
pub(crate) use for_each;

/// `array_of!(i => value)`: the array of the value for each index, in order.
macro_rules! array_of {
    ($i:pat_param => $value:expr) => {
        $crate::simd::make_array(
            #[inline(always)]
            |$i| $value,
        )
    };
}
pub(crate) use array_of;

/// Calls `act` with each index from 0 to `N` - 1, in order.
#[inline(always)]
pub fn call_for_each<const N: usize>(mut act: impl FnMut(usize)) {
    macro_rules! calls {
        ($($at:literal)*) => {$(
            if $at < N {
                act($at);
            }
        )*};
    }
    if N <= WRITTEN {
        calls!(0 1 2 3 4 5 6 7 8 9);
    } else {
        for at in 0..N {
            act(at);
        }
    }
}

/// Returns the array of `make(0)` to `make(N - 1)`, called in this order.
#[inline(always)]
pub fn make_array<T: Copy, const N: usize>(mut make: impl FnMut(usize) -> T) -> [T; N] {
    let mut out = MaybeUninit::<[T; N]>::uninit();
    let first = out.as_mut_ptr().cast::<T>();
    for_each!(at < N => {
        // SAFETY: `at` is below N, so this is a place of the array.
        unsafe { first.add(at).write(make(at)) }
    });
    // SAFETY: every place was written.
    unsafe { out.assume_init() }
}

/// Returns `[value; N]`.
#[inline(always)]
pub fn copies<T: Copy, const N: usize>(value: T) -> [T; N] {
    array_of!(_ => value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place is written, once and in order, whether calls are written out or not.
    fn check<const N: usize>() {
        let mut seen = Vec::new();
        for_each!(at < N => seen.push(at));
        assert_eq!(seen, Vec::from_iter(0..N));
        let mut calls = 0;
        let made: [usize; N] = array_of!(at => {
            calls += 1;
            100 + at
        });
        assert_eq!((&made[..], calls), (&*Vec::from_iter(100..100 + N), N));
        assert_eq!(copies::<_, N>('a'), ['a'; N]);
    }

    #[test]
    fn arrays_of_every_length_are_whole() {
        check::<0>();
        check::<1>();
        check::<4>();
        check::<{ WRITTEN - 1 }>();
        check::<WRITTEN>();
        check::<{ WRITTEN + 1 }>();
        check::<64>();
    }
}
