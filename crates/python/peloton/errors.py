"""Exceptions, and the warning of lost events."""

import warnings


class Error(RuntimeError):
    """A job that could not be done."""


class ConfigError(Error, ValueError):
    """An argument or a configuration that cannot be used; the message has the name and the reason."""


class UnsupportedError(Error):
    """Something that this CPU, build or sequence does not have."""


class InputError(Error, OSError):
    """A file or stream that cannot be read or written."""


class FormatError(Error, ValueError):
    """Input with content that violates its format, or without any event that could be reconstructed."""


class ColumnError(Error, ValueError):
    """A column that cannot be used; the message has its name and the remedy."""


class InternalError(Error):
    """A fault of this program."""


class PelotonWarning(UserWarning):
    """Something may be wrong, such as events that could not be reconstructed; the job went on."""


def warn(text: str, level: int = 4) -> None:
    """Warns once for each run, at the caller `level` levels up."""
    warnings.warn(text, PelotonWarning, stacklevel=level)
