// A caller that does everything wrong that can be told: every function gets NULL for each pointer in turn, lengths that
// cannot be, structs of wrong sizes, handles of other sequences. Nothing crashes or leaks, and every answer is a code.
#include <peloton.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace {
int failures = 0;

void expect(std::int32_t found, std::initializer_list<std::int32_t> allowed, const char *what, int line) {
  for (std::int32_t code : allowed)
    if (found == code)
      return;
  std::fprintf(stderr, "line %d: %s gave %d (%s)\n", line, what, found, peloton_last_error());
  ++failures;
}
#define EXPECT(call, ...) expect((call), {__VA_ARGS__}, #call, __LINE__)
#define INVALID PELOTON_INVALID_ARGUMENT

template <class T> T sized() {
  T value{};
  value.size = sizeof value;
  return value;
}

struct Handles {
  peloton_engine *velo = nullptr, *cylinder = nullptr, *timepix = nullptr, *scifi = nullptr;
  peloton_workspace *workspace = nullptr, *other_workspace = nullptr;
  peloton_result *result = nullptr, *other_result = nullptr, *clusters = nullptr;
  peloton_batch *batch = nullptr;
  peloton_hasher *hasher = nullptr;
  peloton_pool *pool = nullptr;
  peloton_stream *stream = nullptr;
};

std::int32_t make(const char *toml, const char *geometry, peloton_engine **to) {
  return peloton_engine_new(toml, std::strlen(toml), geometry, to);
}

void engines(Handles &h) {
  EXPECT(make("", "nominal-forced", &h.velo), PELOTON_OK);
  EXPECT(make("sequence = 'scifi'", "nominal-forced", &h.scifi), PELOTON_OK);
  EXPECT(make("sequence = 'cylinder'\n[cylinder]\nseeds = 'hits'", nullptr, &h.cylinder), PELOTON_OK);
  EXPECT(make("sequence = 'timepix'", nullptr, &h.timepix), PELOTON_OK);
  peloton_engine *none = nullptr;
  // *engine is NULL after every failure, whatever it was before.
  auto none_of = [&](const char *toml, std::size_t bytes, const char *geometry) {
    none = h.velo;
    std::int32_t code = peloton_engine_new(toml, bytes, geometry, &none);
    if (none != nullptr)
      std::fprintf(stderr, "code %d leaves an engine behind\n", code), ++failures;
    return code;
  };
  auto none_like = [&](const char *toml, const char *geometry) { return none_of(toml, std::strlen(toml), geometry); };
  EXPECT(none_like("sequence = 'nonsense'", nullptr), PELOTON_CONFIG);
  EXPECT(none_like("sequence = 'long'", nullptr), PELOTON_CONFIG);
  EXPECT(none_like("sequence = 'cylinder'", nullptr), PELOTON_CONFIG);
  EXPECT(none_like("sequence = 'long'", "/there/is/none"), PELOTON_CONFIG);
  EXPECT(none_like("gang = 3", nullptr), PELOTON_CONFIG, PELOTON_UNSUPPORTED);
  EXPECT(none_of("\xff\xfe", 2, nullptr), INVALID);
  EXPECT(none_of(nullptr, 5, nullptr), INVALID);
  EXPECT(none_of("", SIZE_MAX, nullptr), INVALID);
  EXPECT(none_of("", 0, "\xff"), INVALID);
  EXPECT(peloton_engine_new("", 0, nullptr, nullptr), INVALID);
  EXPECT(peloton_engine_new(nullptr, 0, nullptr, &none), PELOTON_OK);
  peloton_engine_free(none);
  std::size_t needed = 0;
  EXPECT(peloton_engine_json(h.velo, nullptr, 0, &needed), PELOTON_OK);
  std::vector<char> text(needed, 'x');
  for (std::size_t capacity : {std::size_t(1), std::size_t(10), needed}) {
    EXPECT(peloton_engine_json(h.velo, text.data(), capacity, nullptr), PELOTON_OK);
    if (std::strlen(text.data()) != capacity - 1)
      ++failures;
  }
  EXPECT(peloton_engine_json(nullptr, text.data(), needed, nullptr), INVALID);
  EXPECT(peloton_engine_json(h.velo, nullptr, 5, nullptr), INVALID);
  if (peloton_engine_stage(nullptr, 0) || peloton_engine_stage(h.velo, 99) || !peloton_engine_stage(h.velo, 0))
    ++failures;
  if (peloton_engine_product(nullptr, 0) || peloton_engine_product(h.velo, 1) || !peloton_engine_product(h.timepix, 0))
    ++failures;
  if (peloton_status_name(9999) || peloton_truncation_name(9999) || !peloton_status_name(15))
    ++failures;
}

