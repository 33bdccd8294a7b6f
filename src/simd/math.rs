//! Functions on lanes: polynomials in fused multiply-adds, so that every gang gives the same bits. The coefficients are
//! minimax fits for the intervals in their comments. The tests of this module measure the stated errors against f64.

use super::varying::{F32, I32, U32};
use super::{Gang, inlined};
use std::f32::consts::{FRAC_2_PI, FRAC_PI_2, PI};

/// Differences of pi/2 and pi from their f32 constants.
const FRAC_PI_2_REST: f32 = -4.371_139e-8;
const PI_REST: f32 = -8.742_278e-8;

/// `value` in every lane, on the gang of `x`.
#[inline(always)]
fn splat<G: Gang>(x: F32<G>, value: f32) -> F32<G> {
    F32::splat(x.g, value)
}

/// `coefficients[0] + x * (coefficients[1] + x * ...)`.
#[inline(always)]
fn polynomial<G: Gang>(x: F32<G>, coefficients: &[f32]) -> F32<G> {
    let mut sum = splat(x, coefficients[coefficients.len() - 1]);
    for &coefficient in coefficients.iter().rev().skip(1) {
        sum = sum.mul_add(x, splat(x, coefficient));
    }
    sum
}

/// Returns P(a^2) of atan(a) = a + a^3 P(a^2), for |a| up to 1. The fit causes an error of 0.05 ULP of the angle.
#[inline(always)]
pub fn atan_tail<G: Gang>(square: F32<G>) -> F32<G> {
    const P: [f32; 9] = [
        -0.333_333,
        0.199_985_48,
        -0.142_642_42,
        0.109_521_85,
        -0.084_034_49,
        0.057_957_58,
        -0.031_177_83,
        0.010_914_599,
        -0.001_793_620_3,
    ];
    polynomial(square, &P)
}

/// Returns the angle of the point (x, y) in radians, from -pi to pi, with an error of at most 2 ULP.
///
/// Zeros and infinities follow IEEE-754. On the axes, the result is the f32 nearest to the angle; `y = -0` is below the
/// cut along the negative x axis, `y = +0` above. `atan2(±0, +0) = ±0`, `atan2(±0, -0) = ±pi`. Points with equal |x| and
/// |y|, finite but not 0, or infinite, are at 45 degrees to the axes. If an argument is NaN, the result is NaN.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn atan2<G: Gang>(y: F32<G>, x: F32<G>) -> F32<G> {
    let (ax, ay) = (x.abs(), y.abs());
    // The angle to the nearer axis. Comparisons with NaN are false, which leaves a NaN in the ratio.
    let steep = ax.lt(ay);
    let (near, far) = (steep.select_f(ax, ay), steep.select_f(ay, ax));
    let ratio = near / far.eq(splat(x, 0.0)).select_f(splat(x, 1.0), far);
    // Equal |x| and |y| have the ratio 1, also if infinite; but two zeros have the ratio 0.
    let ratio = (ax.eq(ay) & splat(x, 0.0).lt(ax)).select_f(splat(x, 1.0), ratio);
    let square = ratio * ratio;
    let angle = (ratio * square).mul_add(atan_tail(square), ratio);
    // Right: angle, steep: pi/2 - angle; left: pi - angle, steep: pi/2 + angle.
    let top = splat(x, -0.0).to_bits();
    let x_sign = x.to_bits() & top;
    let turned = (angle.to_bits() ^ steep.select_u(x_sign ^ top, x_sign)).as_f32();
    let left = x.to_bits().as_i32().lt(I32::splat(x.g, 0));
    let axis = inlined!(|steep_axis, left_axis| {
        steep.select_f(splat(x, steep_axis), left.select_f(splat(x, left_axis), splat(x, 0.0)))
    });
    let angle = axis(FRAC_PI_2, PI) + (turned + axis(FRAC_PI_2_REST, PI_REST));
    (angle.to_bits() | y.to_bits() & top).as_f32()
}

/// The largest |x| that [`sincos`] accepts.
pub const SINCOS_LIMIT: f32 = 65_536.0;

