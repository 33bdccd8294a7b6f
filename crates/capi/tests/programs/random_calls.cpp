// Random sequences of calls with random banks, hits and bytes: no crash, no leak, no code that is not one.
//
// usage: random_calls SEED CALLS [MDF [SECONDS]]   events of MDF are damaged and fed, too; ends at CALLS or SECONDS
#include <peloton.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {
const std::string configurations[] = {
    "sequence = 'velo'",
    "sequence = 'long'",
    "sequence = 'ut'",
    "sequence = 'timepix'",
    "sequence = 'cylinder'\n[cylinder]\nseeds = 'hits'",
    "sequence = 'velo'\npreset = 'paper'",
    "sequence = 'scifi'\nthreads = 3",
    "sequence = 'timepix'\nthreads = 2",
    "preset = 'none'",
};
constexpr std::size_t SLOTS = 5; // Of the first configurations there is always an engine, with what is made of it.

struct Caller {
  std::mt19937_64 random;
  peloton_engine *engines[SLOTS] = {};
  peloton_workspace *workspaces[SLOTS] = {};
  peloton_result *results[SLOTS] = {};
  peloton_batch *batch = nullptr;
  peloton_hasher *hasher = nullptr;
  peloton_stream *stream = nullptr;
  peloton_pool *pool = nullptr;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(4096), mdf;
  std::vector<float> values[6];
  std::vector<std::uint32_t> ids, starts;
  peloton::Counters counters;
  std::size_t count = 0;

  Caller(std::uint64_t seed, const char *path) : random(seed) {
    for (std::size_t i = 0; i < SLOTS; ++i)
      make(i, i);
    peloton_batch_new(&batch), peloton_hasher_new(&hasher), peloton_stream_new(engines[3], nullptr, &stream);
    peloton_pool_new(engines[0], 2, &pool);
    if (path != nullptr) {
      std::ifstream file(path, std::ios::binary);
      mdf.assign(std::istreambuf_iterator<char>(file), {});
    }
  }
  ~Caller() {
    for (std::size_t i = 0; i < SLOTS; ++i)
      peloton_engine_free(engines[i]), peloton_workspace_free(workspaces[i]), peloton_result_free(results[i]);
    peloton_batch_free(batch), peloton_hasher_free(hasher), peloton_stream_free(stream), peloton_pool_free(pool);
  }
  Caller(const Caller &) = delete;

  std::size_t below(std::size_t n) { return random() % n; }

