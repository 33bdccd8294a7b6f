//! Folders of energy calibrations: the files of one chip, or a folder for each chip; and [`CalibratedChips`].

use super::TimepixConfig;
use crate::event::{Layout, PixelHits};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Files with the parameters a, b, c and t of the pixels of one chip.
pub(super) const FILES: [&str; 4] = ["a.txt", "b.txt", "c.txt", "t.txt"];

/// Content of a calibration folder.
pub(super) enum Folders {
    /// The files of one chip.
    One,
    /// A folder for each of these chips, in the order of their numbers.
    Chips(Vec<(usize, PathBuf)>),
}

impl Folders {
    /// Determines whether a folder has the files of one chip or folders of chips. A folder that cannot be listed is
    /// treated as the folder of one chip; reading its files then fails.
    ///
    /// # Errors
    /// [`Error::Config`] for a folder that has files of one chip and folders of chips.
    pub fn find(folder: &Path) -> Result<Self> {
        let mut chips = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Some(chip) = entry.file_name().to_str().and_then(chip_number)
                && entry.path().is_dir()
            {
                chips.push((chip, entry.path()));
            }
        }
        if chips.is_empty() {
            return Ok(Self::One);
        }
        if let Some(file) = FILES.iter().find(|file| folder.join(file).exists()) {
            let (folder, chip) = (folder.display(), chips[0].0);
            let message = format!("it has {file} and the folder chip{chip}: keep one of them");
            return Err(Error::Config(format!("calibration {folder}: {message}")));
        }
        chips.sort();
        Ok(Self::Chips(chips))
    }
}

/// Returns the number of the chip from a folder name `chip0`, `chip1`, ...
fn chip_number(name: &str) -> Option<usize> {
    let number = name.strip_prefix("chip")?.parse().ok()?;
    (format!("chip{number}") == name).then_some(number)
}

/// Returns the files that [`Calibration::from_folder`](super::Calibration::from_folder) reads, in a fixed order.
///
/// # Errors
/// [`Error::Config`] for a folder that has files of one chip and folders of chips.
pub fn calibration_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let folders = match Folders::find(folder)? {
        Folders::One => vec![folder.to_path_buf()],
        Folders::Chips(chips) => chips.into_iter().map(|(_, folder)| folder).collect(),
    };
    Ok(folders.iter().flat_map(|folder| FILES.map(|file| folder.join(file))).collect())
}

/// Finds hits whose energies would come from the calibration of another chip.
#[derive(Debug, Clone)]
pub struct CalibratedChips {
    layout: Layout,
    folder: PathBuf,
    known: Known,
}

#[derive(Debug, Clone)]
enum Known {
    /// One calibration, for the chip of the first hit.
    One(Option<usize>),
    /// Whether each chip has a calibration.
    Chips(Vec<bool>),
}

impl CalibratedChips {
    /// Creates a check for hits on `layout`. Returns none when no hit can be on a wrong chip: without a calibration, on a
    /// sensor of one chip, and when all chips have a calibration.
    ///
    /// # Errors
    /// [`Error::Config`] for a folder that has files of one chip and folders of chips.
    pub fn of(config: &TimepixConfig, layout: &Layout) -> Result<Option<Self>> {
        let Some(folder) = &config.calibration else { return Ok(None) };
        let known = match Folders::find(folder)? {
            Folders::One if layout.chips() == 1 => return Ok(None),
            Folders::One => Known::One(None),
            Folders::Chips(chips) => {
                let mut has = vec![false; layout.chips()];
                chips.iter().for_each(|(chip, _)| {
                    has.get_mut(*chip).into_iter().for_each(|has| *has = true);
                });
                if !has.contains(&false) {
                    return Ok(None);
                }
                Known::Chips(has)
            }
        };
        Ok(Some(Self { layout: layout.clone(), folder: folder.clone(), known }))
    }

