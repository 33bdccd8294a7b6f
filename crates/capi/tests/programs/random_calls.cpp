// Random sequences of calls with random banks, hits and bytes: no crash, no leak, no code that is not one. Prints how many calls
// there were, and a line for each group of them: its name, its calls, and how many of those worked.
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
/// A group of calls that do one thing, and how many of 100,000 calls are of it.
struct Group {
  const char *name;
  std::size_t share, calls, worked;
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
    std::int32_t code = peloton_engine_new(text.data(), text.size(), below(9) ? "nominal-forced" : nullptr, &engines[slot]);
    peloton_workspace_new(engines[slot], &workspaces[slot]);
    peloton_result_new(engines[slot], &results[slot]);
    return code;
  }
  /// Other objects.
  std::int32_t make_others() {
    // Mostly of an engine that fits: calls with NULL find little.
    std::size_t i = below(SLOTS), fits = below(8);
    switch (below(4)) {
    case 0:
      return peloton_stream_free(stream), peloton_stream_new(engines[fits ? 3 : i], nullptr, &stream);
    case 1:
      return peloton_pool_free(pool), peloton_pool_new(engines[fits ? 0 : i], fits ? 1 + below(2) : 0, &pool);
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
  std::int32_t call(std::size_t group) {
    std::size_t i = below(SLOTS), j = below(6) ? i : below(SLOTS);
    std::uint64_t hash[2];
    switch (group) {
    case 0: return banks();
    case 1: return blocks();
    case 2: return run_banks(i, j);
    case 3: return hits(below(4) ? 0 : i, below(4) ? 0 : j);
    case 4: return cylinder(below(4) ? 4 : i, below(4) ? 4 : j);
    case 5: return view(results[i]);
    case 6: return arrow(results[i]);
    case 7: return peloton_hasher_add(hasher, results[below(4) ? 0 : i]);
    case 8: return peloton_hasher_end(hasher, hash);
    case 9: return peloton_stream_tpx3(stream, bytes.data(), some_bytes());
    case 10: return pixels();
    case 11: return peloton_stream_clusters(stream, results[below(2) ? 3 : j], &counters, nullptr);
    case 12: return peloton_stream_end(stream);
    case 13: return records();
    case 14: return make(i, below(8) ? i : below(std::size(configurations)));
    default: return make_others();
    }
  }
};

Group groups[] = {
    {"banks", 19000, 0, 0},  {"blocks", 9500, 0, 0},      {"run_banks", 14200, 0, 0},   {"hits", 9500, 0, 0},
    {"cylinder", 4800, 0, 0}, {"column", 9500, 0, 0},      {"arrow", 4800, 0, 0},        {"hasher_add", 4800, 0, 0},
    {"hasher_end", 4800, 0, 0}, {"stream_tpx3", 4800, 0, 0}, {"stream_hits", 4800, 0, 0}, {"stream_clusters", 8500, 0, 0},
    {"stream_end", 600, 0, 0}, {"mdf", 250, 0, 0},           {"engine", 100, 0, 0},         {"others", 600, 0, 0},
};

Group &choose(Caller &caller) {
  std::size_t all = 0;
  for (auto &group : groups)
    all += group.share;
  std::size_t number = caller.below(all);
  auto *group = groups;
  for (; number >= group->share; ++group)
    number -= group->share;
  return *group;
}
} // namespace

int main(int arguments, char **argument) {
  if (arguments < 3)
    return 2;
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::seconds(arguments > 4 ? std::stoi(argument[4]) : 1'000'000);
  Caller caller(std::stoull(argument[1]), arguments > 3 ? argument[3] : nullptr);
  std::size_t calls = 0;
  for (std::size_t all = std::stoull(argument[2]); calls < all && (calls % 1000 > 0 || Clock::now() < end); ++calls) {
    Group &group = choose(caller);
    std::int32_t code = caller.call(std::size_t(&group - groups));
    ++group.calls, group.worked += code == PELOTON_OK;
    if (code > 0 || code < PELOTON_SYSTEM || code == PELOTON_PANIC)
      return std::fprintf(stderr, "call %zu: code %d: %s\n", calls, code, peloton_last_error()), 1;
  }
  std::printf("%zu calls\n", calls);
  for (const auto &group : groups)
    std::printf("%s %zu %zu\n", group.name, group.calls, group.worked);
  return 0;
}
