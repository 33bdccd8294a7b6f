// Random sequences of calls with random banks: no crash, no leak, no code that is not one. usage: random_calls SEED CALLS
#include <peloton.hpp>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {
struct Caller {
  std::mt19937_64 random;
  peloton_engine *engines[4] = {};
  peloton_workspace *workspaces[4] = {};
  peloton_result *results[4] = {};
  peloton_batch *batch = nullptr;
  peloton_hasher *hasher = nullptr;
  peloton_stream *stream = nullptr;
  peloton_pool *pool = nullptr;
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(4096);

  explicit Caller(std::uint64_t seed) : random(seed) {
    const char *names[4] = {"sequence = 'velo'", "sequence = 'long'", "sequence = 'ut'", "sequence = 'timepix'"};
    for (int i = 0; i < 4; ++i) {
      peloton_engine_new(names[i], std::string(names[i]).size(), i < 3 ? "nominal" : nullptr, &engines[i]);
      peloton_workspace_new(engines[i], &workspaces[i]);
      peloton_result_new(engines[i], &results[i]);
    }
    peloton_batch_new(&batch), peloton_hasher_new(&hasher), peloton_stream_new(engines[3], nullptr, &stream);
    peloton_pool_new(engines[0], 2, &pool);
  }
  ~Caller() {
    for (int i = 0; i < 4; ++i) {
      peloton_engine_free(engines[i]), peloton_workspace_free(workspaces[i]), peloton_result_free(results[i]);
    }
    peloton_batch_free(batch), peloton_hasher_free(hasher), peloton_stream_free(stream), peloton_pool_free(pool);
  }
  std::size_t below(std::size_t n) { return random() % n; }
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
    std::vector<std::uint8_t> types(5, std::uint8_t(63 + below(12)));
    std::vector<std::uint16_t> sizes(5);
    for (auto &size : sizes)
      size = std::uint16_t(below(40));
    std::uint64_t ids[5] = {};
    some_bytes();
    peloton_block block{sizeof block, std::uint16_t(below(300)), std::uint8_t(below(9)), std::uint8_t(below(20)),
                        types.data(), sizes.data(), bytes.data(), below(200)};
    return peloton_batch_blocks(batch, &block, below(2), ids, 5, nullptr);
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
  std::int32_t call() {
    std::size_t i = below(4), j = below(6) ? i : below(4);
    switch (below(14)) {
    case 0: case 1: case 2: return banks();
    case 3: return blocks();
    case 4: return below(4) ? PELOTON_OK : peloton_batch_clear(batch);
    case 5: case 6: {
      peloton_batch_events(batch, &count);
      std::int32_t code = peloton_run_banks(engines[i], workspaces[j], batch, results[i], nullptr);
      if (count > 20)
        peloton_batch_clear(batch);
      return code;
    }
    case 7: return view(results[i]);
    case 8: return arrow(results[i]);
    case 9: return peloton_hasher_add(hasher, results[i]);
    case 10: return peloton_stream_tpx3(stream, bytes.data(), some_bytes());
    case 11: return below(8) ? PELOTON_OK : peloton_stream_end(stream);
    case 12: return peloton_stream_clusters(stream, results[j], nullptr, nullptr);
    default: return below(8) ? PELOTON_OK : peloton_pool_run_banks(pool, batch, results[0], nullptr);
    }
  }
  std::size_t count = 0;
};
} // namespace

int main(int arguments, char **argument) {
  if (arguments < 3)
    return 2;
  Caller caller(std::stoull(argument[1]));
  for (std::size_t calls = std::stoull(argument[2]); calls > 0; --calls) {
    std::int32_t code = caller.call();
    if (code > 0 || code < PELOTON_SYSTEM || code == PELOTON_PANIC)
      return std::fprintf(stderr, "code %d: %s\n", code, peloton_last_error()), 1;
  }
  std::puts("done");
  return 0;
}
