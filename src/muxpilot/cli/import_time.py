"""Import much at once in less time, and in less memory."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# asyncio and hashlib import OpenSSL where there is one: 5 MB and 7 ms of a start. A stdio server has no use
# for it. If the import fails, both work as in a Python that was built without OpenSSL.
_OPENSSL = ("ssl", "_hashlib")
# A collection takes half a millisecond or more. With Python's 700 objects, one call in thirty waits for it.
_OBJECTS_BETWEEN_COLLECTIONS = 10_000


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pause garbage collection for an import. Later it is rarer, and leaves out what was imported."""
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    gc.enable()


@contextmanager
def leave_out_openssl() -> Iterator[None]:
    """Keep imports from loading OpenSSL. Later `import ssl` works, but asyncio has no TLS."""
    missing = [name for name in _OPENSSL if name not in sys.modules]
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type] # None stops an import, by the docs
    try:
        yield
    finally:
        for name in missing:
            sys.modules.pop(name, None)
