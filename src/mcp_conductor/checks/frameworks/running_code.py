"""Which classes a Python program makes objects of and runs, in code that is not plainly dead.

No code is run. What is only imported, stands in a function whose name is used nowhere, below a condition that never
holds, or depends on whether a package can be imported, does not count.
"""

import ast
from collections.abc import Iterator, Sequence

from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.values import dataclass

MAX_PARTS = 20  # of a dotted name
_NOT_THERE = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_RUN = compiled_later(r"run(?:_stdio)?(?:_async)?")
_LEAVES = {"exit", "quit", "sys.exit", "os._exit"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """One file of a program."""

    tree: ast.Module
    file: str
    is_program: bool  # below `if __name__ == "__main__"` it runs


def made_and_run(modules: Sequence[Module]) -> tuple[dict[str, str], bool]:
    """The dotted names of what MODULES call or derive from of packages, each with a file; and whether they run it.

    To run something is to use the member run of an object, or one like it.
    """
    nodes = [node for module in modules for node in ast.walk(module.tree)]
    used = {name for node in nodes for name in _names_in(node)}
    defined = {node.name for node in nodes if isinstance(node, _Function)}
    made: dict[str, str] = {}
    instances: set[str] = set()
    run: list[list[str]] = []  # dotted names of such members
    for module in modules:
        live = list(_live(module.tree, used, module))
        meanings = _meanings(live, module)
        imported = {alias.asname or alias.name for node in live if isinstance(node, ast.Import) for alias in node.names}
        for node in live:
            called = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
            made |= {name: module.file for each in called if (name := _meaning(each, meanings)) is not None}
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                known = _meaning(node.value.func, meanings) is not None
                instances |= {parts[-1] for each in targets if known and (parts := dotted(each))}
            if isinstance(node, ast.Attribute) and _RUN.fullmatch(node.attr):
                parts = dotted(node) or ["", node.attr]
                run += [parts] if ".".join(parts[:-1]) not in imported else []  # as asyncio.run
    # A method of the program's own may do anything, if it is not that of a class of a package.
    runs = any(parts[-2] in instances or parts[-1] not in defined for parts in run)
    return made, runs


def dotted(node: ast.AST) -> list[str]:
    """The parts of a dotted name; none of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_PARTS:
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _names_in(node: ast.AST) -> Iterator[str]:
    """The name that NODE uses; that of what it imports under another name."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.alias) and node.asname is not None:
        yield node.name


def _live(top: ast.AST, used: set[str], module: Module) -> Iterator[ast.AST]:
    """The nodes below TOP that may run."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If):
            holds = _always(node.test, module)
            waiting += [
                *(node.body if holds is not False else []),
                *(node.orelse if holds is not True else []),
                node.test,
            ]
        else:
            waiting += [each for each in ast.iter_child_nodes(node) if not _is_unused(each, used)]


def _is_unused(node: ast.AST, used: set[str]) -> bool:
    """Whether NODE defines what is used nowhere; a decorator may use it, and Python what has underscores."""
    if not isinstance(node, _Function | ast.ClassDef) or node.decorator_list:
        return False
    return node.name not in used and not node.name.startswith("__")


def _always(test: ast.expr, module: Module) -> bool | None:
    """Whether a condition always holds, or never; None where that is not plain."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds = _always(test.operand, module)
        return None if holds is None else not holds
    parts = dotted(test)
    if parts and parts[-1] == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Compare) and dotted(test.left) == ["__name__"] and not module.is_program:
        return False
    return None


def _meanings(live: list[ast.AST], module: Module) -> dict[str, str]:
    """What the names of a module mean that it certainly imports, and gives no other meaning."""
    doubtful = {each for node in live if isinstance(node, ast.Try) for each in _doubtful_imports(node)}
    meanings: dict[str, str] = {}
    for node in live:
        if node in doubtful:
            continue
        if isinstance(node, ast.Import):
            meanings |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            meanings |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    bound = {
        node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    bound |= {node.name for node in ast.walk(module.tree) if isinstance(node, _Function | ast.ClassDef)}
    return {name: meaning for name, meaning in meanings.items() if name not in bound}


def _doubtful_imports(node: ast.Try) -> Iterator[ast.AST]:
    """The imports of a `try` after which the program goes on, even if they fail."""
    goes_on = [each for each in node.handlers if _is_for_imports(each) and not _leaves(each.body[-1])]
    for each in [*node.body, *(each for handler in goes_on for each in handler.body)] if goes_on else []:
        yield from (one for one in ast.walk(each) if isinstance(one, ast.Import | ast.ImportFrom))


def _is_for_imports(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (dotted(kind) or [""])[-1] in _NOT_THERE for kind in kinds)


def _leaves(last: ast.stmt) -> bool:
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(last, ast.Raise) or (isinstance(call, ast.Call) and ".".join(dotted(call.func)) in _LEAVES)


def _meaning(node: ast.expr, meanings: dict[str, str]) -> str | None:
    """The dotted name of what NODE names, if it comes from a package."""
    parts = dotted(node)
    for count in range(len(parts), 0, -1):
        if (meaning := meanings.get(".".join(parts[:count]))) is not None:
            return ".".join([meaning, *parts[count:]])
    return None
