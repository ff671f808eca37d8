"""The recorded URIs. Over the wire they go inside mentions.

`encodeUri` is the `uri` of `formatMention`. `decodeUri` is `parseText` of `@[label](uri)`, whose
reference must have the decoded id; but a URI that is empty, or that begins or ends with white
space, or has it inside, makes that no mention, so those cases are decoded in process.
"""

import re
from typing import Any

import pytest

from sessionref_protocol.errors import ErrorKind
from sessionref_protocol.mention import decode_uri
from support.answers import recorded_error, refused
from support.roots import SessionRoots, SidecarAt
from support.sidecar import Sidecar, WireError
from support.vectors import load
from support.verdicts import judge


@pytest.fixture
def sidecar(session_roots: SessionRoots, sidecar_at: SidecarAt) -> Sidecar:
    return sidecar_at(session_roots("main"))


def decode_on_the_wire(sidecar: Sidecar, uri: str) -> dict[str, Any]:
    try:
        result = sidecar.call("parseText", {"text": f"@[label]({uri})"})
    except WireError as error:
        return refused(error, -32011)
    (reference,) = result["references"]
    assert reference["label"] == "label"
    return {"sessionId": reference["sessionId"]}


def decode_in_process(uri: str) -> dict[str, Any]:
    session_id = decode_uri(uri)
    if session_id is None:
        return {"error": ErrorKind.INVALID_REFERENCE.value.name}
    return {"sessionId": session_id}


@pytest.mark.parametrize("case", load("uri")["cases"], ids=lambda case: ascii(case["name"]))
def test_uri(case: dict[str, Any], sidecar: Sidecar) -> None:
    params = case["params"]
    if case["method"] == "encodeUri":
        ours = {"uri": sidecar.call("formatMention", params)["uri"]}
    elif re.fullmatch(r"dsh-session:[^\s)]*", params["uri"]):
        ours = decode_on_the_wire(sidecar, params["uri"])
    else:
        ours = decode_in_process(params["uri"])
    judge("uri", case["name"], case.get("result") or recorded_error(case), ours)
