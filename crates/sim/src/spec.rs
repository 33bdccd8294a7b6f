//! Specification of a simulation, as text: `sim:velo,events=N,seed=K,...`.

use peloton::{Error, Result};
use std::{fmt, str::FromStr};

/// The simulated detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimDetector {
    /// Velo with ideal geometry; events are hits.
    Velo,
    /// Velo, UT and SciFi with a given geometry; events are raw banks.
    Lhcb,
}

/// Specification of a simulated sample, which determines the events on every machine byte for byte. Each event depends
/// only on the specification and on the event's number.
#[derive(Debug, Clone, PartialEq)]
pub struct SimSpec {
    /// The detector: the word after `sim:`.
    pub detector: SimDetector,
    /// Number of events; key `events`.
    pub events: u64,
    /// Seed; key `seed`.
    pub seed: u64,
    /// Mean number of collisions in addition to the signal collision; key `pileup`.
    pub pileup: f64,
    /// Whether each event has a pair of b hadrons; key `signal` with value `b` or `none`.
    pub beauty: bool,
    /// Probability that a Velo sensor detects a particle; key `efficiency`.
    pub efficiency: f64,
    /// Mean number of noise hits per event; key `noise`.
    pub noise: f64,
    /// x and y of the beam line, mm; keys `beam_x` and `beam_y`.
    pub beam: [f64; 2],
    /// Whether Velo banks contain superpixels, not retina clusters; key `velo` with value `superpixel` or `retina`.
    pub superpixels: bool,
    /// Probability that a layer of the SciFi detects a particle; key `scifi_efficiency`.
    pub scifi_efficiency: f64,
    /// Fraction of the SciFi's SiPMs with half the efficiency, the same SiPMs in every event; key `weak_sipms`.
    pub weak_sipms: f64,
    /// Fraction of dead SciFi channels, the same channels in every event; key `dead_channels`.
    pub dead_channels: f64,
}

/// Losses of the SciFi for `realism=0` and `realism=1`: efficiency of layers, fractions of weak SiPMs and of dead channels.
///
/// With `realism=1`, particles have hits in 12, 11, 10 and fewer layers as often as in full simulation (docs/algorithms.md).
const LOSSES: [[f64; 3]; 2] = [[0.985, 0.0, 0.0], [0.975, 0.015, 0.003]];

impl Default for SimSpec {
    /// Values with which events resemble LHCb's own simulation of b decays at nominal luminosity.
    fn default() -> Self {
        Self {
            detector: SimDetector::Velo,
            events: 100,
            seed: 1,
            pileup: 5.6,
            beauty: true,
            efficiency: 0.995,
            noise: 2.0,
            beam: [0.0; 2],
            superpixels: false,
            scifi_efficiency: LOSSES[0][0],
            weak_sipms: LOSSES[0][1],
            dead_channels: LOSSES[0][2],
        }
    }
}

impl SimSpec {
    /// Values with which hits and true particles per event resemble LHCb's simulated minimum-bias events.
    fn lhcb() -> Self {
        Self { detector: SimDetector::Lhcb, pileup: 5.2, beauty: false, ..Self::default() }
    }

    fn set_losses(&mut self, losses: [f64; 3]) {
        [self.scifi_efficiency, self.weak_sipms, self.dead_channels] = losses;
    }

    /// One of the SciFi's losses, by its key.
    fn loss_mut(&mut self, key: &str) -> &mut f64 {
        match key {
            "weak_sipms" => &mut self.weak_sipms,
            "dead_channels" => &mut self.dead_channels,
            _ => &mut self.scifi_efficiency,
        }
    }
}

/// Upper limits, so that no event is absurdly large.
const MAX_PILEUP: f64 = 200.0;
const MAX_NOISE: f64 = 1e5;
/// Largest distance of the beam from the z axis, mm; the Velo's sensors begin at 5 mm.
const MAX_BEAM: f64 = 3.0;

