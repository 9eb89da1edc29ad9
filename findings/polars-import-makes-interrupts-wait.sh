#!/usr/bin/env bash
# polars 2.1.0: once it is imported, an interruption (Ctrl-C) no longer ends a wait of Python.
#
# Python has a signal interrupt system calls, so that a main thread that waits for another one sees
# KeyboardInterrupt at once. The import of polars has SIGINT restart them: the interruption is noticed
# when the wait is over by itself, which may be minutes later. Packages that import polars where it is
# installed bring it along, such as adbc-driver-manager 1.13.0 by its dbapi. pandas 3.1.1 and pyarrow
# 26.0.1 change nothing. signal.siginterrupt(SIGINT, True) afterwards makes it as it was.
#
# Expected: a thread that runs for 3 s is waited for until the interruption, .2 s, in all cases.
# Seen: .2 s before the import, 3 s after it, .2 s after siginterrupt.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet polars==2.1.0

cat > waits.py <<'PYTHON'
import signal
import threading
import time


def wait():
    """How long a thread of 3 s is waited for, when an interruption comes after .2 s."""
    stopped = threading.Event()
    thread = threading.Thread(target=stopped.wait, args=(3,))
    thread.start()
    main = threading.main_thread().ident
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    started = time.monotonic()
    try:
        thread.join()
    except KeyboardInterrupt:
        pass
    seconds = time.monotonic() - started
    stopped.set()
    thread.join()
    return seconds


before = wait()
import polars

after = wait()
signal.siginterrupt(signal.SIGINT, True)
again = wait()
print(f"polars {polars.__version__}: waited {before:.1f} s, after the import {after:.1f} s, "
      f"after siginterrupt {again:.1f} s")
assert before < 2, "the interruption does not end the wait without the import either"
assert after > 2.5, "the interruption ends the wait now"
assert again < 2, "siginterrupt does not help any more"
PYTHON
venv/bin/python waits.py
