"""One fuzzer in a process of its own, since libFuzzer ends the process when it is done.

`python -m fuzz.child NAME` and then whatever libFuzzer takes.
"""

import sys

import atheris

with atheris.instrument_imports(include=["sessionref", "sessionref_protocol"]):
    from fuzz.targets import TARGETS

_MUTATED_BY_US = 2
"""Of so many inputs one, where a target has a way of its own."""


def main() -> None:
    target = TARGETS[sys.argv.pop(1)]
    mutate = target.mutate
    if mutate is None:
        atheris.Setup(sys.argv, target.check)
    else:

        def mutated(data: bytes, max_size: int, seed: int) -> bytes:
            if seed % _MUTATED_BY_US:
                return mutate(data, seed)[:max_size]
            return atheris.Mutate(data, max_size)

        atheris.Setup(sys.argv, target.check, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
