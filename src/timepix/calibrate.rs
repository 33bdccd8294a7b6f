//! Converts time over threshold to energy, pixel by pixel, and corrects time walk.

use super::calibration_folder::{FILES, Folders};
use crate::event::{Layout, NS_PER_TICK, PixelHits};
use crate::simd::with_default_float_mode;
use crate::{Error, Result};
use std::path::Path;

/// Smallest energy, keV, also for pixels with a nonsensical calibration.
const LEAST: f32 = 0.1;
/// Largest energy of one hit, eV: a nonsensical calibration cannot make sums overflow.
const MAX_ENERGY: f32 = 1e9;
/// Smallest size of a slope; flatter calibrations are nonsensical.
const FLAT: f64 = 1e-12;
/// Number of hits whose energies are computed together: with more hits, more loads from a table larger than the near
/// caches are under way at once.
pub(super) const CHUNK: usize = 128;
/// Number of steps of the table of time walk, and of steps per keV.
const WALK_STEPS: usize = 4096;
const STEPS_PER_KEV: u64 = 10;

/// Energy calibration of each pixel of a sensor: `ToT = a E + b - c / (E - t)`, E in keV, ToT in clocks of 25 ns.
///
/// The inverse is a hyperbola, `E = t + v +- sqrt(v^2 + w)` with `v = (ToT - b - a t) / 2a` and `w = c / a`; the root
/// gets the sign of a. Energies are computed in single precision: for typical parameters of pixels they are correct to
/// 1 eV below 1 MeV, and to a millionth above.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    width: usize,
    /// 1 / 2a, -(b + a t) / 2a, t, c / a per pixel; four pixels fit in a cache line.
    pixels: Vec<[f32; 4]>,
}

impl Calibration {
    /// Creates a calibration from the parameters a, b, c, t of each pixel of a chip, row by row; all chips of the
    /// sensor use them.
    ///
    /// # Errors
    /// [`Error::Config`] when the number of values of a parameter is not the number of pixels of a chip.
    pub fn new(layout: &Layout, parameters: [&[f64]; 4]) -> Result<Self> {
        with_default_float_mode(|| Self::of(layout, parameters))
    }

    fn of(layout: &Layout, parameters: [&[f64]; 4]) -> Result<Self> {
        let mut calibration = Self::blank(layout);
        (0..layout.chips()).try_for_each(|chip| calibration.set_chip(layout, chip, parameters))?;
        Ok(calibration)
    }

    /// Creates a calibration without parameters. Pixels in gaps between chips are never hit and keep none.
    fn blank(layout: &Layout) -> Self {
        Self { width: layout.width(), pixels: vec![[f32::NAN; 4]; layout.width() * layout.height()] }
    }

    /// Sets the parameters of a chip.
    fn set_chip(&mut self, layout: &Layout, chip: usize, parameters: [&[f64]; 4]) -> Result<()> {
        let [width, height] = layout.chip_size();
        if let Some(wrong) = parameters.iter().find(|values| values.len() != width * height) {
            let message = format!("calibration: {} values for {width} x {height} pixels", wrong.len());
            return Err(Error::Config(message));
        }
        for i in 0..width * height {
            let [a, b, c, t] = parameters.map(|values| values[i]);
            let a = if a.abs() > FLAT { a } else { f64::NAN };
            if let Some((x, y)) = layout.place(chip, (i % width) as u32, (i / width) as u32) {
                let place = usize::from(y) * self.width + usize::from(x);
                let half = 0.5 / a;
                self.pixels[place] = [half, -(b + a * t) * half, t, c / a].map(|value| value as f32);
            }
        }
        Ok(())
    }

