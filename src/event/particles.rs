//! Simulated truth of one event: which particles there were and which hits they left.

/// One simulated particle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Particle {
    /// Generator key, unique in the event (no unit).
    pub key: i64,
    /// PDG code, signed (no unit).
    pub pid: i32,
    /// Momentum, GeV/c.
    pub p: f64,
    /// Transverse momentum, GeV/c.
    pub pt: f64,
    /// Pseudorapidity (no unit).
    pub eta: f64,
    /// Azimuth, rad.
    pub phi: f64,
    /// Key of the particle it was made by; unknown in Velo JSON (no unit).
    pub mother: Option<i64>,
    /// Charge in units of the positron's; files round it oddly (no unit).
    pub charge: f64,
    /// Where the particle was made, mm; unknown in Velo JSON.
    pub origin: Option<[f32; 3]>,
    /// Velo and SciFi reconstructible (no unit).
    pub is_long: bool,
    /// UT and SciFi reconstructible (no unit).
    pub is_down: bool,
    /// Reconstructible in the Velo (no unit).
    pub has_velo: bool,
    /// Reconstructible in the UT (no unit).
    pub has_ut: bool,
    /// Reconstructible in the SciFi (no unit).
    pub has_scifi: bool,
    /// From the decay of a b hadron (no unit).
    pub from_beauty: bool,
    /// From the decay of a c hadron (no unit).
    pub from_charm: bool,
    /// From the decay of a strange hadron (no unit).
    pub from_strange: bool,
    /// From the decay that the sample was made for (no unit).
    pub from_signal: bool,
    /// Names of the hits it left (`id` of the hit columns); shared hits appear in each particle (no unit).
    pub hits: Vec<u32>,
}

impl Particle {
    /// Electrons and positrons are counted apart in every table: they shower.
    pub fn is_electron(&self) -> bool {
        self.pid.abs() == 11
    }
}

/// The truth of one event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TruthEvent {
    /// All particles, in the order of the source (no unit).
    pub particles: Vec<Particle>,
}
