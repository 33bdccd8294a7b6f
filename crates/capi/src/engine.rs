//! Engines.

use crate::guard::{Result, enter, invalid};
use crate::names::{PELOTON_ABI, c_text, of};
use crate::pointers::{check, free, hand_over, put, reference, slice, text};
use peloton_core::event::SCHEMA_VERSION;
use peloton_job::embed::ConfiguredEngine;
use peloton_job::{Config, Preset, Request, SequenceName};
use serde_json::{Value, json};
use std::ffi::{CString, c_char};
use std::ptr::null;

/// A configured sequence. It never changes: any number of threads may use one engine at once.
pub struct peloton_engine {
    pub(crate) kind: EngineKind,
    stages: Vec<CString>,
    products: Vec<CString>,
}

/// A sequence of events has an engine; an endless stream keeps its state in its own handle.
pub(crate) enum EngineKind {
    Events(ConfiguredEngine),
    Stream(Config),
}

impl peloton_engine {
    pub(crate) fn new(kind: EngineKind) -> Self {
        let (stages, products) = match &kind {
            EngineKind::Events(engine) => {
                (engine.sequence().stages().to_vec(), engine.sequence().written().to_vec())
            }
            EngineKind::Stream(config) => (config.stages(), config.products()),
        };
        let stages = stages.iter().map(|stage| c_text(stage.name)).collect();
        let products = products.iter().map(|product| c_text(product.name())).collect();
        Self { kind, stages, products }
    }

    pub(crate) fn events(&self) -> Result<&ConfiguredEngine> {
        match &self.kind {
            EngineKind::Events(engine) => Ok(engine),
            EngineKind::Stream(_) => {
                Err(invalid("this engine is for a stream of hits: see peloton_stream_new"))
            }
        }
    }

    fn json(&self) -> Result<Value> {
        let (config, level) = match &self.kind {
            EngineKind::Events(engine) => (engine.config(), engine.level()),
            EngineKind::Stream(config) => (config, config.level()?),
        };
        let features: &[&str] = if cfg!(feature = "all-gangs") { &["all-gangs"] } else { &[] };
        let stages: Vec<_> = self.stages.iter().map(|stage| stage.to_string_lossy()).collect();
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "abi": PELOTON_ABI,
            "schema": SCHEMA_VERSION,
            "sequence": config.sequence.name(),
            "preset": config.preset_of_sequence().map(Preset::name),
            "isa": level.isa().name(),
            "gang": level.gang(),
            "features": features,
            "stages": stages,
            "config": config.to_toml(),
        }))
    }
}

/// Makes an engine from a configuration in TOML, as `peloton run --config` reads it (the key `sequence` names the
/// sequence; an empty text is velo), and a geometry: a folder of geometry files, "nominal" (the ideal detector, for
/// events marked as simulated with it), "nominal-forced" (the ideal detector for all events), or NULL (the engine
/// reconstructs hits only). Memory: texts are borrowed for the call; the caller frees *engine (NULL on failure) with
/// peloton_engine_free. Threads: any thread, at any time. Codes: INVALID_ARGUMENT, CONFIG, UNSUPPORTED, IO, FORMAT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_engine_new(
    toml: *const c_char,
    toml_bytes: usize,
    geometry_or_null: *const c_char,
    engine: *mut *mut peloton_engine,
) -> i32 {
    enter(|| {
        // All checks: *engine is NULL when one of them fails.
        let make = || {
            // SAFETY: the caller keeps what is said under Memory.
            let (toml, geometry) = unsafe {
                let toml = slice(toml.cast::<u8>(), toml_bytes, "toml")?;
                let geometry = (!geometry_or_null.is_null()).then(|| text(geometry_or_null, "geometry"));
                (toml, geometry.transpose()?)
            };
            let toml = std::str::from_utf8(toml).map_err(|_| invalid("toml is not UTF-8"))?;
            let config = Config::from_toml(toml, None)?;
            if config.sequence == SequenceName::Timepix {
                config.level()?;
                return Ok(peloton_engine::new(EngineKind::Stream(config)));
            }
            let request = Request { config, geometry: geometry.map(Into::into), ..Request::default() };
            Ok(peloton_engine::new(EngineKind::Events(ConfiguredEngine::new(&request)?)))
        };
        // SAFETY: as above.
        unsafe { hand_over(engine, make) }
    })
}

/// Writes a description of the engine as JSON, with a terminating zero byte: version, abi, schema, sequence, preset,
/// isa, gang, features, stages, config (TOML). A text longer than `capacity` is truncated; `needed` receives the number
/// of bytes of the whole text. Memory: `to` points to `capacity` bytes, or is NULL if `capacity` is 0; `needed` may be
/// NULL. Threads: any thread, at any time. Codes: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_engine_json(
    engine: *const peloton_engine,
    to: *mut c_char,
    capacity: usize,
    needed: *mut usize,
) -> i32 {
    // SAFETY: the caller keeps what is said under Memory.
    enter(|| unsafe {
        let json = c_text(&reference(engine, "engine")?.json()?.to_string());
        let bytes = json.as_bytes_with_nul();
        if !needed.is_null() {
            put(needed, bytes.len(), "needed")?;
        }
        if capacity > 0 {
            check(to, "to")?;
            let text = bytes.len().min(capacity) - 1;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), text);
            to.add(text).write(0);
        }
        Ok(())
    })
}

/// Name of the stage with this number in peloton_counters; NULL if no stage has this number. Memory: the text belongs
/// to the engine. Threads: any thread, at any time. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_engine_stage(engine: *const peloton_engine, stage: u32) -> *const c_char {
    // SAFETY: the caller's engine lives.
    let engine = unsafe { reference(engine, "engine") };
    engine.map_or(null(), |engine| of(&engine.stages, stage as usize))
}

/// Name of the product with this number, such as "long_tracks", in the order of `write` in the configuration; NULL if
/// no product has this number. Memory: the text belongs to the engine. Threads: any thread, at any time. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_engine_product(
    engine: *const peloton_engine,
    product: u32,
) -> *const c_char {
    // SAFETY: the caller's engine lives.
    let engine = unsafe { reference(engine, "engine") };
    engine.map_or(null(), |engine| of(&engine.products, product as usize))
}

/// Frees an engine; NULL is allowed. Memory: workspaces, results, pools and streams of the engine remain usable.
/// Threads: after the last call with the object. Codes: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peloton_engine_free(engine: *mut peloton_engine) {
    // SAFETY: the caller's last use of it.
    enter(|| unsafe {
        free(engine);
        Ok(())
    });
}
