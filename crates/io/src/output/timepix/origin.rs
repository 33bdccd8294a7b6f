//! Columns of clusters beside those in memory: which input their hits came from, on which chip, with what energy.

use crate::output::arrow::described;
use crate::output::units::kev;
use arrow_array::builder::{Float64Builder, ListBuilder, UInt8Builder};
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{DataType, Field};
use peloton::event::{Layout, PixelClusters};
use peloton::timepix::Calibration;
use std::sync::Arc;

/// What tells where hits came from.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The name of the input that is being read.
    pub input: String,
    /// The chips of the sensor.
    pub layout: Layout,
    /// From time over threshold to energy, where it is known.
    pub calibration: Option<Calibration>,
    /// Whether times are numbers of frames.
    pub is_of_frames: bool,
}

impl Origin {
    /// The chip of a hit; none for a pixel between chips.
    pub(super) fn chip(&self, clusters: &PixelClusters, hit: usize) -> Option<u8> {
        let (_, x, y, _) = clusters.hits.get(hit);
        self.layout.chip_of(x, y).and_then(|chip| u8::try_from(chip).ok())
    }

    /// The energy of a hit, keV; none without a calibration.
    pub(super) fn energy_kev(&self, clusters: &PixelClusters, hit: usize) -> Option<f64> {
        let (_, x, y, tot) = clusters.hits.get(hit);
        kev(self.calibration.as_ref()?.energy(x, y, tot).into())
    }
}

/// The fields of [`origin_columns`].
pub fn origin_fields() -> Vec<Field> {
    let input = "the file, pipe, address or simulation that the cluster's hits came from";
    let chip = "number of the chip that the hit is on";
    let energy = "energy of the hit; null without a calibration";
    vec![
        described("input", DataType::Utf8, "1", input),
        described("hit_chip", DataType::List(chip_element()), "1", chip),
        described("hit_energy", DataType::List(energy_element()), "keV", energy),
    ]
}

/// Where the hits of clusters came from.
pub fn origin_columns(clusters: &PixelClusters, origin: &Origin) -> Vec<ArrayRef> {
    let inputs = StringArray::from_iter_values((0..clusters.len()).map(|_| &origin.input));
    let mut chips = ListBuilder::new(UInt8Builder::new()).with_field(chip_element());
    let mut energies = ListBuilder::new(Float64Builder::new()).with_field(energy_element());
    for cluster in 0..clusters.len() {
        chips.append_value(clusters.of_cluster(cluster).map(|hit| origin.chip(clusters, hit)));
        energies.append_value(clusters.of_cluster(cluster).map(|hit| origin.energy_kev(clusters, hit)));
    }
    vec![Arc::new(inputs), Arc::new(chips.finish()), Arc::new(energies.finish())]
}

fn chip_element() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::UInt8, true))
}

fn energy_element() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Float64, true))
}
