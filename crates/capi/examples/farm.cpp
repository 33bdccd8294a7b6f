// A farm node in small. One thread is the readout: it fills batches with the events of a file, over and over, and damages one bank
// in 10,000. Two workers reconstruct them with one engine, which a third thread exchanges all the time, by turns for two
// configurations. Nothing crashes, every event is reconstructed once, an undamaged one has the tracks of one of the two
// configurations and the slice says of which, as many events have a status as were damaged, and memory stays flat.
//
// usage: farm MDF GEOMETRY SLICES EXCHANGES, until there were as many of both
#include "mdf_banks.hpp"

#include <peloton.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

namespace {
using Clock = std::chrono::steady_clock;
using Prints = std::vector<std::uint64_t>;

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

/// Events that belong together, and which of them were damaged.
struct Slice {
  peloton::Batch batch;
  std::vector<bool> is_damaged;
};

/// Hands slices from thread to thread; whoever takes one waits until there is one.
class Queue {
public:
  void put(std::unique_ptr<Slice> slice) {
    std::lock_guard<std::mutex> lock(mutex_);
    slices_.push_back(std::move(slice));
    filled_.notify_one();
  }
  std::unique_ptr<Slice> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [&] { return !slices_.empty(); });
    auto slice = std::move(slices_.front());
    slices_.pop_front();
    return slice;
  }

private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::unique_ptr<Slice>> slices_;
};

/// A number for each event's tracks: hits and chi2, by their bits.
Prints prints_of(const peloton::Result &result) {
  auto tracks = result.velo_tracks();
  Prints prints;
  for (std::size_t event = 0; event < tracks.events; ++event) {
    std::uint64_t print = 14695981039346656037u;
    auto add = [&](std::uint32_t word) { print = (print ^ word) * 1099511628211u; };
    for (auto track : tracks.of_event(event)) {
      std::uint32_t chi2;
      float value = track.chi2();
      std::memcpy(&chi2, &value, sizeof chi2);
      add(chi2), add(std::uint32_t(track.hits().size()));
      for (auto hit : track.hits())
        add(hit);
    }
    prints.push_back(print);
  }
  return prints;
}

/// Fills a batch, and damages a bank now and then: a fault of the readout in its place, the bank twice, or its end lost.
void fill(Slice &slice, const MdfFile &file, std::mt19937_64 &random) {
  slice.batch.clear();
  slice.is_damaged.assign(file.events.size(), false);
  for (std::size_t event = 0; event < file.events.size(); ++event) {
    for (auto &bank : file.events[event]) {
      bool is_hit = bank.type == 73 && bank.bytes > 8 && random() % 10'000 == 0;
      auto damage = is_hit ? 1 + random() % 3 : 0;
      slice.is_damaged[event] = slice.is_damaged[event] || is_hit;
      std::size_t bytes = damage == 3 ? 6 : bank.bytes;
      slice.batch.bank(damage == 1 ? 90 : bank.type, bank.version, bank.source, {bank.payload, bytes});
      if (damage == 2)
        slice.batch.bank(bank.type, bank.version, bank.source, {bank.payload, bytes});
    }
    slice.batch.event(event);
  }
}

/// What a worker found.
struct Report {
  peloton::Counters counters;
  std::size_t damaged = 0, wrong = 0;
  std::size_t by_configuration[2] = {0, 0};
  std::vector<double> microseconds;
};

Report work(Queue &full, Queue &empty, const Current &current, const Prints (&known)[2]) {
  // Workspaces and results are those of a sequence: any engine of it takes them.
  auto workspace = current.get()->workspace();
  auto result = current.get()->result();
  Report report;
  while (auto slice = full.take()) {
    auto begin = Clock::now();
    auto engine = current.get();
    peloton::run(*engine, workspace, slice->batch, result, &report.counters);
    report.microseconds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    auto status = result.column<std::uint16_t>("status");
    auto prints = prints_of(result);
    bool is_of[2] = {true, true};
    for (std::size_t event = 0; event < prints.size(); ++event) {
      bool is_damaged = slice->is_damaged[event];
      report.damaged += is_damaged;
      report.wrong += is_damaged != (status[event] != 0);
      for (int i = 0; i < 2; ++i)
        is_of[i] = is_of[i] && (is_damaged || prints[event] == known[i][event]);
    }
    report.wrong += !is_of[0] && !is_of[1];
    for (int i = 0; i < 2; ++i)
      report.by_configuration[i] += is_of[i];
    empty.put(std::move(slice));
  }
  return report;
}

