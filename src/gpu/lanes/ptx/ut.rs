//! The UT's part: the files of `src/ut`.

#[path = "../../../ut/grid.rs"]
pub mod grid;
#[path = "../../../ut/find/tracklets/mod.rs"]
pub mod tracklets;
