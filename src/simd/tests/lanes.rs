//! Tests of operations on each lane separately.

use super::*;

#[derive(Debug, Clone)]
struct Inputs {
    fa: Vec<f32>,
    fb: Vec<f32>,
    fc: Vec<f32>,
    ia: Vec<i32>,
    ib: Vec<i32>,
    ua: Vec<u32>,
    ub: Vec<u32>,
    ma: Vec<bool>,
    mb: Vec<bool>,
}

/// Results of one operation: its name and the bits of every lane.
type Results = Vec<(&'static str, Vec<u32>)>;

/// `a * b + c` with one rounding: the product is exact in f64, and the sum is rounded to odd there, so that
/// rounding it to f32 again gives the correct result.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (a as f64 * b as f64, c as f64);
    let sum = product + c;
    if !sum.is_finite() || sum == 0.0 {
        return sum as f32;
    }
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum as f32;
    }
    let away_from_zero = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away_from_zero { sum.to_bits() + 1 } else { sum.to_bits() - 1 }) as f32
}

fn truncated(a: f32) -> i32 {
    let whole = (a as f64).trunc();
    if whole >= i32::MIN as f64 && whole <= i32::MAX as f64 { whole as i32 } else { i32::MIN }
}

/// Loads a gang from the input column of an argument name.
macro_rules! load {
    ($g:ident, $x:ident, $at:ident, fa) => {
        $g.f_load(&$x.fa[$at..])
    };
    ($g:ident, $x:ident, $at:ident, fb) => {
        $g.f_load(&$x.fb[$at..])
    };
    ($g:ident, $x:ident, $at:ident, fc) => {
        $g.f_load(&$x.fc[$at..])
    };
    ($g:ident, $x:ident, $at:ident, ia) => {
        $g.i_load(&$x.ia[$at..])
    };
    ($g:ident, $x:ident, $at:ident, ib) => {
        $g.i_load(&$x.ib[$at..])
    };
    ($g:ident, $x:ident, $at:ident, ua) => {
        $g.u_load(&$x.ua[$at..])
    };
    ($g:ident, $x:ident, $at:ident, ub) => {
        $g.u_load(&$x.ub[$at..])
    };
    ($g:ident, $x:ident, $at:ident, $mask:ident) => {
        mask_at($g, &$x.$mask, $at)
    };
}

#[inline(always)]
fn mask_at<G: Gang>(g: G, on: &[bool], at: usize) -> G::M {
    g.m_from_bits((0..G::LANES).map(|i| (on[at + i] as u64) << i).sum())
}

/// Stores a result as bits.
macro_rules! store {
    ($g:ident, F, $value:expr, $to:expr) => {
        $g.u_store($g.f_bits($value), $to)
    };
    ($g:ident, I, $value:expr, $to:expr) => {
        $g.u_store($g.i_bits($value), $to)
    };
    ($g:ident, U, $value:expr, $to:expr) => {
        $g.u_store($value, $to)
    };
    ($g:ident, M, $value:expr, $to:expr) => {
        $g.u_store($g.u_select($value, $g.u_splat(1), $g.u_splat(0)), $to)
    };
}

/// A model's result as bits.
macro_rules! bits {
    (F, $value:expr) => {
        f32::to_bits($value)
    };
    (I, $value:expr) => {
        $value as u32
    };
    (U, $value:expr) => {
        $value
    };
    (M, $value:expr) => {
        $value as u32
    };
}

/// The lanes of one operation, gang by gang.
fn each_gang<G: Gang>(g: G, operation: impl Fn(usize, &mut [u32])) -> Vec<u32> {
    let mut out = vec![0; WIDEST];
    for at in (0..WIDEST).step_by(G::LANES) {
        let to = &mut out[at..];
        alone(
            g,
            #[inline(always)]
            || operation(at, to),
        );
    }
    out
}

