//! UT: raw banks to hits.

use super::banks::NaiveDecoder;
use super::over_banks::BankSequence;
use super::track_check::Rows;
use crate::{Config, Request};
use peloton::Result;
use peloton::ut::{UtGeometry, UtHits};
use peloton_io::input::Geometry;
use peloton_truth::Rules;
use std::sync::Arc;

/// UT banks to UT hits.
pub struct UtSystem;

impl BankSequence for UtSystem {
    type Sequence = UtHits;
    type Context = Arc<UtGeometry>;

    const RULES: Rules = Rules::Lhcb;
    const ROWS: Option<Rows> = None;

    fn context(_request: &Request, geometry: &Geometry) -> Result<Self::Context> {
        geometry.ut().map(Arc::new)
    }

    fn sequence(context: &Self::Context, config: &Config) -> Result<UtHits> {
        Ok(UtHits::new(config.level()?, context.clone()).with_bad_banks(config.bad_banks))
    }

    fn is_preset(_config: &Config) -> bool {
        true
    }

    fn decoders(context: &Self::Context) -> Vec<NaiveDecoder> {
        vec![NaiveDecoder::Ut(context.clone())]
    }
}
