"""Lines that report an error, and lines that only have such a word."""

from __future__ import annotations

import pytest

from muxpilot.watch.triggers import parse_triggers

ERRORS = """
error: no such file
Error: x
ERROR something
ERROR in ./src/main.js
src/main.c:3:5: error: expected ';'
make: *** [Makefile:3: all] Error 1
error: 0x80070005: access denied
error: 0 files could be read
error: 10
error: null pointer dereference
error: no such device
Error rate: 0.5%
ValueError: x
json.decoder.JSONDecodeError: Expecting value
TypeError [ERR_INVALID_ARG_TYPE]: bad
java.lang.NullPointerException: x
java.lang.Exception
fatal: not a git repository
Fatal: could not start
panic: runtime error
thread 'main' panicked
Unhandled Exception
build failed
Connecting...failed.
1 failed
10 failed
2 FAILED
12 passed, 1 failed
3 of 10 failed
worker 0 failed
attempt 0 failed
step 0 error: boom
failed=1
ok=3 changed=0 unreachable=0 failed=1
0 errors, 1 failed
error: 0, failed: 3
FAIL: test_x
--- FAIL
FAIL\tgithub.com/x/y
tests/test_x.py::test_y FAILED
level=error msg="no route"
GET /error 500 failed
connect to http://localhost/ failed
could not connect: error: timeout
command not found: failed
"""

NO_ERRORS = """
0 errors
0 failed
12 passed, 0 failed
12 passed; 0 failed; 0 ignored
12 passed 0 failed
Tests:       0 failed, 12 passed, 12 total
0 tests failed
0 test suites failed
0 of 12 failed
0/12 tests failed
Found 0 errors. Watching for file changes.
found 0 fatal errors
    0 Error(s)
error: 0
error: 0, warnings: 3
errors: 0
Error count: 0
Error rate: 0.0%
error rate is 0%
Failed: 0
failed: 0 skipped: 1
failed 0
"failed": 0,
{"failed": false}
error: none
ok=3 changed=0 unreachable=0 failed=0
no errors
No error found.
[INFO] no error found
no fatal error occurred
no tests failed
nothing failed
completed without errors
this is not an error
GET /error 200
"GET /error HTTP/1.1" 200
GET /log?state=failed 200
GET http://localhost:80/log?state=failed 200
error_handler.py
src/error/handler.py
tests/test_failed_login.py::test_failed PASSED
is_fatal = True
exception.log
/var/log/failed
a non-fatal thing
gcc -Werror -c x.c
handleError called
$error is set
failover
failfast
FAILOVER
fail
FAIL_FAST
all well
"""


def is_error(line: str) -> bool:
    [trigger] = parse_triggers("error")
    assert trigger.matcher is not None
    return trigger.matcher.find_first(line.encode()) is not None


@pytest.mark.parametrize("line", ERRORS.strip("\n").split("\n"))
def test_an_error_is_told_by_its_words(line: str) -> None:
    assert is_error(line)


@pytest.mark.parametrize("line", ["", *NO_ERRORS.strip("\n").split("\n")])
def test_a_line_that_reports_none_is_no_error(line: str) -> None:
    assert not is_error(line)


def test_an_error_among_lines_without_one_is_found() -> None:
    [trigger] = parse_triggers("error")
    assert trigger.matcher is not None
    lines = [line for line in NO_ERRORS.strip("\n").split("\n") for _ in range(3)]
    block = "\n".join([*lines, "error: here", *lines]).encode()
    found = trigger.matcher.find_first(block)
    assert found is not None
    assert found.line == b"error: here"
