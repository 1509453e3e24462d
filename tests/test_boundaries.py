"""Rules about who may know what: sessions, specs and envelopes of messages have one place each."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def written_attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes that TREE assigns to, in any way that is spelled out; `setattr` with a name that is a constant too."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield node
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[value, ast.Constant(value=str(name)), *_]):
                yield ast.Attribute(value, name, ast.Store())


def names_of_sessions(tree: ast.AST) -> set[str]:
    """What a Session is called in TREE: by its annotation, by `async with connect(…) as`, or as most are."""
    found = {"session", "_session", "client_session"}
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name, annotation=annotation) if annotation and "Session" in _words(annotation):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name), annotation=annotation) if (
                "Session" in _words(annotation)
            ):
                found.add(name)
            case ast.withitem(ast.Call(func=ast.Name(id="connect")), ast.Name(id=name)):
                found.add(name)
    return found


def _words(annotation: ast.expr) -> list[str]:
    return re.findall(r"\w+", ast.unparse(annotation))


def writes_into_sessions(text: str) -> list[str]:
    tree = ast.parse(text)
    names = names_of_sessions(tree)
    written = [
        node
        for node in written_attributes(tree)
        if (isinstance(node.value, ast.Name) and node.value.id in names)
        or (isinstance(node.value, ast.Attribute) and node.value.attr in names)
    ]
    return [ast.unparse(node) for node in written]


def test_no_module_writes_into_a_session():
    # It cannot see a session under a name that says nothing of it and has no annotation.
    source = ROOT / "src" / "mcp_conductor"
    found = {str(file.relative_to(source)): writes_into_sessions(file.read_text()) for file in source.rglob("*.py")}
    assert {name: written for name, written in found.items() if written} == {}


def test_writing_into_a_session_is_seen_in_all_its_forms():
    seen = writes_into_sessions(
        """
session.dialect = None
self._session.next_id, x = 1, 2
opened.session.answers += 1
def f(one: "Session | None"): one.reopen = None
async def g():
    async with connect(spec) as other: other.lenient: bool = True
setattr(session, "context", {})
del session.server
session.transcript.unanswered = ""
self.session = session
"""
    )
    assert sorted(seen) == sorted(
        ["session.dialect", "self._session.next_id", "opened.session.answers", "one.reopen", "other.lenient"]
        + ["session.context", "session.server"]
    )


def asked_which_spec(text: str) -> list[str]:
    """Where TEXT asks which class of specs a server has: `isinstance`, `issubclass`, or a pattern of `match`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
                found += [name for name in _words(classes) if name.endswith("Spec")]
            case ast.MatchClass(cls=classes):
                found += [name for name in _words(classes) if name.endswith("Spec")]
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[classes]):
                found += [name for name in _words(classes) if name.endswith("Spec")]
    return found


def test_no_module_asks_which_spec_it_has():
    source = ROOT / "src" / "mcp_conductor"
    found = {str(file.relative_to(source)): asked_which_spec(file.read_text()) for file in source.rglob("*.py")}
    # `client_for` chooses between the network and an application in this process.
    assert {name: asked for name, asked in found.items() if asked} == {
        "protocol/server_spec.py": ["ServerSpec"],
        "transport/__init__.py": ["AsgiSpec"],
    }


def test_asking_which_spec_is_seen_in_all_its_forms():
    texts = ["isinstance(a, HttpSpec)", "isinstance(a.b, (int, m.StdioSpec))", "type(a) is StreamsSpec"]
    texts.append("match a:\n case UnixSpec(path=p): pass")
    assert [asked_which_spec(text) for text in texts] == [["HttpSpec"], ["StdioSpec"], ["StreamsSpec"], ["UnixSpec"]]


def test_messages_are_composed_in_one_place():
    source = ROOT / "src" / "mcp_conductor"
    envelope = re.compile(r"""["']jsonrpc["']: ?["']2""")
    found = {str(file.relative_to(source)) for file in source.rglob("*.py") if envelope.search(file.read_text())}
    # message.py spells one in a message to the reader. Checks say things that no client says, and write them out.
    assert {name for name in found if not name.startswith("checks/")} == {
        "protocol/compose.py",
        "protocol/message.py",
    }
