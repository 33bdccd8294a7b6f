/* peloton.h: reconstruction of particle tracks and pixel clusters, for programs in C and C++.
 *
 * Made by cbindgen; crates/capi/README.md describes it. Every function returns a code (PELOTON_OK is 0), unless it cannot
 * fail; peloton_last_error() returns the message. An error of a single event is never a code: it is a status in the results
 * and a count. Every struct that is passed by itself begins with its size, which the caller sets to sizeof; structs inside
 * others have no size, and never grow. A program cannot link two static Rust libraries: link the shared library when
 * another part of the program is written in Rust.
 */

#ifndef PELOTON_H
#define PELOTON_H

#include <stddef.h>
#include <stdint.h>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
/* Arrow's C data interface, as its specification gives it. */
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};
#endif

// The call succeeded. Errors of single events are statuses in the results, and are counted.
#define PELOTON_OK 0

// A pointer is NULL or misaligned, or a length or number is not valid.
#define PELOTON_INVALID_ARGUMENT -1

// The configuration cannot be used, or a workspace, result or batch is for another sequence.
#define PELOTON_CONFIG -2

// This CPU or this build lacks a feature that the call needs.
#define PELOTON_UNSUPPORTED -3

// A file cannot be read.
#define PELOTON_IO -4

// The bytes of a file or of the input violate their format.
#define PELOTON_FORMAT -5

// Columns contradict each other, or are too long.
#define PELOTON_COLUMNS -6

// Reserved for devices: no function of this version returns it.
#define PELOTON_DEVICE -7

// A fault of the library itself. The handles remain usable.
#define PELOTON_PANIC -8

// Another thread is using the handle, or a child of fork uses a pool or stream of its parent.
#define PELOTON_BUSY -9

// The field `size` of a struct is a size that this library does not know.
#define PELOTON_ABI_MISMATCH -10

// The system cannot start more threads.
#define PELOTON_SYSTEM -11

// The version of this interface. The number rises whenever a program built with an older header would fail; the SONAME
// of the shared library ends with this number (build.rs reads this line).
#define PELOTON_ABI 2

// Type of a column: statuses of events, uint16_t.
#define PELOTON_TYPE_STATUS 0

// Type of a column: starts of lists, and the end of the last list, uint32_t.
#define PELOTON_TYPE_STARTS 1

// Type of a column: uint8_t.
#define PELOTON_TYPE_U8 2

// Type of a column: uint16_t.
#define PELOTON_TYPE_U16 3

// Type of a column: uint32_t.
#define PELOTON_TYPE_U32 4

// Type of a column: uint64_t.
#define PELOTON_TYPE_U64 5

// Type of a column: int64_t.
#define PELOTON_TYPE_I64 6

// Type of a column: float.
#define PELOTON_TYPE_F32 7

// Raw banks of events, copied once into the library's memory. One thread fills a batch; any number of threads run it.
typedef struct peloton_batch peloton_batch;

// A configured sequence. It never changes: any number of threads may use one engine at once.
typedef struct peloton_engine peloton_engine;

// Hashes the results of any number of runs, in order; the hashes do not depend on the division of events into runs.
typedef struct peloton_hasher peloton_hasher;

// Threads of the library that run one engine. The library starts no other threads, except in a stream whose
// configuration asks for more than one.
typedef struct peloton_pool peloton_pool;

// Results of a run: all of its products. A handle gives access to one product. Each run reuses the memory of results.
// Views of columns are valid until the result's next run, export or free.
typedef struct peloton_result peloton_result;

// A stream of pixel hits and their clusters. Results do not depend on how the stream is cut into pieces.
typedef struct peloton_stream peloton_stream;

// Scratch memory of one thread. A workspace may move between threads, but only one call at a time may use it.
typedef struct peloton_workspace peloton_workspace;