  /// An engine in the place of another one, and what is made of it; a failure leaves NULL everywhere.
  std::int32_t make(std::size_t slot, std::size_t configuration) {
    peloton_engine_free(engines[slot]), peloton_workspace_free(workspaces[slot]), peloton_result_free(results[slot]);
    auto &text = configurations[configuration];
    std::int32_t code = peloton_engine_new(text.data(), text.size(), below(9) ? "nominal" : nullptr, &engines[slot]);
    peloton_workspace_new(engines[slot], &workspaces[slot]);
    peloton_result_new(engines[slot], &results[slot]);
    return code;
  }
  /// Other objects.
  std::int32_t make_others() {
    std::size_t i = below(SLOTS);
    switch (below(4)) {
    case 0:
      return peloton_stream_free(stream), peloton_stream_new(engines[i], nullptr, &stream);
    case 1:
      return peloton_pool_free(pool), peloton_pool_new(engines[i], below(3), &pool);
    case 2:
      return peloton_hasher_free(hasher), peloton_hasher_new(&hasher);
    default:
      return peloton_batch_free(batch), peloton_batch_new(&batch);
    }
  }
  std::size_t some_bytes() {
    std::size_t n = below(4) ? below(64) : below(bytes.size());
    for (std::size_t i = 0; i < n; ++i)
      bytes[i] = below(2) ? std::uint8_t(random()) : std::uint8_t(below(3));
    return n;
  }
  std::int32_t banks() {
    const std::uint8_t types[] = {63, 64, 66, 73, 16, 89, 1};
    for (std::size_t i = below(30); i > 0; --i)
      peloton_batch_bank(batch, types[below(sizeof types)], std::uint8_t(below(9)), std::uint16_t(below(300)),
                         bytes.data(), some_bytes());
    return peloton_batch_event(batch, random(), std::uint16_t(below(12) ? 0 : below(30)), nullptr);
  }
  std::int32_t blocks() {
    constexpr std::size_t events = 20, most = 4;
    std::uint64_t ids[events] = {};
    std::uint8_t types[most][events];
    std::uint16_t sizes[most][events];
    std::vector<peloton_block> all;
    some_bytes();
    const std::uint8_t kinds[] = {63, 64, 66, 73, 16};
    for (std::size_t i = 0; i < below(most + 1); ++i) {
      std::fill_n(types[i], events, kinds[below(sizeof kinds)]);
      if (below(4) == 0)
        types[i][below(events)] = std::uint8_t(below(100));
      for (auto &size : sizes[i])
        size = std::uint16_t(below(below(9) ? 40 : 200));
      all.push_back({sizeof(peloton_block), std::uint16_t(below(300)), std::uint8_t(below(9)), std::uint8_t(below(18)),
                     types[i], sizes[i], bytes.data(), below(3) ? bytes.size() : below(bytes.size())});
      if (below(2))
        all.back().align_log2 = std::uint8_t(below(5));
    }
    return peloton_batch_blocks(batch, all.data(), all.size(), ids, below(events + 1) / 2 * 2, &count);
  }
  /// Events of the file, most of them with some bits changed, and cut somewhere.
  std::int32_t records() {
    std::vector<std::uint8_t> some(mdf.begin(), mdf.begin() + std::ptrdiff_t(below(mdf.size() + 1)));
    for (std::size_t i = some.empty() ? 0 : below(20); i > 0; --i)
      some[below(below(2) ? some.size() : std::min<std::size_t>(some.size(), 200))] ^= std::uint8_t(1 << below(8));
    return peloton_batch_mdf(batch, some.data(), some.size(), nullptr, &count);
  }
  /// Columns of hits in so many groups, which mostly rise.
  void columns(std::size_t groups) {
    starts.assign(groups + 1, 0);
    for (std::size_t i = 0; i < groups; ++i)
      starts[i + 1] = starts[i] + std::uint32_t(below(5) ? below(4) : 0);
    if (below(20) == 0)
      starts[below(groups + 1)] = std::uint32_t(random());
    ids.assign(std::min(starts[groups], 9999u), 7);
    for (auto &column : values) {
      column.resize(ids.size());
      for (auto &value : column)
        value = below(50) ? float(std::int64_t(random() % 2000) - 1000) * 0.3f : float(random());
    }
  }
  std::int32_t hits(std::size_t i, std::size_t j) {
    std::size_t events = below(4);
    columns(52 * events);
    peloton_velo_hits view{sizeof view,      events,           ids.size(), values[0].data(), values[1].data(),
                           values[2].data(), ids.data(), starts.data(), nullptr};
    if (below(5) == 0)
      return peloton_pool_run_hits(pool, &view, results[i], &counters);
    return peloton_run_hits(engines[i], workspaces[j], &view, results[i], &counters);
  }
  std::int32_t cylinder(std::size_t i, std::size_t j) {
    std::size_t events = below(4);
    columns(10 * events);
    peloton_cylinder_hits view{sizeof view,      events,           ids.size(),       values[0].data(), values[1].data(),
                               values[2].data(), values[3].data(), values[4].data(), values[5].data(), starts.data(),
                               nullptr};
    return peloton_run_cylinder(engines[i], workspaces[j], &view, results[i], &counters);
  }
  std::int32_t pixels() {
    std::int64_t time[40];
    std::uint16_t x[40], y[40], tot[40];
    for (int i = 0; i < 40; ++i) {
      time[i] = below(30) ? std::int64_t(i * below(400)) : std::int64_t(random());
      x[i] = std::uint16_t(below(below(30) ? 256 : 65536)), y[i] = std::uint16_t(below(4)), tot[i] = std::uint16_t(random());
    }
    peloton_pixel_hits view{sizeof view, below(41), time, x, y, tot};
    return peloton_stream_hits(stream, &view);
  }
  std::int32_t view(peloton_result *result) {
    peloton_column column{};
    column.size = sizeof column;
    std::int32_t code = peloton_result_column_at(result, below(40), &column);
    if (code == PELOTON_OK && column.count > 0) {
      const std::size_t width[] = {2, 4, 1, 2, 4, 8, 8, 4};
      auto *first = static_cast<const volatile std::uint8_t *>(column.values);
      (void)first[0], (void)first[column.count * width[column.type] - 1];
    }
    return code;
  }
  std::int32_t arrow(peloton_result *result) {
    ArrowSchema schema{};
    ArrowArray array{};
    std::int32_t code = peloton_result_arrow(result, &schema, &array);
    if (code == PELOTON_OK)
      array.release(&array), schema.release(&schema);
    return code;
  }
  std::int32_t run_banks(std::size_t i, std::size_t j) {
    peloton_batch_events(batch, &count);
    std::int32_t code = below(8) ? peloton_run_banks(engines[i], workspaces[j], batch, results[i], &counters)
                                 : peloton_pool_run_banks(pool, batch, results[i], &counters);
    if (count > 20)
      peloton_batch_clear(batch);
    return code;
  }
  std::int32_t call() {
    std::size_t i = below(SLOTS), j = below(6) ? i : below(SLOTS);
    std::uint64_t hash[2];
    switch (below(24)) {
    case 0: case 1: case 2: case 3: return banks();
    case 4: case 5: return blocks();
    case 6: case 7: case 8: return run_banks(i, j);
    case 9: case 10: return hits(below(4) ? 0 : i, below(4) ? 0 : j);
    case 11: return cylinder(below(4) ? 4 : i, below(4) ? 4 : j);
    case 12: case 13: return view(results[i]);
    case 14: return arrow(results[i]);
    case 15: return peloton_hasher_add(hasher, results[i]);
    case 16: return peloton_hasher_end(hasher, hash);
    case 17: return peloton_stream_tpx3(stream, bytes.data(), some_bytes());
    case 18: return pixels();
    case 19: return peloton_stream_clusters(stream, results[j], &counters, nullptr);
    case 20: return below(8) ? PELOTON_OK : peloton_stream_end(stream);
    case 21: return below(100) ? PELOTON_OK : records();
    case 22: return below(2000) ? PELOTON_OK : make(i, below(8) ? i : below(std::size(configurations)));
    default: return below(200) ? PELOTON_OK : make_others();
    }
  }
};
} // namespace

int main(int arguments, char **argument) {
  if (arguments < 3)
    return 2;
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::seconds(arguments > 4 ? std::stoi(argument[4]) : 1'000'000);
  Caller caller(std::stoull(argument[1]), arguments > 3 ? argument[3] : nullptr);
  std::size_t calls = 0, worked = 0;
  for (std::size_t all = std::stoull(argument[2]); calls < all && (calls % 1000 > 0 || Clock::now() < end); ++calls) {
    std::int32_t code = caller.call();
    worked += code == PELOTON_OK;
    if (code > 0 || code < PELOTON_SYSTEM || code == PELOTON_PANIC)
      return std::fprintf(stderr, "call %zu: code %d: %s\n", calls, code, peloton_last_error()), 1;
  }
  std::printf("%zu calls, %zu worked\n", calls, worked);
  return 0;
}
