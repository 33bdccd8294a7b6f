// peloton.hpp: the C interface as C++17 classes, header only. Objects own their handles and can be moved, not copied.
//
// Every operation that can fail has two forms: `run` throws peloton::Error, `try_run` is noexcept and returns a code;
// objects that are made from an engine have a constructor that throws, and `try_make`. Without exceptions
// (-fno-exceptions), only the `try_` forms exist. See crates/capi/README.md for ownership and threads.
#ifndef PELOTON_HPP
#define PELOTON_HPP

#include "peloton.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define PELOTON_EXCEPTIONS 1
#include <stdexcept>
#endif
#if __cplusplus >= 202002L
#include <span>
#endif

namespace peloton {

static_assert(PELOTON_ABI == 2u, "peloton.hpp and peloton.h come from different versions");

#if __cplusplus >= 202002L && defined(__cpp_lib_span)
template <class T> using Span = std::span<T>;
#else
/// The part of std::span that this header needs.
template <class T> class Span {
public:
  constexpr Span() noexcept = default;
  constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr Span subspan(std::size_t first, std::size_t count) const noexcept { return {data_ + first, count}; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};
#endif

/// The message of the last failed call of this thread.
inline const char *last_error() noexcept { return peloton_last_error(); }

/// Whether the loaded library has the interface of this header; checked when an engine is made.
inline bool is_right_library() noexcept { return peloton_abi() == PELOTON_ABI; }

#ifdef PELOTON_EXCEPTIONS
/// The error of a failed call, with its code and its message.
class Error : public std::runtime_error {
public:
  explicit Error(std::int32_t code, const char *text = peloton_last_error())
      : std::runtime_error(text), code_(code) {}
  std::int32_t code() const noexcept { return code_; }

private:
  std::int32_t code_;
};

/// Throws unless the code is PELOTON_OK.
inline void check(std::int32_t code) {
  if (code != PELOTON_OK)
    throw Error(code);
}
#endif

namespace detail {
template <class T, void (*Free)(T *)> struct Deleter {
  void operator()(T *handle) const noexcept { Free(handle); }
};

/// The owner of a handle of the C interface; its destructor frees the handle.
template <class T, void (*Free)(T *)> class Handle {
public:
  T *get() const noexcept { return handle_.get(); }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
  /// Calls `make`, and owns the handle that `make` returns.
  template <class Make> std::int32_t fill(Make make) noexcept {
    T *made = nullptr;
    std::int32_t code = make(&made);
    handle_.reset(made);
    return code;
  }

private:
  std::unique_ptr<T, Deleter<T, Free>> handle_;
};

template <class T> struct TypeOf;
template <> struct TypeOf<std::uint8_t> { static constexpr std::int32_t value = PELOTON_TYPE_U8; };
template <> struct TypeOf<std::uint16_t> { static constexpr std::int32_t value = PELOTON_TYPE_U16; };
template <> struct TypeOf<std::uint32_t> { static constexpr std::int32_t value = PELOTON_TYPE_U32; };
template <> struct TypeOf<std::uint64_t> { static constexpr std::int32_t value = PELOTON_TYPE_U64; };
template <> struct TypeOf<std::int64_t> { static constexpr std::int32_t value = PELOTON_TYPE_I64; };
template <> struct TypeOf<float> { static constexpr std::int32_t value = PELOTON_TYPE_F32; };
} // namespace detail

/// Counters whose field `size` is set; each thread needs its own object.
struct Counters : peloton_counters {
  Counters() noexcept : peloton_counters{} { size = sizeof(peloton_counters); }
};

/// A configured sequence. Any number of threads may use one engine at once.
class Engine : public detail::Handle<peloton_engine, peloton_engine_free> {
public:
  Engine() noexcept = default;
  std::int32_t try_make(std::string_view toml, const char *geometry = nullptr) noexcept {
    if (!is_right_library())
      return PELOTON_ABI_MISMATCH;
    return fill([&](peloton_engine **to) { return peloton_engine_new(toml.data(), toml.size(), geometry, to); });
  }
  /// Describes the engine as JSON (version, ISA and so on); `needed` receives the length, with the final zero byte.
  std::int32_t try_json(char *to, std::size_t capacity, std::size_t *needed = nullptr) const noexcept {
    return peloton_engine_json(get(), to, capacity, needed);
  }
  /// The name of the stage whose counts are counters.stage[number].
  const char *stage(std::uint32_t number) const noexcept { return peloton_engine_stage(get(), number); }
  /// The name of product `number`, in the order of `write` in the configuration; nullptr after the last product.
  const char *product(std::uint32_t number) const noexcept { return peloton_engine_product(get(), number); }
#ifdef PELOTON_EXCEPTIONS
  explicit Engine(std::string_view toml, const char *geometry = nullptr) {
    if (!is_right_library())
      throw Error(PELOTON_ABI_MISMATCH, "libpeloton has another interface than the header that this was built with");
    check(try_make(toml, geometry));
  }
  /// Describes the engine as JSON: version, ISA, configuration and so on.
  std::string json() const {
    std::size_t needed = 0;
    check(try_json(nullptr, 0, &needed));
    std::string text(needed, '\0');
    check(try_json(text.data(), text.size()));
    text.resize(needed - 1);
    return text;
  }
  class Workspace workspace() const;
  class Result result() const;
#endif
};

/// Scratch memory of one thread.
class Workspace : public detail::Handle<peloton_workspace, peloton_workspace_free> {
public:
  Workspace() noexcept = default;
  std::int32_t try_make(const Engine &engine) noexcept {
    return fill([&](peloton_workspace **to) { return peloton_workspace_new(engine.get(), to); });
  }
#ifdef PELOTON_EXCEPTIONS
  explicit Workspace(const Engine &engine) { check(try_make(engine)); }
#endif
};

/// Raw banks of events.
class Batch : public detail::Handle<peloton_batch, peloton_batch_free> {
public:
  /// Makes an empty batch; never throws.
  Batch() noexcept {
    fill([](peloton_batch **to) { return peloton_batch_new(to); });
  }
  std::int32_t try_clear() noexcept { return peloton_batch_clear(get()); }
  std::int32_t try_events(std::size_t &count) const noexcept { return peloton_batch_events(get(), &count); }
  std::int32_t try_bank(std::uint8_t type, std::uint8_t version, std::uint16_t source,
                        Span<const std::uint8_t> payload) noexcept {
    return peloton_batch_bank(get(), type, version, source, payload.data(), payload.size());
  }
  std::int32_t try_event(std::uint64_t id, std::uint16_t status = 0, std::uint16_t *became = nullptr) noexcept {
    return peloton_batch_event(get(), id, status, became);
  }
  std::int32_t try_mdf(Span<const std::uint8_t> bytes, std::size_t *used, std::size_t *events = nullptr) noexcept {
    return peloton_batch_mdf(get(), bytes.data(), bytes.size(), used, events);
  }
  std::int32_t try_blocks(Span<const peloton_block> blocks, Span<const std::uint64_t> ids,
                          std::size_t *faulty = nullptr) noexcept {
    return peloton_batch_blocks(get(), blocks.data(), blocks.size(), ids.data(), ids.size(), faulty);
  }
#ifdef PELOTON_EXCEPTIONS
  /// Removes all events, but keeps their memory for later events.
  void clear() { check(try_clear()); }
  /// Number of events.
  std::size_t events() const {
    std::size_t count = 0;
    check(try_events(count));
    return count;
  }
  void bank(std::uint8_t type, std::uint8_t version, std::uint16_t source, Span<const std::uint8_t> payload) {
    check(try_bank(type, version, source, payload));
  }
  std::uint16_t event(std::uint64_t id, std::uint16_t status = 0) {
    std::uint16_t became = 0;
    check(try_event(id, status, &became));
    return became;
  }
  /// Adds the events of the whole MDF records at the beginning, and returns the number of bytes of these records.
  std::size_t mdf(Span<const std::uint8_t> bytes) {
    std::size_t used = 0;
    check(try_mdf(bytes, &used));
    return used;
  }
  /// Adds an event builder's blocks, and returns the number of blocks whose sizes do not add up.
  std::size_t blocks(Span<const peloton_block> blocks, Span<const std::uint64_t> ids) {
    std::size_t faulty = 0;
    check(try_blocks(blocks, ids, &faulty));
    return faulty;
  }
#endif
};

/// One track of the sequence velo: an index into the columns of all tracks.
class VeloTrack {
public:
  VeloTrack(const peloton_velo_tracks &all, std::size_t index) noexcept : all_(&all), index_(index) {}
  std::size_t index() const noexcept { return index_; }
  Span<const std::uint32_t> hits() const noexcept {
    std::size_t first = all_->hit_start[index_], end = all_->hit_start[index_ + 1];
    return {all_->hits + first, end - first};
  }
  float chi2() const noexcept { return all_->chi2[index_]; }
  bool is_backward() const noexcept { return all_->backward[index_] != 0; }
  float x() const noexcept { return all_->beam.x[index_]; }
  float y() const noexcept { return all_->beam.y[index_]; }
  float z() const noexcept { return all_->beam.z[index_]; }
  float tx() const noexcept { return all_->beam.tx[index_]; }
  float ty() const noexcept { return all_->beam.ty[index_]; }

private:
  const peloton_velo_tracks *all_;
  std::size_t index_;
};

/// All tracks of a result of the sequence velo. Tracks are valid as long as this object and the columns.
class VeloTracks : public peloton_velo_tracks {
public:
  VeloTracks() noexcept : peloton_velo_tracks{} { size = sizeof(peloton_velo_tracks); }
  class Iterator {
  public:
    Iterator(const peloton_velo_tracks &all, std::size_t index) noexcept : all_(&all), index_(index) {}
    VeloTrack operator*() const noexcept { return {*all_, index_}; }
    Iterator &operator++() noexcept { return ++index_, *this; }
    bool operator!=(const Iterator &other) const noexcept { return index_ != other.index_; }

  private:
    const peloton_velo_tracks *all_;
    std::size_t index_;
  };
  class Range {
  public:
    Range(Iterator begin, Iterator end) noexcept : begin_(begin), end_(end) {}
    Iterator begin() const noexcept { return begin_; }
    Iterator end() const noexcept { return end_; }

  private:
    Iterator begin_, end_;
  };
  Iterator begin() const & noexcept { return {*this, 0}; }
  Iterator end() const & noexcept { return {*this, tracks}; }
  Range of_event(std::size_t event) const & noexcept {
    return {{*this, track_start[event]}, {*this, track_start[event + 1]}};
  }
  // Tracks refer to this object, so a temporary object is refused.
  Iterator begin() const && = delete;
  Iterator end() const && = delete;
  Range of_event(std::size_t) const && = delete;
};

/// Results of a run. This object has the first product of `write`; product() returns the other products. Views of
/// columns are valid until the next run into this result, its next export or its destruction.
class Result : public detail::Handle<peloton_result, peloton_result_free> {
public:
  Result() noexcept = default;
  std::int32_t try_make(const Engine &engine) noexcept {
    return fill([&](peloton_result **to) { return peloton_result_new(engine.get(), to); });
  }
  std::int32_t try_product(const char *name, Result &product) const noexcept {
    return product.fill([&](peloton_result **to) { return peloton_result_product(get(), name, to); });
  }
  std::int32_t try_items(std::uint32_t depth, std::size_t &count) const noexcept {
    return peloton_result_items(get(), depth, &count);
  }
  std::int32_t try_columns(std::size_t &count) const noexcept { return peloton_result_columns(get(), &count); }
  std::int32_t try_column_at(std::size_t index, peloton_column &view) const noexcept {
    view.size = sizeof view;
    return peloton_result_column_at(get(), index, &view);
  }
  std::int32_t try_column(const char *name, peloton_column &view) const noexcept {
    view.size = sizeof view;
    return peloton_result_column(get(), name, &view);
  }
  std::int32_t try_velo_tracks(VeloTracks &view) const noexcept { return peloton_result_velo_tracks(get(), &view); }
  std::int32_t try_arrow(ArrowSchema &schema, ArrowArray &array) noexcept {
    return peloton_result_arrow(get(), &schema, &array);
  }
#ifdef PELOTON_EXCEPTIONS
  explicit Result(const Engine &engine) { check(try_make(engine)); }
  /// Returns a Result for the product with this name, such as "long_tracks", of this run and of all later runs.
  Result product(const char *name) const {
    Result product;
    check(try_product(name, product));
    return product;
  }
  /// Number of items at a depth: 0 events (or clusters), 1 tracks (or hits where there are no tracks), 2 hits.
  std::size_t items(std::uint32_t depth) const {
    std::size_t count = 0;
    check(try_items(depth, count));
    return count;
  }
  /// Number of events.
  std::size_t events() const { return items(0); }
  /// Number of columns of the product.
  std::size_t columns() const {
    std::size_t count = 0;
    check(try_columns(count));
    return count;
  }
  /// The column at an index: its name, type and values.
  peloton_column column_at(std::size_t index) const {
    peloton_column view{};
    check(try_column_at(index, view));
    return view;
  }
  /// A column of any sequence by its name (docs/columns.md); T must be its type. Statuses are std::uint16_t, starts
  /// std::uint32_t.
  template <class T> Span<const T> column(const char *name) const {
    peloton_column view{};
    check(try_column(name, view));
    bool is_same = view.type == detail::TypeOf<T>::value ||
                   (view.type == PELOTON_TYPE_STATUS && detail::TypeOf<T>::value == PELOTON_TYPE_U16) ||
                   (view.type == PELOTON_TYPE_STARTS && detail::TypeOf<T>::value == PELOTON_TYPE_U32);
    if (!is_same)
      throw Error(PELOTON_INVALID_ARGUMENT, (std::string("column ") + name + " has another type").c_str());
    return {static_cast<const T *>(view.values), view.count};
  }
  VeloTracks velo_tracks() const {
    VeloTracks view;
    check(try_velo_tracks(view));
    return view;
  }
  /// Exports the columns through Arrow's C data interface; the caller owns schema and array, which must be empty.
  void arrow(ArrowSchema &schema, ArrowArray &array) { check(try_arrow(schema, array)); }
#endif
};

/// The hashes hash_int and output_hash that `peloton run --json` prints.
struct Hashes {
  std::uint64_t hash_int = 0, output_hash = 0;
};

/// Hashes the results of several runs, as `peloton run --json` does.
class Hasher : public detail::Handle<peloton_hasher, peloton_hasher_free> {
public:
  Hasher() noexcept {
    fill([](peloton_hasher **to) { return peloton_hasher_new(to); });
  }
  std::int32_t try_add(const Result &result) noexcept { return peloton_hasher_add(get(), result.get()); }
  std::int32_t try_end(Hashes &hashes) const noexcept {
    std::uint64_t hash[2];
    std::int32_t code = peloton_hasher_end(get(), hash);
    if (code == PELOTON_OK)
      hashes = {hash[0], hash[1]};
    return code;
  }
#ifdef PELOTON_EXCEPTIONS
  void add(const Result &result) { check(try_add(result)); }
  Hashes end() const {
    Hashes hashes;
    check(try_end(hashes));
    return hashes;
  }
#endif
};

/// Reconstructs raw banks or hits on the calling thread, and returns a code.
inline std::int32_t try_run(const Engine &engine, Workspace &workspace, const Batch &batch, Result &result,
                            Counters *counters = nullptr) noexcept {
  return peloton_run_banks(engine.get(), workspace.get(), batch.get(), result.get(), counters);
}
inline std::int32_t try_run(const Engine &engine, Workspace &workspace, const peloton_velo_hits &hits, Result &result,
                            Counters *counters = nullptr) noexcept {
  return peloton_run_hits(engine.get(), workspace.get(), &hits, result.get(), counters);
}
inline std::int32_t try_run(const Engine &engine, Workspace &workspace, const peloton_cylinder_hits &hits,
                            Result &result, Counters *counters = nullptr) noexcept {
  return peloton_run_cylinder(engine.get(), workspace.get(), &hits, result.get(), counters);
}

/// Threads of the library that run one engine, for callers without their own threads.
class Pool : public detail::Handle<peloton_pool, peloton_pool_free> {
public:
  Pool() noexcept = default;
  std::int32_t try_make(const Engine &engine, std::size_t threads) noexcept {
    return fill([&](peloton_pool **to) { return peloton_pool_new(engine.get(), threads, to); });
  }
  std::int32_t try_run(const Batch &batch, Result &result, Counters *counters = nullptr) noexcept {
    return peloton_pool_run_banks(get(), batch.get(), result.get(), counters);
  }
  std::int32_t try_run(const peloton_velo_hits &hits, Result &result, Counters *counters = nullptr) noexcept {
    return peloton_pool_run_hits(get(), &hits, result.get(), counters);
  }
#ifdef PELOTON_EXCEPTIONS
  Pool(const Engine &engine, std::size_t threads) { check(try_make(engine, threads)); }
  template <class Events> void run(const Events &events, Result &result, Counters *counters = nullptr) {
    check(try_run(events, result, counters));
  }
#endif
};

/// An endless stream of pixel hits.
class Stream : public detail::Handle<peloton_stream, peloton_stream_free> {
public:
  Stream() noexcept = default;
  std::int32_t try_make(const Engine &engine, const peloton_layout *layout = nullptr) noexcept {
    return fill([&](peloton_stream **to) { return peloton_stream_new(engine.get(), layout, to); });
  }
  std::int32_t try_tpx3(Span<const std::uint8_t> bytes) noexcept {
    return peloton_stream_tpx3(get(), bytes.data(), bytes.size());
  }
  std::int32_t try_hits(const peloton_pixel_hits &hits) noexcept { return peloton_stream_hits(get(), &hits); }
  std::int32_t try_end() noexcept { return peloton_stream_end(get()); }
  std::int32_t try_clusters(Result &result, Counters *counters = nullptr,
                            peloton_pixel_counts *counts = nullptr) noexcept {
    return peloton_stream_clusters(get(), result.get(), counters, counts);
  }
#ifdef PELOTON_EXCEPTIONS
  explicit Stream(const Engine &engine, const peloton_layout *layout = nullptr) { check(try_make(engine, layout)); }
  void tpx3(Span<const std::uint8_t> bytes) { check(try_tpx3(bytes)); }
  void hits(const peloton_pixel_hits &hits) { check(try_hits(hits)); }
  void end() { check(try_end()); }
  /// Moves the complete clusters into the result.
  void clusters(Result &result, Counters *counters = nullptr, peloton_pixel_counts *counts = nullptr) {
    check(try_clusters(result, counters, counts));
  }
#endif
};

#ifdef PELOTON_EXCEPTIONS
inline Workspace Engine::workspace() const { return Workspace(*this); }
inline Result Engine::result() const { return Result(*this); }
/// Reconstructs raw banks or hits on the calling thread.
template <class Events>
void run(const Engine &engine, Workspace &workspace, const Events &events, Result &result,
         Counters *counters = nullptr) {
  check(try_run(engine, workspace, events, result, counters));
}
#endif

} // namespace peloton

#endif