// The banks of one source in consecutive events, in the layout of event builders.
typedef struct {
  // sizeof(peloton_block).
  size_t size;
  // Number of the source, a readout board.
  uint16_t source;
  // Version of the encoding of the banks.
  uint8_t version;
  // Alignment of payloads: payload i begins at the next multiple of 2^align_log2 bytes after payload i - 1;
  // align_log2 is at most 16.
  uint8_t align_log2;
  // Type of each event's bank, as in raw bank headers.
  const uint8_t *types;
  // Bytes of each event's payload.
  const uint16_t *sizes;
  // The payloads, one after the other.
  const uint8_t *payloads;
  // Number of readable bytes at the address `payloads`.
  size_t payload_bytes;
} peloton_block;

// Counts of one stage.
typedef struct {
  // Wall-clock time, ns.
  uint64_t ns;
  // Number of items that entered the stage.
  uint64_t items_in;
  // Number of items that left the stage.
  uint64_t items_out;
  // Number of SIMD lanes that did useful work, summed over the gang's steps.
  uint64_t lanes_active;
  // Number of all SIMD lanes, summed over the gang's steps.
  uint64_t lanes_total;
} peloton_stage_counter;

// Counts over events. The library adds to these counts and never clears them; each thread needs its own struct.
typedef struct {
  // sizeof(peloton_counters).
  size_t size;
  // Number of events, with any status.
  uint64_t events;
  // Number of tracks.
  uint64_t tracks;
  // Number of hits: on tracks, in clusters, or in the results of sequences that end at hits.
  uint64_t hits;
  // Number of events with each status; peloton_status_name gives the names.
  uint64_t status[32];
  // Number of items that were truncated for each reason; peloton_truncation_name gives the names.
  uint64_t truncated[16];
  // Counts of each stage; peloton_engine_stage gives the names.
  peloton_stage_counter stage[16];
} peloton_counters;

// Hits of the Velo, sorted by event and module. Columns need no padding, and are borrowed only during the call.
typedef struct {
  // sizeof(peloton_velo_hits).
  size_t size;
  // Number of events.
  size_t events;
  // Number of hits of all events.
  size_t hits;
  // x of the hits, mm; one value a hit.
  const float *x;
  // As x.
  const float *y;
  // As x.
  const float *z;
  // Identifiers of the hits, with which tracks list their hits; one value a hit.
  const uint32_t *id;
  // Index of the first hit of each of the 52 modules of each event, and the number of hits: 52 * events + 1 values.
  const uint32_t *module_start;
  // Status of each event, or NULL: events whose status is not 0 are skipped and keep this status.
  const uint16_t *status_or_null;
} peloton_velo_hits;

// A column of results: its values are in the result's memory, 64-byte aligned (except statuses), with 64 readable
// values after the end.
typedef struct {
  // sizeof(peloton_column).
  size_t size;
  // The values.
  const void *values;
  // Number of values.
  size_t count;
  // The type of the values, a PELOTON_TYPE_ constant such as PELOTON_TYPE_F32.
  int32_t type;
  // The depth of the items that have one value each: 0 events (or clusters), 1 tracks (or hits where there are no
  // tracks), 2 hits. A column of starts at depth d divides the items of depth d + 1 into lists.
  uint32_t depth;
  // Number of lists for each item of this depth if the column contains starts; 1 for all other columns.
  uint32_t lists;
  // Always 0.
  uint32_t reserved;
  // Name of the column; the texts name, unit and meaning live as long as the result.
  const char *name;
  // Unit of the values, "1" for none.
  const char *unit;
  // Meaning of the values.
  const char *meaning;
} peloton_column;

// States of Velo tracks: straight lines and their covariances, one value a track in each column.
typedef struct {
  // x, mm.
  const float *x;
  // y, mm.
  const float *y;
  // z, mm.
  const float *z;
  // dx/dz.
  const float *tx;
  // dy/dz.
  const float *ty;
  // Variance of x, equal to the variance of y, mm^2.
  const float *cov_xx;
  // Covariance of x and tx, equal to the covariance of y and ty, mm.
  const float *cov_xtx;
  // Variance of tx, equal to the variance of ty.
  const float *cov_txtx;
} peloton_velo_states;