void objects(Handles &h) {
  EXPECT(peloton_workspace_new(h.velo, &h.workspace), PELOTON_OK);
  EXPECT(peloton_workspace_new(h.cylinder, &h.other_workspace), PELOTON_OK);
  peloton_workspace *no_workspace = h.workspace;
  EXPECT(peloton_workspace_new(nullptr, &no_workspace), INVALID);
  EXPECT(peloton_workspace_new(h.velo, nullptr), INVALID);
  EXPECT(peloton_workspace_new(h.timepix, &no_workspace), INVALID);
  if (no_workspace != nullptr)
    ++failures;
  EXPECT(peloton_result_new(h.velo, &h.result), PELOTON_OK);
  EXPECT(peloton_result_new(h.scifi, &h.other_result), PELOTON_OK);
  EXPECT(peloton_result_new(h.timepix, &h.clusters), PELOTON_OK);
  EXPECT(peloton_result_new(nullptr, nullptr), INVALID);
  EXPECT(peloton_result_new(h.velo, nullptr), INVALID);
  EXPECT(peloton_batch_new(&h.batch), PELOTON_OK);
  EXPECT(peloton_batch_new(nullptr), INVALID);
  EXPECT(peloton_hasher_new(&h.hasher), PELOTON_OK);
  EXPECT(peloton_hasher_new(nullptr), INVALID);
  EXPECT(peloton_pool_new(h.velo, 2, &h.pool), PELOTON_OK);
  peloton_pool *none = nullptr;
  EXPECT(peloton_pool_new(h.velo, 0, &none), INVALID);
  EXPECT(peloton_pool_new(h.velo, SIZE_MAX, &none), INVALID);
  EXPECT(peloton_pool_new(nullptr, 1, &none), INVALID);
  EXPECT(peloton_pool_new(h.velo, 1, nullptr), INVALID);
  EXPECT(peloton_pool_new(h.timepix, 1, &none), INVALID);
}

