"""The descriptors of the protocol belong to it alone."""

import subprocess
import sys

PRINTING = """
import os
from sessionref import stdio
_, out = stdio.take()
print("of ours", flush=True)
os.system("echo of a child")
os.write(out, b"answer")
"""


def test_what_anybody_else_prints_goes_to_stderr() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTING], capture_output=True, check=True)
    assert done.stdout == b"answer"
    assert done.stderr == b"of ours\nof a child\n"