// Tracks of the sequence velo: pointers to all columns, with the same alignment and lifetime as in peloton_column.
typedef struct {
  // sizeof(peloton_velo_tracks).
  size_t size;
  // Number of events.
  size_t events;
  // Number of tracks of all events.
  size_t tracks;
  // Number of hits of all tracks.
  size_t entries;
  // Index of the first track of each event, and the number of tracks: events + 1 values.
  const uint32_t *track_start;
  // Index of the first hit of each track, and the number of hits: tracks + 1 values.
  const uint32_t *hit_start;
  // Identifiers of the hits of all tracks: `entries` values.
  const uint32_t *hits;
  // Status of each event.
  const uint16_t *status;
  // chi2 of the fit; one value a track.
  const float *chi2;
  // 1 for tracks that go towards negative z, 0 for others; one value a track.
  const uint8_t *backward;
  // States at the beam line.
  peloton_velo_states beam;
  // States at the end of the Velo.
  peloton_velo_states end;
} peloton_velo_tracks;

// Hits of the cylinder detector, sorted by event and layer; the library copies them once.
typedef struct {
  // sizeof(peloton_cylinder_hits).
  size_t size;
  // Number of events.
  size_t events;
  // Number of hits of all events.
  size_t hits;
  // x of the hits, cm; one value a hit.
  const float *x;
  // As x.
  const float *y;
  // As x.
  const float *z;
  // Variances along r, r-phi and z, cm^2; one value a hit.
  const float *var_r;
  // As var_r.
  const float *var_rphi;
  // As var_r.
  const float *var_z;
  // Index of the first hit of each of the 10 layers of each event, and the number of hits: 10 * events + 1 values.
  const uint32_t *layer_start;
  // Status of each event, or NULL, as in peloton_velo_hits.
  const uint16_t *status_or_null;
} peloton_cylinder_hits;

// The chips and pixels of a sensor.
typedef struct {
  // sizeof(peloton_layout).
  size_t size;
  // Number of independent chips, 1 to 256; 0 means a quad: one sensor of 2 x 2 chips with 256 x 256 pixels each.
  uint32_t chips;
  // Pixels of a chip in x; ignored for a quad.
  uint32_t width;
  // Pixels of a chip in y; ignored for a quad.
  uint32_t height;
  // Width of the gap between the chips of a quad, pixels.
  uint32_t gap;
} peloton_layout;

// Pixel hits in order of arrival; the library copies them once.
typedef struct {
  // sizeof(peloton_pixel_hits).
  size_t size;
  // Number of hits.
  size_t hits;
  // Time of arrival, ticks of 1.5625 ns.
  const int64_t *time;
  // Column of the pixel on the sensor.
  const uint16_t *x;
  // Row of the pixel on the sensor.
  const uint16_t *y;
  // Time over threshold, clocks of 25 ns.
  const uint16_t *tot;
} peloton_pixel_hits;

// Counts of the input of a stream of pixel hits since its beginning.
typedef struct {
  // sizeof(peloton_pixel_counts).
  size_t size;
  // Number of hits that were passed to the search for clusters.
  uint64_t hits;
  // Number of hits that were dropped because the sensor does not have their chip or pixel.
  uint64_t outside;
  // Number of edges of trigger inputs.
  uint64_t triggers;
  // Number of words of known kinds other than hits.
  uint64_t control;
  // Number of words of unknown kinds, or outside of all chunks.
  uint64_t unknown;
  // Number of words or chunks that contradict their format, or are truncated.
  uint64_t malformed;
  // Hits, triggers and heartbeats that were dropped because their time contradicts their neighbours.
  uint64_t implausible;
  // Words that were dropped because their chunk is damaged.
  uint64_t damaged;
  // Number of restarts of the clock; the time continues after a restart.
  uint64_t restarts;
} peloton_pixel_counts;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes an empty batch. Memory: the caller frees *batch with peloton_batch_free. Threads: any thread, at any time.
// Codes: INVALID_ARGUMENT.
int32_t peloton_batch_new(peloton_batch **batch);

