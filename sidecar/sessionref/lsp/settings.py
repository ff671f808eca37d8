"""What an editor's user may set, checked value by value.

One bad value costs that value and nothing else: it is told in words and counts as unset. Knows no
editor and sends nothing. Source: issue "`@` completion in every editor", 5.
"""

import re
from typing import Any, Final, Literal, get_type_hints

import msgspec

from sessionref_protocol import types

SECTION: Final = "sessionref"
"""Under which name an editor's configuration has our settings."""

_PLACE: Final = re.compile(r" - at `\$[^`]*`$")


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings in force."""

    agent_id: str | None = None
    """The session in whose prompt the mentions are: it is no candidate, and must not be referred
    to."""
    subagents: bool = False
    """Whether sessions that another one started are offered."""
    archived: bool = False
    workspace: Literal["any", "same"] = "any"
    files: bool = False
    """Whether the menu has the workspace's files, too."""
    retrigger_command: str | None = None
    """A command of the editor that opens the menu anew."""
    config: types.ConfigInput = types.ConfigInput()
    """Its members are settings, too."""


class Problem(msgspec.Struct, frozen=True):
    """One value that can't be taken."""

    name: str
    words: str


_OWN: Final = {
    field.encode_name: (field.name, field.type)
    for field in msgspec.structs.fields(Settings)
    if field.name != "config"
}
_HINTS: Final = get_type_hints(types.ConfigInput, include_extras=True)
_CONFIG: Final = {
    field.encode_name: (field.name, _HINTS[field.name])
    for field in msgspec.structs.fields(types.ConfigInput)
}


def read_settings(given: object) -> tuple[Settings, list[Problem]]:
    """The settings that a JSON value makes, and what is wrong with it. Unknown names are ignored;
    null means unset.
    """
    if given is None or given == []:  # an empty table of Lua may come as either
        return Settings(), []
    if not isinstance(given, dict):
        return Settings(), [Problem("settings", "they must be an object")]
    problems: list[Problem] = []
    nested = given.get("config")
    flat = {**given, **nested} if isinstance(nested, dict) else given
    own = _take(_OWN, flat, problems)
    config = types.ConfigInput(**_take(_CONFIG, flat, problems))
    return Settings(**own, config=config), problems


def _take(
    known: dict[str, tuple[str, Any]], given: dict[str, object], problems: list[Problem]
) -> dict[str, Any]:
    taken: dict[str, Any] = {}
    for name, (field, kind) in known.items():
        value = given.get(name)
        if value is None:
            continue
        try:
            taken[field] = msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            problems.append(Problem(name, _PLACE.sub("", str(error))))
    return taken