    /// Checks the next hits of the stream.
    ///
    /// # Errors
    /// [`Error::Config`] that names the chips, for hits on a chip without a calibration.
    pub fn check(&mut self, hits: &PixelHits) -> Result<()> {
        for (&x, &y) in hits.x.iter().zip(&hits.y[..]) {
            let Some(chip) = self.layout.chip_of(x, y) else { continue };
            let is_calibrated = match &mut self.known {
                Known::One(of) => *of.get_or_insert(chip) == chip,
                Known::Chips(has) => has[chip],
            };
            if !is_calibrated {
                return Err(self.missing(chip));
            }
        }
        Ok(())
    }

    /// Returns the error for a hit on this chip.
    #[cold]
    fn missing(&self, chip: usize) -> Error {
        let words = match self.known {
            Known::One(of) => {
                let first = of.unwrap_or_default();
                let [low, high] = [first.min(chip), first.max(chip)];
                format!(
                    "it is for one chip, but there are hits on the chips {low} and {high}: name a folder that contains the folders chip{low} and chip{high}, each"
                )
            }
            Known::Chips(_) => format!("there are hits on chip {chip}, but it has no folder chip{chip}"),
        };
        let files = FILES.join(", ");
        Error::Config(format!("calibration {}: {words} with {files}", self.folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Calibration;
    use super::*;

    /// Creates a separate folder with a calibration of 2 x 2 pixels in each of `chips`.
    fn folder(name: &str, chips: &[&str]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("peloton-calibration-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for (number, chip) in chips.iter().enumerate() {
            std::fs::create_dir_all(folder.join(chip)).unwrap();
            for (file, value) in FILES.iter().zip([1 + number, 10, 0, 0]) {
                std::fs::write(folder.join(chip).join(file), vec![value.to_string(); 4].join(" ")).unwrap();
            }
        }
        folder
    }

    fn hits(layout: &Layout, chips: &[usize]) -> PixelHits {
        let mut hits = PixelHits::default();
        for &chip in chips {
            let (x, y) = layout.place(chip, 1, 1).unwrap();
            hits.push(0, x, y, 20);
        }
        hits
    }

    #[test]
    fn each_chip_has_its_own_calibration_or_its_hits_are_refused() {
        let layout = Layout::apart(3, 2, 2).unwrap();
        let check = |folder: &Path, chips: &[usize]| {
            let config = TimepixConfig { calibration: Some(folder.into()), ..TimepixConfig::default() };
            match CalibratedChips::of(&config, &layout).unwrap() {
                Some(mut known) => chips.iter().try_for_each(|chip| known.check(&hits(&layout, &[*chip]))),
                None => Ok(()),
            }
        };
        let one = folder("one", &[""]);
        check(&one, &[1, 1]).unwrap();
        let error = check(&one, &[2, 0]).unwrap_err().to_string();
        assert!(error.contains("hits on the chips 0 and 2") && error.contains("chip0 and chip2"), "{error}");
        let two = folder("two", &["chip0", "chip2", "chip9", "chip01", "notes"]);
        check(&two, &[0, 2]).unwrap();
        assert!(check(&two, &[0, 1]).unwrap_err().to_string().contains("no folder chip1"));
        assert_eq!(calibration_files(&two).unwrap().len(), 12);
        let calibration = Calibration::from_folder(&layout, &two).unwrap();
        let energy = |chip| {
            let (x, y) = layout.place(chip, 0, 1).unwrap();
            calibration.energy(x, y, 20)
        };
        // ToT = a E + 10 with a = 1 and a = 2.
        assert_eq!([energy(0), energy(2)], [10_000, 5_000]);
        let all = folder("all", &["chip0", "chip1", "chip2"]);
        check(&all, &[0, 1, 2]).unwrap();
        std::fs::write(all.join("a.txt"), "1").unwrap();
        assert!(
            Calibration::from_folder(&layout, &all).unwrap_err().to_string().contains("keep one of them")
        );
        [one, two, all].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }
}
