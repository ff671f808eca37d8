"""Every fuzzer by its name."""

from fuzz import codec, content_length, fold, frames, lines, mentions, records
from fuzz.target import Target

TARGETS: dict[str, Target] = {
    module.TARGET.name: module.TARGET
    for module in (lines, content_length, codec, mentions, frames, records, fold)
}
