//! Written values are read back; bytes do not depend on the division into pieces.

use super::*;
use crate::output::file::tests::in_memory;
use crate::output::timepix::{trigger_columns, trigger_fields};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use peloton::Status;
use peloton::engine::{CommonThreads, Spread, ThisThread};
use peloton::event::{
    CylinderTracks, PixelClusters, Product, Results, SciFiBatch, TriggerPairs, UT_GROUPS, UtBatch, ValuesMut,
    VeloTracks,
};
use std::sync::Arc;

/// An event without tracks, then one of two tracks with three and two hits; value i of column c is 100 c + i.
fn tracks<R: Product>() -> R {
    let mut tracks = R::default();
    let mut column = 0;
    tracks.for_each_column_mut(&mut |info, values| {
        column += 1;
        let count = [2, 2, 5][info.depth];
        let value = |i: usize| 100 * column + i;
        match values {
            ValuesMut::Status(column) => column.extend([Status::NotFinite, Status::Ok]),
            ValuesMut::Starts(starts) if info.depth == 0 => starts.extend_from_slice(&[0, 2]),
            ValuesMut::Starts(starts) => starts.extend_from_slice(&[3, 5]),
            ValuesMut::U8(column) => (0..count).for_each(|i| column.push(i as u8)),
            ValuesMut::U32(column) => (0..count).for_each(|i| column.push(value(i) as u32)),
            ValuesMut::F32(column) => (0..count).for_each(|i| column.push(value(i) as f32)),
            other => panic!("{other:?}"),
        }
    });
    tracks
}

fn clusters() -> PixelClusters {
    let mut clusters = PixelClusters::default();
    [(160, 3, 4, 9), (161, 3, 5, 2), (320, 0, 0, 1)]
        .into_iter()
        .for_each(|(t, x, y, tot)| clusters.hits.push(t, x, y, tot));
    clusters.hit_start.extend_from_slice(&[2, 3]);
    clusters.features.set_len(2);
    clusters.features.energy.copy_from_slice(&[0, 5_000_000_000]);
    clusters.features.bounds[3].copy_from_slice(&[8, 9]);
    clusters
}

#[test]
fn results_of_another_type_are_refused() {
    let (file, _) = in_memory();
    let path = Path::new("test");
    let mut writer = ParquetWriter::new(
        file,
        path,
        &Metadata::default(),
        CylinderTracks::SCHEMA,
        &[],
        &WriteOptions::default(),
    )
    .unwrap();
    let ids = [0, 1].map(|number| EventId { number, run: None, event: None });
    let refused = writer.write(&ids, &tracks::<VeloTracks>().table(), Vec::new()).unwrap_err();
    assert!(matches!(refused, Error::Columns(_)), "{refused}");
    writer.write(&ids, &tracks::<CylinderTracks>().table(), Vec::new()).unwrap();
}

fn written<R: Product>(pieces: &[(&[u64], &R)]) -> Bytes {
    written_by(Arc::new(ThisThread), pieces)
}

fn written_by<R: Product>(threads: Arc<dyn Spread>, pieces: &[(&[u64], &R)]) -> Bytes {
    let options = WriteOptions { threads, ..WriteOptions::default() };
    let metadata = Metadata { sequence: "test".into(), level: "scalar x 1".into(), ..Default::default() };
    let (file, bytes) = in_memory();
    let mut writer =
        ParquetWriter::new(file, Path::new("test"), &metadata, R::SCHEMA, &[], &options).unwrap();
    for (ids, piece) in pieces {
        let id = |&number: &u64| EventId { number, run: None, event: Some(6000 + number) };
        let ids: Vec<_> = ids.iter().map(id).collect();
        writer.write(&ids, &piece.table(), Vec::new()).unwrap();
    }
    let hashes = Hashes { int: 0xab, output: 0xcd };
    writer.finish(Some(hashes)).unwrap().finish().unwrap();
    bytes.take()
}

fn read(file: Bytes) -> (RecordBatch, std::sync::Arc<ParquetMetaData>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let metadata = reader.metadata().clone();
    let empty = RecordBatch::new_empty(reader.schema().clone());
    (reader.build().unwrap().next().map_or(empty, |batch| batch.unwrap()), metadata)
}

