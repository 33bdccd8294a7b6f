//! Units: lengths are mm, momenta GeV/c inside the library, times ns, fields T. Files that speak other
//! units are converted here and nowhere else.

/// MeV in one GeV: LHCb files hold momenta in MeV/c.
pub const MEV_PER_GEV: f64 = 1000.0;
/// mm in one cm: the cylinder toy files hold lengths in cm.
pub const MM_PER_CM: f32 = 10.0;