void batches(Handles &h) {
  std::uint8_t bytes[64] = {};
  std::size_t count = 0;
  std::uint16_t became = 0;
  EXPECT(peloton_batch_bank(h.batch, 66, 4, 1, bytes, sizeof bytes), PELOTON_OK);
  EXPECT(peloton_batch_bank(nullptr, 66, 4, 1, bytes, 4), INVALID);
  EXPECT(peloton_batch_bank(h.batch, 66, 4, 2, nullptr, 4), INVALID);
  EXPECT(peloton_batch_bank(h.batch, 66, 4, 2, bytes, SIZE_MAX), INVALID);
  EXPECT(peloton_batch_bank(h.batch, 66, 4, 3, nullptr, 0), PELOTON_OK);
  EXPECT(peloton_batch_bank(h.batch, 16, 7, 0, bytes, 3), PELOTON_OK);
  EXPECT(peloton_batch_event(h.batch, 1, 9999, &became), PELOTON_CONFIG);
  EXPECT(peloton_batch_event(nullptr, 1, 0, &became), INVALID);
  EXPECT(peloton_batch_event(h.batch, 1, 0, nullptr), PELOTON_OK);
  EXPECT(peloton_batch_bank(h.batch, 90, 1, 1, nullptr, 0), PELOTON_OK);
  EXPECT(peloton_batch_event(h.batch, 2, 0, &became), PELOTON_OK);
  if (std::strcmp(peloton_status_name(became), "daq_error") != 0)
    ++failures;
  std::vector<std::uint8_t> large(70000);
  EXPECT(peloton_batch_bank(h.batch, 66, 4, 1, large.data(), large.size()), PELOTON_OK);
  EXPECT(peloton_batch_event(h.batch, 2, 0, &became), PELOTON_OK);
  if (std::strcmp(peloton_status_name(became), "oversized_bank") != 0)
    ++failures;
  EXPECT(peloton_batch_mdf(h.batch, large.data(), large.size(), &count, nullptr), PELOTON_FORMAT, PELOTON_OK);
  EXPECT(peloton_batch_mdf(h.batch, nullptr, 0, nullptr, nullptr), PELOTON_OK);
  EXPECT(peloton_batch_mdf(h.batch, nullptr, 8, nullptr, nullptr), INVALID);
  EXPECT(peloton_batch_mdf(nullptr, large.data(), 8, nullptr, nullptr), INVALID);
  EXPECT(peloton_batch_mdf(h.batch, large.data(), SIZE_MAX, nullptr, nullptr), INVALID);
  EXPECT(peloton_batch_events(h.batch, &count), PELOTON_OK);
  EXPECT(peloton_batch_events(h.batch, nullptr), INVALID);
  EXPECT(peloton_batch_events(nullptr, &count), INVALID);
  EXPECT(peloton_batch_clear(nullptr), INVALID);

  std::uint8_t types[2] = {66, 64};
  std::uint16_t sizes[2] = {8, 8};
  std::uint64_t ids[2] = {3, 4};
  auto block = sized<peloton_block>();
  block.source = 1, block.version = 4, block.align_log2 = 2, block.types = types, block.sizes = sizes;
  block.payloads = bytes, block.payload_bytes = 16;
  EXPECT(peloton_batch_blocks(h.batch, &block, 1, ids, 2, &count), PELOTON_OK);
  EXPECT(peloton_batch_blocks(h.batch, nullptr, 0, ids, 2, &count), PELOTON_OK);
  EXPECT(peloton_batch_blocks(nullptr, &block, 1, ids, 2, &count), INVALID);
  EXPECT(peloton_batch_blocks(h.batch, nullptr, 1, ids, 2, &count), INVALID);
  EXPECT(peloton_batch_blocks(h.batch, &block, 1, nullptr, 2, &count), INVALID);
  EXPECT(peloton_batch_blocks(h.batch, &block, SIZE_MAX, ids, 2, nullptr), INVALID);
  EXPECT(peloton_batch_blocks(h.batch, &block, 1, ids, SIZE_MAX, nullptr), INVALID);
  auto damaged = block;
  damaged.payload_bytes = 15;
  EXPECT(peloton_batch_blocks(h.batch, &damaged, 1, ids, 2, &count), PELOTON_OK);
  if (count != 1)
    ++failures;
  damaged = block, damaged.types = nullptr;
  EXPECT(peloton_batch_blocks(h.batch, &damaged, 1, ids, 2, nullptr), INVALID);
  damaged = block, damaged.sizes = nullptr;
  EXPECT(peloton_batch_blocks(h.batch, &damaged, 1, ids, 2, nullptr), INVALID);
  damaged = block, damaged.payloads = nullptr;
  EXPECT(peloton_batch_blocks(h.batch, &damaged, 1, ids, 2, nullptr), INVALID);
  damaged = block, damaged.align_log2 = 255;
  EXPECT(peloton_batch_blocks(h.batch, &damaged, 1, ids, 2, nullptr), PELOTON_COLUMNS);
  for (std::size_t size : {std::size_t(0), std::size_t(8), SIZE_MAX, std::size_t(5000)}) {
    damaged = block, damaged.size = size;
    EXPECT(peloton_batch_blocks(h.batch, &damaged, 1, ids, 2, nullptr), PELOTON_ABI_MISMATCH);
  }
}

