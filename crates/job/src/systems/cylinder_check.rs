//! [`CylinderCheck`]: compares tracks and states of the cylinder detector with true particles.

use super::cylinder::CylinderSystem;
use super::track_check::product;
use crate::summary::object;
use crate::{Check, CheckOptions, CheckRules, Checked, Chunk, Host, Request, Summary, System};
use peloton::cylinder::CylinderSample;
use peloton::engine::Sliced;
use peloton::event::{CylinderFits, CylinderTracks};
use peloton::kalman::FitStatus;
use peloton::{Error, Result};
use peloton_plot::text;
use peloton_truth::{
    CylinderChecker, CylinderFitPulls, CylinderLosses, CylinderPulls, EventRows, TruthOutput,
};
use serde_json::json;
use std::collections::BTreeMap;

/// Compares tracks with true particles, and fitted states with true states.
pub struct CylinderCheck {
    checker: CylinderChecker,
    pulls: Pulls,
    /// Numbers of tracks by the status of their fit.
    fits: BTreeMap<&'static str, u64>,
    tables: bool,
    rows: Option<TruthOutput>,
}

/// The comparison of states, which differs between the sequences `cylinder` and `cylinder-fit`.
enum Pulls {
    /// For `cylinder`: states of found tracks and, if requested, the steps at which particles were lost.
    Found(Box<CylinderPulls>, Option<Box<CylinderLosses>>),
    /// For `cylinder-fit`: smoothed states of given tracks.
    Given(Box<CylinderFitPulls>),
}

impl CylinderCheck {
    /// Makes the check of a sequence.
    ///
    /// # Errors
    /// Returns [`Error::Config`] for options that checks of the cylinder detector do not have. Fails when the requested
    /// tables cannot be written.
    pub fn new(sequence: CylinderSystem, request: &Request, options: &CheckOptions) -> Result<Self> {
        let name = sequence.name();
        if let Some(CheckRules::Tracker(rules)) = options.rules {
            let message = format!("--rules {rules} is not for the sequence {name}, whose rules are cylinder");
            return Err(Error::Config(message));
        }
        if options.against.is_some() {
            return Err(Error::Config(format!("--against is not for the sequence {name}")));
        }
        let config = &request.config;
        let field = f64::from(config.cylinder.field);
        let pulls = match sequence {
            CylinderSystem::Fit if options.losses => {
                return Err(Error::Config(format!("--losses is not for the sequence {name}")));
            }
            CylinderSystem::Fit => Pulls::Given(Box::new(CylinderFitPulls::new(field))),
            CylinderSystem::Find => {
                let level = config.level()?;
                let losses = options.losses.then(|| Box::new(CylinderLosses::new(level, &config.cylinder)));
                Pulls::Found(Box::new(CylinderPulls::new(field)), losses)
            }
        };
        let (tables, rows) = (options.tables, options.truth_tables(request)?);
        Ok(Self { checker: CylinderChecker::default(), pulls, fits: BTreeMap::new(), tables, rows })
    }
}

impl Check for CylinderCheck {
    fn add(&mut self, chunk: &Chunk<Sliced>) -> Result<()> {
        let CylinderSample { hits, truth, .. } = chunk.batch.of()?;
        for (number, (results, event)) in chunk.result.events().enumerate() {
            let codes = match &mut self.pulls {
                Pulls::Found(pulls, losses) => {
                    let tracks: &CylinderTracks = product(results);
                    self.checker.event(hits, truth, number, tracks.hit_lists(event));
                    pulls.event(tracks, event, hits, truth, number);
                    if let Some(losses) = losses {
                        let found = (tracks, tracks.of_event(event));
                        losses.event((hits, truth), number, found, &self.checker.last_event().particles);
                    }
                    &tracks.fit[tracks.of_event(event)]
                }
                Pulls::Given(pulls) => {
                    let fits: &CylinderFits = product(results);
                    self.checker.event(hits, truth, number, fits.hit_lists(event));
                    pulls.event(fits, event, hits, truth, number);
                    &fits.fit[fits.of_event(event)]
                }
            };
            for code in codes {
                *self.fits.entry(FitStatus::ALL[usize::from(*code)].name()).or_insert(0) += 1;
            }
            if let Some(rows) = &mut self.rows {
                let (id, matches) = (&chunk.beside.ids[number], self.checker.last_event());
                rows.add(EventRows::of_cylinder(id, truth, number, matches))?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _summary: &Summary, _host: Host<'_>) -> Result<Checked> {
        self.rows.map_or(Ok(()), TruthOutput::finish)?;
        let check = self.checker.report();
        if check.events == 0 {
            return Err(Error::format("input", "there is no event to check"));
        }
        let fits = |but: Option<FitStatus>| -> String {
            let shown = self.fits.iter().filter(|(name, _)| but.is_none_or(|but| **name != but.name()));
            shown.map(|(name, count)| format!("{count} fits: {name}\n")).collect()
        };
        let mut checked = Checked::new(String::new(), object(&check));
        let facts = match self.pulls {
            Pulls::Found(pulls, losses) => {
                let (pulls, resolutions) = (pulls.pulls(), pulls.resolutions());
                checked.text = text::cylinder(&check, &pulls) + &fits(Some(FitStatus::Ok));
                if self.tables {
                    checked.text.push_str(&text::cylinder_tables(&check, &resolutions));
                }
                if let Some(tables) = losses.map(|losses| losses.report()) {
                    checked.add("lost", &text::stage_losses(&tables), &tables);
                }
                json!({ "pulls": pulls, "resolutions": resolutions })
            }
            Pulls::Given(pulls) => {
                let layers = pulls.report();
                checked.text = text::cylinder_fit(&layers) + &fits(None);
                if self.tables {
                    checked.text.push_str(&text::cylinder_fit_tables(&layers));
                }
                json!({ "compared": pulls.tracks(), "layers": layers })
            }
        };
        checked.json.extend(object(&json!({ "rules": "cylinder", "fits": self.fits })));
        checked.json.extend(object(&facts));
        Ok(checked)
    }
}
