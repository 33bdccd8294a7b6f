// Reconstructs a file of events through peloton.hpp and prints hash_int and output_hash of each product.
//
// usage: same_bits HOW FILE TOML GEOMETRY BATCH THREADS [MODE]
//   HOW      hits, banks, mdf, blocks, and each with -pool behind; cylinder; tpx3, tpx3-hits (BATCH is then the bytes or hits of a piece)
//   FILE     as tests/same_bits.rs writes it: words of 8 bytes (counts), then columns
//   GEOMETRY a folder, "nominal", or "-" for none
//   MODE     the floating-point mode of the host: plain, flush (denormals to zero), up (rounds up), thread (made under flush)
#include <peloton.hpp>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace {
using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error(std::string("cannot read ") + path);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// Takes columns off a file.
struct Reader {
  const Bytes &bytes;
  std::size_t at = 0;
  template <class T> std::vector<T> column(std::size_t count) {
    if (at + count * sizeof(T) > bytes.size())
      throw std::runtime_error("the file is too short");
    std::vector<T> values(count);
    if (count > 0)
      std::memcpy(values.data(), bytes.data() + at, count * sizeof(T));
    at += count * sizeof(T);
    return values;
  }
  std::uint64_t word() { return column<std::uint64_t>(1)[0]; }
  bool is_over() const { return at >= bytes.size(); }
};

void print(const peloton::Hasher &hasher) {
  auto hashes = hasher.end();
  std::printf("%016" PRIx64 " %016" PRIx64 "\n", hashes.hash_int, hashes.output_hash);
}

struct Job {
  peloton::Engine engine;
  peloton::Workspace workspace = engine.workspace();
  peloton::Result result = engine.result();
  std::vector<std::pair<peloton::Result, peloton::Hasher>> products;
  peloton::Counters counters;
  std::size_t batch, threads;
  peloton::Pool pool;

  Job(const std::string &toml, const char *geometry, std::size_t batch, std::size_t threads)
      : engine(toml, geometry), batch(batch), threads(threads) {
    pool = peloton::Pool(engine, threads);
    for (std::uint32_t number = 0; const char *name = engine.product(number); ++number)
      products.emplace_back(result.product(name), peloton::Hasher());
  }
  void add() {
    for (auto &[product, hasher] : products)
      hasher.add(product);
  }
};

void hits(Job &job, const Bytes &bytes, bool pooled) {
  Reader reader{bytes};
  std::size_t events = reader.word(), count = reader.word();
  auto x = reader.column<float>(count), y = reader.column<float>(count), z = reader.column<float>(count);
  auto id = reader.column<std::uint32_t>(count), start = reader.column<std::uint32_t>(52 * events + 1);
  auto status = reader.column<std::uint16_t>(events);
  for (std::size_t first = 0; first < events; first += job.batch) {
    std::size_t some = std::min(job.batch, events - first), from = start[52 * first], to = start[52 * (first + some)];
    std::vector<std::uint32_t> starts(start.begin() + 52 * first, start.begin() + 52 * (first + some) + 1);
    for (auto &value : starts)
      value -= from;
    peloton_velo_hits view{};
    view.size = sizeof view, view.events = some, view.hits = to - from;
    view.x = x.data() + from, view.y = y.data() + from, view.z = z.data() + from, view.id = id.data() + from;
    view.module_start = starts.data(), view.status_or_null = status.data() + first;
    if (pooled)
      job.pool.run(view, job.result, &job.counters);
    else
      peloton::run(job.engine, job.workspace, view, job.result, &job.counters);
    job.add();
  }
}

void cylinder(Job &job, const Bytes &bytes) {
  Reader reader{bytes};
  std::size_t events = reader.word(), count = reader.word();
  std::vector<std::vector<float>> columns;
  for (int i = 0; i < 6; ++i)
    columns.push_back(reader.column<float>(count));
  auto start = reader.column<std::uint32_t>(10 * events + 1);
  peloton_cylinder_hits view{};
  view.size = sizeof view, view.events = events, view.hits = count;
  view.x = columns[0].data(), view.y = columns[1].data(), view.z = columns[2].data();
  view.var_r = columns[3].data(), view.var_rphi = columns[4].data(), view.var_z = columns[5].data();
  view.layer_start = start.data();
  peloton::run(job.engine, job.workspace, view, job.result, &job.counters);
  job.add();
}

void run_batch(Job &job, const peloton::Batch &batch, bool pooled) {
  if (pooled)
    job.pool.run(batch, job.result, &job.counters);
  else
    peloton::run(job.engine, job.workspace, batch, job.result, &job.counters);
  job.add();
}

/// Bank by bank.
void banks(Job &job, const Bytes &bytes, bool pooled) {
  Reader reader{bytes};
  peloton::Batch batch;
  while (!reader.is_over()) {
    std::uint64_t count = reader.word();
    for (std::uint64_t bank = 0; bank < count; ++bank) {
      auto head = reader.column<std::uint32_t>(4);
      auto payload = reader.column<std::uint8_t>(head[3]);
      batch.bank(std::uint8_t(head[0]), std::uint8_t(head[1]), std::uint16_t(head[2]), {payload.data(), payload.size()});
    }
    batch.event(batch.events());
    if (batch.events() == job.batch || reader.is_over()) {
      run_batch(job, batch, pooled);
      batch.clear();
    }
  }
}

