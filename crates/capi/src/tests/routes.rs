//! A planted panic on every other way in: raw banks on one thread and in a pool, hits of the cylinder.

use super::*;
use crate::batch::{peloton_batch, peloton_batch_free, peloton_batch_mdf, peloton_batch_new};
use crate::pool::peloton_pool_run_banks;
use crate::result::peloton_result_column;
use crate::run::{peloton_run_banks, peloton_run_cylinder};
use crate::structs::{peloton_column, peloton_cylinder_hits};
use peloton_core::cylinder::{Cylinder, CylinderConfig};
use peloton_core::velo::{VeloBanks, VeloSensors};
use peloton_job::{Cancel, Host, Silent, Simulation, simulate};
use std::sync::Arc;

/// Events of each test.
const SOME: usize = FAULTY + 3;

/// What became of each event.
fn statuses(result: *const peloton_result) -> Vec<u16> {
    // SAFETY: all zeros are numbers and NULL; the result lives, and its column is as long as it says.
    unsafe {
        let mut view: peloton_column = zeroed();
        view.size = size_of::<peloton_column>();
        assert_eq!(peloton_result_column(result, c"status".as_ptr(), &raw mut view), PELOTON_OK);
        std::slice::from_raw_parts(view.values.cast(), view.count).to_vec()
    }
}

/// One fault, in its event.
fn expected() -> Vec<u16> {
    let mut expected = vec![0; SOME];
    expected[FAULTY] = Status::InternalFault.code();
    expected
}

/// A batch of simulated events.
fn banks() -> *mut peloton_batch {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.mdf");
    let what =
        Simulation { detector: "lhcb".into(), events: SOME as u64, seed: 3, geometry: None, threads: 1 };
    let (progress, cancel) = (Silent, Cancel::default());
    simulate(&what, &path, Host { progress: &progress, cancel: &cancel }).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let mut batch = null_mut();
    // SAFETY: the batch is made here, and bytes are as many as is said.
    unsafe {
        assert_eq!(peloton_batch_new(&raw mut batch), PELOTON_OK);
        let code = peloton_batch_mdf(batch, bytes.as_ptr(), bytes.len(), null_mut(), null_mut());
        assert_eq!(code, PELOTON_OK);
    }
    batch
}

#[test]
fn a_panic_costs_its_event_of_raw_banks() {
    let velo = || velo().with_sensors(Arc::new(VeloSensors::nominal()), VeloBanks::Auto);
    let (good, faulty) = (engine(velo()), faulty_of(velo()));
    let batch = banks();
    // SAFETY: all handles are made here and live until they are freed.
    unsafe {
        let (mut workspace, mut result, mut pool) = (null_mut(), null_mut(), null_mut());
        assert_eq!(peloton_workspace_new(good, &raw mut workspace), PELOTON_OK);
        assert_eq!(peloton_result_new(good, &raw mut result), PELOTON_OK);
        assert_eq!(peloton_pool_new(faulty, 2, &raw mut pool), PELOTON_OK);
        assert_eq!(peloton_run_banks(good, workspace, batch, result, null_mut()), PELOTON_OK);
        let mut tracks = events_of(result);
        assert!(!tracks[FAULTY].1.is_empty());
        tracks[FAULTY] = (Status::InternalFault.code(), Vec::new());
        assert_eq!(peloton_run_banks(faulty, workspace, batch, result, null_mut()), PELOTON_OK);
        assert!(events_of(result) == tracks);
        assert_eq!(peloton_pool_run_banks(pool, batch, result, null_mut()), PELOTON_OK);
        assert!(events_of(result) == tracks);
        assert_eq!(statuses(result), expected());
        peloton_pool_free(pool);
        peloton_result_free(result);
        peloton_workspace_free(workspace);
        peloton_batch_free(batch);
        peloton_engine_free(faulty);
        peloton_engine_free(good);
    }
}

#[test]
fn a_panic_costs_its_event_of_the_cylinder() {
    let level = Level::choose(None, None).unwrap();
    let cylinder = Cylinder::new(level, CylinderConfig::default()).unwrap();
    let faulty = faulty_of(cylinder);
    // A hit in every layer of every event.
    let (radius, zero): (Vec<f32>, _) =
        ((0..10 * SOME).map(|hit| 4.0 + 10.0 * (hit % 10) as f32).collect(), vec![0.01; 10 * SOME]);
    let starts: Vec<u32> = (0..=10 * SOME as u32).collect();
    let hits = peloton_cylinder_hits {
        size: size_of::<peloton_cylinder_hits>(),
        events: SOME,
        hits: radius.len(),
        x: radius.as_ptr(),
        y: zero.as_ptr(),
        z: zero.as_ptr(),
        var_r: zero.as_ptr(),
        var_rphi: zero.as_ptr(),
        var_z: zero.as_ptr(),
        layer_start: starts.as_ptr(),
        status_or_null: null(),
    };
    // SAFETY: as above, and columns outlive the run.
    unsafe {
        let (mut workspace, mut result) = (null_mut(), null_mut());
        assert_eq!(peloton_workspace_new(faulty, &raw mut workspace), PELOTON_OK);
        assert_eq!(peloton_result_new(faulty, &raw mut result), PELOTON_OK);
        let code = peloton_run_cylinder(faulty, workspace, &raw const hits, result, null_mut());
        assert_eq!((code, statuses(result)), (PELOTON_OK, expected()));
        peloton_result_free(result);
        peloton_workspace_free(workspace);
        peloton_engine_free(faulty);
    }
}
