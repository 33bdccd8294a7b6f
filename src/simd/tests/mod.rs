//! Every operation of every gang on every level that this CPU has, against plain scalar models that share no
//! code with the backends.

mod lanes;
mod masks;
mod memory;

use super::{Gang, Level, copy_to_hand_over};
use proptest::prelude::*;

/// Size of the largest gang. Every test processes this many values, in one or more gangs.
const WIDEST: usize = 64;

/// A computation to run on every gang.
trait OnGang {
    type Output;
    fn run<G: Gang>(&self, g: G) -> Self::Output;
}

/// Runs a test on all supported levels, and on the level for CPUs without a fused multiply-add.
fn on_every_gang<T: OnGang>(test: &T, mut check: impl FnMut(String, T::Output)) {
    for level in Level::supported() {
        check(level.to_string(), crate::dispatch!(level, g => test.run(g)));
    }
    #[cfg(target_arch = "x86_64")]
    {
        use super::backend::{Scalar, SoftwareScalarContext};
        let scalar = Scalar::<1, _>::new(SoftwareScalarContext::new().unwrap());
        check("scalar x 1, software multiply-add".into(), test.run(scalar));
    }
}

/// Runs one operation in the gang's context, in a separate function: one function with all operations of a test
/// would take minutes to compile.
#[inline(never)]
fn alone<G: Gang, R>(g: G, operation: impl FnOnce() -> R) -> R {
    g.vectorize(operation)
}

/// Any float: bit patterns, ordinary numbers, and often special numbers.
fn any_f32() -> impl Strategy<Value = f32> {
    let special = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::MIN_POSITIVE,
        -f32::MIN_POSITIVE,
        f32::from_bits(1),
        -f32::from_bits(1),
        f32::from_bits(0x007f_ffff),
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
        f32::EPSILON,
        1.0 + f32::EPSILON,
        2_147_483_648.0,
        -2_147_483_648.0,
        2_147_483_500.0,
        -2_147_483_900.0,
        4_294_967_296.0,
        0.5,
        -0.99999994,
        1.5,
        16_777_217.0,
    ];
    prop_oneof![
        3 => any::<u32>().prop_map(f32::from_bits),
        3 => -1000.0f32..1000.0,
        2 => prop::sample::select(special),
    ]
}

/// Any integer, often small or at the edges of the range.
fn any_u32() -> impl Strategy<Value = u32> {
    let special =
        vec![0, 1, 2, 31, 32, 0x7fff_fffe, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX - 1, u32::MAX];
    prop_oneof![3 => any::<u32>(), 2 => 0u32..100, 2 => prop::sample::select(special)]
}

/// `WIDEST` values of a strategy.
fn widest<S: Strategy>(of: S) -> impl Strategy<Value = Vec<S::Value>> {
    prop::collection::vec(of, WIDEST)
}
