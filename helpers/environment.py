"""Environment variables for a while: what is started inside inherits them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def changed(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set these variables, remove those that are None; afterwards all are as before."""
    before = dict(os.environ)
    for name, value in values.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
