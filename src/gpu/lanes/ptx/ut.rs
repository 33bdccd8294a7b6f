//! The UT code of the GPU's kernels, compiled from files of `src/ut`.

#[path = "../../../ut/grid.rs"]
pub mod grid;
#[path = "../../../ut/find/tracklets/mod.rs"]
pub mod tracklets;
