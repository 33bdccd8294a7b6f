// What the boundary costs: loops of a C++ program over events in memory, and the ways of raw banks into a batch.
//
// usage: boundary hits FILE PASSES                    the Velo sequence over hits, 4 events a call
//        boundary raw MDF GEOMETRY PASSES             the same over raw banks, which lie in a batch
//        boundary ways MDF GEOMETRY PASSES [EVENTS]   bank by bank, as blocks of an event builder, as MDF bytes, and the Velo sequence
// FILE is a file of columns, as PELOTON_COLUMNS=FILE cargo test --test same_bits writes it. The first two are for
// against_throughput.py, beside `peloton throughput --threads 1`; `ways` prints CPU time, us per event, the least of its passes.
// EVENTS is the size of the slice (those of the file, again and again).
#include "../examples/mdf_banks.hpp"

#include <peloton.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <tuple>

namespace {
using Bytes = std::vector<std::uint8_t>;

/// CPU time of this thread, us.
double now() {
  std::timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * double(time.tv_sec) + 1e-3 * double(time.tv_nsec);
}

template <class T> const T *take(const std::uint8_t *&at, std::size_t count) {
  auto *values = reinterpret_cast<const T *>(at);
  at += count * sizeof(T);
  return values;
}

int hits(const char *path, int passes) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(std::istreambuf_iterator<char>(file), {});
  const std::uint8_t *at = bytes.data();
  std::size_t events = *take<std::uint64_t>(at, 1), count = *take<std::uint64_t>(at, 1);
  auto *x = take<float>(at, count), *y = take<float>(at, count), *z = take<float>(at, count);
  auto *id = take<std::uint32_t>(at, count), *start = take<std::uint32_t>(at, 52 * events + 1);
  peloton::Engine engine("");
  auto workspace = engine.workspace();
  auto result = engine.result();
  constexpr std::size_t slice = 4;
  std::vector<std::vector<std::uint32_t>> starts;
  for (std::size_t first = 0; first < events; first += slice) {
    std::vector<std::uint32_t> own(start + 52 * first, start + 52 * std::min(events, first + slice) + 1);
    std::for_each(own.rbegin(), own.rend(), [from = own[0]](std::uint32_t &value) { value -= from; });
    starts.push_back(own);
  }
  std::size_t tracks = 0;
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t number = 0; number < starts.size(); ++number) {
      std::size_t from = start[52 * slice * number];
      auto &own = starts[number];
      peloton_velo_hits view{sizeof view, (own.size() - 1) / 52, own.back(), x + from, y + from, z + from,
                             id + from,   own.data(),            nullptr};
      peloton::run(engine, workspace, view, result);
      tracks += result.velo_tracks().tracks;
    }
  std::printf("%zu events, %zu tracks\n", events, tracks / std::size_t(passes));
  return 0;
}

int raw(const char *path, const char *geometry, int passes) {
  MdfFile file(path);
  peloton::Engine engine("", geometry);
  auto workspace = engine.workspace();
  auto result = engine.result();
  peloton::Batch batch;
  batch.mdf({file.bytes.data(), file.bytes.size()});
  std::size_t tracks = 0;
  for (int pass = 0; pass < passes; ++pass) {
    peloton::run(engine, workspace, batch, result);
    tracks += result.velo_tracks().tracks;
  }
  std::printf("%zu events, %zu tracks\n", file.events.size(), tracks / std::size_t(passes));
  return 0;
}

/// Data by source, as an event builder has it: payloads begin at multiples of 8 bytes.
struct Source {
  Bytes types, payloads;
  std::vector<std::uint16_t> sizes;
};

int ways(const char *path, const char *geometry, int passes, std::size_t wanted) {
  MdfFile file(path);
  std::vector<std::vector<Bank>> events(wanted > 0 ? wanted : file.events.size());
  std::map<std::tuple<int, int, int>, Source> sources;
  std::vector<std::uint64_t> ids;
  Bytes bytes;
  for (std::size_t number = 0; number < events.size(); ++number, ids.push_back(number))
    for (auto &bank : file.events[number % file.events.size()]) {
      // The bank of type 51 says of simulated events that they are of the nominal detector.
      if (bank.type != 63 && bank.type != 73 && bank.type != 51)
        continue;
      events[number].push_back(bank);
      auto &source = sources[{bank.type, bank.version, bank.source}];
      source.types.resize(number, 255), source.sizes.resize(number, 0);
      source.payloads.resize((source.payloads.size() + 7) / 8 * 8);
      source.types.push_back(bank.type), source.sizes.push_back(bank.bytes);
      source.payloads.insert(source.payloads.end(), bank.payload, bank.payload + bank.bytes);
    }
  std::vector<peloton_block> blocks;
  for (auto &[key, source] : sources) {
    source.types.resize(events.size(), 255), source.sizes.resize(events.size(), 0);
    source.payloads.resize((source.payloads.size() + 7) / 8 * 8);
    blocks.push_back({sizeof(peloton_block), std::uint16_t(std::get<2>(key)), std::uint8_t(std::get<1>(key)), 3,
                      source.types.data(), source.sizes.data(), source.payloads.data(), source.payloads.size()});
  }
  peloton::Engine engine("", geometry);
  auto workspace = engine.workspace();
  auto result = engine.result();
  peloton::Batch batch;
  double best[4] = {1e30, 1e30, 1e30, 1e30};
  auto timed = [&](int which, std::size_t of, auto work) {
    double begin = now();
    work();
    best[which] = std::min(best[which], (now() - begin) / double(of));
  };
  for (int pass = 0; pass < passes; ++pass) {
    batch.clear();
    timed(2, file.events.size(), [&] { batch.mdf({file.bytes.data(), file.bytes.size()}); });
    batch.clear();
    timed(0, events.size(), [&] {
      for (std::size_t number = 0; number < events.size(); ++number) {
        for (auto &bank : events[number])
          batch.bank(bank.type, bank.version, bank.source, {bank.payload, bank.bytes});
        batch.event(number);
      }
    });
    batch.clear();
    timed(1, events.size(), [&] { batch.blocks({blocks.data(), blocks.size()}, {ids.data(), ids.size()}); });
    timed(3, events.size(), [&] { peloton::run(engine, workspace, batch, result); });
  }
  std::printf("%zu events, %zu blocks, us per event: bank by bank %.2f, blocks %.2f, MDF bytes (all banks) %.2f; velo %.2f\n",
              events.size(), blocks.size(), best[0], best[1], best[2], best[3]);
  std::printf("blocks cost %.1f %% of the Velo sequence\n", 100 * best[1] / best[3]);
  return 0;
}
} // namespace

int main(int count, char **argument) {
  std::string what = count > 3 ? argument[1] : "";
  if (what == "hits")
    return hits(argument[2], std::stoi(argument[3]));
  if (what == "raw" && count > 4)
    return raw(argument[2], argument[3], std::stoi(argument[4]));
  if (what == "ways" && count > 4)
    return ways(argument[2], argument[3], std::stoi(argument[4]), count > 5 ? std::stoul(argument[5]) : 0);
  std::fprintf(stderr, "usage: boundary hits FILE PASSES | raw MDF GEOMETRY PASSES | ways MDF GEOMETRY PASSES [EVENTS]\n");
  return 2;
}
