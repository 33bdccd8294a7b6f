//! [`RowGroups`]: writes the row groups of a Parquet file. Any number of threads encode columns in parallel.
//!
//! ```text
//! batches, as they come | 4 rows | 4 rows | 3 rows | ...
//! blocks, always alike  |      256 rows      |      256 rows      | ...      rest of the group |
//!                         a thread a column: levels, encoding, compression
//! ```
//! Pages end where blocks end, so the file's bytes depend neither on the sizes of batches nor on the number of threads.
//! One thread per file waits for the encoding threads, while other threads compute the next rows.

use super::OutputFile;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, SchemaRef};
use arrow_select::concat::concat;
use crossbeam_channel::{Receiver, Sender, bounded};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use peloton::engine::Spread;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// A Parquet file to which row groups are written.
pub(super) struct RowGroups {
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<Result<BufWriter<OutputFile>>>>,
}

/// A task for the thread of the file.
enum Task {
    /// Adds rows to the open group.
    Rows(RecordBatch),
    /// Ends the open group.
    EndGroup,
    /// Adds to the metadata of the file.
    Metadata(KeyValue),
}

/// Largest number of tasks that wait.
const TASKS: usize = 1;

impl RowGroups {
    /// Begins a file. `block` is the number of rows that are encoded at once.
    ///
    /// # Errors
    /// Errors of the file, and an error when the operating system cannot start a thread.
    pub fn new(
        to: OutputFile,
        schema: SchemaRef,
        properties: WriterProperties,
        block: usize,
        threads: Arc<dyn Spread>,
    ) -> Result<Self> {
        let file = File::new(to, schema, properties, block, threads)?;
        let (tasks, waiting) = bounded(TASKS);
        let thread = thread::Builder::new().name("peloton-parquet".into()).spawn(|| file.work(waiting));
        Ok(Self { tasks: Some(tasks), thread: Some(thread.map_err(|e| ParquetError::External(e.into()))?) })
    }

    /// Adds rows to the open group.
    ///
    /// # Errors
    /// Errors of this or an earlier write to the file.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.send(Task::Rows(batch))
    }

    /// Ends the open group, if it has rows.
    ///
    /// # Errors
    /// As [`RowGroups::write`].
    pub fn end_group(&mut self) -> Result<()> {
        self.send(Task::EndGroup)
    }

    /// Adds an entry to the metadata of the file.
    ///
    /// # Errors
    /// As [`RowGroups::write`].
    pub fn append_metadata(&mut self, entry: KeyValue) -> Result<()> {
        self.send(Task::Metadata(entry))
    }

    /// Ends the open group and the file.
    ///
    /// # Errors
    /// As [`RowGroups::write`].
    pub fn finish(mut self) -> Result<BufWriter<OutputFile>> {
        self.join()
    }

    fn send(&mut self, task: Task) -> Result<()> {
        let is_taken = self.tasks.as_ref().is_some_and(|tasks| tasks.send(task).is_ok());
        // A thread that takes no task has failed.
        if is_taken { Ok(()) } else { self.join().map(drop) }
    }

    fn join(&mut self) -> Result<BufWriter<OutputFile>> {
        self.tasks = None;
        let gone = || ParquetError::General("an earlier write to the file failed".into());
        let panicked = |_| Err(ParquetError::General("the thread that writes the file panicked".into()));
        self.thread.take().ok_or_else(gone)?.join().unwrap_or_else(panicked)
    }
}

impl Drop for RowGroups {
    fn drop(&mut self) {
        // The file of a failed job is removed with its thread; errors of the thread come after the job's error.
        let _ = self.join();
    }
}

/// The file, on its thread.
struct File {
    file: SerializedFileWriter<BufWriter<OutputFile>>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    threads: Arc<dyn Spread>,
    // Only the thread that has column i locks entry i, so no thread waits. The mutex proves this to the compiler.
    columns: Vec<Mutex<Column>>,
    /// Rows of the open group that wait to be encoded.
    rows: usize,
    /// Number of rows of a block.
    block: usize,
}

