//! Additional columns of clusters in files: the input of a cluster, and the chip and energy of its hits.

use crate::output::fields::described;
use crate::output::units::kev;
use arrow_array::{ArrayRef, Float64Array, ListArray, StringArray, UInt8Array, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use peloton::event::{Layout, PixelClusters};
use peloton::timepix::Calibration;
use peloton::{Error, Result};
use std::sync::Arc;

/// The input and sensor from which hits come.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The name of the current input.
    pub input: String,
    /// The chips of the sensor.
    pub layout: Layout,
    /// The calibration from time over threshold to energy, if known.
    pub calibration: Option<Calibration>,
    /// Whether the times of hits are numbers of frames.
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
    let input = "the file, pipe, address or simulation from which the cluster's hits come";
    let chip = "number of the chip that the hit is on";
    let energy = "energy of the hit; null without a calibration";
    vec![
        described("input", DataType::Utf8, "1", input),
        described("hit_chip", DataType::List(chip_element()), "1", chip),
        described("hit_energy", DataType::List(energy_element()), "keV", energy),
    ]
}

/// The columns of `origin_fields` for these clusters. A column whose name `is_wanted` rejects is null.
///
/// # Errors
/// [`Error::Columns`] when lists are too long for Arrow's 32-bit offsets.
pub fn origin_columns(
    clusters: &PixelClusters,
    origin: &Origin,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<ArrayRef>> {
    let (rows, hits) = (clusters.len(), clusters.hit_start[clusters.len()] as usize);
    let fields = origin_fields();
    let make = |field: &Field| match (is_wanted(field.name()), field.name().as_str()) {
        (false, _) => Ok(new_null_array(field.data_type(), rows)),
        (true, "input") => {
            let inputs = StringArray::from_iter_values(std::iter::repeat_n(&origin.input, rows));
            Ok(Arc::new(inputs) as ArrayRef)
        }
        (true, "hit_chip") => {
            let chips: UInt8Array = (0..hits).map(|hit| origin.chip(clusters, hit)).collect();
            of_hits(clusters, chip_element(), Arc::new(chips))
        }
        (true, _) => {
            let energies = match origin.calibration {
                Some(_) => (0..hits).map(|hit| origin.energy_kev(clusters, hit)).collect(),
                None => Float64Array::new_null(hits),
            };
            of_hits(clusters, energy_element(), Arc::new(energies))
        }
    };
    fields.iter().map(make).collect()
}

/// Divides values of hits into lists, one per cluster.
fn of_hits(clusters: &PixelClusters, element: Arc<Field>, values: ArrayRef) -> Result<ArrayRef> {
    let wrong = |what: String| Error::Columns(what);
    let starts: &[u32] = &clusters.hit_start;
    if i32::try_from(values.len()).is_err() {
        return Err(wrong(format!("{} hits are too many for lists with 32-bit offsets", values.len())));
    }
    let offsets = OffsetBuffer::new(starts.iter().map(|start| *start as i32).collect());
    let lists = ListArray::try_new(element, offsets, values, None);
    Ok(Arc::new(lists.map_err(|e| wrong(e.to_string()))?))
}

fn chip_element() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::UInt8, true))
}

fn energy_element() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Float64, true))
}
