"""Operations that the client of the official SDK carries out, by chance, and all that it sees of them.

With the same seed they are the same, so that what is seen with a bridge can be compared with what is seen without one.
"""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters

LIMIT = 60.0


@dataclass
class Seen:
    """What came of each operation, and what the server said and asked meanwhile."""

    outcomes: list[tuple[str, Any]] = field(default_factory=list)
    meanwhile: list[tuple[str, Any]] = field(default_factory=list)

    def keep(self, operation: str, outcome: Any) -> None:
        # Other servers of a bridge ask for roots and log by themselves.
        ours = [each for each in self.meanwhile if each[0] != "log" or each[1].get("logger") == "chatty"]
        asked = [each for each in ours if each[0] != "roots" or operation == "roots"]
        self.outcomes.append((operation, outcome, sorted(asked, key=repr)))
        self.meanwhile = []


class Operator:
    """One client, whose answers depend on nothing but the questions. PREFIX is before names, behind a bridge."""

    def __init__(self, client_mode: str, name: str, prefix: str = "") -> None:
        self.mode, self.name, self.prefix = client_mode, name, prefix
        self.seen = Seen()

    def client(self, target: str | StdioServerParameters) -> Client:
        return Client(
            target,
            mode=self.mode,
            elicitation_callback=self._elicit,
            sampling_callback=self._sample,
            list_roots_callback=self._roots,
            logging_callback=self._log,
            log_level="debug",
            client_info=types.Implementation(name=self.name, version="1"),
        )

    async def _elicit(self, _: Any, params: Any) -> types.ElicitResult:
        self.seen.meanwhile.append(("elicitation", _plain(params)))
        action = ("accept", "decline", "cancel")[len(params.message) % 3]
        return types.ElicitResult(action=action, content={"name": params.message[::-1]} if action == "accept" else None)

    async def _sample(self, _: Any, params: Any) -> Any:
        self.seen.meanwhile.append(("sampling", _plain(params)))
        text = params.messages[0].content.text
        if text.startswith("refuse"):
            return types.ErrorData(code=-1, message=f"I do not answer {text}", data={"text": text})
        return types.CreateMessageResult(
            role="assistant", model="m", content=types.TextContent(type="text", text=text.upper())
        )

    async def _roots(self, _: Any) -> types.ListRootsResult:
        self.seen.meanwhile.append(("roots", None))
        return types.ListRootsResult(roots=[types.Root(uri="file:///home", name="home")])

    async def _log(self, params: Any) -> None:
        self.seen.meanwhile.append(("log", _plain(params)))

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.seen.meanwhile.append(("progress", (progress, total, message)))

    async def run(self, target: str | StdioServerParameters, seed: int, count: int) -> Seen:
        dice = random.Random(seed)
        async with asyncio.timeout(LIMIT), self.client(target) as client:
            operations = [*OPERATIONS, *(MODERN if self.mode != "legacy" else LEGACY)]
            # Each at least once, then by chance.
            chosen = [*dice.sample(operations, len(operations)), *dice.choices(operations, k=count)]
            for operation in chosen:
                try:
                    outcome = await operation(self, client, dice)
                except MCPError as error:
                    outcome = {"code": error.code, "message": self.own(error.message), "data": error.data}
                self.seen.keep(operation.__name__, outcome)
        return self.seen

    def own(self, text: str) -> str:
        return text.replace(self.prefix, "") if self.prefix else text

    def listed(self, items: list[Any]) -> list[Any]:
        """Those of ITEMS that are of the server under test, under their own names."""
        ours = [_plain(item) for item in items if item.name.startswith(self.prefix)]
        return [{**item, "name": self.own(item["name"])} for item in ours]

    async def call(self, client: Client, name: str, **arguments: Any) -> Any:
        return _plain(await client.call_tool(self.prefix + name, arguments, progress_callback=self._progress))