// Removes all events. Memory: kept for later events. Threads: one thread at a time. Codes: INVALID_ARGUMENT, BUSY.
int32_t peloton_batch_clear(peloton_batch *batch);

// Number of complete events in the batch. Memory: none. Threads: do not call this while another thread changes the
// batch. Codes: INVALID_ARGUMENT, BUSY.
int32_t peloton_batch_events(const peloton_batch *batch, size_t *events);

// Adds a raw bank to the event that the next peloton_batch_event ends. `type` is the type in a raw bank header. Banks
// of the detectors are stored, banks of readout errors set the event's status, ODIN banks set its numbers, and other
// banks are skipped. Memory: payload is copied. Threads: one thread at a time. Codes: INVALID_ARGUMENT, BUSY.
int32_t peloton_batch_bank(peloton_batch *batch,
                           uint8_t type,
                           uint8_t version,
                           uint16_t source,
                           const uint8_t *payload,
                           size_t bytes);

// Ends an event. status is 0, or an error that the caller found: with partial (17) the event is reconstructed without
// its lost banks, with any other error it is not reconstructed. became, which may be NULL, receives the event's final
// status. Memory: none. Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG (no such status), BUSY.
int32_t peloton_batch_event(peloton_batch *batch, uint64_t event_id, uint16_t status, uint16_t *became);

// Appends the events of the whole MDF records at the beginning of `bytes`. used receives the number of bytes of these
// records: pass the remaining bytes again together with the end of their record. events receives the number of events.
// used and events may be NULL. Memory: bytes are copied. Threads: one thread at a time. Codes: INVALID_ARGUMENT (also
// while an event has banks, but has not ended), FORMAT (bytes contain no record at all), BUSY.
int32_t peloton_batch_mdf(peloton_batch *batch,
                          const uint8_t *bytes,
                          size_t n,
                          size_t *used,
                          size_t *events);

// Appends a slice of an event builder: `events` consecutive events, as one block for each source, which has the
// source's bank of every event. A block whose sizes do not add up gives every event the status truncated_bank; faulty,
// which may be NULL, receives the number of such blocks. Memory: blocks and event_ids are borrowed for the call,
// payloads are copied. Threads: one thread at a time. Codes: INVALID_ARGUMENT (also while an event has banks, but has
// not ended), COLUMNS, ABI_MISMATCH, BUSY. On an error, nothing is appended.
int32_t peloton_batch_blocks(peloton_batch *batch,
                             const peloton_block *blocks,
                             size_t block_count,
                             const uint64_t *event_ids,
                             size_t events,
                             size_t *faulty);

// Frees a batch; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
void peloton_batch_free(peloton_batch *batch);

// Makes an engine from a configuration in TOML, as `peloton run --config` reads it (the key `sequence` names the
// sequence; an empty text is velo), and a geometry: a folder of geometry files, "nominal" (the ideal detector, for
// events marked as simulated with it), "nominal-forced" (the ideal detector for all events), or NULL (the engine
// reconstructs hits only). Memory: texts are borrowed for the call; the caller frees *engine (NULL on failure) with
// peloton_engine_free. Threads: any thread, at any time. Codes: INVALID_ARGUMENT, CONFIG, UNSUPPORTED, IO, FORMAT.
int32_t peloton_engine_new(const char *toml,
                           size_t toml_bytes,
                           const char *geometry_or_null,
                           peloton_engine **engine);

// Writes a description of the engine as JSON, with a terminating zero byte: version, abi, schema, sequence, preset,
// isa, gang, features, stages, config (TOML). A text longer than `capacity` is truncated; `needed` receives the number
// of bytes of the whole text. Memory: `to` points to `capacity` bytes, or is NULL if `capacity` is 0; `needed` may be
// NULL. Threads: any thread, at any time. Codes: INVALID_ARGUMENT.
int32_t peloton_engine_json(const peloton_engine *engine,
                            char *to,
                            size_t capacity,
                            size_t *needed);

