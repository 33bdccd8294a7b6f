//! All sequences: the one place that lists them. A new one is a line here.

use crate::system::System;
use crate::systems::{
    CylinderSystem, LongSystem, SciFiHitsSystem, SciFiSystem, TimepixSystem, UtSystem, VeloSystem,
    VeloUtSystem,
};
use peloton::engine::Stage;
use peloton::simd::with_default_float_mode;
use peloton_io::input::{Format, Kind, kind_of};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Something to do with a system that is known only when the program runs.
pub trait Command {
    /// What comes of it.
    type Outcome;

    /// Runs the command on a system.
    fn on<S: System>(self) -> Self::Outcome;
}

macro_rules! systems {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $system:ty,)+) => {
        /// Which sequence runs.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SequenceName {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)+
        }

        peloton::names!(SequenceName, "sequence", { $($variant => $name),+ });

        impl SequenceName {
            /// Runs a command on the system of this name.
            pub(crate) fn run<C: Command>(self, command: C) -> C::Outcome {
                // Hosts may compute in another mode; threads that a job starts inherit this one.
                with_default_float_mode(|| match self {
                    $(Self::$variant => command.on::<$system>(),)+
                })
            }
        }
    };
}

systems! {
    /// Velo banks or hits to Velo tracks.
    #[default]
    Velo = "velo": VeloSystem,
    /// Velo and UT banks to Velo tracks with hits in the UT.
    VeloUt = "velo-ut": VeloUtSystem,
    /// UT banks to UT hits.
    Ut = "ut": UtSystem,
    /// SciFi banks to SciFi hits.
    SciFiHits = "scifi-hits": SciFiHitsSystem,
    /// SciFi banks to tracks in the SciFi.
    SciFi = "scifi": SciFiSystem,
    /// Velo and SciFi banks to tracks through both.
    Long = "long": LongSystem,
    /// Pixel hits to clusters; an endless stream.
    Timepix = "timepix": TimepixSystem,
    /// Hits of the cylinder detector to tracks with states.
    Cylinder = "cylinder": CylinderSystem,
}

impl SequenceName {
    /// The sequence that inputs of this kind are for, by their names, their format or the content of the first of them;
    /// none where only its reader can tell, as of a pipe, or where several sequences read it, as the raw banks.
    pub fn of_inputs(inputs: &[String], format: Format) -> Option<Self> {
        match format {
            Format::Pixels(_) => return Some(Self::Timepix),
            Format::Cylinder => return Some(Self::Cylinder),
            Format::Auto => {}
            _ => return None,
        }
        let first = inputs.first()?;
        let starts = |words: &[&str]| words.iter().any(|word| first.starts_with(word));
        if starts(&["sim:timepix", "tcp://", "udp://"]) {
            return Some(Self::Timepix);
        }
        if starts(&["sim:cylinder"]) {
            return Some(Self::Cylinder);
        }
        if first == "-" || starts(&["sim:"]) {
            return None;
        }
        match kind_of(Path::new(first))? {
            Kind::Pixels => Some(Self::Timepix),
            Kind::Cylinder => Some(Self::Cylinder),
            Kind::Velo | Kind::Raw => None,
        }
    }

    /// The stages in the order in which they run.
    pub fn stages(self) -> &'static [Stage] {
        struct Stages;
        impl Command for Stages {
            type Outcome = &'static [Stage];
            fn on<S: System>(self) -> Self::Outcome {
                S::STAGES
            }
        }
        self.run(Stages)
    }
}
