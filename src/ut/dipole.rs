//! The dipole behind the UT as the nominal detector has it: a vertical field that rises and falls smoothly along z.
//!
//! The shape has five numbers, chosen so that what the real systems assume of the field holds: an integral of
//! 4.15 T m between Velo and SciFi (momentum from the change of slope, 1239 MeV), 0.1 T m of it before the UT (its
//! tables), the bending's middle at 5.29 m (crossing of Velo and SciFi lines), 0.168 T at 8.52 m and there -0.084 %
//! of it per mm (parabolas with a small cubic term in the SciFi).

/// Plateau that is never quite reached, T; middles and widths of the rise and of the fall, mm.
const PLATEAU: f64 = 1.4423;
const RISE: [f64; 2] = [3573.3, 551.1];
const FALL: [f64; 2] = [6408.5, 1044.3];

/// The vertical field at z mm, T.
pub fn field(z: f64) -> f64 {
    let edge = |distance: f64| 1.0 / (1.0 + libm::exp(-distance));
    PLATEAU * edge((z - RISE[0]) / RISE[1]) * edge((FALL[0] - z) / FALL[1])
}