/// Checks that every column of a schema exists under its name with its values.
fn every_column_comes_back<R: Product>() {
    let tracks = tracks::<R>();
    let (batch, _) = read(written(&[(&[40, 41], &tracks)]));
    assert_eq!(batch.num_rows(), 2);
    assert_eq!(batch["event_id"].as_primitive::<UInt64Type>().values(), &[40, 41]);
    assert_eq!(batch["event_number"].as_primitive::<UInt64Type>().values(), &[6040, 6041]);
    assert_eq!(batch["run_number"].null_count(), 2);
    let status = batch["status"].as_primitive::<UInt16Type>();
    assert_eq!(status.values(), &[Status::NotFinite.code(), 0]);
    let columns = R::SCHEMA.columns;
    for (place, info) in columns.iter().enumerate().filter(|(_, info)| info.kind != Kind::Starts) {
        let first = 100 * (place + 1);
        let field = batch.schema_ref().field_with_name(info.name).unwrap().clone();
        assert_eq!(
            (&field.metadata()["unit"][..], &field.metadata()["description"][..]),
            (info.unit, info.meaning)
        );
        if info.depth == 0 {
            continue;
        }
        let lists = batch[info.name].as_list::<i32>();
        let DataType::List(element) = lists.data_type() else { panic!("{field:?}") };
        assert_eq!(
            (&element.name()[..], element.is_nullable(), field.is_nullable()),
            ("element", false, false)
        );
        assert!(lists.value(0).is_empty());
        let values = lists.value(1);
        match (info.depth, info.kind) {
            (2, _) => {
                let inner = values.as_list::<i32>();
                let value = |i: usize| inner.value(i).as_primitive::<UInt32Type>().values().to_vec();
                let expected: Vec<_> = (first as u32..first as u32 + 5).collect();
                assert_eq!([value(0), value(1)], [expected[..3].to_vec(), expected[3..].to_vec()]);
            }
            (_, Kind::F32) => {
                let expected = [first as f32, first as f32 + 1.0];
                assert_eq!(values.as_primitive::<Float32Type>().values(), &expected, "{}", info.name);
            }
            _ => assert_eq!(values.len(), 2, "{}", info.name),
        }
    }
    // There are no other columns: the schema without starts, and the numbers of the event.
    let starts = columns.iter().filter(|info| info.kind == Kind::Starts).count();
    assert_eq!(batch.num_columns(), columns.len() - starts + 3);
}

#[test]
fn every_column_of_tracks_comes_back() {
    every_column_comes_back::<VeloTracks>();
    every_column_comes_back::<CylinderTracks>();
}

#[test]
fn groups_of_hits_come_back() {
    let mut hits = UtBatch::default();
    hits.push_failed(Status::Corrupt);
    hits.set_items(1, 3);
    hits.id.copy_from_slice(&[7, 8, 9]);
    (0..UT_GROUPS).for_each(|group| hits.group_start.push(if group < 5 { 1 } else { 3 }));
    hits.push_status(Status::Ok);
    let (batch, _) = read(written(&[(&[1, 2], &hits)]));
    let starts = batch["group_start"].as_list::<i32>();
    assert_eq!(starts.value(0).as_primitive::<UInt32Type>().values(), &[0; UT_GROUPS + 1]);
    let second = starts.value(1);
    let second = second.as_primitive::<UInt32Type>().values();
    assert_eq!((second.len(), &second[..7]), (UT_GROUPS + 1, &[0, 1, 1, 1, 1, 1, 3][..]));
    let ids = batch["id"].as_list::<i32>();
    assert_eq!(ids.value(1).as_primitive::<UInt32Type>().values(), &[7, 8, 9]);
    let (batch, _) = read(written(&[(&[], &SciFiBatch::default()), (&[], &SciFiBatch::default())]));
    assert_eq!(batch.num_rows(), 0);
}

