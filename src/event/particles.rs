//! Simulated truth of one event: its particles and their hits.

/// One simulated particle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Particle {
    /// Key that the generator gave the particle, unique in the event (no unit).
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
    /// Key of the mother particle; unknown in Velo JSON (no unit).
    pub mother: Option<i64>,
    /// Charge in units of the positron's charge, rounded as in files (no unit).
    pub charge: f64,
    /// Origin of the particle, mm; unknown in Velo JSON.
    pub origin: Option<[f32; 3]>,
    /// True states at the z where track states are given, mm; known only for events simulated in memory.
    pub states: TrueStates,
    /// Whether the particle is reconstructible in the Velo and in the SciFi (no unit).
    pub is_long: bool,
    /// Whether the particle is reconstructible in the UT and in the SciFi (no unit).
    pub is_down: bool,
    /// Whether the particle is reconstructible in the Velo (no unit).
    pub has_velo: bool,
    /// Whether the particle is reconstructible in the UT (no unit).
    pub has_ut: bool,
    /// Whether the particle is reconstructible in the SciFi (no unit).
    pub has_scifi: bool,
    /// Whether the particle comes from the decay of a b hadron (no unit).
    pub from_beauty: bool,
    /// Whether the particle comes from the decay of a c hadron (no unit).
    pub from_charm: bool,
    /// Whether the particle comes from the decay of a strange hadron (no unit).
    pub from_strange: bool,
    /// Whether the particle comes from the signal decay of the sample (no unit).
    pub from_signal: bool,
    /// Identifiers of the particle's hits (`id` of the hit columns); a shared hit is in several lists (no unit).
    pub hits: Vec<u32>,
}

impl Particle {
    /// Returns whether the particle is an electron or positron; tables count electrons separately, because they shower.
    pub fn is_electron(&self) -> bool {
        self.pid.abs() == 11
    }

    /// Returns origin and direction; `None` if the origin is unknown, or the direction is perpendicular to the beam.
    pub fn start(&self) -> Option<TrueState> {
        let [x, y, z] = self.origin?.map(f64::from);
        let slope = 1.0 / libm::sinh(self.eta);
        let (tx, ty) = (slope * libm::cos(self.phi), slope * libm::sin(self.phi));
        slope.is_finite().then_some(TrueState { x, y, z, tx, ty })
    }
}

/// Position and direction of a particle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrueState {
    /// x, mm.
    pub x: f64,
    /// y, mm.
    pub y: f64,
    /// z, mm.
    pub z: f64,
    /// dx/dz (no unit).
    pub tx: f64,
    /// dy/dz (no unit).
    pub ty: f64,
}

/// States of a particle at the z where track states are given; `None` if the particle does not reach this z.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TrueStates {
    /// State where the particle leaves the Velo towards larger z, mm.
    pub velo: Option<TrueState>,
    /// State in the middle of the UT, z = 2484.6 mm.
    pub ut: Option<TrueState>,
    /// State at the end of the SciFi, z = 9410 mm.
    pub scifi: Option<TrueState>,
}

impl TrueState {
    /// Extrapolates the state to another z along a straight line.
    pub fn at(self, z: f64) -> Self {
        let dz = z - self.z;
        Self { x: self.x + dz * self.tx, y: self.y + dz * self.ty, z, ..self }
    }
}

/// The truth of one event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TruthEvent {
    /// All particles, in the order of the file or the simulation (no unit).
    pub particles: Vec<Particle>,
}
