"""What goes wrong: exceptions, and the warning of events that were lost."""

import warnings


class Error(RuntimeError):
    """A job that could not be done."""


class ConfigError(Error, ValueError):
    """An argument or a configuration that cannot be used: says which and why."""


class UnsupportedError(Error):
    """Something that this CPU, build or sequence does not have."""


class InputError(Error, OSError):
    """A file or stream that cannot be read or written."""


class FormatError(Error, ValueError):
    """Input whose content is not what its format promises, or of which nothing could be reconstructed."""


class ColumnError(Error, ValueError):
    """Columns that cannot be used: names the column and says what to do."""


class InternalError(Error):
    """A fault of this program."""


class PelotonWarning(UserWarning):
    """Something may be wrong, such as events that could not be reconstructed; the job went on."""


def warn(text: str, level: int = 4) -> None:
    """Warns once for each run, at the caller so many levels up."""
    warnings.warn(text, PelotonWarning, stacklevel=level)
