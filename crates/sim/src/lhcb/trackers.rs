//! Simulates hits of particles and of noise in the UT and the SciFi.

use super::LhcbDetector;
use super::fibres::Fibres;
use super::magnet::Track;
use crate::flight::{ELECTRON, Flight, PION, deflected, scaled, sum};
use crate::random::Random;
use crate::transport::Exit;
use peloton::event::{TrueState, TrueStates, UT_PLANES};
use peloton::scifi::SciFiChannel;
use peloton::ut::UtChannel;
use std::collections::BTreeMap;

/// Material in each plane of the UT and in each layer of the SciFi, radiation lengths: particles scatter by 1.2 and 1.27
/// mrad GeV/p, as the noise of LHCb's parametrised fit from full simulation (`params_predictUT.txt`, `predictT`,
/// thirteenth numbers).
const UT_PLANE: f64 = 0.012;
const SCIFI_LAYER: f64 = 0.0125;
/// Material between Velo and UT (its end and RICH 1): z, mm, and radiation lengths. By `params_predictVUT.txt` particles
/// scatter by 5.37 mrad GeV/p and are displaced by 4.15 um GeV/p per mm of the way, with a correlation of 0.92, as from two
/// equal scatterers at 0.4 and 1 times this way before the UT.
const BEFORE_UT: [[f64; 2]; 2] = [[800.0, 0.094], [1680.0, 0.094]];
/// Material between UT and SciFi (air, frames): z, mm, and radiation lengths. By `params_predictUTTF.txt`, particles scatter by
/// 2.84 mrad GeV/p in x, 2.43 in y, with a correlation of 0.87 to the displacement, as for evenly distributed material.
const IN_MAGNET: [[f64; 2]; 2] = [[3736.0, 0.024], [6733.0, 0.024]];
/// Elastic scatterings of a hadron on nuclei per radiation length: between the values of aluminium, 0.12, and carbon, 0.22
/// (Particle Data Group, Atomic and nuclear properties of materials: the inverse of the nuclear collision length minus the
/// inverse of the interaction length).
const ELASTIC_PER_X0: f64 = 0.15;
/// Share of the flatter of two exponentials in the square of the momentum transfer; then the slopes of both, 1/(GeV/c)^2.
/// Geant4's G4HadronElastic has (76, 10, 0.29) for carbon and (131, 10, 0.20) for aluminium.
const FLATTER: f64 = 0.2;
const SLOPE: f64 = 100.0;
const FLATTER_SLOPE: f64 = 10.0;
/// Fraction of hadrons that end in RICH 1; then between the UT and the SciFi, and in each layer of the SciFi.
const LOST: f64 = 0.08;
const LOST_IN_MAGNET: f64 = 0.09;
const LOST_IN_LAYER: f64 = 0.005;
/// z of the states of tracks, mm: in the middle of the UT, at the end of the SciFi.
const UT_STATE_Z: f64 = 2484.6;
const SCIFI_STATE_Z: f64 = 9410.0;
/// z of the planes of the UT and of the layers of the SciFi, mm.
const UT_Z: [f64; UT_PLANES] = [2327.5, 2372.5, 2597.5, 2642.5];
const SCIFI_Z: [f64; 12] = [
    7826.106, 7895.919, 7966.104, 8035.905, 8508.106, 8577.869, 8648.154, 8717.904, 9193.106, 9262.982,
    9333.041, 9402.904,
];
/// Probability that a plane of the UT detects a particle.
const UT_EFFICIENCY: f64 = 0.985;
/// Resolution of the UT before the readout rounds to quarters, pitches. After rounding it is 1 / sqrt(12), the resolution of
/// strips without charge information, which the weights of hits assume.
const UT_SIGMA: f64 = 0.279_508_5;
/// Resolution of the SciFi before the readout rounds, mm: the minimum of 0.05 + 0.03 x width of the cluster in LHCb's fit.
const SCIFI_SIGMA: f64 = 0.08;
/// Hits without a particle (noise, and particles of other crossings), per hit of a particle.
const UT_NOISE: f64 = 0.09;
const SCIFI_NOISE: f64 = 0.15;
/// Secondaries per particle that leaves the Velo forwards; then the ranges of z in which they are made, mm.
const SECONDARIES: f64 = 1.1;
const MATERIAL: [[f64; 2]; 4] = [[900.0, 2200.0], [2320.0, 2650.0], [2700.0, 7600.0], [7800.0, 8700.0]];
/// Smallest momentum of secondaries; then the scale of their spectrum, GeV/c.
const MIN_MOMENTUM: f64 = 0.3;
const SOFTNESS: f64 = 1.5;
/// Fraction of the SciFi's clusters that are sent as their edges.
const WIDE: f64 = 0.15;

