"""Questions to a client that cannot be asked back (2026-07-28): the request is answered with them, and comes again.

Nothing is remembered between the rounds. What has been answered so far travels in `requestState`, sealed, bound to the
request and good for a while, because the client could write anything into it (basic/patterns/mrtr). The definition runs
from its beginning in every round, and is given the answers that are there already.
"""

import base64
import time
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS
from mcp_conductor.protocol.message import compact, read
from mcp_conductor.server.definitions import InputRequired, Refusal

_GOOD_FOR_SECONDS = 600


class Rounds:
    """The answers that one request brought with it."""

    def __init__(self, method: str, params: Json, secret: bytes) -> None:
        self._secret = secret
        self._method = method
        self._params = params
        self._fresh = _responses(params.get("inputResponses"))
        state = params.get("requestState")
        self._earlier: Json = {} if state is None else self._opened(state)
        self.repeating = state is not None  # every round but the first brings one

    def answers(self, questions: Json) -> Json:
        """What the client answered to QUESTIONS; raises InputRequired for those that it has not answered."""
        known = {**self._fresh, **self._earlier}
        missing = {key: question for key, question in questions.items() if key not in known}
        remembered = {**self._earlier, **{key: known[key] for key in questions if key in known}}
        if missing:
            raise InputRequired(missing, self._sealed(remembered))
        if any(key in self._fresh and key not in self._earlier for key in questions):
            self.repeating = False  # from here on, nothing has been done in an earlier round
        self._earlier = remembered
        return {key: known[key] for key in questions}

    def _sealed(self, answers: Json) -> str:
        body = compact({"until": int(time.time()) + _GOOD_FOR_SECONDS, "answers": answers})
        return f"{base64.urlsafe_b64encode(body.encode()).decode()}.{self._seal(body)}"

    def _opened(self, state: Any) -> Json:
        import hmac

        try:
            encoded, _, seal = str(state).rpartition(".")
            body = base64.urlsafe_b64decode(encoded.encode()).decode()
            genuine = hmac.compare_digest(seal.encode(), self._seal(body).encode())
            content = read(body) if genuine else None
        except ValueError:
            content = None
        if content is None:
            raise Refusal(INVALID_PARAMS, "requestState is not what this server gave out for this request")
        if content["until"] < time.time():
            raise Refusal(INVALID_PARAMS, "requestState has expired")
        answers: Json = content["answers"]
        return answers

    def _seal(self, body: str) -> str:
        import hmac

        params = self._params
        request = compact([self._method, params.get("name", params.get("uri")), params.get("arguments")])
        return hmac.new(self._secret, f"{request}\n{body}".encode(), "sha256").hexdigest()


def _responses(given: Any) -> Json:
    if given is None:
        return {}
    if not isinstance(given, dict) or not all(isinstance(answer, dict) for answer in given.values()):
        raise Refusal(INVALID_PARAMS, "inputResponses must be an object of objects")
    return given
