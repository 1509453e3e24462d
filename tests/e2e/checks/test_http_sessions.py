"""Sessions, GET streams and resumption: each rule broken on purpose, and reported as that and nothing else."""

from itertools import count

import pytest
from tests.e2e.checks.good_http import Good, broken, manners, spec_of
from tests.servers.http_raw import event


class InvisibleIds(Good):
    def new_session(self):
        return super().new_session() + "\u00e9"


class ShortIds(Good):
    def new_session(self):
        return super().new_session()[:8]


class CountingIds(Good):
    numbers = count(1)

    def new_session(self):
        return f"session-of-this-server-{next(self.numbers)}"


class OneIdForAll(Good):
    def new_session(self):
        return "the-one-and-only-session"

    def delete(self, call):
        call.reply(405)


class WrongStatusWithoutSession(Good):
    def session_status(self, call):
        return 422 if "mcp-session-id" not in call.headers else super().session_status(call)


class SessionsNeverEnd(Good):
    def delete(self, call):
        call.reply(200)


class AnySession(Good):
    def session_status(self, call):
        return None

    def delete(self, call):
        call.reply(405)


class AnyVersion(Good):
    def version_status(self, call):
        return None


class VersionsNeeded(Good):
    def version_status(self, call):
        return 400 if "mcp-protocol-version" not in call.headers else super().version_status(call)


class NoGet(Good):
    def get(self, call):
        call.reply(404)


class AnswersOnGet(Good):
    def respond(self, call, value, *before):
        for stream in self.streams_of(call):
            stream.send(event(call.text({})).encode())
        super().respond(call, value, *before)


class ProgressOnGet(Good):
    def work(self, call, token):
        pushed = self.streams_of(call)[:1] if token == "conductor-get" else []
        for stream in pushed:
            stream.send(event(self.progress(token)).encode())
        self.respond(call, {"content": []}, *([] if pushed else [self.progress(token)]))


class Broadcast(Good):
    def work(self, call, token):
        for stream in self.streams_of(call):
            stream.send(event(self.progress(token)).encode())
        self.respond(call, {"content": []}, self.progress(token))


class ProgressOfOthers(Good):
    def work(self, call, token):
        others = {"conductor-one": "conductor-two", "conductor-two": "conductor-one"}
        self.respond(call, {"content": []}, self.progress(others.get(token, token)))


class RepeatedEventIds(Good):
    def event_id(self, stream, number):
        return f"1-{number}"

    def replayed(self, last):
        return []

    def work(self, call, token):
        call.result({"content": []})  # no stream: one that broke in the middle could not be resumed


class ReplaysEverything(Good):
    def replayed(self, last):
        return [] if last is None else [event(text) for texts in self.log.values() for text in texts]


class NoResumption(Good):
    def get(self, call):
        if "last-event-id" in call.headers:
            call.reply(400)
        else:
            super().get(call)


class NoPrimingEvent(Good):
    def events(self, call, value, *before):
        return [*before, call.text(value)]


class LeavesWithoutAWord(Good):
    def answer(self, call):
        if call.method == "ping":
            self.log[9999] = [""]
            call.stream(event("", id="9999-0"))
            call.close()
        else:
            super().answer(call)


BROKEN = [
    (InvisibleIds, {"session-id-visible-ascii"}),
    (ShortIds, {"session-id-secure"}),
    (CountingIds, {"session-id-secure"}),
    (OneIdForAll, {"session-id-secure"}),
    (WrongStatusWithoutSession, {"session-id-missing-400"}),
    (SessionsNeverEnd, {"session-unknown-404"}),
    (AnySession, {"session-unknown-404"}),
    (AnyVersion, {"http-version-header-invalid-400"}),
    (VersionsNeeded, {"http-version-header-missing-default"}),
    (NoGet, {"http-single-endpoint"}),
    (AnswersOnGet, {"http-get-no-responses"}),
    (ProgressOnGet, {"http-get-unrelated-only"}),
    (Broadcast, {"http-no-broadcast", "http-get-unrelated-only"}),
    (ProgressOfOthers, {"http-sse-related-only"}),
    (RepeatedEventIds, {"resume-event-id-unique"}),
    (ReplaysEverything, {"resume-no-cross-stream-replay"}),
    (NoResumption, {"resume-via-get-only"}),
    (NoPrimingEvent, {"resume-priming-event"}),
    (LeavesWithoutAWord, {"resume-retry-before-close", "resume-event-id-unique"}),
]


@pytest.mark.parametrize(("way", "ids"), BROKEN, ids=[way.__name__ for way, _ in BROKEN])
async def test_a_server_that_breaks_a_rule_of_sessions_is_reported_for_that_alone(http, way, ids):
    assert await broken(spec_of(http(manners(way())))) == ids


class Forgets(Good):
    """A call whose connection is lost is given up."""

    def work(self, call, token):
        self.log[7] = ["", self.progress(token)]  # first: a client that has seen an event may resume the stream at once
        call.stream(event("", id="7-0"), event(self.progress(token), id="7-1"))
        if token == "conductor-drop":
            call.hold()
        else:
            call.event({"content": []})
            call.close()


async def test_a_server_that_takes_a_lost_connection_for_a_cancellation_is_reported(http):
    assert await broken(spec_of(http(manners(Forgets())))) == {"http-disconnect-not-cancellation"}


class Trusting(Good):
    """Credentials are asked for only when a session begins."""

    every_time = False

    def __call__(self, call):
        wanted = self.every_time or call.method == "initialize"
        if wanted and call.headers.get("authorization") != "Bearer good":
            call.reply(401, WWW_Authenticate="Bearer")
        else:
            super().__call__(call)


class Careful(Trusting):
    every_time = True


async def test_a_session_that_stands_for_credentials_is_reported(http):
    spec = spec_of(http(manners(Trusting())), headers={"Authorization": "Bearer good"})
    assert "session-not-authentication" in await broken(spec)


async def test_a_session_that_does_not_stand_for_credentials_is_not_reported(http):
    spec = spec_of(http(manners(Careful())), headers={"Authorization": "Bearer good"})
    assert not {"session-not-authentication", "auths-token-every-request"} & await broken(spec)
