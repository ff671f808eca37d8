"""A second, plain reader of logs, to hold the real one against: slow, and written from the rules.

It takes the lines of a log as they are and uses Python's own JSON, lists and nothing of ours.
"""

import json
from typing import Any, NamedTuple

SURFACE = {
    0: {"user/message", "steering/message", "assistant/message", "tool/result"},
    3: {"system/message"},
    4: {"developer/message"},
}
_SINCE_V0 = """
agent-preset/selected agent/inbox/spliced approval/asked approval/decided approval/policy
assistant/chunk command/done command/run compact/end compact/prune compact/start
compact/summary compaction/end compaction/prune compaction/start compaction/summary
feedback/record goal/change hook/invoked hook/result llm/retry llm/retry-started mode/set
permission/preset plan/mode request/context request/header request/header-delta
sandbox/mode schedule/change session/end-seed session/title session/title-llm-request
step/end step/start subagent/descriptor team/member team/message/delivered
team/message/queued team/task todo/write tool-workflow/agent-end tool-workflow/agent-start
tool-workflow/run-end tool-workflow/run-start tool/call tool/code-dispatch
tool/code-dispatch-start turn/end turn/start web/deepseek-search-llm-request
"""
LOG_ONLY = {
    0: set(_SINCE_V0.split()),
    2: {"assistant/attempt"},
    3: {"deliverables/presented", "image/offload", "subagent/catalog", "tool/ptc-dispatch"}
    | {"tool/ptc-dispatch-start"},
    4: {"workspace/changes"},
}
PACKED = {"text-chunks": "texts", "reasoning-chunks": "texts", "tool-call-chunks": "args"}
SAFE = 2**53 - 1


class RefusedError(Exception):
    """The whole log can't be read."""


class BadError(Exception):
    """This line is no event of the log."""


class Outcome(NamedTuple):
    nodes: list[tuple[int, str, str]]
    captured: int | None
    title: str | None
    unknown: int
    active: int | None


def read(whole: list[bytes], torn: list[bytes], generation: int) -> Outcome:
    """What the lines after the header come to: those that must be good, and those that may end.

    Raises `RefusedError`.
    """
    log = Log(generation)
    for line in whole:
        try:
            log.take(line)
        except BadError:
            raise RefusedError("bad line in a whole frame") from None
    for at, line in enumerate(torn):
        try:
            log.take(line)
        except BadError:
            if any(map(_ends_turn, torn[at:])):
                raise RefusedError("a turn ends behind a bad line") from None
            break
    return log.outcome()


def _since(names: dict[int, set[str]], generation: int) -> set[str]:
    return set().union(*(some for since, some in names.items() if since <= generation))


def _loads(line: bytes) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(line.decode("utf-8", "replace"), parse_constant=refuse)


def _ends_turn(line: bytes) -> bool:
    try:
        row = _loads(line)
    except ValueError:
        return False
    if row is None:
        raise RefusedError("null")
    return isinstance(row, dict) and row.get("type") == "turn/end"