#[test]
fn rows_may_be_clusters_with_columns_beside_them() {
    let clusters = clusters();
    let pairs = TriggerPairs {
        has_trigger: [0, 1].into_iter().collect(),
        counter: [0, 9].into_iter().collect(),
        since: [TriggerPairs::NONE, 6, 12].into_iter().collect(),
    };
    let ((file, bytes), metadata) = (in_memory(), Metadata::default());
    let (path, fields) = (Path::new("test"), trigger_fields());
    let mut writer =
        ParquetWriter::new(file, path, &metadata, PixelClusters::SCHEMA, &fields, &WriteOptions::default())
            .unwrap();
    writer.write(&[], &clusters.table(), trigger_columns(&clusters, &pairs)).unwrap();
    writer.finish(None).unwrap().finish().unwrap();
    let (batch, _) = read(bytes.take());
    assert!(batch.column_by_name("event_id").is_none());
    // Without a calibration the energy is null, not 0.
    let energy = batch["energy"].as_primitive::<Float64Type>();
    assert_eq!(energy.iter().collect::<Vec<_>>(), [None, Some(5_000_000.0)]);
    assert_eq!(batch["y_max"].as_primitive::<UInt16Type>().values(), &[8, 9]);
    let times = batch["hit_time"].as_list::<i32>().value(0);
    assert_eq!(times.as_primitive::<Float64Type>().values(), &[250.0, 251.5625]);
    let trigger = batch["trigger"].as_primitive::<UInt16Type>();
    assert_eq!(trigger.iter().collect::<Vec<_>>(), [None, Some(9)]);
    let since = batch["hit_since_trigger"].as_list::<i32>().value(0);
    assert_eq!(since.as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [None, Some(1.5625)]);
}

#[test]
fn the_file_says_how_it_came_to_be() {
    let tracks = tracks::<VeloTracks>();
    let (_, metadata) = read(written(&[(&[40, 41], &tracks)]));
    let entries = metadata.file_metadata().key_value_metadata().unwrap();
    let value = |key: &str| {
        let found = entries.iter().find(|entry| entry.key == format!("peloton.{key}"));
        found.and_then(|entry| entry.value.as_deref())
    };
    assert_eq!(value("schema_version"), Some(&SCHEMA_VERSION.to_string()[..]));
    assert_eq!((value("sequence"), value("level")), (Some("test"), Some("scalar x 1")));
    assert_eq!(value("hash_int"), Some("00000000000000ab"));
    assert_eq!(value("output_hash"), Some("00000000000000cd"));
    assert_eq!(value("geometry"), None);
}

#[test]
fn row_groups_are_small_and_do_not_depend_on_the_pieces() {
    // Events of 20,000 tracks, 1.7 MB each.
    let event = || {
        let mut tracks = VeloTracks::default();
        tracks.set_items(1, 20_000);
        (0..20_000).for_each(|_| tracks.hit_start.push(0));
        tracks.track_start.push(20_000);
        tracks.push_status(Status::Ok);
        tracks
    };
    let pieces: Vec<_> = (0..50).map(|_| event()).collect();
    let ids: Vec<u64> = (0..50).collect();
    let pieces: Vec<_> = ids.chunks(1).zip(&pieces).collect();
    let cut = written(&pieces);
    let mut whole = VeloTracks::default();
    whole.set_items(1, 50 * 20_000);
    (0..50 * 20_000).for_each(|_| whole.hit_start.push(0));
    (1..=50).for_each(|event| whole.track_start.push(20_000 * event));
    (0..50).for_each(|_| whole.push_status(Status::Ok));
    let by_many = written_by(Arc::new(CommonThreads), &[(&ids, &whole)]);
    let whole = written(&[(&ids, &whole)]);
    let rows = |file: &Bytes| -> Vec<i64> {
        read(file.clone()).1.row_groups().iter().map(|group| group.num_rows()).collect()
    };
    assert!(cut == whole, "bytes depend on the pieces");
    assert!(by_many == whole, "bytes depend on the threads");
    assert!(rows(&cut).len() > 2 && rows(&cut).iter().sum::<i64>() == 50, "{:?}", rows(&cut));
}

#[test]
fn row_groups_have_4096_events_and_clusters_are_not_counted() {
    let rows = |file: Bytes| -> Vec<i64> {
        read(file).1.row_groups().iter().map(|group| group.num_rows()).collect()
    };
    let mut empty = VeloTracks::default();
    (0..10_000).for_each(|_| empty.push_failed(Status::NotFinite));
    let ids: Vec<u64> = (0..10_000).collect();
    assert_eq!(rows(written(&[(&ids, &empty)])), [4096, 4096, 1808]);
    let mut many = PixelClusters::default();
    many.features.set_len(10_000);
    many.hit_start.extend_from_slice(&vec![0; 10_000]);
    assert_eq!(rows(written(&[(&[], &many)])), [10_000]);
}
