"""The package says what is public, and drags nothing but msgspec in."""

import subprocess
import sys

import sessionref_protocol


def test_every_public_name_is_there_and_documented() -> None:
    assert sorted(sessionref_protocol.__all__) == sessionref_protocol.__all__
    aliases = {"Cause", "Id", "Message", "Received"}
    for name in sessionref_protocol.__all__:
        public = getattr(sessionref_protocol, name)
        assert name in aliases or public.__doc__, name


def test_importing_it_loads_no_other_package() -> None:
    code = (
        "import msgspec, sys; known = sys.stdlib_module_names | set(sys.modules)\n"
        "known |= {'sessionref_protocol'}; import sessionref_protocol.schema\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - known))"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert loaded.stdout.strip() == "[]"