// Name of the stage with this number in peloton_counters; NULL if no stage has this number. Memory: the text belongs
// to the engine. Threads: any thread, at any time. Codes: none.
const char *peloton_engine_stage(const peloton_engine *engine, uint32_t stage);

// Name of the product with this number, such as "long_tracks", in the order of `write` in the configuration; NULL if
// no product has this number. Memory: the text belongs to the engine. Threads: any thread, at any time. Codes: none.
const char *peloton_engine_product(const peloton_engine *engine, uint32_t product);

// Frees an engine; NULL is allowed. Memory: workspaces, results, pools and streams of the engine remain usable.
// Threads: after the last call with the object. Codes: none.
void peloton_engine_free(peloton_engine *engine);

// Makes an empty hasher. Memory: the caller frees *hasher with peloton_hasher_free. Threads: any thread, at any
// time. Codes: INVALID_ARGUMENT.
int32_t peloton_hasher_new(peloton_hasher **hasher);

// Adds the product of the handle `result`, as its last run made it. Memory: arguments are borrowed for the call.
// Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG (another sequence or product than before), BUSY.
int32_t peloton_hasher_add(peloton_hasher *hasher, const peloton_result *result);

// The hashes of all results so far, as `peloton run --json` prints them: hash[0] is hash_int, hash[1] output_hash.
// Memory: hash has 2 elements. Threads: one thread at a time. Codes: INVALID_ARGUMENT (nothing was added), BUSY.
int32_t peloton_hasher_end(const peloton_hasher *hasher, uint64_t *hash);

// Frees a hasher; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
void peloton_hasher_free(peloton_hasher *hasher);

// The ABI version of the library. If it differs from PELOTON_ABI, call no other function. Memory: none. Threads: any
// thread, at any time. Codes: none.
uint32_t peloton_abi(void);

// The version of the library, such as "0.1.0". Memory: static. Threads: any thread, at any time. Codes: none.
const char *peloton_version(void);

// Message of the last failed call of this thread; "" if none failed. Memory: the library owns the text, which is valid
// until the next call of this thread fails. Threads: any thread, at any time. Codes: none.
const char *peloton_last_error(void);

// Name of a status, such as "daq_error"; NULL if no status has this number. The numbers of statuses never change.
// Memory: static. Threads: any thread, at any time. Codes: none.
const char *peloton_status_name(uint16_t status);

// Name of a reason for truncation; NULL if no reason has this number. Memory: static. Threads: any thread, at any
// time. Codes: none.
const char *peloton_truncation_name(uint32_t truncation);

// Starts threads that run the engine. Memory: the caller frees *pool with peloton_pool_free; the engine may be freed
// before the pool. Threads: any thread, at any time. Codes: INVALID_ARGUMENT, SYSTEM.
int32_t peloton_pool_new(const peloton_engine *engine, size_t threads, peloton_pool **pool);

// Reconstructs the raw banks of a batch on the threads of the pool, as peloton_run_banks does on one thread. Memory:
// arguments are borrowed for the call; counters may be NULL. Threads: one thread at a time. Codes: INVALID_ARGUMENT,
// CONFIG (another sequence, no geometry), COLUMNS, ABI_MISMATCH, PANIC, BUSY (also in a child of fork).
int32_t peloton_pool_run_banks(peloton_pool *pool,
                               const peloton_batch *batch,
                               peloton_result *result,
                               peloton_counters *counters);

// Reconstructs hits of the Velo on the threads of the pool, as peloton_run_hits does on one thread. Memory: arguments
// are borrowed for the call; counters may be NULL. Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG
// (another sequence, no such status), COLUMNS, ABI_MISMATCH, PANIC, BUSY (also in a child of fork).
int32_t peloton_pool_run_hits(peloton_pool *pool,
                              const peloton_velo_hits *hits,
                              peloton_result *result,
                              peloton_counters *counters);

// Frees a pool and asks its threads to end, which they do a moment later; NULL is allowed. Memory: freed. Threads:
// after the last call with the object. Codes: none.
void peloton_pool_free(peloton_pool *pool);

