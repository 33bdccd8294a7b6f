"""What parts on a Dask cluster cost: `python dask_speed.py FOLDER a.mdf b.mdf --geometry geometry/ --sequence long`.

Runs all parts in turns on two worker processes of one thread, and in this process with two threads; the start of the cluster is not
counted. Then all parts again, which are done: what that takes is what Dask and looking at the folder cost.
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from distributed import Client, LocalCluster

import peloton.distributed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--part-events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--geometry")
    parser.add_argument("--sequence")
    arguments = parser.parse_args()
    how = {"geometry": arguments.geometry, "sequence": arguments.sequence}
    cluster, one = arguments.folder / "cluster", arguments.folder / "one"

    def timed(work: Callable[[], object]) -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    def on_cluster(client: Client) -> None:
        peloton.distributed.run(arguments.inputs, cluster, client, part_events=arguments.part_events, **how)

    def alone(parts: int) -> None:
        for part in range(parts):
            peloton.distributed.run_part(cluster / "_plan.json", part, one, threads=2, **how)

    ratios = []
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers:
        with Client(workers) as client:
            for _ in range(arguments.rounds):
                for folder in (cluster, one):
                    shutil.rmtree(folder, ignore_errors=True)
                two = timed(lambda: on_cluster(client))
                parts = len(json.loads((cluster / "_plan.json").read_text())["parts"])
                single = timed(lambda: alone(parts))
                ratios.append(single / two)
                print(f"{parts} parts: two workers {two:.2f} s, one process with two threads {single:.2f} s", flush=True)
            again = timed(lambda: on_cluster(client)) / parts
    median = sorted(ratios)[len(ratios) // 2]
    print(f"the cluster has {median:.2f} of the speed of one process; a part that is done costs {1000 * again:.1f} ms")


# Worker processes import this file again.
if __name__ == "__main__":
    main()
