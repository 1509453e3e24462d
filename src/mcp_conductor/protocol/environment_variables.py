"""`${VAR}` and `${VAR:-default}` in a settings file, filled in from the environment."""

import re
from collections.abc import Callable, Mapping
from typing import Any

Path = tuple[str | int, ...]
Refuse = Callable[[Path, str, str], None]  # the path of the value, what is wrong with it, what to do

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_.]*)(?::-([^}]*))?\}")


def filled(value: Any, environ: Mapping[str, str], refuse: Refuse, at: Path = ()) -> Any:
    """VALUE, however deep, with the variables in its texts filled in; a missing one is refused, and if that
    does not raise, it stays as it is."""
    if isinstance(value, list):
        return [filled(item, environ, refuse, (*at, index)) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: filled(item, environ, refuse, (*at, key)) for key, item in value.items()}
    if not isinstance(value, str) or "${" not in value:
        return value
    if "${input:" in value:
        refuse(at, "asks an editor's user for input, which is not possible here", "use an environment variable")

    def fill(found: re.Match[str]) -> str:
        known = environ.get(found[1])
        if known is None and found[2] is None:
            hint = f"set it, or write ${{{found[1]}:-default}}"
            refuse(at, f"needs the environment variable {found[1]}, which is not set", hint)
            return found[0]
        return known or found[2] or ""

    return _VARIABLE.sub(fill, value)
