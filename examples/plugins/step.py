"""A step of our own: `- countdown: 3` below `steps` in a server file reports progress three times."""

from collections.abc import Awaitable, Callable

from mcp_conductor import Field, Scope, Script, step


@step
def countdown(given: Field, _: Script) -> Callable[[Scope], Awaitable[None]]:
    """Report progress as often as this number says."""
    times = given.integer(1, 100)  # a wrong value is refused when the file is read

    async def act(scope: Scope) -> None:
        for number in range(1, times + 1):
            scope.call.progress(number, times)

    return act
