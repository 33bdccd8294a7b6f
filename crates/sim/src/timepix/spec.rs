//! Specification of a simulation, as text: `sim:timepix,preset=am241,hits=N,seed=K,...`.

use super::preset::PixelPreset;
use peloton::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// Specification of a simulated stream of pixel hits of one chip, which determines the hits on every machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PixelSimSpec {
    /// The sample; key `preset`.
    pub preset: PixelPreset,
    /// Number of hits, exceeded if the last cluster needs more; key `hits`.
    pub hits: u64,
    /// Seed; key `seed`.
    pub seed: u64,
    /// Mean rate of hits, 1/s; key `rate`.
    pub rate: f64,
    /// Mean delay of a hit before its readout, us; without delay, clusters do not overlap in the stream; key `delay`.
    pub delay_us: f64,
    /// Time for which the shutter is open in each frame, us; 0 for a stream of single hits; key `frame`. With frames,
    /// the number of its frame takes the place of a hit's time. A pixel has at most one hit in a frame. Hits are sorted
    /// by frame, x and y.
    pub frame_us: f64,
}

impl Default for PixelSimSpec {
    fn default() -> Self {
        Self {
            preset: PixelPreset::Am241,
            hits: 4_000_000,
            seed: 1,
            rate: 1e7,
            delay_us: 20.0,
            frame_us: 0.0,
        }
    }
}

impl FromStr for PixelSimSpec {
    type Err = Error;

    /// Parses `sim:timepix` and any number of `,key=value`; keys that are not given keep their defaults.
    ///
    /// # Errors
    /// [`Error::Config`] that names the part that is not understood, and the valid choices.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |what: String| Error::Config(format!("simulation `{text}`: {what}"));
        let mut parts = text.split(',');
        if parts.next() != Some("sim:timepix") {
            return Err(wrong("must begin with `sim:timepix`".into()));
        }
        let mut spec = Self::default();
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| wrong(format!("`{part}` is not key=value")))?;
            let whole =
                || value.parse().map_err(|_| wrong(format!("{key}: `{value}` is not a whole number")));
            let within = |low: f64, high: f64| {
                let found = value.parse().ok().filter(|found: &f64| (low..=high).contains(found));
                found.ok_or_else(|| wrong(format!("{key}: `{value}` is not a number from {low} to {high}")))
            };
            match key {
                "preset" => spec.preset = value.parse()?,
                "hits" => spec.hits = whole()?,
                "seed" => spec.seed = whole()?,
                "rate" => spec.rate = within(1.0, 1e9)?,
                "delay" => spec.delay_us = within(0.0, 1e6)?,
                "frame" => spec.frame_us = within(0.0, 1e6)?,
                _ => {
                    let known = "preset, hits, seed, rate, delay, frame";
                    return Err(wrong(format!("unknown key `{key}`; there are: {known}")));
                }
            }
        }
        Ok(spec)
    }
}

impl fmt::Display for PixelSimSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { preset, hits, seed, rate, delay_us, frame_us } = self;
        write!(
            f,
            "sim:timepix,preset={},hits={hits},seed={seed},rate={rate},delay={delay_us}",
            preset.name()
        )?;
        if *frame_us > 0.0 { write!(f, ",frame={frame_us}") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_parsed_and_printed() {
        let spec: PixelSimSpec = "sim:timepix,preset=lead90large,hits=20,seed=7,delay=0".parse().unwrap();
        assert_eq!((spec.preset, spec.hits, spec.seed), (PixelPreset::Lead90Large, 20, 7));
        assert_eq!(spec.to_string().parse::<PixelSimSpec>().unwrap(), spec);
        let frames: PixelSimSpec = "sim:timepix,frame=100".parse().unwrap();
        assert_eq!(frames.frame_us, 100.0);
        assert_eq!(frames.to_string().parse::<PixelSimSpec>().unwrap(), frames);
        for (text, words) in [
            ("sim:velo", "must begin with `sim:timepix`"),
            ("sim:timepix,preset=iron", "am241"),
            ("sim:timepix,hits", "`hits` is not key=value"),
            ("sim:timepix,hits=-1", "whole number"),
            ("sim:timepix,rate=0", "from 1 to"),
            ("sim:timepix,delay=NaN", "from 0 to"),
            ("sim:timepix,frame=-1", "from 0 to"),
            ("sim:timepix,colour=1", "unknown key"),
        ] {
            let error = text.parse::<PixelSimSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
