"""A cluster over networks of their own, one of which is down for a while. Needs the right to make networks and takes a
minute: `PELOTON_NETWORKS=1`.
"""

import os
import shutil
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("distributed")

from distributed import Client
from test_cluster import NOMINAL, before_parts, call, one_process, results, wait_for

import peloton.distributed

pytestmark = pytest.mark.skipif(
    "PELOTON_NETWORKS" not in os.environ or shutil.which("ip") is None, reason="PELOTON_NETWORKS is not set"
)

# Seconds that a link is down.
DOWN = 20


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


def address(network, host):
    """That of the scheduler's end (1) or the worker's end (2) of a link."""
    return f"10.213.{network}.{host}"


@pytest.fixture
def networks():
    """Two network namespaces, each with a link to this one."""
    names = ["peloton-test-1", "peloton-test-2"]
    try:
        for number, name in enumerate(names, 1):
            ip("netns", "add", name)
            ip("link", "add", f"pelot{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("addr", "add", address(number, 1) + "/30", "dev", f"pelot{number}")
            ip("link", "set", f"pelot{number}", "up")
            ip("-n", name, "addr", "add", address(number, 2) + "/30", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.fixture
def processes():
    started = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def start(processes, *command):
    processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))


def test_a_link_that_is_down_for_a_while_changes_nothing(networks, processes, tmp_path):
    port = 18786
    # Parts that last long enough for the link to go down in the middle of one.
    slow = before_parts(tmp_path, "time.sleep(1)")
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "0.0.0.0", "--port", str(port)]
    start(processes, *dask, "--dashboard-address", ":0")
    for number, name in enumerate(networks, 1):
        worker = ["ip", "netns", "exec", name, sys.executable, "-m", "distributed.cli.dask_worker"]
        worker += [f"tcp://{address(number, 1)}:{port}", "--nthreads", "1", "--host", address(number, 2)]
        start(processes, *worker, "--no-dashboard", "--preload", slow)
    file = str(tmp_path / "a.mdf")
    call("simulate", "--detector", "lhcb", "--events", 40, "--seed", 1, "--output", file)
    folder = tmp_path / "parts"

    def cut():
        wait_for(lambda: len(list(folder.glob("part-*.parquet"))) >= 3)
        ip("link", "set", "pelot2", "down")
        time.sleep(DOWN)
        ip("link", "set", "pelot2", "up")

    with Client(f"tcp://127.0.0.1:{port}", timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        cutter = threading.Thread(target=cut)
        cutter.start()
        manifest = peloton.distributed.run(file, folder, client, part_events=1, **NOMINAL)
        cutter.join()
    assert manifest.is_complete and manifest.parts == 40
    assert results(folder) == one_process(folder / "_plan.json", tmp_path / "one", **NOMINAL)
    assert manifest.hash_events == call("run", file, "--geometry", "nominal")["hash_events"]
