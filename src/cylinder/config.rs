//! All parameters of the cylinder reconstruction. The `Default` implementations have the parameters of mkFit
//! (`docs/algorithms.md`, sections "Cylinder: ...").

use super::geometry::SEED_LAYERS;
use crate::event::CYLINDER_LAYERS;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most threads of one event.
const MAX_EVENT_THREADS: u32 = 256;

/// Algorithm that builds tracks from seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Builder {
    /// Takes the nearest hit of each layer.
    BestHit,
    /// Follows several candidates per seed; copies the state of a candidate for each of its branches and adds the hit.
    Standard,
    /// Follows several candidates per seed; copies only the states of surviving branches.
    #[default]
    CloneEngine,
}

/// Origin of the seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedSource {
    /// One seed per simulated particle, fitted from its true vertex through its hits on the first three layers.
    #[default]
    Truth,
    /// Triplets of hits on the first three layers.
    Hits,
}

/// Variances of seeds from truth at the true vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartCovariance {
    /// mkFit's variances: squares of the true x, y and z, and squares of px, py and pz as variances of charge / pT, phi
    /// and theta. Single precision then loses hits above 200 GeV/c and near polar angles of 90 degrees.
    #[default]
    Published,
    /// The same variances for all particles: the squares of [`StartConfig::prior`].
    Prior,
}

/// Parameters of the state in the filter that fits found tracks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitForm {
    /// Five parameters on the cylinder of a hit; hits measure azimuth and z.
    #[default]
    Cylinder,
    /// The published form: six parameters in one frame for all tracks; hits measure x, y and z.
    Global,
}

macro_rules! names {
    ($type:ident, $what:literal, $($variant:ident = $name:literal),*) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $($type::$variant => $name),* })
            }
        }
        impl std::str::FromStr for $type {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                match text {
                    $($name => Ok($type::$variant),)*
                    _ => Err(Error::Config(format!(
                        concat!("no ", $what, " `{}`; there are ", $($name, " ",)*), text))),
                }
            }
        }
    };
}
names!(Builder, "builder", BestHit = "best-hit", Standard = "standard", CloneEngine = "clone-engine");
names!(FitForm, "form of the fit", Cylinder = "cylinder", Global = "global");
names!(StartCovariance, "covariance of starts", Published = "published", Prior = "prior");
names!(SeedSource, "source of seeds", Truth = "truth", Hits = "hits");

/// Configuration of the cylinder reconstruction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CylinderConfig {
    /// Algorithm that builds tracks.
    pub builder: Builder,
    /// Origin of the seeds.
    pub seeds: SeedSource,
    /// Number of threads that share the hits, seeds and tracks of one event; it changes the speed, never the result,
    /// and only helps with large events, because threads start anew for each event (no unit).
    pub event_threads: u32,
    /// Magnetic field along z, T.
    pub field: f32,
    /// Thickness of each layer for scattering in fits and builders, radiation lengths; 0 for no scattering.
    pub material: f32,
    /// Bins into which hits are sorted.
    pub bins: BinConfig,
    /// Parameters of the builders.
    pub build: BuildConfig,
    /// Start of the filter that makes seeds from truth.
    pub start: StartConfig,
    /// Parameters of seeds from hits.
    pub seeding: SeedConfig,
    /// Parameters of the fit.
    pub fit: FitConfig,
}

impl Default for CylinderConfig {
    fn default() -> Self {
        Self {
            builder: Builder::default(),
            seeds: SeedSource::default(),
            event_threads: 1,
            field: 3.8112,
            material: 0.0,
            bins: BinConfig::default(),
            build: BuildConfig::default(),
            start: StartConfig::default(),
            seeding: SeedConfig::default(),
            fit: FitConfig::default(),
        }
    }
}