/// Returns sine and cosine of `x` radians; the errors are at most 2 ULP. `x` beyond ±[`SINCOS_LIMIT`] and NaN give NaN.
#[cfg_attr(not(feature = "small-kernels"), inline(always))]
#[cfg_attr(feature = "small-kernels", inline(never))]
pub fn sincos<G: Gang>(x: F32<G>) -> (F32<G>, F32<G>) {
    // sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2) for |r| up to pi/4; 0.07 ULP from the fits.
    const S: [f32; 3] = [-0.166_666_55, 0.008_332_156, -0.000_195_146_32];
    const C: [f32; 3] = [0.041_666_646, -0.001_388_731, 2.443_241_3e-5];
    // pi/2 in three parts. The first product leaves the difference exact, so nothing is lost to cancellation;
    // all are positive, which keeps the sign of a zero.
    const PARTS: [f32; 3] = [FRAC_PI_2.next_down(), 7.549_789_4e-8, 5.390_303e-15];
    // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let inside = x.abs().le(splat(x, SINCOS_LIMIT));
    let x = inside.select_f(x, splat(x, f32::NAN));
    let rounded = x.mul_add(splat(x, FRAC_2_PI), splat(x, ROUND));
    let quadrant = rounded.to_bits();
    let turns = rounded - splat(x, ROUND);
    let mut rest = x;
    for part in PARTS {
        rest = turns.neg_mul_add(splat(x, part), rest);
    }
    let square = rest * rest;
    let sine = (rest * square).mul_add(polynomial(square, &S), rest);
    // The sine of a small angle has the angle's sign; the sum above loses the sign of -0.
    let top = splat(x, -0.0).to_bits();
    let sine = (sine.to_bits() | rest.to_bits() & top).as_f32();
    let tail = square.mul_add(splat(x, -0.5), splat(x, 1.0));
    let cosine = (square * square).mul_add(polynomial(square, &C), tail);
    // Quadrant 0: (s, c); 1: (c, -s); 2: (-s, -c); 3: (-c, s).
    let odd = quadrant.shl::<31>().as_i32().lt(I32::splat(x.g, 0));
    let sine_sign = quadrant.shl::<30>() & top;
    let cosine_sign = (quadrant + U32::splat(x.g, 1)).shl::<30>() & top;
    let (sine, cosine) = (odd.select_f(cosine, sine), odd.select_f(sine, cosine));
    ((sine.to_bits() ^ sine_sign).as_f32(), (cosine.to_bits() ^ cosine_sign).as_f32())
}

/// The limit of |x| beyond which [`sigmoid`] is constant.
pub const SIGMOID_LIMIT: f32 = 80.0;

/// Returns 1 / (1 + e^-x), between 0 and 1, with a relative error of at most 3 ULP. `x` beyond ±[`SIGMOID_LIMIT`]
/// counts as this limit, and NaN as the lower limit.
#[inline(always)]
pub fn sigmoid<G: Gang>(x: F32<G>) -> F32<G> {
    // e^r = 1 + r + r^2 P(r) for |r| up to ln(2) / 2; 0.16 ULP from the fit.
    const P: [f32; 5] = [0.5, 0.166_665_78, 0.041_666_556, 0.008_363_174, 0.001_392_617_7];
    // ln(2) in two parts, and a number to round by, as in `sincos`.
    const PARTS: [f32; 2] = [0.693_115_23, 3.194_618_3e-5];
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(splat(x, -SIGMOID_LIMIT)).min(splat(x, SIGMOID_LIMIT));
    // -x = n ln(2) + r
    let rounded = x.mul_add(splat(x, -std::f32::consts::LOG2_E), splat(x, ROUND));
    let twos = rounded - splat(x, ROUND);
    let mut rest = -x;
    for part in PARTS {
        rest = twos.neg_mul_add(splat(x, part), rest);
    }
    let power = (rest * rest).mul_add(polynomial(rest, &P), rest) + splat(x, 1.0);
    // Multiplies by 2^n: n is in the low bits of `rounded`, and the shift moves it to the exponent.
    let scaled = (power.to_bits() + rounded.to_bits().shl::<23>()).as_f32();
    splat(x, 1.0) / (splat(x, 1.0) + scaled)
}