    /// Reads the files `a.txt`, `b.txt`, `c.txt`, `t.txt` of a folder, which hold one number per pixel of one chip, row
    /// by row; the chip may have any number. For several chips the folder has folders `chip0`, `chip1` and so on with
    /// these files ([`CalibratedChips`](super::CalibratedChips) finds hits on chips without a calibration).
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`] for text that is not a number, [`Error::Config`] for a folder that has files of
    /// one chip and folders of chips, and errors of [`Calibration::new`].
    pub fn from_folder(layout: &Layout, folder: &Path) -> Result<Self> {
        // Reading numbers uses floating-point arithmetic.
        with_default_float_mode(|| Self::read(layout, folder))
    }

    fn read(layout: &Layout, folder: &Path) -> Result<Self> {
        let chips = match Folders::find(folder)? {
            Folders::One => {
                return Self::of(layout, parameters(folder)?.each_ref().map(Vec::as_slice));
            }
            Folders::Chips(chips) => chips,
        };
        let mut calibration = Self::blank(layout);
        for (chip, folder) in chips {
            calibration.set_chip(layout, chip, parameters(&folder)?.each_ref().map(Vec::as_slice))?;
        }
        Ok(calibration)
    }

    /// Returns the number of pixels of a row, and the parameters of all pixels, row by row.
    #[cfg(feature = "cuda")]
    pub(crate) fn table(&self) -> (usize, &[[f32; 4]]) {
        (self.width, &self.pixels)
    }

    /// Returns the energy of a hit, eV.
    #[inline(always)]
    pub fn energy(&self, x: u16, y: u16, tot: u16) -> u32 {
        energy(self.pixels[usize::from(y) * self.width + usize::from(x)], f32::from(tot))
    }

    /// Computes energies of hits, eV, from words of x, y and time over threshold, 16 bits each from the lowest on.
    #[inline(always)]
    pub(super) fn energies(&self, words: &[u64], to: &mut [u32; CHUNK]) {
        let mut pixels = [[0.0; 4]; CHUNK];
        let mut tots = [0.0; CHUNK];
        for (to, word) in pixels.iter_mut().zip(words) {
            let [x, y] = [*word, word >> 16].map(|word| usize::from(word as u16));
            *to = self.pixels[y * self.width + x];
        }
        for (to, word) in tots.iter_mut().zip(words) {
            *to = f32::from((word >> 32) as u16);
        }
        for ((to, pixel), tot) in to.iter_mut().zip(pixels).zip(tots) {
            *to = energy(pixel, tot);
        }
    }
}

/// Reads the parameters a, b, c, t of a chip.
fn parameters(folder: &Path) -> Result<[Vec<f64>; 4]> {
    let mut columns: [Vec<f64>; 4] = Default::default();
    for (column, name) in columns.iter_mut().zip(FILES) {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
        for word in text.split_whitespace() {
            let number = word.parse().map_err(|_| {
                Error::format(path.display().to_string(), format!("`{word}` is not a number"))
            })?;
            column.push(number);
        }
    }
    Ok(columns)
}

/// Returns the energy of a pixel with these parameters, eV.
#[inline(always)]
fn energy([half, shift, t, w]: [f32; 4], tot: f32) -> u32 {
    let v = tot * half + shift;
    let root = (v * v + w).sqrt().copysign(half);
    let energy = t + (v + root);
    // NaN when the root does not exist or the calibration is nonsensical: the comparison is then false.
    let energy = if energy > LEAST { energy } else { LEAST };
    (energy * 1000.0 + 0.5).min(MAX_ENERGY) as u32
}

/// Delay of small signals: `a / (E - b)^c + d` ns at the energy E in keV (the form of the calibration files of the
/// Timepix3 community).
#[derive(Debug, Clone, PartialEq)]
pub struct TimeWalk {
    /// Delay per step of 0.1 keV, ticks of 1.5625 ns.
    ticks: Vec<i64>,
}

impl TimeWalk {
    /// Creates a time walk from a, b, c, d.
    ///
    /// # Errors
    /// [`Error::Config`] when a parameter is not finite.
    pub fn new([a, b, c, d]: [f64; 4]) -> Result<Self> {
        if ![a, b, c, d].iter().all(|value| value.is_finite()) {
            return Err(Error::Config("time walk: parameters must be finite".into()));
        }
        // Close to the pole the formula is not valid: the walk stays at its value one keV above the pole.
        let walk = |step: usize| {
            let above = (step as f64 / STEPS_PER_KEV as f64 - b).max(1.0);
            let ns = a / libm::pow(above, c) + d;
            libm::round((ns / NS_PER_TICK).clamp(-1e6, 1e6)) as i64
        };
        Ok(Self { ticks: with_default_float_mode(|| (0..WALK_STEPS).map(walk).collect()) })
    }

    /// Corrects the times of hits to the times that large signals would have.
    pub fn correct(&self, calibration: &Calibration, hits: &mut PixelHits) {
        for i in 0..hits.len() {
            let energy = calibration.energy(hits.x[i], hits.y[i], hits.tot[i]);
            let step = (u64::from(energy) * STEPS_PER_KEV / 1000) as usize;
            hits.time[i] = hits.time[i].saturating_sub(self.ticks[step.min(WALK_STEPS - 1)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(parameters: [f64; 4]) -> Calibration {
        let columns = parameters.map(|value| vec![value; 4]);
        Calibration::new(&Layout::single(2, 2).unwrap(), columns.each_ref().map(Vec::as_slice)).unwrap()
    }

    #[test]
    fn energies_invert_the_calibration() {
        let [a, b, c, t] = [0.731, 3.62, 2.26, 2.535];
        let calibration = calibration([a, b, c, t]);
        for tot in [5u16, 10, 50, 200, 1022] {
            let energy = calibration.energy(1, 1, tot) as f64 / 1000.0;
            let back = a * energy + b - c / (energy - t);
            assert!((back - f64::from(tot)).abs() < 2e-3, "{tot}: {energy} keV, {back}");
        }
    }

    /// Solves the quadratic equation of the calibration in double precision.
    #[test]
    fn energies_are_those_of_double_precision() {
        for parameters in [
            [0.731, 3.62, 2.26, 2.535],
            [1.9, -20.0, 140.0, -3.0],
            [0.2, 30.0, 900.0, 4.5],
            [-0.5, 2000.0, 3.0, 1.0],
        ] {
            let [a, b, c, t] = parameters;
            let calibration = calibration(parameters);
            for tot in (0..1024u16).chain([5000, 65535]) {
                let (linear, constant) = (b - a * t - f64::from(tot), f64::from(tot) * t - b * t - c);
                let root = (linear * linear - 4.0 * a * constant).sqrt();
                let expected = ((root - linear) / (2.0 * a)).max(0.1) * 1000.0;
                let found = f64::from(calibration.energy(1, 0, tot));
                let close = (found - expected).abs() <= f64::max(1.0, expected * 1e-6);
                assert!(
                    close || expected.is_nan() && found == 100.0,
                    "{parameters:?}, {tot}: {found}, {expected}"
                );
            }
        }
    }

    #[test]
    fn nonsense_gives_the_least_energy_and_never_an_overflow() {
        for parameters in
            [[0.0; 4], [1e-13, 1.0, 1.0, 1.0], [f64::NAN; 4], [1.0, 0.0, 1e9, 0.0], [1.0, 1e9, 0.0, 0.0]]
        {
            let energy = calibration(parameters).energy(0, 0, 100);
            assert!(energy == 100 || (parameters[2] == 1e9 && energy > 100), "{parameters:?}: {energy}");
        }
        assert_eq!(calibration([1e-11, 0.0, 0.0, 0.0]).energy(0, 0, 65535), 1_000_000_000);
        assert!(Calibration::new(&Layout::single(3, 3).unwrap(), [&[1.0; 4]; 4]).is_err());
    }

    #[test]
    fn small_signals_are_moved_to_earlier_times() {
        let calibration = calibration([1.0, 0.0, 0.0, 0.0]);
        let walk = TimeWalk::new([29.73, 1.778, 1.210, -0.5325]).unwrap();
        let mut hits = PixelHits::default();
        [3, 5, 300].into_iter().for_each(|tot| hits.push(1000, 0, 0, tot));
        walk.correct(&calibration, &mut hits);
        assert_eq!(hits.time[..], [985, 996, 1000]);
        assert!(TimeWalk::new([f64::INFINITY, 0.0, 0.0, 0.0]).is_err());
    }
}