/// A hit of the SciFi, whether it is sent as its edges, and the numbers of the particles that left it.
pub(super) type FibreHit = (SciFiChannel, bool, Vec<usize>);

/// Hits of both trackers, each with the numbers of the particles that left it.
#[derive(Default)]
pub(super) struct TrackerHits {
    /// Hits of the UT by (board, lane, strip).
    pub ut: BTreeMap<(u16, u8, u16), (UtChannel, Vec<usize>)>,
    /// Hits of the SciFi by (board, link, cell).
    pub scifi: BTreeMap<(u16, u8, u8), FibreHit>,
    /// Particles that reached the last layer of the SciFi.
    pub through: Vec<Through>,
    /// Position of each particle at the middle of the UT and at the end of the SciFi.
    pub states: Vec<TrueStates>,
    /// Positions of particles at the nominal z of the planes and layers that detected them.
    pub seen: Vec<TrueHit>,
}

/// A hit of a tracker, and the position of its particle at the layer's nominal z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrueHit {
    /// Identifier of the hit.
    pub id: u32,
    /// Position and slopes of the particle.
    pub at: TrueState,
}

/// The path of a particle that reached the last layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Through {
    pub flight: usize,
    /// dx/dz and dy/dz at the start of the path.
    pub begin: [f64; 2],
    /// x in the six upright layers of the SciFi, mm.
    pub x: [f64; 6],
}

impl TrackerHits {
    fn add_ut(&mut self, hit: UtChannel, flight: Option<usize>) {
        let entry = self.ut.entry((hit.board, hit.lane, hit.strip)).or_insert((hit, Vec::new()));
        entry.1.extend(flight);
    }

    fn add_scifi(&mut self, hit: SciFiChannel, wide: bool, flight: Option<usize>) {
        let entry = self.scifi.entry((hit.board, hit.link, hit.cell)).or_insert((hit, wide, Vec::new()));
        entry.2.extend(flight);
    }
}

