//! The magnet's bending between Velo and UT (`ut_tables.bin`), as tables over slopes and origins.

use super::dipole::field;
use super::nominal::PLANE_Z;
use crate::Result;
use crate::bytes::Fields;
use crate::event::UT_PLANES;
use crate::simd::with_default_float_mode;

/// Bins of |ty| in the table of plane factors.
const SLOPES: usize = 30;
/// Steps of the field's table: slope ty, origin z, z of the Velo's state.
const STEPS: [usize; 3] = [30, 10, 10];

/// z that deflections are compared at, mm, how far planes are behind it, and steps of the Velo state's z.
const MIDDLE: f64 = 2484.6;
const PLANE_REACH: usize = 200;
const STATE_STEP: f64 = 80.0;

/// Tables of the magnetic field before the UT.
#[derive(Debug, Clone, PartialEq)]
pub struct UtTables {
    /// Deflection at z = 2484.6 mm over that at a plane: `[4 * k + plane]`, k the nearest whole 100 |ty|.
    pub plane_factor: Vec<f32>,
    /// Field integral seen by a track up to the UT, T m: `[(i3 * 11 + i2) * 31 + i1]`, i1 for ty from -0.3 in
    /// steps of 0.02, i2 for the origin's z from -250 mm in steps of 50, i3 for z of the state from 0 in 80.
    pub field_integral: Vec<f32>,
}

impl UtTables {
    /// Reads a file of tables; `file` stands in messages.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) names file, field and offset.
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

    /// The tables of the nominal detector's [`dipole`](super::dipole), whose field depends on z alone: so nothing
    /// depends on ty or on the origin.
    pub fn nominal() -> Self {
        with_default_float_mode(Self::ideal)
    }

    fn ideal() -> Self {
        // Integrals of the field, and of the deflection that it makes, up to each mm: T mm, T mm^2.
        let mut integral = vec![0.0];
        let mut deflection = vec![0.0];
        for z in 0..MIDDLE.ceil() as usize + PLANE_REACH {
            let last = integral[z];
            integral.push(last + field(z as f64 + 0.5));
            deflection.push(deflection[z] + last + 0.5 * field(z as f64 + 0.5));
        }
        let at = |values: &[f64], z: f64| {
            let (below, part) = (z as usize, z.fract());
            values[below] * (1.0 - part) + values[below + 1] * part
        };
        let factor = |z: f64| (at(&deflection, MIDDLE) / at(&deflection, z)) as f32;
        let plane_factor = (0..=SLOPES).flat_map(|_| PLANE_Z.map(factor)).collect();
        let total = at(&integral, MIDDLE);
        let [slopes, origins, states] = STEPS;
        let of_state = |i: usize| ((total - at(&integral, STATE_STEP * i as f64)) / 1000.0) as f32;
        let field_integral =
            (0..=states).flat_map(|i| vec![of_state(i); (slopes + 1) * (origins + 1)]).collect();
        Self { plane_factor, field_integral }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nominal_tables_are_like_the_real_ones() {
        let tables = UtTables::nominal();
        assert_eq!((tables.plane_factor.len(), tables.field_integral.len()), (124, 3751));
        // What LHCb's file says of small slopes, and of tracks from the origin.
        for (found, real) in tables.plane_factor.iter().zip([1.2124, 1.1443, 0.8712, 0.8209]) {
            assert!((found / real - 1.0).abs() < 0.01, "{found} {real}");
        }
        for (i, real) in [0.1087, 0.1044, 0.0957].into_iter().enumerate() {
            let found = tables.field_integral[(5 * i * 11 + 5) * 31 + 15];
            assert!((found / real - 1.0).abs() < 0.02, "{found} {real}");
        }
    }
}