impl FromStr for SimSpec {
    type Err = Error;

    /// Parses `sim:velo` or `sim:lhcb` and any number of `,key=value`; keys that are not given keep their defaults.
    ///
    /// # Errors
    /// [`Error::Config`] that names the part that is not understood, and the valid choices.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: String| Error::Config(format!("simulation `{text}`: {what}"));
        let body = text.strip_prefix("sim:").ok_or_else(|| wrong("must begin with `sim:`".into()))?;
        let mut parts = body.split(',');
        let detector = parts.next().unwrap_or_default();
        let mut spec = match detector {
            "velo" => Self::default(),
            "lhcb" => Self::lhcb(),
            "cylinder" | "timepix" => {
                let words =
                    format!("this detector is for the sequence {detector}: add --sequence {detector}");
                return Err(wrong(words));
            }
            _ => {
                return Err(wrong(format!(
                    "unknown detector `{detector}`: choose velo, lhcb, cylinder or timepix"
                )));
            }
        };
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is not key=value")))?;
            match key {
                "events" => spec.events = number(value).map_err(|e| wrong(format!("{key}: {e}")))?,
                "seed" => spec.seed = number(value).map_err(|e| wrong(format!("{key}: {e}")))?,
                "pileup" => {
                    spec.pileup = within(value, MAX_PILEUP).map_err(|e| wrong(format!("{key}: {e}")))?
                }
                "noise" => spec.noise = within(value, MAX_NOISE).map_err(|e| wrong(format!("{key}: {e}")))?,
                "efficiency" => {
                    spec.efficiency = within(value, 1.0).map_err(|e| wrong(format!("{key}: {e}")))?;
                }
                "beam_x" | "beam_y" => {
                    spec.beam[usize::from(key == "beam_y")] =
                        between(value, MAX_BEAM).map_err(|e| wrong(format!("{key}: {e}")))?;
                }
                "signal" => {
                    spec.beauty = match value {
                        "b" => true,
                        "none" => false,
                        _ => return Err(wrong(format!("signal: `{value}` is neither b nor none"))),
                    };
                }
                "velo" if spec.detector == SimDetector::Lhcb => {
                    spec.superpixels = match value {
                        "superpixel" => true,
                        "retina" => false,
                        _ => return Err(wrong(format!("velo: `{value}` is neither retina nor superpixel"))),
                    };
                }
                "realism" if spec.detector == SimDetector::Lhcb => match value {
                    "0" => spec.set_losses(LOSSES[0]),
                    "1" => spec.set_losses(LOSSES[1]),
                    _ => return Err(wrong(format!("realism: `{value}` is neither 0 nor 1"))),
                },
                "scifi_efficiency" | "weak_sipms" | "dead_channels" if spec.detector == SimDetector::Lhcb => {
                    *spec.loss_mut(key) = within(value, 1.0).map_err(|e| wrong(format!("{key}: {e}")))?;
                }
                _ => {
                    let known = "events, seed, pileup, signal, efficiency, noise, beam_x, beam_y; with lhcb: \
                                 velo, realism, scifi_efficiency, weak_sipms, dead_channels";
                    return Err(wrong(format!("unknown key `{key}`; there are: {known}")));
                }
            }
        }
        Ok(spec)
    }
}

impl fmt::Display for SimSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { detector, events, seed, pileup, beauty, efficiency, noise, superpixels, .. } = self;
        let losses = [self.scifi_efficiency, self.weak_sipms, self.dead_channels];
        let signal = if *beauty { "b" } else { "none" };
        let name = if *detector == SimDetector::Velo { "velo" } else { "lhcb" };
        write!(f, "sim:{name},events={events},seed={seed},pileup={pileup},signal={signal},")?;
        write!(f, "efficiency={efficiency},noise={noise}")?;
        match detector {
            SimDetector::Lhcb if *superpixels => f.write_str(",velo=superpixel")?,
            SimDetector::Lhcb => f.write_str(",velo=retina")?,
            SimDetector::Velo => (),
        }
        // Samples without these losses and with the beam on the z axis keep their old names.
        let [layers, weak, dead] = losses;
        if losses != LOSSES[0] {
            write!(f, ",scifi_efficiency={layers},weak_sipms={weak},dead_channels={dead}")?;
        }
        let [x, y] = self.beam;
        if self.beam != [0.0; 2] {
            write!(f, ",beam_x={x},beam_y={y}")?;
        }
        Ok(())
    }
}

