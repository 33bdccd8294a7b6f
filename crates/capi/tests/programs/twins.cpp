// Every operation of peloton.hpp that can fail, asked of empty objects: one form answers with a code and never throws, the other
// throws the same code. With -fno-exceptions the first forms remain.
#include <peloton.hpp>

#include <cstdio>
#include <cstring>
#include <type_traits>

namespace {
int failures = 0, operations = 0;

void expect(bool is_right, const char *what) {
  if (!is_right)
    std::fprintf(stderr, "%s (%s)\n", what, peloton::last_error()), ++failures;
}

template <class Work> [[maybe_unused]] std::int32_t thrown(Work work) {
#ifdef PELOTON_EXCEPTIONS
  try {
    work();
  } catch (const peloton::Error &error) {
    return std::strlen(error.what()) > 0 ? error.code() : 1;
  }
#endif
  return PELOTON_OK;
}

#ifdef PELOTON_EXCEPTIONS
#define THROWS(call) expect(thrown([&] { (void)(call); }) == PELOTON_INVALID_ARGUMENT, #call)
#else
#define THROWS(call)
#endif
// The code, that it is noexcept, and what the other form throws.
#define TWINS(try_call, call)                                                                                          \
  do {                                                                                                                 \
    static_assert(noexcept(try_call), #try_call " may throw");                                                         \
    static_assert(std::is_same_v<decltype(try_call), std::int32_t>, #try_call " is no code");                          \
    expect((try_call) == PELOTON_INVALID_ARGUMENT, #try_call);                                                         \
    THROWS(call);                                                                                                      \
    ++operations;                                                                                                      \
  } while (false)

void all() {
  using namespace peloton;
  Engine engine, made;
  Workspace workspace;
  Result result, product;
  Batch batch, full;
  full = std::move(batch); // What was moved from is empty.
  Hasher hasher, other;
  other = std::move(hasher);
  Pool pool;
  Stream stream;
  Hashes hashes;
  VeloTracks tracks;
  ArrowSchema schema{};
  ArrowArray array{};
  peloton_velo_hits velo{};
  peloton_cylinder_hits cylinder{};
  peloton_pixel_hits pixels{};
  peloton_column column{};
  velo.size = sizeof velo, cylinder.size = sizeof cylinder, pixels.size = sizeof pixels;
  std::size_t count = 0;

  TWINS(made.try_make("\xff"), Engine("\xff"));
  TWINS(engine.try_json(nullptr, 0), engine.json());
  TWINS(workspace.try_make(engine), engine.workspace());
  TWINS(result.try_make(engine), engine.result());
  TWINS(pool.try_make(engine, 1), Pool(engine, 1));
  TWINS(stream.try_make(engine), Stream(engine));
  TWINS(batch.try_clear(), batch.clear());
  TWINS(batch.try_events(count), batch.events());
  TWINS(batch.try_bank(73, 4, 1, {}), batch.bank(73, 4, 1, {}));
  TWINS(batch.try_event(1), batch.event(1));
  TWINS(batch.try_mdf({}, &count), batch.mdf({}));
  TWINS(batch.try_blocks({}, {}), batch.blocks({}, {}));
  TWINS(result.try_product("velo_tracks", product), result.product("velo_tracks"));
  TWINS(result.try_items(0, count), result.items(0));
  TWINS(result.try_items(0, count), result.events());
  TWINS(result.try_columns(count), result.columns());
  TWINS(result.try_column_at(0, column), result.column_at(0));
  TWINS(result.try_column("chi2", column), result.column<float>("chi2"));
  TWINS(result.try_velo_tracks(tracks), result.velo_tracks());
  TWINS(result.try_arrow(schema, array), result.arrow(schema, array));
  TWINS(hasher.try_add(result), hasher.add(result));
  TWINS(hasher.try_end(hashes), hasher.end());
  TWINS(try_run(engine, workspace, batch, result), run(engine, workspace, batch, result));
  TWINS(try_run(engine, workspace, velo, result), run(engine, workspace, velo, result));
  TWINS(try_run(engine, workspace, cylinder, result), run(engine, workspace, cylinder, result));
  TWINS(pool.try_run(batch, result), pool.run(batch, result));
  TWINS(pool.try_run(velo, result), pool.run(velo, result));
  TWINS(stream.try_tpx3({}), stream.tpx3({}));
  TWINS(stream.try_hits(pixels), stream.hits(pixels));
  TWINS(stream.try_end(), stream.end());
  TWINS(stream.try_clusters(result), stream.clusters(result));
  expect(full.try_event(1) == PELOTON_OK, "a batch that was moved to");

  // A column of another type is an error of the header's own.
  expect(made.try_make("") == PELOTON_OK && result.try_make(made) == PELOTON_OK, "an engine");
#ifdef PELOTON_EXCEPTIONS
  expect(thrown([&] { result.column<std::uint32_t>("chi2"); }) == PELOTON_INVALID_ARGUMENT, "another type");
  expect(thrown([&] { result.column<float>("chi2"); }) == PELOTON_OK, "its type");
#endif
}
} // namespace

int main() {
  all();
  if (failures == 0)
    std::printf("%d operations\n", operations);
  return failures == 0 ? 0 : 1;
}