/// Resident memory, MiB.
double resident() {
  std::ifstream file("/proc/self/statm");
  double all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096 / (1 << 20);
}

int farm(const MdfFile &file, const char *geometry, int slices, int exchanges) {
  Prints known[2];
  for (int i = 0; i < 2; ++i) {
    peloton::Engine engine(configurations[i], geometry);
    peloton::Batch batch;
    batch.mdf({file.bytes.data(), file.bytes.size()});
    auto workspace = engine.workspace();
    auto result = engine.result();
    peloton::run(engine, workspace, batch, result);
    known[i] = prints_of(result);
  }
  if (known[0] == known[1] || known[0].size() != file.events.size())
    return std::fprintf(stderr, "both configurations give the same tracks\n"), 1;

  Current current;
  current.set(std::make_shared<peloton::Engine>(configurations[0], geometry));
  Queue full, empty;
  for (int i = 0; i < 4; ++i)
    empty.put(std::make_unique<Slice>());
  std::atomic<int> made{0}, exchanged{0};
  double early = 0;
  std::thread readout([&] {
    std::mt19937_64 random(1);
    for (; made < slices || exchanged < exchanges; ++made) {
      auto slice = empty.take();
      fill(*slice, file, random);
      full.put(std::move(slice));
      if (made == slices / 10)
        early = resident();
    }
    full.put(nullptr), full.put(nullptr);
  });
  std::atomic<int> left{2};
  Report reports[2];
  std::vector<std::thread> workers;
  for (auto &report : reports)
    workers.emplace_back([&] { report = work(full, empty, current, known), --left; });
  for (int i = 1; left > 0; ++i, ++exchanged) {
    current.set(std::make_shared<peloton::Engine>(configurations[i % 2], geometry));
    std::this_thread::yield();
  }
  readout.join();
  for (auto &worker : workers)
    worker.join();

  auto &[sum, other] = reports;
  sum.microseconds.insert(sum.microseconds.end(), other.microseconds.begin(), other.microseconds.end());
  std::sort(sum.microseconds.begin(), sum.microseconds.end());
  auto quantile = [&](double share) {
    return sum.microseconds[std::size_t(share * double(sum.microseconds.size() - 1))];
  };
  std::size_t events = sum.counters.events + other.counters.events, damaged = sum.damaged + other.damaged;
  std::size_t failed = events - sum.counters.status[0] - other.counters.status[0];
  std::size_t wrong = sum.wrong + other.wrong + (events != std::size_t(made) * file.events.size());
  std::printf("%d slices of %zu events, %d engines; %zu slices of the one, %zu of the other; %zu damaged events, %zu with a "
              "status, %zu wrong\n",
              made.load(), file.events.size(), exchanged.load(), sum.by_configuration[0] + other.by_configuration[0],
              sum.by_configuration[1] + other.by_configuration[1], damaged, failed, wrong);
  std::printf("us per slice: median %.0f, p99.9 %.0f; resident %.1f MiB after a tenth, %.1f MiB at the end\n",
              quantile(0.5), quantile(0.999), early, resident());
  return wrong == 0 && damaged == failed ? 0 : 1;
}
} // namespace

int main(int count, char **argument) {
  if (count < 5)
    return std::fprintf(stderr, "usage: farm MDF GEOMETRY SLICES EXCHANGES\n"), 2;
  try {
    return farm(MdfFile(argument[1]), argument[2], std::stoi(argument[3]), std::stoi(argument[4]));
  } catch (const std::exception &error) {
    return std::fprintf(stderr, "farm: %s\n", error.what()), 1;
  }
}