macro_rules! operations {
    ($($name:ident$(::<$bits:literal>)?($($arg:ident),*) -> $out:ident = $model:expr;)*) => {
        /// All operations on a gang.
        struct Lanes(Inputs);

        impl OnGang for Lanes {
            type Output = Results;
            fn run<G: Gang>(&self, g: G) -> Results {
                let x = &self.0;
                let mut results = Results::new();
                $(results.push((concat!(stringify!($name) $(, "::<", $bits, ">")?), each_gang(g, #[inline(always)] |at, out| {
                    let value = g.$name$(::<$bits>)?($(load!(g, x, at, $arg)),*);
                    store!(g, $out, value, out);
                })));)*
                results
            }
        }

        /// All operations, one lane at a time.
        #[allow(clippy::redundant_closure_call)]
        fn models(x: &Inputs) -> Results {
            vec![$((
                concat!(stringify!($name) $(, "::<", $bits, ">")?),
                (0..WIDEST).map(|i| bits!($out, ($model)($(x.$arg[i]),*))).collect(),
            )),*]
        }
    };
}

operations! {
    f_add(fa, fb) -> F = |a: f32, b: f32| a + b;
    f_sub(fa, fb) -> F = |a: f32, b: f32| a - b;
    f_mul(fa, fb) -> F = |a: f32, b: f32| a * b;
    f_div(fa, fb) -> F = |a: f32, b: f32| a / b;
    f_mul_add(fa, fb, fc) -> F = fused;
    f_neg_mul_add(fa, fb, fc) -> F = |a: f32, b, c| fused(-a, b, c);
    f_sqrt(fa) -> F = |a: f32| (a as f64).sqrt() as f32;
    f_abs(fa) -> F = |a: f32| f32::from_bits(a.to_bits() % (1 << 31));
    f_neg(fa) -> F = |a: f32| f32::from_bits(a.to_bits().wrapping_add(1 << 31));
    f_min(fa, fb) -> F = |a, b| if a < b { a } else { b };
    f_max(fa, fb) -> F = |a, b| if a > b { a } else { b };
    f_lt(fa, fb) -> M = |a: f32, b: f32| a.partial_cmp(&b) == Some(std::cmp::Ordering::Less);
    f_le(fa, fb) -> M = |a: f32, b: f32| a.partial_cmp(&b).is_some_and(|order| order.is_le());
    f_eq(fa, fb) -> M = |a: f32, b: f32| a.partial_cmp(&b) == Some(std::cmp::Ordering::Equal);
    f_eq(fa, fa) -> M = |a: f32, _| !a.is_nan();
    f_select(ma, fa, fb) -> F = |m, a, b| if m { a } else { b };
    f_to_i(fa) -> I = truncated;
    f_bits(fa) -> U = f32::to_bits;
    i_add(ia, ib) -> I = |a, b| (a as i64 + b as i64) as i32;
    i_sub(ia, ib) -> I = |a, b| (a as i64 - b as i64) as i32;
    i_mul(ia, ib) -> I = |a, b| (a as i64 * b as i64) as i32;
    i_min(ia, ib) -> I = |a, b| if a < b { a } else { b };
    i_max(ia, ib) -> I = |a, b| if a > b { a } else { b };
    i_lt(ia, ib) -> M = |a, b| a < b;
    i_eq(ia, ib) -> M = |a, b| a == b;
    i_shl::<0>(ia) -> I = |a: i32| a;
    i_shl::<5>(ia) -> I = |a: i32| (a as i64 * 32) as i32;
    i_shl::<31>(ia) -> I = |a: i32| if a % 2 == 0 { 0 } else { i32::MIN };
    i_shr::<0>(ia) -> I = |a: i32| a;
    i_shr::<5>(ia) -> I = |a: i32| a.div_euclid(32);
    i_shr::<31>(ia) -> I = |a: i32| if a < 0 { -1 } else { 0 };
    i_select(mb, ia, ib) -> I = |m, a, b| if m { a } else { b };
    i_to_f(ia) -> F = |a: i32| a as f64 as f32;
    i_bits(ia) -> U = |a: i32| u32::from_ne_bytes(a.to_ne_bytes());
    u_add(ua, ub) -> U = |a, b| (a as u64 + b as u64) as u32;
    u_sub(ua, ub) -> U = |a, b| (a as i64 - b as i64) as u32;
    u_mul(ua, ub) -> U = |a, b| (a as u64 * b as u64) as u32;
    u_count(ua, ma) -> U = |a: u32, m| if m { a.wrapping_add(1) } else { a };
    u_and(ua, ub) -> U = |a: u32, b: u32| a & b;
    u_or(ua, ub) -> U = |a: u32, b: u32| a | b;
    u_xor(ua, ub) -> U = |a: u32, b: u32| a ^ b;
    u_min(ua, ub) -> U = |a, b| if a < b { a } else { b };
    u_max(ua, ub) -> U = |a, b| if a > b { a } else { b };
    u_lt(ua, ub) -> M = |a, b| a < b;
    u_eq(ua, ub) -> M = |a, b| a == b;
    u_shl::<0>(ua) -> U = |a| a;
    u_shl::<3>(ua) -> U = |a: u32| (a as u64 * 8) as u32;
    u_shl::<31>(ua) -> U = |a: u32| a % 2 * (1 << 31);
    u_shr::<0>(ua) -> U = |a| a;
    u_shr::<16>(ua) -> U = |a: u32| a / (1 << 16);
    u_shr::<31>(ua) -> U = |a: u32| a / (1 << 31);
    u_select(ma, ua, ub) -> U = |m, a, b| if m { a } else { b };
    u_as_i(ua) -> I = |a: u32| i32::from_ne_bytes(a.to_ne_bytes());
    u_as_f(ua) -> F = f32::from_bits;
    m_and(ma, mb) -> M = |a, b| if a { b } else { false };
    m_or(ma, mb) -> M = |a, b| if a { true } else { b };
    m_and_not(ma, mb) -> M = |a: bool, b: bool| if b { false } else { a };
    m_not(ma) -> M = |a: bool| !a;
}

