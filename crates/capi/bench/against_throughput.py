"""CPU time of a C++ loop over events in memory beside the CPU time of `peloton throughput --threads 1`: the cost of the boundary.

usage: against_throughput.py BOUNDARY PELOTON COLUMNS VELO MDF GEOMETRY [ROUNDS]

BOUNDARY is boundary.cpp, compiled; COLUMNS and VELO are the same hits, as columns and as `peloton` reads them; MDF and GEOMETRY are
raw events. Both programs run by turns, with few and with many passes; the difference is the cost of passes alone, without start
and reading. Of ROUNDS (7) runs of each the least user and system time counts. Exit code 1 when they differ by more than 2 %.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

LIMIT = 0.02


def cpu_seconds(command: Sequence[str]) -> tuple[float, str]:
    """User and system time of a command, and what it prints."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, text


def compared(name: str, loop: list[str], throughput: list[str], passes: tuple[int, int], rounds: int) -> bool:
    """Runs both by turns; whether they agree."""
    least: dict[tuple[str, int], float] = {}
    events = 0
    for number in range(rounds):
        for count in passes:
            runs = [("loop", [*loop, str(count)]), ("throughput", [*throughput, "--repetitions", str(count)])]
            for who, command in runs if number % 2 == 0 else reversed(runs):
                seconds, text = cpu_seconds(command)
                least[who, count] = min(seconds, least.get((who, count), seconds))
                events = int(text.split()[0]) if who == "loop" else events
    few, many = passes
    each = {
        who: 1e6 * (least[who, many] - least[who, few]) / (many - few) / events for who in ("loop", "throughput")
    }
    ratio = each["loop"] / each["throughput"] - 1
    words = f"loop {each['loop']:.3f}, throughput {each['throughput']:.3f} us of CPU per event: {100 * ratio:+.2f} %"
    print(f"{name}: {events} events, {few} and {many} passes, least of {rounds}: {words}", flush=True)
    return abs(ratio) <= LIMIT


def main() -> None:
    """Both inputs."""
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    boundary, peloton, columns, velo, mdf, geometry = sys.argv[1:7]
    rounds = int(sys.argv[7]) if len(sys.argv) > 7 else 7
    throughput = [peloton, "throughput", "--sequence", "velo", "--threads", "1", "--quiet"]
    hits = compared("hits", [boundary, "hits", columns], [*throughput, velo], (20, 220), rounds)
    raw = compared(
        "raw banks", [boundary, "raw", mdf, geometry], [*throughput, mdf, "--geometry", geometry], (500, 6500), rounds
    )
    sys.exit(0 if hits and raw else 1)


if __name__ == "__main__":
    main()
