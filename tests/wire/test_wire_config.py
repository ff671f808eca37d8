"""Config: flags, environment and `initialize` set ceilings; a request may only be stricter.

Readings: `candidateLimit` is how many candidates a list has where the request says no `limit`;
an explicit `limit` is taken as it is (so are the recorded cases). A value of a request that is
looser than a ceiling is no error: the stricter one wins.
"""

from pathlib import Path
from typing import Any

import pytest

from support import requests
from support.requests import AGENT
from support.sidecar import Sidecar

THREE = ("plain-talk", "no-cwd", "recall")


def how_many(sidecar: Sidecar, config: dict[str, Any] | None = None) -> int:
    """The `maxReferences` in force, as failures show it."""
    allowed = 0
    for count in (1, 2, 3):
        params = requests.prepare(*THREE[:count], config=config)
        answer = sidecar.answer(sidecar.request("prepare", params))
        if "error" in answer:
            assert answer["error"]["code"] == -32013
            return allowed
        allowed = count
    return allowed


def size(sidecar: Sidecar, config: dict[str, Any] | None = None) -> int:
    """The UTF-8 size of one snapshot that is far over any budget used here."""
    params = requests.prepare("many-messages", config=config)
    text = sidecar.call("prepare", params)["additionalContext"]["content"][0]["text"]
    json_text = text.partition("<referenced-sessions>\n")[2].partition("\n</referenced")[0]
    return len(json_text.encode()) - len("[]")


def listed(sidecar: Sidecar, **params: Any) -> int:
    return len(sidecar.call("listCandidates", {"agent": AGENT, **params})["candidates"])


def test_the_defaults(sidecar: Sidecar) -> None:
    assert how_many(sidecar) == 3
    assert 60_000 < size(sidecar) <= 65_536
    assert listed(sidecar) == 39


def test_a_request_may_be_stricter(sidecar: Sidecar) -> None:
    assert how_many(sidecar, {"maxReferences": 1}) == 1
    assert size(sidecar, {"maxReferenceBytes": 700}) <= 700
    assert listed(sidecar, config={"candidateLimit": 7}) == 7


def test_null_is_unset(sidecar: Sidecar) -> None:
    unset = {"maxReferences": None, "maxReferenceBytes": None, "enabled": None}
    assert how_many(sidecar, unset) == 3
    assert how_many(sidecar, None) == 3
    assert listed(sidecar, config={"candidateLimit": None}) == 39


FLAGS = ["--max-references", "2", "--max-reference-bytes", "900", "--candidate-limit", "9"]
ENVIRONMENT = {
    "SESSIONREF_MAX_REFERENCES": "2",
    "SESSIONREF_MAX_REFERENCE_BYTES": "900",
    "SESSIONREF_CANDIDATE_LIMIT": "9",
}
INITIALIZE = {"maxReferences": 2, "maxReferenceBytes": 900, "candidateLimit": 9}


@pytest.fixture(params=["flags", "environment", "initialize"])
def bounded(request: pytest.FixtureRequest, main_root: Path) -> Any:
    """A sidecar whose ceilings are 2, 900 and 9, set in each of the three ways."""
    flags = FLAGS if request.param == "flags" else []
    env = ENVIRONMENT if request.param == "environment" else {}
    with Sidecar(*flags, roots=[main_root], env=env) as sidecar:
        if request.param == "initialize":
            sidecar.call("initialize", {"protocolVersion": 1, "config": INITIALIZE})
        yield sidecar


def test_a_ceiling_is_the_value_of_a_request_that_says_nothing(bounded: Sidecar) -> None:
    assert how_many(bounded) == 2
    assert 500 < size(bounded) <= 900
    assert listed(bounded) == 9


def test_a_request_under_a_ceiling_may_be_stricter(bounded: Sidecar) -> None:
    assert how_many(bounded, {"maxReferences": 1}) == 1
    assert size(bounded, {"maxReferenceBytes": 600}) <= 600
    assert listed(bounded, config={"candidateLimit": 4}) == 4