/// Follows the particles that left the Velo, and the secondaries that they make after it, which are appended to
/// `flights`.
pub(super) fn follow(
    (detector, fibres): (&LhcbDetector<'_>, Fibres),
    flights: &mut Vec<Flight>,
    exits: &[Option<Exit>],
    random: &mut Random,
) -> TrackerHits {
    let mut hits = TrackerHits::default();
    let mut way = Way {
        detector,
        fibres,
        before_ut: BEFORE_UT.map(|[z, x0]| (z, Material::new(x0))),
        in_magnet: IN_MAGNET.map(|[z, x0]| (z, Material::new(x0))),
        ut_plane: Material::new(UT_PLANE),
        scifi_layer: Material::new(SCIFI_LAYER),
    };
    for (number, exit) in exits.iter().enumerate() {
        let Some(exit) = exit.filter(|exit| exit.direction[2] > 0.0 && exit.p > MIN_MOMENTUM) else {
            continue;
        };
        let flight = flights[number].clone();
        if flight.charge != 0.0 {
            let start = track_of(flight.charge, exit);
            way.fly(&flight, number, start, random, &mut hits);
        }
        for _ in 0..random.poisson(SECONDARIES) {
            let (flight, start) = secondary(exit, random);
            way.fly(&flight, flights.len(), start, random, &mut hits);
            flights.push(flight);
        }
    }
    add_noise(detector, fibres, random, &mut hits);
    hits.states.resize(flights.len(), TrueStates::default());
    hits
}

fn track_of(charge: f64, exit: Exit) -> Track {
    let ([dx, dy, dz], [x, y, z]) = (exit.direction, exit.at);
    Track { x, y, z, tx: dx / dz, ty: dy / dz, qop: charge.signum() / exit.p }
}

fn state_of(Track { x, y, z, tx, ty, .. }: Track) -> TrueState {
    TrueState { x, y, z, tx, ty }
}

/// Makes a soft particle on the straight line of another from the Velo, in the material of one of [`MATERIAL`]: before the UT, in the
/// UT, along the magnet or in the SciFi.
fn secondary(parent: Exit, random: &mut Random) -> (Flight, Track) {
    let [low, high] = MATERIAL[(random.uniform() * MATERIAL.len() as f64) as usize];
    let path = (random.between(low, high) - parent.at[2]).max(1.0) / parent.direction[2];
    let at = sum(parent.at, scaled(parent.direction, path));
    let p = MIN_MOMENTUM + SOFTNESS * random.exponential() * random.exponential();
    let kind = if random.chance(0.6) { ELECTRON } else { PION };
    let charge = if random.chance(0.5) { 1.0 } else { -1.0 };
    let angle = 0.1 / p;
    let direction =
        deflected(parent.direction, angle.min(0.3) * random.normal(), angle.min(0.3) * random.normal());
    // Particles that turn back are not simulated.
    let direction = if direction[2] > 0.1 { direction } else { parent.direction };
    let flight = Flight::new(kind, charge, scaled(direction, p), at);
    let exit = Exit { at, direction, p };
    (flight, track_of(charge, exit))
}

/// The detector and material that all particles pass.
struct Way<'a> {
    detector: &'a LhcbDetector<'a>,
    fibres: Fibres,
    before_ut: [(f64, Material); 2],
    in_magnet: [(f64, Material); 2],
    ut_plane: Material,
    scifi_layer: Material,
}

/// The values of a material that Highland's formula needs.
#[derive(Clone, Copy)]
struct Material {
    /// Thickness, radiation lengths.
    x0: f64,
    root: f64,
    correction: f64,
}

impl Material {
    fn new(x0: f64) -> Self {
        Self { x0, root: x0.sqrt(), correction: 1.0 + 0.038 * libm::log(x0) }
    }
}

impl Way<'_> {
    /// Follows one particle until it is lost.
    fn fly(
        &mut self,
        flight: &Flight,
        number: usize,
        start: Track,
        random: &mut Random,
        hits: &mut TrackerHits,
    ) -> Option<()> {
        let polarity = f64::from(self.detector.polarity);
        let mut track = start;
        for (z, material) in self.before_ut.into_iter().filter(|(z, _)| *z > start.z) {
            track = scattered(track.to(z, polarity)?, flight, material, random);
        }
        if start.z < BEFORE_UT[1][0] && flight.is_hadron() && random.chance(LOST) {
            return None;
        }
        hits.states.resize(hits.states.len().max(number + 1), TrueStates::default());
        for (plane, z) in UT_Z.into_iter().enumerate().filter(|(_, z)| *z > start.z) {
            if plane == UT_PLANES / 2 && track.z < UT_STATE_Z {
                hits.states[number].ut = track.to(UT_STATE_Z, polarity).map(state_of);
            }
            track = track.to(z, polarity)?;
            let off = (UT_SIGMA * random.normal()) as f32;
            for hit in self
                .detector
                .ut
                .strips_at(plane, line(track, 0.0), off)
                .filter(|_| random.chance(UT_EFFICIENCY))
            {
                hits.add_ut(hit, Some(number));
                hits.seen.push(TrueHit { id: hit.id, at: state_of(track) });
            }
            track = scattered(track, flight, self.ut_plane, random);
        }
        if track.z < SCIFI_Z[0] && flight.is_hadron() && random.chance(LOST_IN_MAGNET) {
            return None;
        }
        for (z, material) in self.in_magnet.into_iter().filter(|(z, _)| *z > start.z) {
            track = scattered(track.to(z, polarity)?, flight, material, random);
        }
        let mut x = [0.0; 6];
        for (layer, z) in SCIFI_Z.into_iter().enumerate().filter(|(_, z)| *z > start.z) {
            track = track.to(z, polarity)?;
            if flight.is_hadron() && random.chance(LOST_IN_LAYER) {
                return None;
            }
            if matches!(layer % 4, 0 | 3) {
                x[layer / 4 * 2 + layer % 4 / 3] = track.x;
            }
            let smear = SCIFI_SIGMA * random.normal();
            let hit = self.detector.scifi.channel_at(layer, line(track, smear));
            if let Some(hit) = hit.filter(|hit| self.fibres.see(hit, random)) {
                hits.add_scifi(hit, random.chance(WIDE), Some(number));
                hits.seen.push(TrueHit { id: hit.id, at: state_of(track) });
            }
            track = scattered(track, flight, self.scifi_layer, random);
        }
        hits.states[number].scifi = track.to(SCIFI_STATE_Z, polarity).map(state_of);
        hits.through.push(Through { flight: number, begin: [start.tx, start.ty], x });
        Some(())
    }
}