/// The operations whose NaN may be any NaN.
const ARITHMETIC: [&str; 7] = ["f_add", "f_sub", "f_mul", "f_div", "f_mul_add", "f_neg_mul_add", "f_sqrt"];

fn same(name: &str, a: u32, b: u32) -> bool {
    a == b || ARITHMETIC.contains(&name) && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

fn inputs() -> impl Strategy<Value = Inputs> {
    let f = || widest(any_f32());
    let i = || widest(any_u32().prop_map(|u| u as i32));
    let u = || widest(any_u32());
    let m = || widest(any::<bool>());
    (f(), f(), f(), i(), i(), u(), u(), m(), m()).prop_map(|(fa, fb, fc, ia, ib, ua, ub, ma, mb)| Inputs {
        fa,
        fb,
        fc,
        ia,
        ib,
        ua,
        ub,
        ma,
        mb,
    })
}

proptest! {
    #[test]
    fn every_lane_is_what_the_model_says(inputs in inputs()) {
        let expected = models(&inputs);
        on_every_gang(&Lanes(inputs.clone()), |gang, results| {
            assert_eq!(results.len(), expected.len());
            for ((name, got), (_, want)) in results.iter().zip(&expected) {
                for lane in 0..WIDEST {
                    let Inputs { fa, fb, fc, ia, ib, ua, ub, .. } = &inputs;
                    assert!(
                        same(name, got[lane], want[lane]),
                        "{gang}: {name} gives {:#x}, not {:#x}; f {:?} {:?} {:?} i {} {} u {} {}",
                        got[lane], want[lane], fa[lane], fb[lane], fc[lane], ia[lane], ib[lane], ua[lane], ub[lane],
                    );
                }
            }
        });
    }
}

#[test]
fn the_model_of_the_multiply_add_rounds_once() {
    // The result depends on the lowest bit of the product, which a rounded product loses.
    let a = 1.0 + f32::EPSILON;
    assert_eq!(fused(a, a, -1.0 - 2.0 * f32::EPSILON), f32::EPSILON * f32::EPSILON);
    // If it were first rounded to f64, this sum would be a tie and round to even.
    let tie = fused(1.0 + f32::EPSILON, 1.0, 0.5 * f32::EPSILON + f32::from_bits(1));
    assert_eq!(tie, 1.0 + 2.0 * f32::EPSILON);
    for (a, b, c) in [(1e30, 1e30, f32::NEG_INFINITY), (3.0, 1e-45, -1e-44), (0.1, 10.0, -1.0)] {
        assert_eq!(fused(a, b, c), libm::fmaf(a, b, c));
    }
}
