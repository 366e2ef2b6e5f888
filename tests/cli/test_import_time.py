"""What works without the libraries that a start leaves out."""

from __future__ import annotations

import hashlib
import subprocess
import sys

from tests.rigs.waiting import LIMIT_S

PROGRAM = """
import sys
from muxpilot.cli.import_time import leave_out_openssl
with leave_out_openssl():
    import asyncio, hashlib, hmac, secrets, tempfile
assert "ssl" not in sys.modules and "_hashlib" not in sys.modules, "OpenSSL was loaded"
print(hashlib.blake2b(b"text", digest_size=8).hexdigest(), hashlib.sha256(b"text").hexdigest())
assert hmac.compare_digest(b"same", b"same")
asyncio.run(asyncio.sleep(0))
import ssl
print(ssl.create_default_context().check_hostname)
"""


def test_digests_are_the_same_without_openssl_which_can_be_loaded_later() -> None:
    argv = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.stderr == ""
    blake2, sha256 = hashlib.blake2b(b"text", digest_size=8), hashlib.sha256(b"text")
    assert done.stdout.split() == [blake2.hexdigest(), sha256.hexdigest(), "True"]
