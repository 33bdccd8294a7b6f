//! Results as text: numbers, aligned columns, and tables of comparisons with the truth.

mod lost_hits;
mod truth;
mod words;

pub use lost_hits::{
    HitFlow, OUTSIDE_CHIPS, TOO_FAST, Verdict, WAYS, Way, bad_events_failure, outside_chips,
};
pub use truth::{
    cylinder, cylinder_fit, cylinder_fit_tables, cylinder_tables, losses, momenta, paired, stage_losses,
    state_pulls, tables, velo_pulls,
};
pub use words::{count, grouped, percent, preset_words, rate, table, unquoted};
