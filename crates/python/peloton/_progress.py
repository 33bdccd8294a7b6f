"""Shows the progress of a job: by the user's function, or by a bar on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[str, int, int | None], object]


@contextmanager
def reporter(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Yields the function that the native module calls to report progress, or None."""
    if callable(progress):
        yield progress
        return
    bar = _bar() if progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()) else None
    if bar is None:
        yield None
        return

    def show(what: str, done: int, of: int | None) -> None:
        bar.set_description(what, refresh=False)
        bar.total = of
        bar.n = done
        bar.refresh()

    with bar:
        yield show


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(leave=False, unit="", unit_scale=True)