/// Bins of azimuth and z into which hits are sorted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BinConfig {
    /// Number of bins in a full turn of azimuth, a power of two.
    pub phi: u32,
    /// Half length in z of the binned region, layer by layer, cm; hits outside are in the first or last bin.
    pub z_half: [f32; CYLINDER_LAYERS],
    /// Width of a bin in z, layer by layer, cm.
    pub z_width: [f32; CYLINDER_LAYERS],
}

impl Default for BinConfig {
    fn default() -> Self {
        Self {
            phi: 256,
            z_half: [10.0, 14.0, 18.0, 23.0, 28.0, 32.0, 37.0, 42.0, 48.0, 52.0],
            z_width: [0.6, 0.55, 0.5, 0.5, 0.45, 0.4, 0.4, 0.4, 0.35, 0.35],
        }
    }
}

/// Parameters of the builders: the windows of their search, and their candidates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BuildConfig {
    /// Largest chi2 with which a hit is added to a track.
    pub chi2: f32,
    /// Largest number of candidates of a seed on each layer.
    pub candidates: u32,
    /// Largest number of layers without a hit that a candidate may pass.
    pub holes: u32,
    /// Half width of the search window in standard deviations.
    pub window: f32,
    /// Largest half width of the search window in azimuth, rad.
    pub window_phi: f32,
    /// Largest half width of the search window in z, cm.
    pub window_z: f32,
    /// Largest number of branches of a candidate on one layer; further branches are dropped and counted.
    pub hits_in_window: u32,
    /// Penalty in chi2 for a missing hit when candidates are compared; with 0 the candidate with more hits always wins.
    pub hole_penalty: f32,
}

impl Default for BuildConfig {
    fn default() -> Self {
        Self {
            chi2: 15.0,
            candidates: 6,
            holes: 2,
            window: 3.0,
            window_phi: 0.02,
            window_z: 1.0,
            hits_in_window: 16,
            hole_penalty: 0.0,
        }
    }
}

/// Seeds from truth: the filter begins at the true vertex.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StartConfig {
    /// Variances at the true vertex.
    pub covariance: StartCovariance,
    /// Standard deviations for covariance `prior`: x, y, z of the vertex (cm), charge / pT (c/GeV), phi, theta (rad).
    pub prior: [f32; 6],
}

impl Default for StartConfig {
    fn default() -> Self {
        Self { covariance: StartCovariance::default(), prior: [0.03, 0.03, 0.5, 1.0, 0.3, 1.0] }
    }
}

/// Parameters of seeds from hits, and of the choice among their tracks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SeedConfig {
    /// Smallest transverse momentum of a track, GeV/c.
    pub min_pt: f32,
    /// Largest distance of a track from the z axis, cm.
    pub max_distance: f32,
    /// Largest |z| where a track comes nearest to the axis, cm.
    pub max_z: f32,
    /// Largest distance in z of the middle hit from the line through the other two hits, cm.
    pub max_bend_z: f32,
    /// Largest number of hits of the second layer for each hit of the first layer, and of hits of the third layer for
    /// each pair of hits; further hits are dropped and counted.
    pub max_partners: [u32; 2],
    /// Smallest number of hits of a track.
    pub min_hits: u32,
    /// Largest number of hits that a track may share with better tracks.
    pub max_shared_hits: u32,
}

impl Default for SeedConfig {
    fn default() -> Self {
        Self {
            min_pt: 0.45,
            max_distance: 0.45,
            max_z: 3.5,
            max_bend_z: 0.9,
            max_partners: [1024, 128],
            min_hits: 8,
            max_shared_hits: 2,
        }
    }
}

/// Parameters of the fit of found tracks, which goes from the outermost hit inwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FitConfig {
    /// Parameters of the filter's state.
    pub form: FitForm,
    /// Standard deviations of the start, which is the helix through three hits: azimuth (rad), z (cm), charge / pT
    /// (c/GeV), moment (cm), slope.
    pub prior: [f32; 5],
    /// Standard deviation of hits along the radius, cm; only for the global form.
    pub radial_error: f32,
}

