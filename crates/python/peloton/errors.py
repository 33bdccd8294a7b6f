"""Exceptions, and the warning of lost events."""

import warnings


class Error(RuntimeError):
    """The base class of all errors of peloton."""


class ConfigError(Error, ValueError):
    """An argument or a configuration that cannot be used; the message has the name and the reason."""


class UnsupportedError(Error):
    """A feature that this CPU, this build or this sequence lacks."""


class InputError(Error, OSError):
    """A file or stream that cannot be read or written."""


class FormatError(Error, ValueError):
    """Input whose content violates its format, or in which no event could be reconstructed."""


class ColumnError(Error, ValueError):
    """A column that cannot be used; the message has the name of the column and the remedy."""


class InternalError(Error):
    """A fault of this program."""


class PelotonWarning(UserWarning):
    """A warning of possible errors, such as events that could not be reconstructed; the job continued."""


def warn(text: str, level: int = 4) -> None:
    """Raises a PelotonWarning that points to the caller `level` levels above this function."""
    warnings.warn(text, PelotonWarning, stacklevel=level)
