//! The rules that this project keeps.

mod files;
mod imports;
mod order;
mod rules;
