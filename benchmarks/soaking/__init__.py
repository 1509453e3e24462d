"""The classes of benchmarks/soak: each is a module with cases() and how many RUNS there are by default."""

from types import ModuleType

from benchmarks.soaking import doors, files, hostile, oauth, signals, starts

CLASSES: dict[str, ModuleType] = {
    "starts": starts,
    "signals": signals,
    "hostile": hostile,
    "files": files,
    "oauth": oauth,
    "doors": doors,
}
