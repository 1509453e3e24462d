"""Who has subscribed to which resource of which server, in either era: a server hears of the first and of the last."""

from collections.abc import Hashable
from typing import Generic, TypeVar

O = TypeVar("O", bound=Hashable)  # noqa: E741  # an owner: a client, or a stream that listens

Subscription = tuple[str, str]  # a server, and a URI as it is called there


class Subscribed(Generic[O]):
    """The subscriptions of all clients that share servers."""

    def __init__(self) -> None:
        self._owners: dict[Subscription, dict[O, str]] = {}

    def add(self, subscription: Subscription, owner: O, uri: str) -> None:
        """OWNER has subscribed, by URI, which is what the bridge calls it."""
        self._owners.setdefault(subscription, {})[owner] = uri

    def remove(self, subscription: Subscription, owner: O) -> bool:
        """OWNER has unsubscribed: whether no other owner is subscribed."""
        owners = self._owners.get(subscription, {})
        owners.pop(owner, None)
        if not owners:
            self._owners.pop(subscription, None)
        return not owners

    def of(self, owner: O) -> list[Subscription]:
        return [subscription for subscription, owners in self._owners.items() if owner in owners]

    def told(self, server: str, uri: str) -> dict[O, str | None]:
        """Who hears that URI has changed, and by which URI each has subscribed to it.

        It may be a part of what was subscribed to, which only the server knows: then there is none.
        """
        exactly = self._owners.get((server, uri))
        if exactly is not None:
            return {**exactly}
        found: dict[O, str | None] = {}
        for (other, _), owners in self._owners.items():
            if other == server:
                found.update(dict.fromkeys(owners))
        return found
