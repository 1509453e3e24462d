"""The pages of `mcp-cli --help`: that of the program, and those of its methods."""

from mcp_conductor.cli.commands.mcp_cli.flags import EXAMPLES, EXIT_CODES, FLAGS, USAGE
from mcp_conductor.cli.commands.mcp_cli.methods import METHODS, Method, known, listing
from mcp_conductor.cli.flags import Flag, Given, Groups
from mcp_conductor.cli.flags.help import WIDTH, examples_text, help_page, help_text
from mcp_conductor.errors import nearest


def help_of(given: Given, program: str) -> str:
    """The help that is asked for: that of a method, if one is named, or else that of the whole program."""
    method = given.one("--method") or next((word for word in given.words if word in METHODS), None)
    if method is None and len(given.words) == 1:
        (word,) = given.words
        method = word if "/" in word and nearest(word, [*METHODS]) else None  # a typing error, which is told
    if method is not None:
        return method_help(method, known(method, program), FLAGS, program)
    examples = {command.replace("mcp-cli", program): what for command, what in EXAMPLES.items()}
    usage = USAGE.replace("mcp-cli", program)
    return help_page(
        usage, FLAGS, examples, EXIT_CODES, given=given, program=program, more=f"Methods:\n{listing()}\n\n"
    )


def method_help(name: str, method: Method, groups: Groups, program: str) -> str:
    """The help of METHOD called NAME, as PROGRAM shows it; GROUPS has all flags."""
    flags = {flag.name: _without_method(flag) for group in groups.values() for flag in group}
    needs, takes = (
        tuple(flags[flag] for flag in names if not flags[flag].alias) for names in (method.needs, method.takes)
    )
    parts = [
        _usage(name, needs, program),
        f"{method.help[0].upper()}{method.help[1:]}.\n" + (f"{method.more}\n" if method.more else ""),
        *(help_text({title: them}) for title, them in (("Needs", needs), ("Takes", takes)) if them),
        examples_text(dict.fromkeys(example_lines(name, method, program), "")),
        f"{program} --help lists the flags that all methods have.\n",
    ]
    return "\n".join(parts)


def example_lines(name: str, method: Method, program: str = "mcp-cli") -> list[str]:
    """Command lines that call the method."""
    server = " python server.py" if _has_server(name) else ""
    return [f"{program}{server} --method {name} {flags}".rstrip() for flags in method.examples or ("",)]


def _usage(name: str, needs: tuple[Flag, ...], program: str) -> str:
    begin = f"usage: {program}{' COMMAND|URL' if _has_server(name) else ''} --method {name}"
    needed = [f"{flag.name} {flag.metavar}" for flag in needs]
    line = " ".join([begin, *needed, "[FLAGS]"])
    return f"{line}\n" if len(line) <= WIDTH else f"{begin}\n       {' '.join([*needed, '[FLAGS]'])}\n"


def _has_server(name: str) -> bool:
    """Whether the method is one of an MCP server: the steps of OAuth are for an authorization server."""
    return not name.startswith("oauth/")


def _without_method(flag: Flag) -> Flag:
    """FLAG, its help without the methods that it begins with: here it is known which method is meant."""
    methods, colon, rest = flag.help.partition(": ")
    return flag._replace(help=rest) if colon and ("/" in methods or methods == "list methods") else flag
