// A farm node at work, by hand: two workers feed the events of a file over and over, a third thread exchanges the engine, and 1
// bank in 10,000 is damaged. No crash; hashes of undamaged slices are those of one of two configurations, statuses are as many
// as damaged events; memory stays flat.
//
// usage: farm MDF GEOMETRY PASSES (all workers together)
#include <peloton.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {
using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

struct Bank {
  std::uint8_t type, version;
  std::uint16_t source;
  const std::uint8_t *payload;
  std::size_t bytes;
};

/// The banks of each event of an MDF file that is not compressed.
std::vector<std::vector<Bank>> cut(const Bytes &bytes) {
  std::vector<std::vector<Bank>> events;
  for (std::size_t at = 0; at + 48 <= bytes.size();) {
    std::uint32_t size;
    std::memcpy(&size, &bytes[at], 4);
    events.emplace_back();
    for (std::size_t bank = at + 48; bank + 8 <= at + size;) {
      auto pair = [&](std::size_t i) { return std::uint16_t(bytes[bank + i] | bytes[bank + i + 1] << 8); };
      events.back().push_back({bytes[bank + 4], bytes[bank + 5], pair(6), &bytes[bank + 8], pair(2) - 8u});
      bank += (pair(2) + 3u) / 4 * 4;
    }
    at += size;
  }
  return events;
}

/// Resident memory, MiB.
double resident() {
  std::ifstream file("/proc/self/statm");
  double all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096 / (1 << 20);
}

std::uint64_t hash_of(const peloton::Result &result) {
  peloton::Hasher hasher;
  std::uint64_t hash[2];
  peloton::check(hasher.try_add(result));
  peloton::check(hasher.try_end(hash));
  return hash[1];
}

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

int main(int count, char **argument) {
  if (count < 4)
    return std::fprintf(stderr, "usage: farm MDF GEOMETRY PASSES\n"), 2;
  std::ifstream file(argument[1], std::ios::binary);
  const Bytes bytes(std::istreambuf_iterator<char>(file), {});
  const auto events = cut(bytes);
  const int passes = std::stoi(argument[3]);
  const char *configurations[2] = {"preset = 'best'", "preset = 'paper'"};
  std::set<std::uint64_t> known;
  for (const char *toml : configurations) {
    peloton::Engine engine(toml, argument[2]);
    peloton::Batch batch;
    batch.mdf({bytes.data(), bytes.size()});
    auto workspace = engine.workspace();
    auto result = engine.result();
    peloton::run(engine, workspace, batch, result);
    known.insert(hash_of(result));
  }
  Current current;
  current.set(std::make_shared<peloton::Engine>(configurations[0], argument[2]));
  std::atomic<int> left{passes};
  std::atomic<std::size_t> damaged{0}, failed{0}, wrong{0}, exchanges{0};
  std::mutex times_mutex;
  std::vector<double> times;
  auto work = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    auto workspace = current.get()->workspace();
    auto result = current.get()->result();
    peloton::Batch batch;
    peloton::Counters counters;
    std::size_t slices = 0, own = 0;
    std::vector<double> took;
    while (left-- > 0) {
      auto begin = Clock::now();
      batch.clear();
      std::size_t before = own;
      for (std::size_t number = 0; number < events.size(); ++number) {
        bool is_damaged = false;
        for (auto &bank : events[number]) {
          bool hits = random() % 10'000 == 0 && bank.type == 73;
          // A fault of the readout in its place, or the bank twice.
          bool is_fault = hits && random() % 2 == 0;
          batch.bank(is_fault ? 90 : bank.type, bank.version, bank.source, {bank.payload, bank.bytes});
          if (hits && !is_fault)
            batch.bank(bank.type, bank.version, bank.source, {bank.payload, bank.bytes});
          is_damaged |= hits;
        }
        own += is_damaged;
        batch.event(number);
      }
      auto engine = current.get();
      peloton::run(*engine, workspace, batch, result, &counters);
      if (own == before)
        wrong += known.count(hash_of(result)) == 0;
      took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
      ++slices;
    }
    failed += counters.events - counters.status[0], damaged += own;
    wrong += counters.events != slices * events.size();
    std::lock_guard<std::mutex> lock(times_mutex);
    times.insert(times.end(), took.begin(), took.end());
  };
  double memory = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t seed : {1, 2})
    threads.emplace_back(work, seed);
  for (int i = 0; left > 0; ++i, ++exchanges) {
    current.set(std::make_shared<peloton::Engine>(configurations[(i + 1) % 2], argument[2]));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (memory == 0 && left < passes * 9 / 10)
      memory = resident();
  }
  for (auto &thread : threads)
    thread.join();
  std::sort(times.begin(), times.end());
  auto quantile = [&](double share) { return times[std::size_t(share * double(times.size() - 1))]; };
  std::printf("%zu slices of %zu events, %zu engines; %zu damaged events, %zu with a status, %zu wrong\n", times.size(),
              events.size(), exchanges.load(), damaged.load(), failed.load(), wrong.load());
  std::printf("us per slice: median %.0f, p99.9 %.0f; resident %.1f MiB after a tenth, %.1f MiB at the end\n",
              quantile(0.5), quantile(0.999), memory, resident());
  return wrong == 0 && damaged == failed ? 0 : 1;
}
