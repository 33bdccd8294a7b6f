//! Units: lengths are mm (LHCb) or cm (`kalman` and `cylinder`, as in the code that they are compared with), momenta
//! GeV/c, times ns, fields T. These factors convert values from files in other units.

/// MeV in one GeV: LHCb files hold momenta in MeV/c.
pub const MEV_PER_GEV: f64 = 1000.0;
