"""Reports of jobs: the command line's JSON, with properties for the most used values."""

from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from peloton.errors import ConfigError

if TYPE_CHECKING:
    import pyarrow


class Report:
    """The report of a job: a JSON object with the same keys as the command line's JSON."""

    #: Keys that `repr` shows.
    _SHOWN: ClassVar[tuple[str, ...]] = ()

    def __init__(self, json: dict[str, Any]) -> None:
        self.json = json

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def _rows(self) -> list[tuple[str, str]]:
        return [(key, _text(self.json[key])) for key in self._SHOWN if self.json.get(key) is not None]

    def __repr__(self) -> str:
        told = ", ".join(f"{key}={value}" for key, value in self._rows())
        return f"<peloton.{type(self).__name__}: {told}>"

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in self._rows())
        return f"<table>{''.join(cells)}</table>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


class Summary(Report):
    """Summary of a run: counts, rates (events/s), times (s), hashes."""

    _SHOWN = ("sequence", "preset", "events", "tracks", "hits", "dropped", "events_per_second", "output_hash")


class Throughput(Report):
    """Rates of repeated passes over events in memory."""

    _SHOWN = ("sequence", "preset", "isa", "gang", "threads", "events", "events_per_second_best", "events_per_second")

    @property
    def events_per_second(self) -> float:
        """Rate over all timed passes together, events/s."""
        return float(self.json["events_per_second"])

    @property
    def events_per_second_best(self) -> float:
        """Rate of the fastest round of passes, events/s."""
        return float(self.json["events_per_second_best"])


class Comparison(Report):
    """The outcome of a comparison: whether two configurations or devices give the same bits."""

    _SHOWN = ("sequence", "events", "equal", "different_events", "first_difference")

    @property
    def equal(self) -> bool:
        """Whether all columns are equal, bit by bit."""
        return bool(self.json["equal"])


class Profile(Report):
    """The fastest instruction set and gang size that were measured on this CPU."""

    _SHOWN = ("sequence", "preset", "cpu", "isa", "gangs")

    def __init__(self, json: dict[str, Any], toml: str) -> None:
        super().__init__(json)
        #: The profile as TOML text for `--profile` of the command line.
        self.toml = toml

    @property
    def best(self) -> dict[str, Any]:
        """Arguments for the fastest engine: `peloton.Engine(**profile.best)`."""
        isa = self.json["isa"]
        return {"sequence": self.json["sequence"], "isa": isa, "gang": self.json["gangs"][isa]}

    def plot(self, stage: str | None = None, ax: Any = None) -> Any:
        """Draws time per event by instruction set and gang size; returns the axes (needs matplotlib)."""
        from peloton.plot import profile

        return profile(self, stage, ax)


class CheckReport(Report):
    """Efficiencies, ghosts and clones, with their intervals."""

    def __init__(self, json: dict[str, Any], text: str, is_right: bool) -> None:
        super().__init__(json)
        self.text = text
        #: Whether the results fulfil all requirements of the check.
        self.is_right = is_right

    def table(self, variable: str = "pt", category: str | None = None) -> dict[str, Any]:
        """Returns efficiencies of a category of particles (by default the first) in bins of a variable: the variable's `unit`,
        and `bins` with edges `low` and `high`, `reconstructible`, `reconstructed`, `efficiency` and its interval.
        """
        tables = [table for table in self.json.get("tables", []) if table["variable"] == variable]
        if not tables:
            known = sorted({table["variable"] for table in self.json.get("tables", [])})
            raise ConfigError(f"no table against {variable}: choose from {', '.join(known)}")
        for table in tables:
            if category in (None, table["category"]):
                return dict(table)
        raise ConfigError(f"no category {category}: choose from {', '.join(t['category'] for t in tables)}")

    @property
    def tables(self) -> "pyarrow.Table":
        """All bins of all tables of efficiencies, one bin per row (needs pyarrow)."""
        import pyarrow

        rows = []
        for table in self.json.get("tables", []):
            about = {key: table[key] for key in ("category", "variable", "unit")}
            rows += [about | entry for entry in table["bins"]]
        return pyarrow.Table.from_pylist(rows)

    def plot(self, variable: str = "pt", category: str | None = None, ax: Any = None, **options: Any) -> Any:
        """Draws efficiencies with their intervals against a variable; returns the axes (needs matplotlib)."""
        from peloton.plot import efficiency

        return efficiency(self.table(variable, category), ax, **options)

    def to_hist(self, variable: str = "pt", category: str | None = None) -> tuple[Any, Any]:
        """Returns reconstructed and reconstructible particles as histograms (needs hist)."""
        from peloton.plot import histograms

        return histograms(self.table(variable, category))

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"
