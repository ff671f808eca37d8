"""Rule 7: how it ends. EOF drains, signals cancel.

That a broken stdout or a vanished parent ends it is shown with the other faults, in `tests/faults`.
"""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from support import requests
from support.requests import BIG_ID
from support.sidecar import PROGRAM, TIMEOUT, Sidecar, clean_environment


def test_a_shell_pipe_works(main_root: Path, tmp_path: Path) -> None:
    request = requests.line("parseText", r'{"text":"\u0040[a](dsh-session:ImEi)"}').decode()
    done = subprocess.run(
        ["sh", "-c", 'printf "%s" "$1" | "$2" --root "$3"', "sh", request, PROGRAM, main_root],
        capture_output=True,
        env=clean_environment(str(tmp_path)),
        timeout=TIMEOUT,
    )
    assert done.returncode == 0
    (printed,) = done.stdout.splitlines()
    assert json.loads(printed)["result"]["text"] == "@a"
    assert done.stdout.endswith(b"\n")
    assert done.stderr == b""


def test_no_input_at_all_is_a_quiet_end(own_sidecar: Sidecar) -> None:
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0
    assert own_sidecar.unclaimed() == []
    assert own_sidecar.stderr == b""


def test_the_end_of_the_input_finishes_what_is_in_flight(big_sidecar: Sidecar) -> None:
    request_id = big_sidecar.request("prepare", requests.prepare(BIG_ID))
    big_sidecar.close_stdin()
    assert "additionalContext" in big_sidecar.settle(request_id, timeout=60)
    assert big_sidecar.wait() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_cancels_answers_and_ends(
    big_sidecar: Sidecar, number: signal.Signals, code: int
) -> None:
    """The answer is the one of a shutdown. The read itself can't be interrupted, and is left."""
    request_id = big_sidecar.request("prepare", requests.prepare(BIG_ID))
    assert big_sidecar.call("status")["requestsInFlight"] == 1
    big_sidecar.signal(number)
    answer = big_sidecar.answer(request_id, timeout=3)
    assert answer["error"]["code"] == -32802
    assert answer["error"]["data"]["code"] == "SESSION_REFERENCE_CANCELLED"
    assert big_sidecar.wait(timeout=3) == code


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_an_idle_sidecar(
    own_sidecar: Sidecar, number: signal.Signals, code: int
) -> None:
    own_sidecar.call("status")
    own_sidecar.signal(number)
    assert own_sidecar.wait(timeout=3) == code
    assert own_sidecar.stderr == b""


def test_exit_without_shutdown_is_a_failure(own_sidecar: Sidecar) -> None:
    own_sidecar.call("status")
    own_sidecar.notify("exit")
    assert own_sidecar.wait() == 1


def test_exit_after_shutdown_is_none(own_sidecar: Sidecar) -> None:
    assert own_sidecar.call("shutdown") is None
    own_sidecar.notify("exit")
    assert own_sidecar.wait() == 0


def test_the_end_of_the_input_after_shutdown_is_none(own_sidecar: Sidecar) -> None:
    assert own_sidecar.call("shutdown") is None
    own_sidecar.close_stdin()
    assert own_sidecar.wait() == 0


def test_exit_does_not_wait_for_a_read(big_sidecar: Sidecar) -> None:
    big_sidecar.request("prepare", requests.prepare(BIG_ID))
    big_sidecar.call("status")
    big_sidecar.notify("exit")
    assert big_sidecar.wait(timeout=3) == 1
