//! Tables of the magnet's bending between Velo and UT, by slope and origin of a track (file `ut_tables.bin`).

use super::nominal::PLANE_Z;
use crate::Result;
use crate::bytes::Fields;
use crate::event::UT_PLANES;
use crate::lhcb::magnet::field;
use crate::simd::with_default_float_mode;

const MM_PER_M: f64 = 1000.0;

/// Number of bins of |ty| in the table of plane factors.
const SLOPES: usize = 30;
/// Steps of the table of field integrals: slope ty, origin's z, Velo state's z.
const STEPS: [usize; 3] = [30, 10, 10];

/// First value and step of the slope, and of the origin's z, mm; step of the state's z, mm.
const SLOPE: [f64; 2] = [-0.3, 0.02];
const ORIGIN: [f64; 2] = [-250.0, 50.0];
const STATE: f64 = 80.0;
/// Step of |ty| in the table of plane factors.
const PLANE_SLOPE: f64 = 0.01;

/// z at which deflections are compared, mm, and step for the sum over the nominal field, mm.
const MIDDLE: f64 = 2484.6;
const SUM_STEP: f64 = 10.0;

/// Tables of the magnet's bending between Velo and UT.
#[derive(Debug, Clone, PartialEq)]
pub struct UtTables {
    /// Deflection at z = 2484.6 mm divided by the deflection at a plane. The value at index `4 * k + plane` is for |ty|
    /// near k / 100.
    pub plane_factor: Vec<f32>,
    /// Field integral along a track up to the UT, T m, at index `(i3 * 11 + i2) * 31 + i1`: i1 is for ty from -0.3 in
    /// steps of 0.02, i2 for the origin's z from -250 mm in steps of 50, i3 for the state's z from 0 mm in steps of 80.
    pub field_integral: Vec<f32>,
}

impl UtTables {
    /// Parses the bytes of a file of tables; `file` is its name in error messages.
    ///
    /// # Errors
    /// Returns [`Error::Format`](crate::Error::Format) with file, field and offset if the file is not valid.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields::new(file, bytes);
        let mut table = |name: &str, steps: &[usize]| {
            fields.expect_u32(name, &[steps.len() as u32])?;
            for &step in steps {
                fields.expect_u32(name, &[step as u32])?;
            }
            let values = steps.iter().map(|step| step + 1).product::<usize>();
            fields.expect_u64(name, values as u64)?;
            fields.f32s(name, values)
        };
        let plane_factor = table("dxLay", &[UT_PLANES - 1, SLOPES])?;
        let field_integral = table("bdl", &STEPS)?;
        fields.end()?;
        Ok(Self { plane_factor, field_integral })
    }

    /// Returns the tables of the nominal [`magnet`](crate::lhcb::magnet), computed for tracks in the plane x = 0.
    pub fn nominal() -> Self {
        with_default_float_mode(Self::ideal)
    }

    fn ideal() -> Self {
        let plane_factors = |k: usize| {
            let deflection = |z: f64| Way::new(PLANE_SLOPE * k as f64, 0.0).deflection(z);
            let middle = deflection(MIDDLE);
            PLANE_Z.map(|z| (middle / deflection(z)) as f32)
        };
        let plane_factor = (0..=SLOPES).flat_map(plane_factors).collect();
        let [slopes, origins, states] = STEPS;
        let mut field_integral = vec![0.0; (slopes + 1) * (origins + 1) * (states + 1)];
        for origin in 0..=origins {
            for slope in 0..=slopes {
                let way = Way::new(SLOPE[0] + SLOPE[1] * slope as f64, ORIGIN[0] + ORIGIN[1] * origin as f64);
                for state in 0..=states {
                    field_integral[(state * (origins + 1) + origin) * (slopes + 1) + slope] =
                        (way.integral(STATE * state as f64, MIDDLE) / MM_PER_M) as f32;
                }
            }
        }
        Self { plane_factor, field_integral }
    }
}

/// A straight line in the plane x = 0.
struct Way {
    ty: f64,
    origin: f64,
}

impl Way {
    fn new(ty: f64, origin: f64) -> Self {
        Self { ty, origin }
    }

    /// Returns the integral of the bending field times `weight` from one z to another, by the midpoint rule.
    fn sum(&self, from: f64, to: f64, weight: impl Fn(f64) -> f64) -> f64 {
        let steps = ((to - from) / SUM_STEP).ceil();
        let step = (to - from) / steps;
        let at = |i: usize| {
            let z = from + step * (i as f64 + 0.5);
            let [_, by, bz] = field([0.0, self.ty * (z - self.origin), z]);
            // The z component bends particles that fly up or down, too.
            (by - self.ty * bz) * weight(z)
        };
        step * (0..steps as usize).map(at).sum::<f64>()
    }

    /// Returns the integral between two z of the field that bends sideways, T mm.
    fn integral(&self, from: f64, to: f64) -> f64 {
        self.sum(from, to, |_| 1.0)
    }

    /// Returns the displacement of a track by the field at z = `to`, in T mm^2.
    fn deflection(&self, to: f64) -> f64 {
        self.sum(0.0, to, |z| to - z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nominal_tables_are_like_the_real_ones() {
        let tables = UtTables::nominal();
        assert_eq!((tables.plane_factor.len(), tables.field_integral.len()), (124, 3751));
        // Values of LHCb's file for tracks from the origin with small slopes, with 0.12, and with 0.24.
        let factors = [
            (0, [1.2124, 1.1443, 0.8712, 0.8209]),
            (12, [1.1978, 1.1349, 0.8792, 0.8318]),
            (24, [1.1427, 1.0975, 0.9119, 0.8768]),
        ];
        for (k, real) in factors {
            for (plane, real) in real.into_iter().enumerate() {
                let found = tables.plane_factor[4 * k + plane];
                assert!((found / real - 1.0).abs() < 0.012, "{found} {real} in plane {plane} at 0.01 x {k}");
            }
        }
        let integrals =
            [(15, [0.1087, 0.1044, 0.0957]), (9, [0.0958, 0.0916, 0.0832]), (3, [0.0585, 0.0544, 0.0465])];
        for (slope, real) in integrals {
            for (i, real) in real.into_iter().enumerate() {
                let found = tables.field_integral[(5 * i * 11 + 5) * 31 + slope];
                assert!((found - real).abs() < 0.002, "{found} {real} at slope {slope}, state {i}");
            }
        }
        // The origin of a track determines its height in the field: the first origin and the last, slope -0.3.
        for (origin, real) in [(0, 0.0147), (10, 0.0462)] {
            let found = tables.field_integral[31 * origin];
            assert!((found - real).abs() < 0.004, "{found} {real} from origin {origin}");
        }
    }
}
