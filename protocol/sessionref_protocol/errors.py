"""The table of error codes, stated once, and the one exception that carries them.

A pure leaf: it imports nothing of ours, and any layer may import it. What an error is called on
the wire (`code`, `data.code`, whether a retry can help) is decided here and nowhere else.
Source of the rule: the contract, section 6, rule 3.
"""

import enum
from typing import Final, Literal, NamedTuple

Cause = Literal[
    "not_found", "corrupt", "unsupported_format", "conflict", "io", "changed", "denied", "host"
]

RETRYABLE_CAUSES: Final[frozenset[Cause]] = frozenset({"io", "changed", "host"})


class ErrorSpec(NamedTuple):
    """One row of the table."""

    code: int
    name: str | None
    """`data.code`, or None where JSON-RPC's own code says enough."""
    retryable: bool
    when: str


class ErrorKind(enum.Enum):
    """Every error that a peer can get, and no others."""

    PARSE = ErrorSpec(-32700, None, False, "The line is not JSON, not UTF-8, or nested too deep.")
    INVALID_REQUEST = ErrorSpec(
        -32600, None, False, "A bad envelope, a batch, a bad or reused id, or the wrong time."
    )
    METHOD_NOT_FOUND = ErrorSpec(-32601, None, False, "There is no such method.")
    INVALID_PARAMS = ErrorSpec(-32602, None, False, "A bad parameter; `data.field` names it.")
    INVALID_LIMIT = ErrorSpec(
        -32602, "SESSION_REFERENCE_INVALID_REFERENCE", False, "A bad candidate `limit`."
    )
    INTERNAL = ErrorSpec(-32603, None, False, "Our fault. The traceback is in the log only.")
    INVALID_CONFIG = ErrorSpec(
        -32010, "SESSION_REFERENCE_INVALID_CONFIG", False, "A bad value in a configuration."
    )
    INVALID_REFERENCE = ErrorSpec(
        -32011, "SESSION_REFERENCE_INVALID_REFERENCE", False, "A malformed mention or reference."
    )
    SELF_REFERENCE = ErrorSpec(
        -32012, "SESSION_REFERENCE_SELF_REFERENCE", False, "A session cannot refer to itself."
    )
    TOO_MANY = ErrorSpec(
        -32013, "SESSION_REFERENCE_TOO_MANY", False, "More sources than the limit allows."
    )
    READ_FAILED = ErrorSpec(
        -32014,
        "SESSION_REFERENCE_READ_FAILED",
        False,  # decided by the cause, see RETRYABLE_CAUSES
        "One source could not be read; `data.cause` says why.",
    )
    BUDGET_EXCEEDED = ErrorSpec(
        -32015,
        "SESSION_REFERENCE_BUDGET_EXCEEDED",
        False,
        "A source does not fit its byte budget even when its texts are emptied.",
    )
    CANCELLED = ErrorSpec(
        -32800, "SESSION_REFERENCE_CANCELLED", False, "The request was cancelled by the host."
    )
    TIMED_OUT = ErrorSpec(
        -32802, "SESSION_REFERENCE_CANCELLED", True, "A deadline passed, or we are shutting down."
    )
    BUSY = ErrorSpec(-32000, "SIDECAR_BUSY", True, "Too much is in flight or queued.")


class RpcError(Exception):
    """A failure with its place in the table, raised by any layer and answered to the peer.

    `message` is short, plain and ours: it may quote the user's own mention, never a transcript.
    The keyword fields become members of the error's `data`; None leaves one out.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        cause: Cause | None = None,
        field: str | None = None,
        session_id: str | None = None,
        message_index: int | None = None,
        input_index: int | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.spec: ErrorSpec = kind.value
        """The row of the table."""
        self.message = message
        self.cause = cause
        self.field = field
        self.session_id = session_id
        self.message_index = message_index
        self.input_index = input_index
        self.start = start
        self.end = end

    @property
    def code(self) -> int:
        """The JSON-RPC code."""
        return self.spec.code

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.spec.retryable or self.cause in RETRYABLE_CAUSES