/// x and y of the tangent at a nearby z, with x moved by `smear`.
fn line(track: Track, smear: f64) -> impl Fn(f32) -> [f32; 2] {
    move |z| {
        let dz = f64::from(z) - track.z;
        [(track.x + track.tx * dz + smear) as f32, (track.y + track.ty * dz) as f32]
    }
}

/// The track after scattering in some material (Highland's formula).
fn scattered(track: Track, flight: &Flight, material: Material, random: &mut Random) -> Track {
    let p = 1.0 / track.qop.abs();
    let mass = flight.mass();
    let beta = p / (p * p + mass * mass).sqrt();
    let angle = 0.0136 / (beta * p) * material.root * material.correction;
    // Electrons lose energy by radiation: on average x0 of it.
    let left =
        if flight.pid.abs() == ELECTRON { libm::exp(-material.x0 * random.exponential()) } else { 1.0 };
    let (mut tx, mut ty) = (track.tx + angle * random.normal(), track.ty + angle * random.normal());
    if flight.is_hadron() && random.chance(ELASTIC_PER_X0 * material.x0) {
        let slope = if random.chance(FLATTER) { FLATTER_SLOPE } else { SLOPE };
        // The square of the transfer is exponentially distributed if its two components are normal.
        let transfer = (0.5 / slope).sqrt() / p;
        (tx, ty) = (tx + transfer * random.normal(), ty + transfer * random.normal());
    }
    Track { tx, ty, qop: track.qop / left, ..track }
}

fn add_noise(detector: &LhcbDetector<'_>, fibres: Fibres, random: &mut Random, hits: &mut TrackerHits) {
    for _ in 0..random.poisson(UT_NOISE * hits.ut.len() as f64) {
        let sector = (random.uniform() * peloton::ut::geometry::SECTORS as f64) as usize;
        let quarters = (random.uniform() * f64::from(4 * peloton::ut::geometry::STRIPS)) as u32;
        if let Some(hit) = detector.ut.strip(sector, quarters) {
            hits.add_ut(hit, None);
        }
    }
    for _ in 0..random.poisson(SCIFI_NOISE * hits.scifi.len() as f64) {
        // Draws layer, quarter and module; some combinations do not exist.
        let channel = (1 << 18) + (random.uniform() * f64::from(3 << 18)) as u32;
        let hit = detector.scifi.channel(channel, random.chance(0.5));
        if let Some(hit) = hit.filter(|hit| !fibres.is_dead(hit)) {
            hits.add_scifi(hit, false, None);
        }
    }
}
