//! [`Memory`]: makes Arrow arrays of the columns of results, as copies or in the memory of the results.

use arrow_array::types::{Float32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray, UInt16Array};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use bytes::Bytes;
use peloton::event::{Results, Values};
use std::ops::Deref;
use std::sync::Arc;

/// The memory that holds the values of arrays.
pub(super) enum Memory<'a> {
    /// New memory, to which values are copied.
    Copied,
    /// The results, whose columns are 64-byte aligned: gives the bytes of the column at an index.
    Shared(&'a dyn Fn(usize) -> Bytes),
}

/// A type that owns results, such as [`Columns`](peloton::event::Columns).
pub trait Owner: Deref<Target = dyn Results> + Send + Sync + 'static {}

impl<T: Deref<Target = dyn Results> + Send + Sync + 'static> Owner for T {}

/// The bytes of the column at `index`, which keep the results alive while they are in use.
pub(super) fn kept<T: Owner>(results: &Arc<T>, index: usize) -> Bytes {
    Bytes::from_owner(Column { results: results.clone(), index })
}

struct Column<T> {
    results: Arc<T>,
    index: usize,
}

impl<T: Owner> AsRef<[u8]> for Column<T> {
    fn as_ref(&self) -> &[u8] {
        let (mut column, mut index) = (&[][..], 0);
        self.results.for_each_column(&mut |_, values| {
            if index == self.index {
                column = bytes_of(values);
            }
            index += 1;
        });
        column
    }
}

/// The bytes of a column; empty for statuses, which are not plain numbers.
fn bytes_of(values: Values<'_>) -> &[u8] {
    match values {
        Values::Status(_) => &[],
        Values::U8(values) => values,
        Values::U16(values) => bytemuck::cast_slice(values),
        Values::Starts(values) | Values::U32(values) => bytemuck::cast_slice(values),
        Values::U64(values) => bytemuck::cast_slice(values),
        Values::I64(values) => bytemuck::cast_slice(values),
        Values::F32(values) => bytemuck::cast_slice(values),
    }
}

impl Memory<'_> {
    /// The values of the column at `index` as an array; a column of starts becomes an array of numbers.
    pub fn array(&self, index: usize, values: Values<'_>) -> ArrayRef {
        match values {
            Values::Status(values) => {
                Arc::new(UInt16Array::from_iter_values(values.iter().map(|s| s.code())))
            }
            Values::Starts(values) | Values::U32(values) => self.primitive::<UInt32Type>(index, values),
            Values::U8(values) => self.primitive::<UInt8Type>(index, values),
            Values::U16(values) => self.primitive::<UInt16Type>(index, values),
            Values::U64(values) => self.primitive::<UInt64Type>(index, values),
            Values::I64(values) => self.primitive::<Int64Type>(index, values),
            Values::F32(values) => self.primitive::<Float32Type>(index, values),
        }
    }

    /// A column of starts as Arrow offsets, with the same bits, because starts are below 2^31.
    pub fn offsets(&self, index: usize, starts: &[u32]) -> ScalarBuffer<i32> {
        match self {
            Self::Copied => starts.iter().map(|&start| start as i32).collect(),
            Self::Shared(column) => of_bytes(column(index), starts.len()),
        }
    }

    fn primitive<T: ArrowPrimitiveType>(&self, index: usize, values: &[T::Native]) -> ArrayRef {
        let values = match self {
            Self::Copied => ScalarBuffer::from(values.to_vec()),
            Self::Shared(column) => of_bytes(column(index), values.len()),
        };
        Arc::new(PrimitiveArray::<T>::new(values, None))
    }
}

/// Converts bytes to values in the same memory.
fn of_bytes<T: ArrowNativeType>(bytes: Bytes, len: usize) -> ScalarBuffer<T> {
    ScalarBuffer::new(Buffer::from(bytes), 0, len)
}

#[cfg(test)]
mod tests {
    use crate::input::EventId;
    use crate::output::{arrow_batch, arrow_schema, arrow_shared};
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, UInt32Type};
    use peloton::Status;
    use peloton::event::{Columns, Product, Results, VeloTracks};
    use std::sync::Arc;

    fn tracks() -> VeloTracks {
        let mut tracks = VeloTracks::default();
        for event in 0..5u32 {
            for track in 0..event {
                (0..3).for_each(|hit| tracks.hits.push(100 * event + 10 * track + hit));
                tracks.hit_start.push(tracks.hits.len() as u32);
                tracks.chi2.push(track as f32);
                tracks.backward.push(0);
                for states in [&mut tracks.beam, &mut tracks.end] {
                    states.columns_mut().into_iter().for_each(|column| column.push(event as f32));
                }
            }
            tracks.track_start.push(tracks.chi2.len() as u32);
            tracks.push_status(Status::Ok);
        }
        tracks
    }

    #[test]
    fn shared_batches_equal_copied_ones_and_lie_in_the_results() {
        let columns = Arc::new(Columns::from(tracks()));
        let tracks: &VeloTracks = columns.get().unwrap();
        let ids: Vec<_> = (0..5).map(|number| EventId { number, ..EventId::default() }).collect();
        let shared = arrow_shared(&ids, &columns).unwrap();
        let copied =
            arrow_batch(&arrow_schema(VeloTracks::SCHEMA, &[]), &ids, &tracks.table(), Vec::new()).unwrap();
        assert_eq!(shared, copied);
        let chi2 = shared.column_by_name("chi2").unwrap().as_list::<i32>();
        assert_eq!(chi2.value_offsets().as_ptr().cast(), tracks.track_start.as_ptr());
        assert_eq!(chi2.values().as_primitive::<Float32Type>().values().as_ptr(), tracks.chi2.as_ptr());
        let hits = shared.column_by_name("hits").unwrap().as_list::<i32>().values().as_list::<i32>();
        assert_eq!(hits.values().as_primitive::<UInt32Type>().values().as_ptr(), tracks.hits.as_ptr());
        let chi2 = chi2.clone();
        drop((shared, columns));
        assert_eq!(chi2.value(4).as_primitive::<Float32Type>().values()[..], [0.0, 1.0, 2.0, 3.0]);
    }
}
