//! Results as text: words, aligned columns, and tables of comparisons with the truth.

mod truth;
mod words;

pub use truth::{
    cylinder, cylinder_fit, cylinder_fit_tables, cylinder_tables, losses, momenta, paired, stage_losses,
    state_pulls, tables, velo_pulls,
};
pub use words::{count, grouped, percent, preset_words, rate, table, unquoted};