/// A column of the open group.
struct Column {
    writer: Option<ArrowColumnWriter>,
    /// Arrays that wait to be encoded.
    waiting: Vec<ArrayRef>,
    done: Result<Option<ArrowColumnChunk>>,
}

impl File {
    fn new(
        to: OutputFile,
        schema: SchemaRef,
        properties: WriterProperties,
        block: usize,
        threads: Arc<dyn Spread>,
    ) -> Result<Self> {
        let writer = ArrowWriter::try_new(BufWriter::new(to), schema.clone(), Some(properties))?;
        let (file, factory) = writer.into_serialized_writer()?;
        let column = |_| Mutex::new(Column { writer: None, waiting: Vec::new(), done: Ok(None) });
        let columns = schema.fields().iter().map(column).collect();
        Ok(Self { file, factory, schema, threads, columns, rows: 0, block })
    }

    /// Performs tasks until the channel closes, and returns the complete file.
    fn work(mut self, tasks: Receiver<Task>) -> Result<BufWriter<OutputFile>> {
        for task in tasks {
            match task {
                Task::Rows(batch) => self.add(&batch)?,
                Task::EndGroup => self.end_group()?,
                Task::Metadata(entry) => self.file.append_key_value_metadata(entry),
            }
        }
        self.end_group()?;
        self.file.into_inner()
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
            column.get_mut().unwrap_or_else(PoisonError::into_inner).waiting.push(array.clone());
        }
        self.rows += batch.num_rows();
        if self.rows < self.block { Ok(()) } else { self.encode(self.rows / self.block * self.block, false) }
    }

    fn end_group(&mut self) -> Result<()> {
        self.encode(self.rows, true)?;
        let chunks = self.columns.iter_mut().map(|column| {
            let column = column.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut column.done, Ok(None))
        });
        let chunks = chunks.collect::<Result<Vec<_>>>()?;
        if chunks.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for chunk in chunks.into_iter().flatten() {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close().map(drop)
    }

    /// Encodes the first `rows` rows that wait; with `last`, then ends the columns of the group.
    fn encode(&mut self, rows: usize, last: bool) -> Result<()> {
        let group = self.file.flushed_row_groups().len();
        if rows > 0
            && self.columns.iter_mut().any(|column| column.get_mut().is_ok_and(|of| of.writer.is_none()))
        {
            let writers = self.factory.create_column_writers(group)?;
            for (column, writer) in self.columns.iter_mut().zip(writers) {
                column.get_mut().unwrap_or_else(PoisonError::into_inner).writer = Some(writer);
            }
        }
        let block = self.block;
        self.threads.spread(self.columns.len(), &|number| {
            let mut column = self.columns[number].lock().unwrap_or_else(PoisonError::into_inner);
            column.done = column.encode(self.schema.field(number), rows, block, last);
        });
        self.rows -= rows;
        let failed = |column: &mut Mutex<Column>| {
            let column = column.get_mut().unwrap_or_else(PoisonError::into_inner);
            let is_failed = column.done.is_err();
            is_failed.then(|| std::mem::replace(&mut column.done, Ok(None)).map(drop))
        };
        self.columns.iter_mut().find_map(failed).unwrap_or(Ok(()))
    }
}

impl Column {
    fn encode(
        &mut self,
        field: &Field,
        rows: usize,
        block: usize,
        last: bool,
    ) -> Result<Option<ArrowColumnChunk>> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        if rows > 0 {
            let arrays: Vec<_> = self.waiting.iter().map(AsRef::as_ref).collect();
            let all = concat(&arrays)?;
            self.waiting.clear();
            for from in (0..rows).step_by(block) {
                let part = all.slice(from, block.min(rows - from));
                for leaf in compute_leaves(field, &part)? {
                    writer.write(&leaf)?;
                }
            }
            if rows < all.len() {
                self.waiting.push(all.slice(rows, all.len() - rows));
            }
        }
        if last { self.writer.take().map(ArrowColumnWriter::close).transpose() } else { Ok(None) }
    }
}