impl Default for FitConfig {
    fn default() -> Self {
        Self { form: FitForm::default(), prior: [0.1, 10.0, 1.0, 3.0, 1.0], radial_error: 0.001 }
    }
}

impl CylinderConfig {
    /// Returns this project's own parameters: wider windows, candidates compared by chi2 with a penalty for holes, and the
    /// same start variances for all seeds from truth.
    pub fn best() -> Self {
        let build = BuildConfig { window: 3.9, hole_penalty: 15.0, candidates: 8, ..BuildConfig::default() };
        let start = StartConfig { covariance: StartCovariance::Prior, ..StartConfig::default() };
        Self { build, start, ..Self::default() }
    }

    /// Returns the number of layers that a track may miss.
    pub(super) fn max_missed(&self) -> u32 {
        match self.seeds {
            SeedSource::Truth => CYLINDER_LAYERS as u32,
            SeedSource::Hits => (CYLINDER_LAYERS as u32).saturating_sub(self.seeding.min_hits),
        }
    }

    /// Checks all values.
    ///
    /// # Errors
    /// [`Error::Config`] names the value that cannot be used.
    pub fn validate(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Config(format!("[cylinder] {what}")));
        let positive = |value: f32| value > 0.0 && value < 1e9;
        let Self { bins, build, start, seeding, fit, .. } = self;
        if !(1..=MAX_EVENT_THREADS).contains(&self.event_threads) {
            return wrong("event_threads must be from 1 to 256");
        }
        if self.field.is_nan() || self.field.abs() > 100.0 || self.field == 0.0 {
            return wrong("field must be from -100 to 100 T, and not 0");
        }
        if !(0.0..1.0).contains(&self.material) {
            return wrong("material must be from 0 to 1 radiation lengths");
        }
        if !bins.phi.is_power_of_two() || !(8..=4096).contains(&bins.phi) {
            return wrong("bins.phi must be a power of two from 8 to 4096");
        }
        if !bins.z_half.iter().chain(&bins.z_width).all(|v| positive(*v)) {
            return wrong("bins.z_half and bins.z_width must be positive");
        }
        if bins.z_half.iter().zip(&bins.z_width).any(|(half, width)| half / width > 2048.0) {
            return wrong("bins.z_width is too small: more than 4096 bins");
        }
        if ![build.chi2, build.window, build.window_z].iter().all(|v| positive(*v)) {
            return wrong("build.chi2, build.window and build.window_z must be positive");
        }
        if !(positive(build.window_phi) && build.window_phi < 1.0) {
            return wrong("build.window_phi must be from 0 to 1");
        }
        if !(1..=32).contains(&build.candidates) || !(1..=64).contains(&build.hits_in_window) {
            return wrong("build.candidates must be 1 to 32 and build.hits_in_window 1 to 64");
        }
        if !(0.0..1e6).contains(&build.hole_penalty) {
            return wrong("build.hole_penalty must be from 0 to a million");
        }
        // Beyond this limit, products of variances exceed the range of single precision.
        if !start.prior.iter().all(|v| *v > 0.0 && *v <= 100.0) {
            return wrong("start.prior must be above 0 and at most 100");
        }
        if ![seeding.min_pt, seeding.max_distance, seeding.max_z, seeding.max_bend_z]
            .iter()
            .all(|v| positive(*v))
        {
            return wrong("all limits of [cylinder.seeding] must be positive");
        }
        if !seeding.max_partners.iter().all(|limit| (1..=4096).contains(limit)) {
            return wrong("seeding.max_partners must be from 1 to 4096");
        }
        if !(SEED_LAYERS as u32..=CYLINDER_LAYERS as u32).contains(&seeding.min_hits) {
            return wrong("seeding.min_hits must be from 3 to 10");
        }
        if !fit.prior.iter().all(|v| positive(*v)) {
            return wrong("fit.prior must be positive");
        }
        if !(1e-6..1e3).contains(&fit.radial_error) {
            return wrong("fit.radial_error must be from 1e-6 to 1000");
        }
        Ok(())
    }
}
