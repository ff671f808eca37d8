"""The table of errors: which failed reads may be tried again."""

from typing import get_args

from sessionref_protocol.errors import Cause, ErrorKind, RpcError


def test_a_failed_read_may_be_tried_again_where_its_cause_may_pass() -> None:
    retryable = {
        cause
        for cause in get_args(Cause)
        if RpcError(ErrorKind.READ_FAILED, "It failed.", cause=cause).retryable
    }
    assert retryable == {"io", "changed", "host"}