// Makes an empty result for the engine, and for every other engine of the same sequence that writes the same products;
// it is a handle of the first product. Memory: the caller frees *result with peloton_result_free. Threads: any thread,
// at any time. Codes: INVALID_ARGUMENT.
int32_t peloton_result_new(const peloton_engine *engine,
                           peloton_result **result);

// Number of items at a depth: 0 events (or clusters), 1 tracks (or hits where there are no tracks), 2 hits. Memory:
// none. Threads: do not call this while a run writes to the result. Codes: INVALID_ARGUMENT, BUSY.
int32_t peloton_result_items(const peloton_result *result, uint32_t depth, size_t *items);

// Number of columns. Memory: none. Threads: not during a run into the result. Codes: INVALID_ARGUMENT, BUSY.
int32_t peloton_result_columns(const peloton_result *result, size_t *columns);

// Fills view with the column at this index, from 0, in the order of docs/columns.md. Memory: the caller owns view and
// sets its size; values belong to the result until its next run, export or free. Threads: do not call this while a run
// writes to the result. Codes: INVALID_ARGUMENT (no such column), ABI_MISMATCH, BUSY.
int32_t peloton_result_column_at(const peloton_result *result,
                                 size_t index,
                                 peloton_column *view);

// Fills view with the column of this name, such as "chi2"; otherwise like peloton_result_column_at. Memory: name is
// borrowed for the call. Threads: do not call this while a run writes to the result. Codes: INVALID_ARGUMENT (no such
// column), ABI_MISMATCH, BUSY.
int32_t peloton_result_column(const peloton_result *result, const char *name, peloton_column *view);

// Fills view with all columns of the product velo_tracks at once; otherwise like peloton_result_column_at. Memory: the
// caller owns view and sets its size; its pointers are valid as in peloton_result_column_at. Threads: do not call this
// while a run writes to the result. Codes: INVALID_ARGUMENT (another product), ABI_MISMATCH, BUSY.
int32_t peloton_result_velo_tracks(const peloton_result *result,
                                   peloton_velo_tracks *view);

// Exports the columns through Arrow's C data interface: a record batch as a struct array, with the schema of the
// Parquet files (units in the fields' metadata). Values are moved without a copy, except statuses, and times and
// energies of pixels, which are converted to the units of files. Afterwards the product is empty, and runs may fill it
// again. Memory: *schema and *array are empty before; the caller owns them, and calls their release. Threads: one
// thread at a time. Codes: INVALID_ARGUMENT, COLUMNS (2^31 or more entries in lists; the product is then lost), BUSY.
int32_t peloton_result_arrow(peloton_result *result,
                             struct ArrowSchema *schema,
                             struct ArrowArray *array);

// Makes another handle of the same results, for the product with this name, such as "long_tracks". A run into
// any handle of the results writes all products; otherwise this handle is like a handle of peloton_result_new. Memory:
// name is borrowed for the call; the caller frees *product with peloton_result_free, before or after the other
// handles. Threads: do not call this while a run writes to any handle of the results. Codes: INVALID_ARGUMENT, CONFIG
// (the configuration does not write this product), BUSY.
int32_t peloton_result_product(const peloton_result *result,
                               const char *name,
                               peloton_result **product);

// Frees a result; NULL is allowed. Memory: when the last handle of the results is freed, all their memory is freed,
// except columns that peloton_result_arrow exported. Threads: after the last call with the object. Codes: none.
void peloton_result_free(peloton_result *result);

// Makes a workspace for the engine, and for every other engine of the same sequence. Memory: the caller frees
// *workspace with peloton_workspace_free. Threads: any thread, at any time. Codes: INVALID_ARGUMENT.
int32_t peloton_workspace_new(const peloton_engine *engine, peloton_workspace **workspace);

// Frees a workspace; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
void peloton_workspace_free(peloton_workspace *workspace);

