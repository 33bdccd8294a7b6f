//! The magnet's bending between Velo and UT (`ut_tables.bin`), as tables over slopes and origins.

use crate::Result;
use crate::bytes::Fields;
use crate::event::UT_PLANES;

/// Bins of |ty| in the table of plane factors.
const SLOPES: usize = 30;
/// Steps of the field's table: slope ty, origin z, z of the Velo's state.
const STEPS: [usize; 3] = [30, 10, 10];

/// Tables of the magnetic field before the UT.
#[derive(Debug, Clone, PartialEq)]
pub struct UtTables {
    /// Deflection at a plane over that at z = 2484.6 mm: `[4 * k + plane]`, k the nearest whole 100 |ty|.
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
}