fn number(value: &str) -> std::result::Result<u64, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number"))
}

fn within(value: &str, limit: f64) -> std::result::Result<f64, String> {
    let found = value.parse().ok().filter(|found: &f64| (0.0..=limit).contains(found));
    found.ok_or_else(|| format!("`{value}` is not a number from 0 to {limit}"))
}

/// Parses a number between `-limit` and `limit`.
fn between(value: &str, limit: f64) -> std::result::Result<f64, String> {
    let found = value.parse().ok().filter(|found: &f64| found.abs() <= limit);
    found.ok_or_else(|| format!("`{value}` is not a number from -{limit} to {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_parsed_and_printed() {
        let spec: SimSpec = "sim:velo,events=20,seed=7,signal=none,noise=0.5".parse().unwrap();
        assert_eq!((spec.events, spec.seed, spec.beauty, spec.noise), (20, 7, false, 0.5));
        assert_eq!(spec.to_string().parse::<SimSpec>().unwrap(), spec);
        assert_eq!("sim:velo".parse::<SimSpec>().unwrap(), SimSpec::default());
        let spec: SimSpec = "sim:velo,beam_x=1,beam_y=-0.5".parse().unwrap();
        assert_eq!((spec.beam, spec.to_string().parse::<SimSpec>().unwrap()), ([1.0, -0.5], spec.clone()));
        let spec: SimSpec = "sim:lhcb,events=3,velo=superpixel".parse().unwrap();
        assert!(spec.detector == SimDetector::Lhcb && spec.superpixels && !spec.beauty);
        assert_eq!(spec.to_string().parse::<SimSpec>().unwrap(), spec);
        assert_eq!("sim:lhcb,realism=0".parse::<SimSpec>().unwrap(), SimSpec::lhcb());
        let spec: SimSpec = "sim:lhcb,realism=1,dead_channels=0".parse().unwrap();
        let [layers, weak, _] = LOSSES[1];
        assert_eq!([spec.scifi_efficiency, spec.weak_sipms, spec.dead_channels], [layers, weak, 0.0]);
        assert_eq!(spec.to_string().parse::<SimSpec>().unwrap(), spec);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("velo,events=2", "must begin with `sim:`"),
            ("sim:ut,events=2", "unknown detector `ut`"),
            ("sim:velo,event=2", "unknown key `event`"),
            ("sim:velo,events", "`events` is not key=value"),
            ("sim:velo,events=-2", "events: `-2` is not a whole number"),
            ("sim:velo,efficiency=1.5", "efficiency: `1.5` is not a number from 0 to 1"),
            ("sim:velo,pileup=NaN", "pileup"),
            ("sim:velo,beam_x=4", "beam_x: `4` is not a number from -3 to 3"),
            ("sim:lhcb,beam_y=NaN", "beam_y: `NaN` is not a number"),
            ("sim:velo,noise=1e999", "noise"),
            ("sim:velo,signal=c", "neither b nor none"),
            ("sim:velo,velo=retina", "unknown key `velo`"),
            ("sim:lhcb,velo=both", "neither retina nor superpixel"),
            ("sim:lhcb,realism=2", "neither 0 nor 1"),
            ("sim:velo,realism=1", "unknown key `realism`"),
            ("sim:lhcb,weak_sipms=1.5", "weak_sipms: `1.5` is not a number from 0 to 1"),
        ] {
            let error = text.parse::<SimSpec>().unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(text), "{error}");
        }
    }
}