def test_a_request_over_a_ceiling_changes_nothing(bounded: Sidecar) -> None:
    assert how_many(bounded, {"maxReferences": 3}) == 2
    assert 500 < size(bounded, {"maxReferenceBytes": 60_000}) <= 900
    assert listed(bounded, config={"candidateLimit": 30}) == 9
    assert how_many(bounded, {"maxReferences": None}) == 2


def test_an_explicit_limit_is_taken_as_it_is(sidecar: Sidecar) -> None:
    assert listed(sidecar, limit=5, config={"candidateLimit": 2}) == 5
    assert listed(sidecar, limit=1) == 1
    assert listed(sidecar, limit=2**53 - 1) == 39


def test_an_explicit_limit_is_bounded_by_a_ceiling(bounded: Sidecar) -> None:
    assert listed(bounded, limit=30) == 9
    assert listed(bounded, limit=4) == 4


def test_flags_and_initialize_bound_each_other(main_root: Path) -> None:
    with Sidecar("--max-references", "2", roots=[main_root]) as sidecar:
        config = {"maxReferences": 3, "maxReferenceBytes": 800}
        sidecar.call("initialize", {"protocolVersion": 1, "config": config})
        assert how_many(sidecar) == 2
        assert size(sidecar) <= 800


def test_a_flag_is_stronger_than_the_environment(main_root: Path) -> None:
    env = {"SESSIONREF_MAX_REFERENCES": "3"}
    with Sidecar("--max-references", "1", roots=[main_root], env=env) as sidecar:
        assert how_many(sidecar) == 1


def test_roots_may_come_from_the_environment(session_roots: Any) -> None:
    both = f"{session_roots('main')}:{session_roots('titles')}"
    with Sidecar(env={"SESSIONREF_ROOTS": both}) as sidecar:
        assert listed(sidecar, limit=1000) == 39 + 11


class TestDisabled:
    """`enabled: false`: everything comes back untouched, and no candidates are listed."""

    MESSAGE = requests.person("@[gone](dsh-session:ImdvbmUi) dsh-session:IiJ")

    def assert_disabled(self, sidecar: Sidecar, config: dict[str, Any] | None) -> None:
        params = requests.pre_step(self.MESSAGE, config=config)
        result = sidecar.call("preStep", params)
        assert result == {"decision": params["decision"], "outcomes": []}
        content = [{"type": "text", "text": "x"}]
        params = requests.prepare("gone", content=content, config=config)
        assert sidecar.call("prepare", params) == {"content": content}
        assert listed(sidecar, config=config) == 0
        total = sidecar.call("listCandidates", {"agent": AGENT, "config": config})["total"]
        assert total == 0

    def test_by_a_request(self, sidecar: Sidecar) -> None:
        self.assert_disabled(sidecar, {"enabled": False})

    def test_by_initialize_whatever_a_request_says(self, own_sidecar: Sidecar) -> None:
        own_sidecar.call("initialize", {"protocolVersion": 1, "config": {"enabled": False}})
        self.assert_disabled(own_sidecar, None)
        self.assert_disabled(own_sidecar, {"enabled": True})


class TestPolicy:
    """The default policy is the program's; a request's replaces it."""

    BAD = requests.person("dsh-session:IiJ")

    def test_native_without_a_word(self, sidecar: Sidecar) -> None:
        assert sidecar.fails("preStep", requests.pre_step(self.BAD)).code == -32011

    @pytest.mark.parametrize("how", ["flag", "environment"])
    def test_never_block_by_default(self, main_root: Path, how: str) -> None:
        flags = ["--policy", "never-block"] if how == "flag" else []
        env = {"SESSIONREF_POLICY": "never-block"} if how == "environment" else {}
        with Sidecar(*flags, roots=[main_root], env=env) as sidecar:
            result = sidecar.call("preStep", requests.pre_step(self.BAD))
            assert result["decision"]["messages"] == [self.BAD]
            params = requests.pre_step(self.BAD, policy="native")
            assert sidecar.fails("preStep", params).code == -32011
