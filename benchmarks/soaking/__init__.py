"""The classes of benchmarks/soak: each is a module with cases() and how many RUNS there are by default."""

from types import ModuleType

from benchmarks.soaking import signals, starts

CLASSES: dict[str, ModuleType] = {"starts": starts, "signals": signals}