// Reconstructs the raw banks of a batch on this thread: the result is emptied and receives one entry per event, in
// order. Memory: all arguments are borrowed for the call; counters may be NULL. Threads: any number of threads may
// share an engine and a batch; each thread needs its own workspace, result and counters. Codes: INVALID_ARGUMENT,
// CONFIG (another sequence, no geometry), ABI_MISMATCH, PANIC, BUSY.
int32_t peloton_run_banks(const peloton_engine *engine,
                          peloton_workspace *workspace,
                          const peloton_batch *batch,
                          peloton_result *result,
                          peloton_counters *counters);

// Reconstructs hits of the Velo, without copying them, on this thread; otherwise like peloton_run_banks. Memory:
// arguments are borrowed for the call; counters may be NULL. Threads: as for peloton_run_banks. Codes:
// INVALID_ARGUMENT, CONFIG (another sequence, no such status), COLUMNS, ABI_MISMATCH, PANIC, BUSY.
int32_t peloton_run_hits(const peloton_engine *engine,
                         peloton_workspace *workspace,
                         const peloton_velo_hits *hits,
                         peloton_result *result,
                         peloton_counters *counters);

// Reconstructs hits of the cylinder detector on this thread; otherwise like peloton_run_banks. Memory: hits are
// borrowed for the call and copied; counters may be NULL. Threads: as for peloton_run_banks. Codes:
// INVALID_ARGUMENT, CONFIG (another sequence, no such status), COLUMNS, ABI_MISMATCH, PANIC, BUSY.
int32_t peloton_run_cylinder(const peloton_engine *engine,
                             peloton_workspace *workspace,
                             const peloton_cylinder_hits *hits,
                             peloton_result *result,
                             peloton_counters *counters);

// Makes a stream for an engine of the sequence timepix and the sensor of this layout; NULL means four independent
// chips of 256 x 256 pixels. The calling thread does the work, unless the configuration has threads above 1. Memory:
// layout_or_null is borrowed for the call; the caller frees *stream with peloton_stream_free; the engine may be freed
// before the stream. Threads: any thread, at any time. Codes: INVALID_ARGUMENT (an engine of another sequence),
// CONFIG, ABI_MISMATCH, SYSTEM.
int32_t peloton_stream_new(const peloton_engine *engine,
                           const peloton_layout *layout_or_null,
                           peloton_stream **stream);

// Adds raw words of Timepix3 (.tpx3), cut anywhere, even inside a word. Memory: n bytes are borrowed for the call.
// Threads: one thread at a time. Codes: INVALID_ARGUMENT, COLUMNS (too many clusters waited to be taken, and are
// lost), PANIC, BUSY.
int32_t peloton_stream_tpx3(peloton_stream *stream, const uint8_t *bytes, size_t n);

// Adds pixel hits; hits outside of the sensor are dropped and counted. Memory: hits are borrowed for the call.
// Threads: one thread at a time. Codes: INVALID_ARGUMENT, COLUMNS (lost clusters), ABI_MISMATCH, PANIC, BUSY.
int32_t peloton_stream_hits(peloton_stream *stream, const peloton_pixel_hits *hits);

// Ends the stream: clusters that waited for later hits become complete. Later hits begin a new stream. Memory: none.
// Threads: one thread at a time. Codes: INVALID_ARGUMENT, COLUMNS, PANIC, BUSY.
int32_t peloton_stream_end(peloton_stream *stream);

// Moves the complete clusters into a result of the engine, in order. counters receives the counts since the last call,
// and counts the counts of the input since the stream's beginning; both may be NULL. Memory: arguments are borrowed.
// Threads: one thread at a time. Codes: INVALID_ARGUMENT, CONFIG (a result of another sequence), ABI_MISMATCH, BUSY.
int32_t peloton_stream_clusters(peloton_stream *stream,
                                peloton_result *result,
                                peloton_counters *counters,
                                peloton_pixel_counts *counts);

// Frees a stream; NULL is allowed. Memory: freed. Threads: after the last call with the object. Codes: none.
void peloton_stream_free(peloton_stream *stream);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PELOTON_H */
