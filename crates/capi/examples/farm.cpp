// A farm node in small: two workers with one engine, which a third thread exchanges in mid-run. Every slice of events is
// reconstructed once, by one of two configurations, and its hash says which.
//
// usage: farm EXCHANGES
#include <peloton.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {
/// Straight tracks through every second module, and some that start late.
struct Hits {
  std::vector<float> x, y, z;
  std::vector<std::uint32_t> id, start{0};
  static constexpr std::size_t events = 20;
  Hits() {
    for (std::size_t event = 0; event < events; ++event)
      for (int module = 0; module < 52; ++module) {
        for (std::size_t track = 0; track < module % 2 * (1 + event % 7); ++track) {
          if (track % 3 == 2 && module < 44)
            continue;
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

std::uint64_t hash_of(const peloton::Result &result) {
  peloton::Hasher hasher;
  std::uint64_t hash[2];
  peloton::check(hasher.try_add(result));
  peloton::check(hasher.try_end(hash));
  return hash[1];
}

const char *const configurations[2] = {"preset = 'best'", "preset = 'paper'"};

/// The engine that is current; whoever took it before an exchange keeps it to the end of a slice.
class Current {
public:
  std::shared_ptr<const peloton::Engine> get() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return engine_;
  }
  void set(std::shared_ptr<const peloton::Engine> engine) {
    std::lock_guard<std::mutex> lock(mutex_);
    engine_ = std::move(engine);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<const peloton::Engine> engine_;
};
} // namespace

int main(int arguments, char **argument) {
  const int exchanges = arguments > 1 ? std::atoi(argument[1]) : 1000;
  const Hits hits;
  const auto view = hits.view();
  std::set<std::uint64_t> known;
  for (const char *toml : configurations) {
    peloton::Engine engine(toml);
    auto workspace = engine.workspace();
    auto result = engine.result();
    peloton::run(engine, workspace, view, result);
    known.insert(hash_of(result));
  }
  if (known.size() != 2)
    return std::fprintf(stderr, "both configurations give the same tracks\n"), 1;

  Current current;
  current.set(std::make_shared<peloton::Engine>(configurations[0]));
  std::atomic<bool> is_over{false};
  std::atomic<std::size_t> slices{0}, wrong{0};
  auto work = [&] {
    // Workspaces and results are those of a sequence: any engine of it takes them.
    auto workspace = current.get()->workspace();
    auto result = current.get()->result();
    peloton::Counters counters;
    std::size_t done = 0;
    for (; !is_over; ++done) {
      auto engine = current.get();
      peloton::run(*engine, workspace, view, result, &counters);
      wrong += known.count(hash_of(result)) == 0;
    }
    wrong += counters.events != done * Hits::events || counters.status[0] != counters.events;
    slices += done;
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i)
    workers.emplace_back(work);
  for (int i = 0; i < exchanges; ++i) {
    current.set(std::make_shared<peloton::Engine>(configurations[(i + 1) % 2]));
    std::this_thread::yield();
  }
  is_over = true;
  for (auto &worker : workers)
    worker.join();
  std::printf("%d engines, %zu slices of %zu events, %zu wrong\n", exchanges, slices.load(), Hits::events, wrong.load());
  return wrong == 0 ? 0 : 1;
}
