//! What runs under the name of each sequence.

use crate::sequence_name::with_all_sequences;
use crate::system::System;
use crate::systems::{
    CylinderFitSystem, CylinderSystem, LongSystem, LongUtSystem, SciFiHitsSystem, SciFiSystem, TimepixSystem,
    UtSystem, VeloSystem, VeloUtSystem,
};
use crate::{Preset, SequenceName};
use peloton::engine::Stage;
use peloton::simd::with_default_float_mode;

/// Something to do with a system that is known only when the program runs.
pub trait Command {
    /// What comes of it.
    type Outcome;

    /// Runs the command on a system.
    fn on<S: System>(self) -> Self::Outcome;
}

macro_rules! systems_of_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $system:ty,)+) => {
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
with_all_sequences!(systems_of_names);

impl SequenceName {
    /// [`Self::run`] for a command that reconstructs events, which is the larger part of what this crate compiles for each system.
    #[cfg(not(test))]
    pub(crate) fn run_events<C: Command>(self, command: C) -> C::Outcome {
        self.run(command)
    }

    /// In the unit tests' build for the Velo alone: building these commands for all systems a second time would take as long as
    /// the crate itself, and tests of the command line run them for the others.
    #[cfg(test)]
    pub(crate) fn run_events<C: Command>(self, command: C) -> C::Outcome {
        assert_eq!(self, Self::Velo, "unit tests reconstruct events of the Velo alone");
        with_default_float_mode(|| command.on::<VeloSystem>())
    }

    /// The presets that the sequence has; none where it has one set of parameters.
    pub fn presets(self) -> &'static [Preset] {
        struct Presets;
        impl Command for Presets {
            type Outcome = &'static [Preset];
            fn on<S: System>(self) -> Self::Outcome {
                S::PRESETS
            }
        }
        self.run(Presets)
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
