// A child of fork has no threads of its parent: pools and streams with threads say so at once and are freed without waiting,
// everything else works, and so do new ones that are made in the child. The parent notices nothing.
#include <peloton.hpp>

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {
int failures = 0;

void expect(std::int32_t found, std::int32_t wanted, const char *what) {
  if (found != wanted)
    std::fprintf(stderr, "%d: %s gave %d (%s)\n", int(getpid()), what, found, peloton_last_error()), ++failures;
}
#define EXPECT(call, code) expect((call), (code), #call)

struct Objects {
  peloton::Engine velo{"", "nominal-forced"}, pixels{"sequence = 'timepix'\nthreads = 2"};
  peloton::Workspace workspace = velo.workspace();
  peloton::Result result = velo.result(), clusters = pixels.result();
  peloton::Batch batch;
  peloton::Pool pool{velo, 2};
  peloton::Stream stream{pixels};
  std::vector<std::int64_t> time;
  std::vector<std::uint16_t> column;
  peloton_pixel_hits view{};

  Objects() {
    const std::vector<std::uint8_t> payload(4);
    for (std::uint64_t event = 0; event < 100; ++event) {
      for (std::uint16_t source = 0; source < 208; ++source)
        batch.bank(73, 4, source, {payload.data(), payload.size()});
      batch.event(event);
    }
    for (int hit = 0; hit < 50'000; ++hit)
      time.push_back(hit * 100), column.push_back(std::uint16_t(hit % 200));
    view.size = sizeof view, view.hits = time.size(), view.time = time.data();
    view.x = view.y = view.tot = column.data();
  }
};

/// What works with threads of this process.
void works(Objects &objects, peloton::Pool &pool, peloton::Stream &stream) {
  for (int i = 0; i < 3; ++i)
    EXPECT(pool.try_run(objects.batch, objects.result), PELOTON_OK);
  EXPECT(stream.try_hits(objects.view), PELOTON_OK);
  EXPECT(stream.try_end(), PELOTON_OK);
  EXPECT(stream.try_clusters(objects.clusters), PELOTON_OK);
  EXPECT(objects.clusters.events() > 0 ? PELOTON_OK : PELOTON_PANIC, PELOTON_OK);
}

int child(Objects &objects) {
  EXPECT(objects.pool.try_run(objects.batch, objects.result), PELOTON_BUSY);
  EXPECT(objects.stream.try_hits(objects.view), PELOTON_BUSY);
  EXPECT(objects.stream.try_end(), PELOTON_BUSY);
  EXPECT(objects.stream.try_clusters(objects.clusters), PELOTON_BUSY);
  EXPECT(peloton::try_run(objects.velo, objects.workspace, objects.batch, objects.result), PELOTON_OK);
  objects.pool = {}, objects.stream = {};
  peloton::Pool pool(objects.velo, 2);
  peloton::Stream stream(objects.pixels);
  works(objects, pool, stream);
  return failures;
}
} // namespace

int main() {
  // Whatever waits for threads that are not there ends here.
  alarm(60);
  Objects objects;
  works(objects, objects.pool, objects.stream);
  for (int i = 0; i < 3; ++i) {
    pid_t process = fork();
    if (process == 0) {
      alarm(60);
      _exit(child(objects) == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
      std::fprintf(stderr, "the child ended with %d\n", status), ++failures;
    works(objects, objects.pool, objects.stream);
  }
  if (failures == 0)
    std::puts("parent and child are well");
  return failures == 0 ? 0 : 1;
}