/// By source, as event builders hold it. A source that sends nothing in an event has a bank of a type that is passed over.
void blocks(Job &job, const Bytes &bytes, bool pooled) {
  Reader reader{bytes};
  struct Source {
    std::vector<std::uint8_t> types, payloads;
    std::vector<std::uint16_t> sizes;
  };
  peloton::Batch batch;
  while (!reader.is_over()) {
    std::vector<std::pair<std::array<std::uint32_t, 3>, Source>> sources;
    std::vector<std::uint64_t> ids;
    for (; !reader.is_over() && ids.size() < job.batch; ids.push_back(ids.size())) {
      for (std::uint64_t bank = 0, count = reader.word(); bank < count; ++bank) {
        auto head = reader.column<std::uint32_t>(4);
        auto payload = reader.column<std::uint8_t>(head[3]);
        std::array<std::uint32_t, 3> key{head[0], head[1], head[2]};
        auto found = sources.begin();
        while (found != sources.end() && found->first != key)
          ++found;
        if (found == sources.end())
          found = sources.insert(found, {key, {}});
        Source &source = found->second;
        source.types.resize(ids.size(), 255), source.sizes.resize(ids.size(), 0);
        source.payloads.resize((source.payloads.size() + 7) / 8 * 8);
        source.types.push_back(std::uint8_t(head[0])), source.sizes.push_back(std::uint16_t(head[3]));
        source.payloads.insert(source.payloads.end(), payload.begin(), payload.end());
      }
    }
    std::vector<peloton_block> views;
    for (auto &[key, source] : sources) {
      source.types.resize(ids.size(), 255), source.sizes.resize(ids.size(), 0);
      source.payloads.resize((source.payloads.size() + 7) / 8 * 8);
      peloton_block view{};
      view.size = sizeof view, view.source = std::uint16_t(key[2]), view.version = std::uint8_t(key[1]);
      view.align_log2 = 3, view.types = source.types.data(), view.sizes = source.sizes.data();
      view.payloads = source.payloads.data(), view.payload_bytes = source.payloads.size();
      views.push_back(view);
    }
    if (batch.blocks({views.data(), views.size()}, {ids.data(), ids.size()}) != 0)
      throw std::runtime_error("blocks that do not add up");
    run_batch(job, batch, pooled);
    batch.clear();
  }
}

/// Bytes as they come from a file or a socket: pieces of about ten events, cut anywhere.
void mdf(Job &job, const Bytes &bytes, bool pooled) {
  peloton::Batch batch;
  std::size_t piece = 1'000'003, end = 0, at = 0;
  while (at < bytes.size()) {
    end = std::min(bytes.size(), end + piece);
    at += batch.mdf({bytes.data() + at, end - at});
    if (batch.events() >= job.batch || at == bytes.size()) {
      run_batch(job, batch, pooled);
      batch.clear();
    }
  }
}

void pixels(const std::string &toml, const Bytes &bytes, std::size_t piece, bool as_hits) {
  peloton::Engine engine{toml};
  peloton::Result result = engine.result();
  peloton::Stream stream(engine);
  peloton::Hasher hasher;
  peloton::Counters counters;
  auto take = [&] {
    stream.clusters(result, &counters);
    hasher.add(result);
  };
  if (as_hits) {
    Reader reader{bytes};
    std::size_t count = reader.word();
    auto time = reader.column<std::int64_t>(count);
    auto x = reader.column<std::uint16_t>(count), y = reader.column<std::uint16_t>(count);
    auto tot = reader.column<std::uint16_t>(count);
    for (std::size_t at = 0; at < count; at += piece) {
      peloton_pixel_hits view{sizeof view, std::min(piece, count - at), &time[at], &x[at], &y[at], &tot[at]};
      stream.hits(view);
      if (piece > 4000 || at % 65536 == 0)
        take();
    }
  } else {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      stream.tpx3({bytes.data() + at, std::min(piece, bytes.size() - at)});
      if (piece > 4000 || at % 65536 == 0)
        take();
    }
  }
  stream.end();
  take();
  print(hasher);
}

void work(char **argument) {
  std::string how = argument[1];
  Bytes bytes = read_file(argument[2]);
  std::size_t batch = std::stoul(argument[5]), threads = std::stoul(argument[6]);
  if (how == "tpx3" || how == "tpx3-hits")
    return pixels(argument[3], bytes, batch, how == "tpx3-hits");
  Job job(argument[3], std::strcmp(argument[4], "-") == 0 ? nullptr : argument[4], batch, threads);
  // A pool where there are threads for it: one of a single thread, too.
  std::size_t pool = how.rfind("-pool");
  bool pooled = pool != std::string::npos;
  how.resize(std::min(how.size(), pool));
  if (how == "hits")
    hits(job, bytes, pooled);
  else if (how == "banks")
    banks(job, bytes, pooled);
  else if (how == "blocks")
    blocks(job, bytes, pooled);
  else if (how == "mdf")
    mdf(job, bytes, pooled);
  else if (how == "cylinder")
    cylinder(job, bytes);
  else
    throw std::runtime_error("unknown HOW: " + how);
  for (const auto &[product, hasher] : job.products)
    print(hasher);
}
} // namespace

int main(int count, char **argument) {
  if (count < 7)
    return 2;
  std::string mode = count > 7 ? argument[7] : "plain";
  int code = 0;
  auto guarded = [&] {
    try {
      work(argument);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = 1;
    }
  };
#if defined(__SSE__)
  unsigned foreign = 0x9fc0, before = _mm_getcsr();
  if (mode == "flush" || mode == "thread")
    _mm_setcsr(foreign);
#endif
  if (mode == "up")
    std::fesetround(FE_UPWARD);
  if (mode == "thread")
    std::thread(guarded).join();
  else
    guarded();
#if defined(__SSE__)
  // The library leaves the host's mode as it was (bits of exceptions may have been set meanwhile).
  if (mode == "flush" && (_mm_getcsr() & ~0x3fu) != (foreign & ~0x3fu)) {
    std::fprintf(stderr, "the host's floating-point mode has changed\n");
    return 1;
  }
  _mm_setcsr(before);
#endif
  return code;
}
