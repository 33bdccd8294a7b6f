// What the boundary costs: a loop of a C++ program over hits in memory, and the ways of raw banks into a batch.
//
// usage: boundary hits FILE PASSES            µs per event of the loop, beside `peloton throughput --threads 1`
//        boundary banks MDF GEOMETRY PASSES   µs per event: bank by bank, as blocks, as MDF bytes, and the Velo sequence
// FILE is a file of columns, as PELOTON_COLUMNS=FILE cargo test --test same_bits writes it.
#include <peloton.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace {
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::uint8_t>;

double since(Clock::time_point begin) { return std::chrono::duration<double, std::micro>(Clock::now() - begin).count(); }

Bytes read_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

template <class T> const T *take(const std::uint8_t *&at, std::size_t count) {
  auto *values = reinterpret_cast<const T *>(at);
  at += count * sizeof(T);
  return values;
}

/// Least time of some passes over all events, 64 at once, as the event count and µs per event.
int hits(const char *path, int passes) {
  Bytes bytes = read_file(path);
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
  double best = 1e30;
  std::size_t tracks = 0;
  for (int pass = 0; pass < passes; ++pass) {
    tracks = 0;
    auto begin = Clock::now();
    for (std::size_t number = 0; number < starts.size(); ++number) {
      std::size_t from = start[52 * slice * number];
      auto &own = starts[number];
      peloton_velo_hits view{sizeof view, (own.size() - 1) / 52, own.back(), x + from, y + from, z + from,
                             id + from,   own.data(),            nullptr};
      peloton::run(engine, workspace, view, result);
      tracks += result.velo_tracks().tracks;
    }
    best = std::min(best, since(begin) / double(events));
  }
  std::printf("%zu events, %zu tracks: %.3f us per event\n", events, tracks, best);
  return 0;
}

struct Bank {
  std::uint8_t type, version;
  std::uint16_t source;
  const std::uint8_t *payload;
  std::uint16_t bytes;
};

int banks(const char *path, const char *geometry, int passes) {
  Bytes bytes = read_file(path);
  std::vector<std::vector<Bank>> events;
  for (std::size_t at = 0; at + 48 <= bytes.size();) {
    std::uint32_t size;
    std::memcpy(&size, &bytes[at], 4);
    std::vector<Bank> event;
    for (std::size_t bank = at + 48; bank + 8 <= at + size;) {
      auto pair = [&](std::size_t i) { return std::uint16_t(bytes[bank + i] | bytes[bank + i + 1] << 8); };
      std::uint16_t length = pair(2);
      if (bytes[bank + 4] == 63 || bytes[bank + 4] == 73)
        event.push_back({bytes[bank + 4], bytes[bank + 5], pair(6), &bytes[bank + 8], std::uint16_t(length - 8)});
      bank += (length + 3u) / 4 * 4;
    }
    events.push_back(event);
    at += size;
  }
  // The same by source, payloads at multiples of 8 bytes.
  struct Source {
    Bytes types, payloads;
    std::vector<std::uint16_t> sizes;
  };
  std::map<std::tuple<int, int, int>, Source> sources;
  std::vector<std::uint64_t> ids;
  for (std::size_t number = 0; number < events.size(); ++number, ids.push_back(number))
    for (auto &bank : events[number]) {
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
  for (int pass = 0; pass < passes; ++pass) {
    auto timed = [&](int which, auto work) {
      auto begin = Clock::now();
      work();
      best[which] = std::min(best[which], since(begin) / double(events.size()));
    };
    batch.clear();
    timed(2, [&] { batch.mdf({bytes.data(), bytes.size()}); });
    batch.clear();
    timed(1, [&] { batch.blocks({blocks.data(), blocks.size()}, {ids.data(), ids.size()}); });
    batch.clear();
    timed(0, [&] {
      for (std::size_t number = 0; number < events.size(); ++number) {
        for (auto &bank : events[number])
          batch.bank(bank.type, bank.version, bank.source, {bank.payload, bank.bytes});
        batch.event(number);
      }
    });
    timed(3, [&] { peloton::run(engine, workspace, batch, result); });
  }
  std::printf("%zu events, us per event: bank by bank %.2f, blocks %.2f, MDF bytes (all banks) %.2f; velo %.2f\n",
              events.size(), best[0], best[1], best[2], best[3]);
  return 0;
}
} // namespace

int main(int count, char **argument) {
  std::string what = count > 3 ? argument[1] : "";
  if (what == "hits")
    return hits(argument[2], std::stoi(argument[3]));
  if (what == "banks" && count > 4)
    return banks(argument[2], argument[3], std::stoi(argument[4]));
  std::fprintf(stderr, "usage: boundary hits FILE PASSES | boundary banks MDF GEOMETRY PASSES\n");
  return 2;
}