/// Returns the natural logarithm of a positive, normal, finite number, with an error of at most 2 ULP. For all other
/// inputs, the result is finite but has no meaning.
#[inline(always)]
pub fn ln<G: Gang>(x: F32<G>) -> F32<G> {
    // The mantissa m is chosen between the square roots of 1/2 and of 2; ln m = 2 artanh((m - 1) / (m + 1)).
    const ROOT: u32 = 0x3f35_04f3;
    const P: [f32; 4] = [1.0 / 3.0, 0.2, 1.0 / 7.0, 1.0 / 9.0];
    let bits = x.to_bits() - U32::splat(x.g, ROOT);
    let exponent = bits.as_i32().shr::<23>().to_f32();
    let m = ((bits & U32::splat(x.g, 0x007f_ffff)) + U32::splat(x.g, ROOT)).as_f32();
    let one = splat(x, 1.0);
    let s = (m - one) / (m + one);
    let square = s * s;
    let twice = s + s;
    let tail = (twice * square).mul_add(polynomial(square, &P), twice);
    exponent.mul_add(splat(x, std::f32::consts::LN_2), tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch;
    use crate::simd::Level;

    /// Applies `f` on lanes to columns of any length.
    #[inline(always)]
    fn map2<G: Gang>(g: G, f: impl Fn(F32<G>, F32<G>) -> [F32<G>; 2], a: &[f32], b: &[f32]) -> [Vec<f32>; 2] {
        let mut out = [vec![0.0; a.len()], vec![0.0; a.len()]];
        for at in (0..a.len()).step_by(G::LANES) {
            let inside = crate::simd::varying::Mask::first(g, a.len() - at);
            let values = f(F32::load_some(&a[at..], inside), F32::load_some(&b[at..], inside));
            values[0].store_some(&mut out[0][at..], inside);
            values[1].store_some(&mut out[1][at..], inside);
        }
        out
    }

    fn atan2_on(level: Level, y: &[f32], x: &[f32]) -> Vec<f32> {
        let [out, _] = dispatch!(level, g => map2(g, #[inline(always)] |y, x| [atan2(y, x); 2], y, x));
        out
    }

    fn sincos_on(level: Level, x: &[f32]) -> [Vec<f32>; 2] {
        dispatch!(level, g => map2(g, #[inline(always)] |x, _| { let (s, c) = sincos(x); [s, c] }, x, x))
    }

    /// Distance from the true value, in units of the last place of the f32 nearest to the true value.
    fn ulp(got: f32, truth: f64) -> f64 {
        let nearest = (truth as f32).abs();
        let unit = (nearest.next_up() as f64 - nearest as f64).max(f32::from_bits(1) as f64);
        (got as f64 - truth).abs() / unit
    }

    struct Random(u64);
    impl Random {
        fn next(&mut self) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 32) as u32
        }
        /// A finite float of any size.
        fn any(&mut self) -> f32 {
            Some(f32::from_bits(self.next())).filter(|x| x.is_finite()).unwrap_or(1.0)
        }
        /// A number in -1..1, uniformly distributed.
        fn unit(&mut self) -> f32 {
            self.next() as i32 as f32 / 2_147_483_648.0
        }
    }

    #[test]
    fn atan2_is_right_to_two_units() {
        let mut random = Random(1);
        let mut points: Vec<(f32, f32)> = (0..300_000).map(|_| (random.any(), random.any())).collect();
        points.extend((0..1_000_000).map(|_| (50.0 * random.unit(), 50.0 * random.unit())));
        // All ratios of both octants, and ratios near 45 degrees and the axes.
        points.extend((0..1_000_000).map(|i| (i as f32 * 1e-6, 1.0)));
        points.extend((0..200_000).map(|i| (f32::from_bits(1.0f32.to_bits() - 100_000 + i), -1.0)));
        points.extend((0..200_000).map(|i| (-1.0, f32::from_bits(i * 5000))));
        let (y, x): (Vec<f32>, Vec<f32>) = points.into_iter().unzip();
        let got = atan2_on(Level::choose(None, None).unwrap(), &y, &x);
        let mut worst = (0.0, 0.0, 0.0);
        for i in 0..x.len() {
            let error = ulp(got[i], libm::atan2(y[i] as f64, x[i] as f64));
            if error > worst.0 || error.is_nan() {
                worst = (error, y[i], x[i]);
            }
        }
        println!("atan2: {worst:?}");
        assert!(worst.0 <= 2.0, "{worst:?}");
    }

    #[test]
    fn atan2_on_axes_and_at_the_edges() {
        let (inf, nan, tiny) = (f32::INFINITY, f32::NAN, f32::from_bits(1));
        let values = [0.0, -0.0, 1.0, -1.0, inf, -inf, tiny, -tiny, f32::MAX, f32::MIN];
        let (mut y, mut x) = (vec![], vec![]);
        for a in values {
            for b in values {
                y.push(a);
                x.push(b);
            }
        }
        for level in Level::supported() {
            let got = atan2_on(level, &y, &x);
            for i in 0..x.len() {
                // The 64-bit function follows IEEE-754 for zeros and infinities.
                let truth = libm::atan2(y[i] as f64, x[i] as f64);
                assert!(ulp(got[i], truth) <= 1.0, "{level}: atan2({}, {}) = {}", y[i], x[i], got[i]);
                assert_eq!(
                    got[i].is_sign_negative(),
                    y[i].is_sign_negative(),
                    "{level}: atan2({}, {})",
                    y[i],
                    x[i]
                );
            }
            let exact = [(0.0, -1.0, PI), (1.0, 0.0, FRAC_PI_2), (-1.0, -0.0, -FRAC_PI_2)];
            for (y, x, angle) in exact {
                assert_eq!(atan2_on(level, &[y], &[x]), [angle], "{level}");
            }
            for (y, x) in
                [(nan, 0.0), (0.0, nan), (nan, nan), (nan, inf), (-inf, nan), (nan, -1.0), (2.0, nan)]
            {
                assert!(atan2_on(level, &[y], &[x])[0].is_nan(), "{level}: atan2({y}, {x})");
            }
        }
    }

    #[test]
    fn sincos_is_right_to_two_units() {
        let mut random = Random(2);
        let mut x: Vec<f32> = (0..1_000_000).map(|_| 10.0 * random.unit()).collect();
        x.extend((0..1_000_000).map(|_| SINCOS_LIMIT * random.unit()));
        x.extend((0..300_000).map(|_| random.any()).filter(|x| x.abs() <= 1.0));
        // Near the zeros, where cancellation is worst.
        for k in 0..40_000 {
            let near = (k as f64 * std::f64::consts::FRAC_PI_2) as f32;
            x.extend([near.next_down(), near, near.next_up()]);
        }
        x.extend([0.0, -0.0, SINCOS_LIMIT, -SINCOS_LIMIT]);
        let [sine, cosine] = sincos_on(Level::choose(None, None).unwrap(), &x);
        let mut worst = [(0.0, 0.0); 2];
        for i in 0..x.len() {
            let truth = (libm::sin(x[i] as f64), libm::cos(x[i] as f64));
            for (worst, error) in worst.iter_mut().zip([ulp(sine[i], truth.0), ulp(cosine[i], truth.1)]) {
                if error > worst.0 || error.is_nan() {
                    *worst = (error, x[i]);
                }
            }
            assert_eq!(sine[i].is_sign_negative(), truth.0.is_sign_negative(), "sin({})", x[i]);
        }
        println!("sin, cos: {worst:?}");
        assert!(worst[0].0 <= 2.0 && worst[1].0 <= 2.0, "{worst:?}");
    }

    fn ln_on(level: Level, x: &[f32]) -> Vec<f32> {
        let [out, _] = dispatch!(level, g => map2(g, #[inline(always)] |x, _| [ln(x); 2], x, x));
        out
    }

    #[test]
    fn ln_is_right_to_two_units() {
        let mut random = Random(4);
        let mut x: Vec<f32> = (0..1_000_000).map(|_| random.any().abs()).filter(|x| x.is_normal()).collect();
        // All floats around 1, where the result is small, and both ends of the range.
        x.extend((0..400_000).map(|i| f32::from_bits(1.0f32.to_bits() - 200_000 + i)));
        x.extend([f32::MIN_POSITIVE, f32::MAX, 1.0]);
        let got = ln_on(Level::choose(None, None).unwrap(), &x);
        let mut worst = (0.0, 0.0);
        for (&x, &got) in x.iter().zip(&got) {
            let error = ulp(got, libm::log(x as f64));
            if error > worst.0 || error.is_nan() {
                worst = (error, x);
            }
        }
        println!("ln: {worst:?}");
        assert!(worst.0 <= 2.0, "{worst:?}");
        let absurd = [0.0, -0.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(1)];
        for level in Level::supported() {
            assert_eq!(ln_on(level, &x[..1000]), got[..1000], "{level}");
            assert!(ln_on(level, &absurd).iter().all(|ln| ln.is_finite()), "{level}");
        }
    }

    #[test]
    fn sincos_outside_its_range_is_nan() {
        for level in Level::supported() {
            let outside =
                [SINCOS_LIMIT.next_up(), -1e10, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
            let [sine, cosine] = sincos_on(level, &outside);
            assert!(sine.iter().chain(&cosine).all(|x| x.is_nan()), "{level}");
            let [sine, cosine] = sincos_on(level, &[0.0, -0.0]);
            assert_eq!(sine.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0, 1 << 31], "{level}");
            assert_eq!(cosine, [1.0, 1.0], "{level}");
        }
    }

    fn sigmoid_on(level: Level, x: &[f32]) -> Vec<f32> {
        let [out, _] = dispatch!(level, g => map2(g, #[inline(always)] |x, _| [sigmoid(x); 2], x, x));
        out
    }

    #[test]
    fn sigmoid_is_right_to_three_units() {
        let mut random = Random(4);
        let mut x: Vec<f32> = (0..1_000_000).map(|_| 10.0 * random.unit()).collect();
        x.extend((0..1_000_000).map(|_| SIGMOID_LIMIT * random.unit()));
        x.extend((0..300_000).map(|_| random.any()).filter(|x| x.abs() <= 1.0));
        x.extend([0.0, -0.0, SIGMOID_LIMIT, -SIGMOID_LIMIT]);
        let got = sigmoid_on(Level::choose(None, None).unwrap(), &x);
        let mut worst = (0.0, 0.0);
        for i in 0..x.len() {
            let error = ulp(got[i], 1.0 / (1.0 + libm::exp(-x[i] as f64)));
            if error > worst.0 || error.is_nan() {
                worst = (error, x[i]);
            }
        }
        println!("sigmoid: {worst:?}");
        assert!(worst.0 <= 3.0, "{worst:?}");
    }

    #[test]
    fn sigmoid_outside_its_range_stays_what_it_is_at_the_edge() {
        for level in Level::supported() {
            let ends = sigmoid_on(level, &[-SIGMOID_LIMIT, SIGMOID_LIMIT, 0.0]);
            assert!(
                ends[0] > 0.0 && ends[0] < 1e-34 && ends[1] == 1.0 && ends[2] == 0.5,
                "{level}: {ends:?}"
            );
            let outside = sigmoid_on(level, &[f32::NEG_INFINITY, f32::MIN, f32::NAN, 1e10, f32::INFINITY]);
            assert_eq!(outside, [ends[0], ends[0], ends[0], 1.0, 1.0], "{level}");
        }
    }

    #[test]
    fn every_gang_gives_the_same_bits() {
        let mut random = Random(3);
        let mut y: Vec<f32> = (0..5000).map(|_| random.any()).collect();
        y.extend((0..5000).map(|_| 100.0 * random.unit()));
        let x: Vec<f32> = y.iter().rev().copied().collect();
        let bits = |values: &[f32]| {
            values.iter().map(|v| if v.is_nan() { 1 } else { v.to_bits() }).collect::<Vec<_>>()
        };
        let first = Level::supported()[0];
        let [sine, cosine] = sincos_on(first, &y);
        let expected = [atan2_on(first, &y, &x), sine, cosine, sigmoid_on(first, &x)];
        for level in Level::supported() {
            let [sine, cosine] = sincos_on(level, &y);
            let all = [atan2_on(level, &y, &x), sine, cosine, sigmoid_on(level, &x)];
            for (got, expected) in all.iter().zip(&expected) {
                assert_eq!(bits(got), bits(expected), "{level}");
            }
        }
    }
}
