"""Whether a stream gets colours: what its user said, else whether it is a terminal that has them.

Rule, the first that says something decides: NO_COLOR; FORCE_COLOR and CLICOLOR_FORCE, unless 0;
CLICOLOR=0; TERM=dumb; the stream. An empty variable says nothing. Sources: no-color.org,
force-color.org, bixense.com/clicolors.
"""

import os
from collections.abc import Mapping
from typing import TextIO


def has_colours(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours and the like to it."""
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