/// An address that no value of its type can have.
template <class T> T *odd(T *pointer) {
  return reinterpret_cast<T *>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

/// Calls that fail change nothing: neither for a place that cannot be written to, nor while an event is open.
void unchanged(Handles &h) {
  std::size_t before = 0, after = 0, count[2] = {};
  std::uint16_t became[2] = {};
  const std::uint8_t bytes[16] = {};
  // One record of an event without banks: its length three times, no checksum, kind of header and data, masks and numbers.
  const std::uint32_t record[12] = {48, 48, 48, 0, 0x37 << 8 | 1 << 16};
  const auto *mdf = reinterpret_cast<const std::uint8_t *>(record);
  const std::uint8_t type = 66;
  const std::uint16_t size = 8;
  const std::uint64_t id = 3;
  auto block = sized<peloton_block>();
  block.source = 1, block.version = 4, block.align_log2 = 2, block.types = &type, block.sizes = &size;
  block.payloads = bytes, block.payload_bytes = 8;
  peloton_batch *batch = nullptr;
  EXPECT(peloton_batch_new(&batch), PELOTON_OK);
  auto same = [&](int line) {
    EXPECT(peloton_batch_events(batch, &after), PELOTON_OK);
    if (after != before)
      std::fprintf(stderr, "line %d: %zu events became %zu\n", line, before, after), ++failures;
  };
  EXPECT(peloton_batch_mdf(batch, mdf, sizeof record, odd(count), nullptr), INVALID), same(__LINE__);
  EXPECT(peloton_batch_mdf(batch, mdf, sizeof record, nullptr, odd(count)), INVALID), same(__LINE__);
  EXPECT(peloton_batch_blocks(batch, &block, 1, &id, 1, odd(count)), INVALID), same(__LINE__);
  EXPECT(peloton_batch_event(batch, 1, 0, odd(became)), INVALID), same(__LINE__);
  EXPECT(peloton_batch_events(batch, odd(count)), INVALID);
  EXPECT(peloton_batch_mdf(batch, mdf, sizeof record, count, &before), PELOTON_OK);
  if (count[0] != sizeof record || before != 1)
    ++failures;
  same(__LINE__);
  EXPECT(peloton_batch_bank(batch, 66, 4, 1, bytes, 8), PELOTON_OK);
  EXPECT(peloton_batch_mdf(batch, mdf, sizeof record, nullptr, nullptr), INVALID), same(__LINE__);
  if (std::strstr(peloton_last_error(), "peloton_batch_event") == nullptr)
    ++failures;
  EXPECT(peloton_batch_blocks(batch, &block, 1, &id, 1, nullptr), INVALID), same(__LINE__);
  // The bank is still there: a second one of its board makes the event a damaged one.
  EXPECT(peloton_batch_bank(batch, 66, 4, 1, bytes, 8), PELOTON_OK);
  EXPECT(peloton_batch_event(batch, 2, 0, became), PELOTON_OK);
  if (became[0] == 0)
    ++failures;
  EXPECT(peloton_batch_blocks(batch, &block, 1, &id, 1, nullptr), PELOTON_OK);
  EXPECT(peloton_batch_bank(batch, 66, 4, 1, bytes, 8), PELOTON_OK);
  EXPECT(peloton_batch_clear(batch), PELOTON_OK);
  EXPECT(peloton_batch_mdf(batch, mdf, sizeof record, nullptr, nullptr), PELOTON_OK);
  auto counters = sized<peloton_counters>();
  EXPECT(peloton_run_banks(h.velo, h.workspace, batch, h.result, odd(&counters)), INVALID);
  peloton_batch_free(batch);
}

void runs(Handles &h) {
  auto counters = sized<peloton_counters>();
  EXPECT(peloton_run_banks(h.velo, h.workspace, h.batch, h.result, &counters), PELOTON_OK);
  EXPECT(peloton_run_banks(nullptr, h.workspace, h.batch, h.result, nullptr), INVALID);
  EXPECT(peloton_run_banks(h.velo, nullptr, h.batch, h.result, nullptr), INVALID);
  EXPECT(peloton_run_banks(h.velo, h.workspace, nullptr, h.result, nullptr), INVALID);
  EXPECT(peloton_run_banks(h.velo, h.workspace, h.batch, nullptr, nullptr), INVALID);
  EXPECT(peloton_run_banks(h.timepix, h.workspace, h.batch, h.result, nullptr), INVALID);
  EXPECT(peloton_run_banks(h.cylinder, h.other_workspace, h.batch, h.result, nullptr), PELOTON_CONFIG);
  EXPECT(peloton_run_banks(h.scifi, h.workspace, h.batch, h.other_result, nullptr), PELOTON_CONFIG);
  EXPECT(peloton_run_banks(h.velo, h.workspace, h.batch, h.other_result, nullptr), PELOTON_CONFIG);
  // The banks do not say that they are of the nominal detector.
  peloton_engine *nominal = nullptr;
  peloton_pool *pool = nullptr;
  EXPECT(make("bad_banks = 'bank'", "nominal", &nominal), PELOTON_OK);
  EXPECT(make("bad_banks = 'none'", "nominal", nullptr), INVALID);
  EXPECT(peloton_run_banks(nominal, h.workspace, h.batch, h.result, nullptr), PELOTON_CONFIG);
  EXPECT(peloton_pool_new(nominal, 1, &pool), PELOTON_OK);
  EXPECT(peloton_pool_run_banks(pool, h.batch, h.result, nullptr), PELOTON_CONFIG);
  peloton_pool_free(pool);
  peloton_engine_free(nominal);
  EXPECT(peloton_pool_run_banks(h.pool, h.batch, h.result, nullptr), PELOTON_OK);
  EXPECT(peloton_pool_run_banks(h.pool, h.batch, h.other_result, nullptr), PELOTON_CONFIG);
  EXPECT(peloton_pool_run_banks(nullptr, h.batch, h.result, nullptr), INVALID);
  EXPECT(peloton_pool_run_banks(h.pool, nullptr, h.result, nullptr), INVALID);
  EXPECT(peloton_pool_run_banks(h.pool, h.batch, nullptr, nullptr), INVALID);
  for (std::size_t size : {std::size_t(0), std::size_t(8), SIZE_MAX}) {
    counters.size = size;
    EXPECT(peloton_run_banks(h.velo, h.workspace, h.batch, h.result, &counters), PELOTON_ABI_MISMATCH);
  }

  std::vector<float> x(3, 1.0f);
  std::vector<std::uint32_t> id(3), start(53, 3);
  std::vector<std::uint16_t> status(1);
  start[0] = 0;
  auto good = sized<peloton_velo_hits>();
  good.events = 1, good.hits = 3, good.x = good.y = good.z = x.data(), good.id = id.data();
  good.module_start = start.data(), good.status_or_null = status.data();
  auto run = [&](const peloton_velo_hits &hits) {
    std::int32_t one = peloton_run_hits(h.velo, h.workspace, &hits, h.result, nullptr);
    std::int32_t two = peloton_pool_run_hits(h.pool, &hits, h.result, nullptr);
    if (one != two)
      ++failures;
    return one;
  };
  EXPECT(run(good), PELOTON_OK);
  EXPECT(peloton_run_hits(h.velo, h.workspace, nullptr, h.result, nullptr), INVALID);
  EXPECT(peloton_run_hits(h.scifi, h.workspace, &good, h.other_result, nullptr), PELOTON_CONFIG);
  EXPECT(peloton_pool_run_hits(h.pool, nullptr, h.result, nullptr), INVALID);
  auto wrong = good;
  wrong.x = nullptr, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.y = nullptr, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.z = nullptr, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.id = nullptr, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.module_start = nullptr, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.status_or_null = nullptr, EXPECT(run(wrong), PELOTON_OK), wrong = good;
  wrong.events = SIZE_MAX, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.events = SIZE_MAX / 64, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.hits = SIZE_MAX, EXPECT(run(wrong), INVALID), wrong = good;
  wrong.events = 0, EXPECT(run(wrong), PELOTON_COLUMNS), wrong = good;
  wrong.hits = 2, EXPECT(run(wrong), PELOTON_COLUMNS), wrong = good;
  wrong.x = odd(good.x), EXPECT(run(wrong), INVALID), wrong = good;
  wrong.size = 16, EXPECT(run(wrong), PELOTON_ABI_MISMATCH), wrong = good;
  start[20] = 7, EXPECT(run(good), PELOTON_COLUMNS), start[20] = 3;
  status[0] = 500, EXPECT(run(good), PELOTON_CONFIG), status[0] = 0;

  std::vector<std::uint32_t> layers(11, 3);
  layers[0] = 0;
  auto cylinder = sized<peloton_cylinder_hits>();
  cylinder.events = 1, cylinder.hits = 3, cylinder.x = cylinder.y = cylinder.z = x.data();
  cylinder.var_r = cylinder.var_rphi = cylinder.var_z = x.data(), cylinder.layer_start = layers.data();
  peloton_result *tracks = nullptr;
  EXPECT(peloton_result_new(h.cylinder, &tracks), PELOTON_OK);
  auto bend = [&](const peloton_cylinder_hits &hits) {
    return peloton_run_cylinder(h.cylinder, h.other_workspace, &hits, tracks, nullptr);
  };
  EXPECT(bend(cylinder), PELOTON_OK);
  auto bent = cylinder;
  bent.var_z = nullptr, EXPECT(bend(bent), INVALID), bent = cylinder;
  bent.layer_start = nullptr, EXPECT(bend(bent), INVALID), bent = cylinder;
  bent.events = SIZE_MAX, EXPECT(bend(bent), INVALID), bent = cylinder;
  bent.events = SIZE_MAX / 64, EXPECT(bend(bent), INVALID), bent = cylinder;
  bent.events = SIZE_MAX / 64, bent.layer_start = nullptr, EXPECT(bend(bent), INVALID), bent = cylinder;
  // Fewer than memory could hold: no starts, so nothing is made for them.
  bent.events = SIZE_MAX / 4096, bent.layer_start = nullptr, EXPECT(bend(bent), INVALID), bent = cylinder;
  bent.hits = SIZE_MAX, EXPECT(bend(bent), INVALID), bent = cylinder;
  bent.hits = 2, EXPECT(bend(bent), PELOTON_COLUMNS), bent = cylinder;
  layers[4] = 9, EXPECT(bend(cylinder), PELOTON_COLUMNS);
  EXPECT(peloton_run_cylinder(h.cylinder, h.other_workspace, nullptr, tracks, nullptr), INVALID);
  EXPECT(peloton_run_cylinder(h.velo, h.workspace, &cylinder, h.result, nullptr), PELOTON_COLUMNS, PELOTON_CONFIG);
  peloton_result_free(tracks);
}

void results(Handles &h) {
  auto view = sized<peloton_column>();
  auto tracks = sized<peloton_velo_tracks>();
  std::size_t count = 0;
  EXPECT(peloton_result_columns(h.result, &count), PELOTON_OK);
  for (std::size_t i = 0; i < count; ++i)
    EXPECT(peloton_result_column_at(h.result, i, &view), PELOTON_OK);
  EXPECT(peloton_result_column_at(h.result, count, &view), INVALID);
  EXPECT(peloton_result_column_at(h.result, SIZE_MAX, &view), INVALID);
  EXPECT(peloton_result_column_at(h.result, 0, nullptr), INVALID);
  EXPECT(peloton_result_column_at(nullptr, 0, &view), INVALID);
  EXPECT(peloton_result_column(h.result, "chi2", &view), PELOTON_OK);
  EXPECT(peloton_result_column(h.result, "nothing", &view), INVALID);
  EXPECT(peloton_result_column(h.result, "beam_cov_xt", &view), INVALID);
  if (std::strstr(peloton_last_error(), "write `beam_cov_xtx`") == nullptr)
    ++failures;
  EXPECT(peloton_result_column(h.result, nullptr, &view), INVALID);
  EXPECT(peloton_result_column(nullptr, "chi2", &view), INVALID);
  EXPECT(peloton_result_columns(nullptr, &count), INVALID);
  EXPECT(peloton_result_columns(h.result, nullptr), INVALID);
  EXPECT(peloton_result_items(h.result, 2, &count), PELOTON_OK);
  EXPECT(peloton_result_items(h.result, 3, &count), INVALID);
  EXPECT(peloton_result_items(h.result, 0, nullptr), INVALID);
  EXPECT(peloton_result_items(nullptr, 0, &count), INVALID);
  EXPECT(peloton_result_velo_tracks(h.result, &tracks), PELOTON_OK);
  EXPECT(peloton_result_velo_tracks(h.other_result, &tracks), INVALID);
  EXPECT(peloton_result_velo_tracks(nullptr, &tracks), INVALID);
  EXPECT(peloton_result_velo_tracks(h.result, nullptr), INVALID);
  // A newer header's struct: what this library does not know stays as it was.
  struct {
    peloton_velo_tracks known;
    std::uint64_t added;
  } newer{{}, 7};
  newer.known.size = sizeof newer;
  EXPECT(peloton_result_velo_tracks(h.result, &newer.known), PELOTON_OK);
  if (newer.known.track_start == nullptr || newer.known.size != sizeof newer || newer.added != 7)
    ++failures;
  // No header has had a smaller one: not even one that ends where a field does, or in the middle of one.
  for (std::size_t size : {std::size_t(0), std::size_t(8), offsetof(peloton_velo_tracks, end), sizeof tracks - 4, SIZE_MAX}) {
    tracks.size = size, view.size = size == SIZE_MAX ? size : std::min(size, sizeof view - 1);
    EXPECT(peloton_result_column(h.result, "chi2", &view), PELOTON_ABI_MISMATCH);
    EXPECT(peloton_result_velo_tracks(h.result, &tracks), PELOTON_ABI_MISMATCH);
  }
  ArrowSchema schema{};
  ArrowArray array{};
  EXPECT(peloton_result_arrow(nullptr, &schema, &array), INVALID);
  EXPECT(peloton_result_arrow(h.result, nullptr, &array), INVALID);
  EXPECT(peloton_result_arrow(h.result, &schema, nullptr), INVALID);
  std::uint64_t hash[2];
  EXPECT(peloton_hasher_end(h.hasher, hash), INVALID);
  EXPECT(peloton_hasher_add(h.hasher, h.result), PELOTON_OK);
  EXPECT(peloton_hasher_add(h.hasher, h.other_result), PELOTON_CONFIG);
  peloton_result *product = nullptr;
  EXPECT(peloton_result_product(h.result, "velo_tracks", &product), PELOTON_OK);
  EXPECT(peloton_hasher_add(h.hasher, product), PELOTON_OK);
  peloton_result_free(product);
  EXPECT(peloton_result_product(h.result, "long_tracks", &product), PELOTON_CONFIG);
  if (product != nullptr || std::strstr(peloton_last_error(), "`long_tracks` among velo_tracks") == nullptr)
    ++failures;
  EXPECT(peloton_result_product(nullptr, "velo_tracks", &product), INVALID);
  EXPECT(peloton_result_product(h.result, nullptr, &product), INVALID);
  EXPECT(peloton_result_product(h.result, "\xff", &product), INVALID);
  EXPECT(peloton_result_product(h.result, "velo_tracks", nullptr), INVALID);
  EXPECT(peloton_hasher_add(nullptr, h.result), INVALID);
  EXPECT(peloton_hasher_add(h.hasher, nullptr), INVALID);
  EXPECT(peloton_hasher_end(h.hasher, nullptr), INVALID);
  EXPECT(peloton_hasher_end(nullptr, hash), INVALID);
  EXPECT(peloton_hasher_end(h.hasher, hash), PELOTON_OK);
  EXPECT(peloton_result_arrow(h.result, &schema, &array), PELOTON_OK);
  EXPECT(peloton_result_items(h.result, 0, &count), PELOTON_OK);
  if (count != 0)
    ++failures;
  array.release(&array);
  schema.release(&schema);
}

void streams(Handles &h) {
  auto layout = sized<peloton_layout>();
  layout.chips = 4, layout.width = layout.height = 256;
  EXPECT(peloton_stream_new(h.timepix, &layout, &h.stream), PELOTON_OK);
  peloton_stream *none = nullptr;
  EXPECT(peloton_stream_new(nullptr, nullptr, &none), INVALID);
  EXPECT(peloton_stream_new(h.timepix, nullptr, nullptr), INVALID);
  EXPECT(peloton_stream_new(h.velo, nullptr, &none), INVALID);
  layout.chips = UINT32_MAX;
  EXPECT(peloton_stream_new(h.timepix, &layout, &none), INVALID, PELOTON_CONFIG);
  layout.chips = 0, layout.gap = UINT32_MAX;
  EXPECT(peloton_stream_new(h.timepix, &layout, &none), INVALID, PELOTON_CONFIG);
  layout.size = 0;
  EXPECT(peloton_stream_new(h.timepix, &layout, &none), PELOTON_ABI_MISMATCH);
  std::uint8_t bytes[17] = {'T', 'P', 'X', '3'};
  EXPECT(peloton_stream_tpx3(h.stream, bytes, sizeof bytes), PELOTON_OK);
  EXPECT(peloton_stream_tpx3(h.stream, nullptr, 0), PELOTON_OK);
  EXPECT(peloton_stream_tpx3(h.stream, nullptr, 4), INVALID);
  EXPECT(peloton_stream_tpx3(h.stream, bytes, SIZE_MAX), INVALID);
  EXPECT(peloton_stream_tpx3(nullptr, bytes, 4), INVALID);
  std::int64_t time[3] = {INT64_MIN, 5, INT64_MAX};
  std::uint16_t x[3] = {1, 2, 65535};
  peloton_pixel_hits hits{sizeof hits, 3, time, x, x, x};
  EXPECT(peloton_stream_hits(h.stream, &hits), PELOTON_OK);
  EXPECT(peloton_stream_hits(nullptr, &hits), INVALID);
  EXPECT(peloton_stream_hits(h.stream, nullptr), INVALID);
  hits.tot = nullptr;
  EXPECT(peloton_stream_hits(h.stream, &hits), INVALID);
  hits.hits = SIZE_MAX;
  EXPECT(peloton_stream_hits(h.stream, &hits), INVALID);
  hits.size = 3;
  EXPECT(peloton_stream_hits(h.stream, &hits), PELOTON_ABI_MISMATCH);
  EXPECT(peloton_stream_end(h.stream), PELOTON_OK);
  EXPECT(peloton_stream_end(nullptr), INVALID);
  auto counts = sized<peloton_pixel_counts>();
  EXPECT(peloton_stream_clusters(h.stream, h.result, nullptr, nullptr), PELOTON_CONFIG);
  EXPECT(peloton_stream_clusters(h.stream, nullptr, nullptr, nullptr), INVALID);
  EXPECT(peloton_stream_clusters(nullptr, h.clusters, nullptr, nullptr), INVALID);
  EXPECT(peloton_stream_clusters(h.stream, h.clusters, nullptr, &counts), PELOTON_OK);
  if (counts.hits != 1 || counts.malformed == 0)
    ++failures;
}
} // namespace

int main() {
  Handles h;
  engines(h), objects(h), batches(h), unchanged(h), runs(h), results(h), streams(h);
  // Twice: what was made of an engine outlives it.
  for (auto *engine : {h.velo, h.cylinder, h.timepix, h.scifi})
    peloton_engine_free(engine);
  EXPECT(peloton_pool_run_banks(h.pool, h.batch, h.result, nullptr), PELOTON_OK);
  EXPECT(peloton_stream_tpx3(h.stream, nullptr, 0), PELOTON_OK);
  peloton_workspace_free(h.workspace), peloton_workspace_free(h.other_workspace);
  peloton_result_free(h.result), peloton_result_free(h.other_result), peloton_result_free(h.clusters);
  peloton_batch_free(h.batch), peloton_hasher_free(h.hasher), peloton_pool_free(h.pool), peloton_stream_free(h.stream);
  peloton_engine_free(nullptr), peloton_workspace_free(nullptr), peloton_result_free(nullptr);
  peloton_batch_free(nullptr), peloton_hasher_free(nullptr), peloton_pool_free(nullptr), peloton_stream_free(nullptr);
  if (failures == 0)
    std::puts("all answers are codes");
  return failures == 0 ? 0 : 1;
}
