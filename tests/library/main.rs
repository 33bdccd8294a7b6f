//! Parts that all detectors share: engine, results, columns, simulation, truth, classifiers.

#[path = "../common/mod.rs"]
mod common;

mod classifier;
mod classifier_training;
mod column_names;
mod columns;
mod containment;
mod engine;
mod f64_references;
mod results;
mod simulation;
mod truth;
