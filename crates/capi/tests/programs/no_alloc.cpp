// Counts allocations: none for 10,000 events once memory has grown, on each of two threads with one engine. Rust's allocator
// goes through malloc, which this program replaces.
#include <peloton.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" void *__libc_malloc(std::size_t);
extern "C" void *__libc_calloc(std::size_t, std::size_t);
extern "C" void *__libc_realloc(void *, std::size_t);
extern "C" void *__libc_memalign(std::size_t, std::size_t);

namespace {
thread_local bool counting = false;
std::atomic<std::size_t> allocations{0};
void count() {
  if (counting)
    ++allocations;
}
} // namespace

extern "C" void *malloc(std::size_t n) { return count(), __libc_malloc(n); }
extern "C" void *calloc(std::size_t n, std::size_t m) { return count(), __libc_calloc(n, m); }
extern "C" void *realloc(void *p, std::size_t n) { return count(), __libc_realloc(p, n); }
extern "C" void *memalign(std::size_t a, std::size_t n) { return count(), __libc_memalign(a, n); }
extern "C" void *aligned_alloc(std::size_t a, std::size_t n) { return count(), __libc_memalign(a, n); }
extern "C" int posix_memalign(void **to, std::size_t a, std::size_t n) {
  return count(), (*to = __libc_memalign(a, n)) == nullptr;
}

namespace {
/// Events of straight tracks.
struct Hits {
  std::vector<float> x, y, z;
  std::vector<std::uint32_t> id, start{0};
  std::size_t events;
  explicit Hits(std::size_t events) : events(events) {
    for (std::size_t event = 0; event < events; ++event)
      for (int module = 0; module < 52; ++module) {
        for (std::size_t track = 0; track < module % 2 * (1 + event % 7); ++track) {
          float at = -290.f + 20.f * float(module), slope = 0.02f + 0.01f * float(track);
          x.push_back(slope * (at + 400.f)), y.push_back(slope * (at + 400.f) / 2), z.push_back(at);
          id.push_back(std::uint32_t(id.size()));
        }
        start.push_back(std::uint32_t(id.size()));
      }
  }
  peloton_velo_hits view() const {
    return {sizeof(peloton_velo_hits), events, x.size(), x.data(), y.data(), z.data(), id.data(), start.data(), nullptr};
  }
};

/// Raw banks that hold nothing: what counts is the way in, bank by bank and as the blocks of an event builder.
struct Banks {
  static constexpr std::uint16_t sources = 208;
  static constexpr std::size_t events = 100;
  std::vector<std::uint8_t> types = std::vector<std::uint8_t>(events, 73), payloads = std::vector<std::uint8_t>(4 * events);
  std::vector<std::uint16_t> sizes = std::vector<std::uint16_t>(events, 4);
  std::vector<std::uint64_t> ids = std::vector<std::uint64_t>(events);
  std::vector<peloton_block> blocks;
  Banks() {
    for (std::uint16_t source = 0; source < sources; ++source)
      blocks.push_back(
          {sizeof(peloton_block), source, 4, 2, types.data(), sizes.data(), payloads.data(), payloads.size()});
  }
  /// Whether every call worked.
  bool fill(peloton::Batch &batch) const {
    bool worked = true;
    for (std::uint64_t event = 0; event < events; ++event) {
      for (std::uint16_t source = 0; source < sources; ++source)
        worked &= batch.try_bank(73, 4, source, {payloads.data(), 4}) == PELOTON_OK;
      worked &= batch.try_event(event) == PELOTON_OK;
    }
    return worked & (batch.try_blocks({blocks.data(), blocks.size()}, {ids.data(), ids.size()}) == PELOTON_OK);
  }
};

/// Tracks of 105 passes, the last 100 of which count; none when a call fails.
std::size_t tracks(const peloton::Engine &engine) {
  Hits hits(100);
  auto view = hits.view();
  auto workspace = engine.workspace();
  auto result = engine.result();
  peloton::Batch batch;
  const Banks banks;
  peloton::Counters counters;
  peloton::VeloTracks tracks;
  bool worked = true;
  for (int pass = 0; pass < 105; ++pass) {
    counting = pass >= 5;
    worked &= peloton::try_run(engine, workspace, view, result, &counters) == PELOTON_OK;
    worked &= result.try_velo_tracks(tracks) == PELOTON_OK;
    worked &= batch.try_clear() == PELOTON_OK;
    worked &= banks.fill(batch);
    worked &= peloton::try_run(engine, workspace, batch, result, &counters) == PELOTON_OK;
  }
  counting = false;
  return worked ? counters.tracks : 0;
}
} // namespace

int main() {
  peloton::Engine engine("", "nominal-forced");
  std::size_t found[2] = {0, 0};
  std::thread other([&] { found[1] = tracks(engine); });
  found[0] = tracks(engine);
  other.join();
  // That the count counts.
  counting = true;
  auto result = engine.result();
  counting = false;
  std::size_t one = allocations.load();
  if (one == 0 || found[0] == 0 || found[0] != found[1])
    return std::fprintf(stderr, "nothing is counted, or nothing found\n"), 1;
  allocations = 0;
  std::thread again([&] { found[1] = tracks(engine); });
  if (tracks(engine) != found[0])
    found[0] = 0;
  again.join();
  if (found[0] == 0 || found[0] != found[1])
    return std::fprintf(stderr, "calls that failed\n"), 1;
  std::printf("%zu allocations, %zu tracks\n", allocations.load(), found[0]);
  return allocations.load() == 0 ? 0 : 1;
}
