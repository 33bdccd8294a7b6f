"""Tracks of many files on a Dask cluster: `python dask_tracks.py tracks/ a.mdf b.mdf --geometry geometry/`.

Killed and started again, it finishes what lacks. On a batch system put the cluster of dask-jobqueue in place of
`LocalCluster` (docs/many_machines.md).
"""

import argparse
import sys

from distributed import Client, LocalCluster

import peloton.distributed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", help="folder of the parts")
    parser.add_argument("inputs", nargs="+", help="files, folders, or a plan")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part-events", type=int, default=10_000)
    parser.add_argument("--geometry")
    parser.add_argument("--sequence")
    arguments = parser.parse_args()
    # Dask restarts a worker whose process takes 95 % of this, columns of events included: say what the machine has for each.
    cluster = LocalCluster(
        n_workers=arguments.workers,
        threads_per_worker=1,
        processes=True,
        memory_limit="4GiB",
        dashboard_address=":0",
    )
    # Workers that die while they start are replaced, too.
    cluster.adapt(minimum=arguments.workers, maximum=arguments.workers)
    with cluster, Client(cluster) as client:
        manifest = peloton.distributed.run(
            arguments.inputs,
            arguments.output,
            client,
            part_events=arguments.part_events,
            on_error="skip",
            geometry=arguments.geometry,
            sequence=arguments.sequence,
        )
    for failed in manifest.failed:
        print(f"part {failed.part} of {failed.input}: {failed.reason}", file=sys.stderr)
    print(f"{manifest.parts_done} of {manifest.parts} parts, hash_events {manifest.hash_events}")
    return 0 if manifest.is_complete else 1


# Worker processes import this file again.
if __name__ == "__main__":
    sys.exit(main())