def _plain(value: Any) -> Any:
    """VALUE as JSON, without who the server is, which is another behind a bridge, and tokens, which are chosen by chance."""
    plain = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    for key in ("io.modelcontextprotocol/serverInfo", "progressToken"):
        plain.get("_meta", {}).pop(key, None)
    if not plain.get("_meta", True):
        del plain["_meta"]
    return plain


# The operations, on the server in tests/servers/sdk_chatty.py.


async def list_tools(by: Operator, client: Client, _: random.Random) -> Any:
    return by.listed((await client.list_tools()).tools)


async def list_prompts(by: Operator, client: Client, _: random.Random) -> Any:
    return by.listed((await client.list_prompts()).prompts)


async def list_resources(by: Operator, client: Client, _: random.Random) -> Any:
    return [_plain(each) for each in (await client.list_resources()).resources if str(each.uri).startswith("chat:")]


async def list_templates(by: Operator, client: Client, _: random.Random) -> Any:
    templates = (await client.list_resource_templates()).resource_templates
    return [_plain(each) for each in templates if each.uri_template.startswith("chat:")]


async def ask(by: Operator, client: Client, dice: random.Random) -> Any:
    return await by.call(client, "ask", question="?" * dice.randrange(1, 9))


async def sample(by: Operator, client: Client, dice: random.Random) -> Any:
    return await by.call(client, "sample", text=dice.choice(["capital", "refuse this", "more"]))


async def roots(by: Operator, client: Client, _: random.Random) -> Any:
    return await by.call(client, "roots")


async def report(by: Operator, client: Client, dice: random.Random) -> Any:
    return await by.call(client, "report", steps=dice.randrange(4))


async def link(by: Operator, client: Client, _: random.Random) -> Any:
    return await by.call(client, "link")


async def fail(by: Operator, client: Client, _: random.Random) -> Any:
    return await by.call(client, "fail")


async def wrong_arguments(by: Operator, client: Client, _: random.Random) -> Any:
    return await by.call(client, "report", steps="many")


async def several_at_once(by: Operator, client: Client, dice: random.Random) -> Any:
    sizes = [dice.randrange(2000) for _ in range(5)]
    return await asyncio.gather(*(by.call(client, "big", size=size) for size in sizes))


async def read(by: Operator, client: Client, dice: random.Random) -> Any:
    uri = dice.choice(["chat://a", f"chat://item/{dice.randrange(99)}"])
    return _plain(await client.read_resource(uri))


async def get_prompt(by: Operator, client: Client, dice: random.Random) -> Any:
    given = dice.choice([{"name": "Bo"}, {}])
    return _plain(await client.get_prompt(by.prefix + "greet", given))


async def complete_prompt(by: Operator, client: Client, dice: random.Random) -> Any:
    ref = types.PromptReference(type="ref/prompt", name=by.prefix + "greet")
    return _plain(await client.complete(ref, {"name": "name", "value": str(dice.random())}))


async def complete_template(by: Operator, client: Client, _: random.Random) -> Any:
    ref = types.ResourceTemplateReference(type="ref/resource", uri="chat://item/{number}")
    return _plain(await client.complete(ref, {"name": "number", "value": "7"}))


async def listen(by: Operator, client: Client, dice: random.Random) -> Any:
    uris = ["chat://a", f"chat://item/{dice.randrange(9)}"]
    async with client.listen(resource_subscriptions=uris) as subscription:
        told = []
        for uri in uris:
            await by.call(client, "touch", uri=uri)
            told.append(repr(await anext(aiter(subscription))))
        return _plain(subscription.honored), told


async def subscribe(by: Operator, client: Client, _: random.Random) -> Any:
    return _plain(await client.subscribe_resource("chat://a"))


async def set_level(by: Operator, client: Client, _: random.Random) -> Any:
    return _plain(await client.set_logging_level("error"))


OPERATIONS = [
    list_tools, list_prompts, list_resources, list_templates, ask, sample, roots, report, link, fail, wrong_arguments,
    several_at_once, read, get_prompt, complete_prompt, complete_template,
]  # fmt: skip
MODERN = [listen]
LEGACY = [subscribe]