def _int(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(value) if abs(value) <= SAFE else None


def _count(value: Any) -> int | None:
    number = _int(value)
    return number if number is not None and number >= 0 else None


class Log:
    """What the lines so far came to."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.surface_types = _since(SURFACE, generation)
        self.log_types = _since(LOG_ONLY, generation)
        self.seq = 0
        self.surface: list[tuple[int, str, str, str]] = []
        self.turn = self.step = False
        self.calls: list[str] = []
        self.title: str | None = None
        self.unknown = 0
        self.active: int | None = None

    def take(self, line: bytes) -> None:
        try:
            row = _loads(line)
        except ValueError:
            raise BadError from None
        if row is None:
            raise RefusedError("null")
        if not isinstance(row, dict) or not isinstance(row.get("type"), str):
            raise BadError
        kind = row["type"]
        if self.generation < 2 and kind in PACKED:
            self.seq += self.packed(row)
            begun = _count(row["time0"])
            self.active = None if begun is None else begun + sum(map(int, row["data"]["dt"]))
            return
        if _count(row.get("seq")) != self.seq:
            raise BadError
        if kind in self.surface_types:
            self.place(kind, row)
        elif "surfaceOp" in row:
            raise RefusedError("no place on the surface")
        elif kind not in self.log_types:
            self.unknown += row.get("ignorable") is not True
        self.track(kind, row)
        self.active = _count(row.get("time"))
        self.seq += 1

    def packed(self, row: dict[str, Any]) -> int:
        payload = PACKED[row["type"]]
        if set(row) != {"type", "seq0", "time0", "data"} or not isinstance(row["data"], dict):
            raise BadError
        data = row["data"]
        required = {"turn", "step", "index", "dt", payload}
        optional: set[str] = set()
        if payload == "args":
            required |= {"id"}
            optional = {"name"}
        texts, gaps = data.get(payload), data.get("dt")
        if not required <= set(data) <= required | optional or _count(row["seq0"]) != self.seq:
            raise BadError
        if not all(_count(data[name]) is not None for name in ("turn", "step", "index")):
            raise BadError
        if payload == "args" and not (isinstance(data["id"], str) and data["id"]):
            raise BadError
        if not isinstance(data.get("name", ""), str) or not isinstance(texts, list) or not texts:
            raise BadError
        if not all(isinstance(text, str) for text in texts) or not isinstance(gaps, list):
            raise BadError
        time = 0
        for number in [row["time0"], *gaps]:
            step = _int(number)
            if step is None or abs(time + step) > SAFE:
                raise BadError
            time += step
        if len(gaps) != len(texts) - 1:
            raise BadError
        return len(texts)

    def track(self, kind: str, row: dict[str, Any]) -> None:
        if kind in {"turn/start", "step/start", "step/end"}:
            self.calls = []
        match kind:
            case "turn/start":
                self.turn, self.step = True, False
            case "turn/end":
                self.turn = False
            case "step/start":
                self.step = True
            case "step/end":
                self.step = False
            case "session/title":
                self.title = self.entitled(row.get("data"))

    def entitled(self, data: Any) -> str | None:
        try:
            good = data["source"]["kind"] in {"fallback", "provider", "user"}
            good = good and isinstance(data["messageSeqs"], list | str)
            return data["title"] if good and isinstance(data["title"], str) else None
        except (TypeError, KeyError):
            return None

    def place(self, kind: str, row: dict[str, Any]) -> None:
        cited = self.cited(kind, row)
        operation = row.get("surfaceOp")
        data = row.get("data")
        inner = data
        if kind != "user/message" and isinstance(data, dict) and "message" in data:
            inner = data["message"]
        voice, text = self.said(kind, inner)
        node = (self.seq, voice, text, kind)
        if kind == "tool/result" and isinstance(inner, dict):
            source = inner.get("source")
            call = (source if isinstance(source, dict) else {}).get("callId", inner.get("callId"))
            self.calls = [other for other in self.calls if other != call]
        if operation == "append":
            self.surface.append(node)
            return
        first, last = self.span(operation)
        order = [seq for seq, *_ in self.surface]
        if first not in order or last not in order or order.index(first) > order.index(last):
            raise RefusedError("span")
        start, end = order.index(first), order.index(last) + 1
        removed = self.surface[start:end]
        if cited is None or not set(order[start:end]) <= set(cited):
            raise RefusedError("citations")
        if kind == "tool/result" and [name for *_, name in removed] != ["tool/result"]:
            raise RefusedError("tool result")
        opening = start == 0 and removed[0][3] == "system/message" and self.generation >= 3
        if opening and (kind != "system/message" or len(removed) > 1):
            raise RefusedError("system")
        self.surface[start:end] = [node]

    def span(self, operation: Any) -> tuple[int, int]:
        if isinstance(operation, dict) and operation.get("op") == "replace":
            for names in (("start", "end"), ("startSeq", "endSeq")):
                if set(operation) == {"op", *names}:
                    first, last = (_count(operation[name]) for name in names)
                    if first is not None and last is not None:
                        return first, last
        raise RefusedError("operation")

    def cited(self, kind: str, row: dict[str, Any]) -> list[int] | None:
        if "sourceEventSeqs" not in row:
            return None
        value = row["sourceEventSeqs"]
        if not isinstance(value, list):
            raise RefusedError("citations")
        seqs: list[int] = []
        ranged = False
        for item in value:
            bounds = item if isinstance(item, list) else [item, item]
            ranged = ranged or isinstance(item, list)
            numbers = [_count(bound) for bound in bounds]
            if len(numbers) != 2 or None in numbers:
                raise RefusedError("citation")
            first, last = numbers
            assert first is not None
            assert last is not None
            if last < first or last >= self.seq:
                raise RefusedError("citation")
            seqs += range(first, last + 1)
        if len(set(seqs)) != len(seqs) or (ranged and seqs != sorted(seqs)):
            raise RefusedError("citations")
        if not seqs and not (kind == "assistant/message" and self.generation < 2):
            raise RefusedError("no citations")
        return seqs

    def said(self, kind: str, message: Any) -> tuple[str, str]:
        if kind not in {"user/message", "steering/message", "assistant/message"}:
            return "other", ""
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise RefusedError("message")
        if None in message["content"]:
            raise RefusedError("null block")
        blocks = [block for block in message["content"] if isinstance(block, dict)]
        texts = [block.get("text") for block in blocks if block.get("type") == "text"]
        text = "\n".join(text for text in texts if isinstance(text, str))
        if kind == "assistant/message":
            for block in blocks:
                call = block.get("id")
                if block.get("type") == "tool-call" and isinstance(call, str):
                    self.calls += [] if call in self.calls else [call]
            return "assistant", text
        source = message.get("source")
        if not isinstance(source, dict) or not isinstance(source.get("kind"), str):
            raise RefusedError("source")
        if source["kind"] == "user":
            return "person", text
        compacted = source["kind"] == "plugin" and source.get("plugin") == "compact"
        if compacted or source["kind"] == "compact-checkpoint":
            return "checkpoint", text
        return "other", ""

    def outcome(self) -> Outcome:
        nodes = [node[:3] for node in self.surface]
        last = self.seq - 1
        if self.turn:
            for _ in self.calls:
                last += 1
                nodes.append((last, "other", ""))
            last += 1 + self.step
        captured = None if last < 0 else last
        return Outcome(nodes, captured, self.title, self.unknown, self.active)
