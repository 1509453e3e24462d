"""A recorded conversation in a real browser: what belongs together stands together, whatever order it came in."""

import pytest
from tests.e2e.browser.conftest import AXE

from mcp_conductor.protocol.message import compact
from mcp_conductor.report.page import page as page_of

OVER = "io.modelcontextprotocol/related-task"


def frames(*said):
    """Frames from (source, message or text)."""
    return [
        {
            "at": number / 100,
            "source": source,
            "text": each if isinstance(each, str) else compact({"jsonrpc": "2.0", **each}),
        }
        for number, (source, each) in enumerate(said)
    ]


def asks(identity, method, source="client", **params):
    return source, {"id": identity, "method": method, "params": params}


def answers(identity, source="server", **result):
    return source, {"id": identity, "result": result}


def tells(method, source="server", **params):
    return source, {"method": method, "params": params}


@pytest.fixture
def talk(visit, tmp_path):
    """Open a page with a conversation of these frames."""

    def show(*said, pins=(), link="", **about):
        file = tmp_path / "said.html"
        conversation = {"title": "session 1", "frames": frames(*said), "pins": list(pins), **about}
        file.write_text(page_of({"kind": "recording", "title": "said.jsonl", "conversations": [conversation]}))
        seen = visit()
        seen.open(file, link)
        return seen

    return show


def test_on_a_phone_no_label_is_wider_than_its_lane(visit, tmp_path):
    said = [asks(1, "tools/list"), tells("notifications/tools/list_changed"), answers(1, tools=[])]
    file = tmp_path / "said.html"
    conversation = {"title": "session 1", "frames": frames(*said)}
    file.write_text(page_of({"kind": "recording", "title": "said.jsonl", "conversations": [conversation]}))
    page = visit(viewport={"width": 320, "height": 700}).open(file)
    rooms = page.locator(".track").evaluate_all(
        "tracks => tracks.map(track => track.getBoundingClientRect().right"
        " - track.querySelector('.what').getBoundingClientRect().right)"
    )
    assert min(rooms) >= 0
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def groups(seen):
    return [
        [row.strip() for row in group.locator(".row .what").all_text_contents()]
        for group in seen.page.locator(".group").all()
    ]


def test_answers_that_overtake_each_other_stand_with_their_requests(talk):
    seen = talk(asks(1, "tools/list"), asks(2, "ping"), answers(2), answers(1, tools=[]))
    assert groups(seen) == [["tools/list", "result"], ["ping", "result"]]


def test_progress_belongs_to_the_request_with_its_token(talk):
    seen = talk(
        asks(1, "tools/call", name="a", _meta={"progressToken": "x"}),
        asks(2, "tools/call", name="b"),
        tells("notifications/progress", progressToken="x", progress=1, total=2),
        answers(2, content=[]),
        answers(1, content=[]),
    )
    assert groups(seen) == [["tools/call", "notifications/progress", "result"], ["tools/call", "result"]]


def test_a_question_of_the_server_and_its_answer_belong_to_the_call(talk):
    seen = talk(
        asks(1, "tools/call", name="a"),
        asks(1, "sampling/createMessage", "server"),
        answers(1, "client", role="assistant"),
        ("stderr", "thinking"),
        answers(1, content=[{"type": "text", "text": "done"}]),
        ("process", "exited with code 0"),
    )
    assert groups(seen) == [
        ["tools/call", "sampling/createMessage", "result", "stderr", "result"],
        ["process"],
    ]
    assert "1 question" in seen.page.locator(".group-head").first.text_content()


def test_a_task_and_all_that_is_asked_of_it_is_one_group(talk):
    seen = talk(
        asks(1, "tools/call", name="slow", task={}),
        answers(1, task={"taskId": "t1", "status": "working"}),
        asks(2, "ping"),
        answers(2),
        asks(3, "tasks/get", taskId="t1"),
        answers(3, taskId="t1", status="completed"),
        tells("notifications/tasks/status", taskId="t1", status="completed"),
        asks(4, "tasks/result", taskId="t1"),
        answers(4, content=[], _meta={OVER: {"taskId": "t1"}}),
    )
    assert groups(seen) == [
        ["tools/call", "result", "tasks/get", "result", "notifications/tasks/status", "tasks/result", "result"],
        ["ping", "result"],
    ]
    assert "task" in seen.page.locator(".group-head .tag").all_text_contents()


def test_rounds_of_input_are_one_group(talk):
    seen = talk(
        asks(1, "tools/call", name="ask"),
        answers(1, resultType="input_required", requestState="s1", inputRequests={}),
        asks(2, "tools/call", name="ask", requestState="s1", inputResponses={}),
        answers(2, resultType="complete", content=[]),
    )
    assert groups(seen) == [["tools/call", "result, more input is needed", "tools/call", "result"]]
    assert "2 rounds" in seen.page.locator(".group-head .tag").all_text_contents()


def test_a_request_without_an_answer_and_an_error_are_seen_at_once(talk):
    seen = talk(asks(1, "slow"), asks(2, "ping"), ("server", {"id": 2, "error": {"code": -32601, "message": "no"}}))
    assert seen.page.locator(".group-head .outcome").all_text_contents() == ["no answer", "error"]


def test_what_is_not_a_message_is_shown_as_it_came(talk):
    seen = talk(("server", "Server ready\x1b[0m"), ("server", "[" * 5000), ("client", '{"id": 1'), ("server", "17"))
    assert [rows for group in groups(seen) for rows in group] == ["not JSON", "not JSON", "not JSON", "not a message"]
    seen.page.keyboard.press("e")
    assert "Server ready\\u001b[0m" in seen.page.text_content(".row .body")


def test_a_pin_stands_at_its_message_with_the_requirement_and_the_remedy(talk):
    pin = {
        "frame": 1, "message": "tool 'look' has no inputSchema", "path": "tools[0]", "requirement": "tools-item-inputschema",
        "level": "MUST", "statement": "Each tool has a schema.", "remedy": "Add one.",
    }  # fmt: skip
    seen = talk(asks(1, "tools/list"), answers(1, tools=[{"name": "look"}]), pins=[pin])
    told = seen.page.text_content(".pinned-row .pin")
    assert all(part in told for part in ("tools-item-inputschema", "MUST", "Each tool has a schema.", "Add one."))
    assert '"look"' not in seen.page.locator("summary.wrong").text_content().split("—")[0]
    assert seen.page.locator("summary.wrong").count() == 1


def test_a_link_opens_a_frame(talk):
    seen = talk(*(each for number in range(300) for each in (asks(number, "ping"), answers(number))), link="#frame=599")
    assert seen.page.locator('[data-frame="599"]').get_attribute("open") is not None
    assert seen.page.locator('[data-frame="599"]').is_visible()


def test_a_long_conversation_is_drawn_in_parts(talk):
    seen = talk(*(each for number in range(1000) for each in (asks(number, "ping"), answers(number))))
    assert seen.page.locator(".group").count() == 200
    seen.page.click("text=show more (800 are left)")
    assert seen.page.locator(".group").count() == 400


def test_very_many_requests_without_answers_are_shown_in_linear_time(talk):
    seen = talk(*(asks(number, "slow") for number in range(70_000)), ("stderr", "busy"))
    assert seen.page.locator(".group").count() == 200
    assert seen.page.text_content("h1 + p").endswith("70,001 frames")
    assert seen.page.evaluate("performance.now()") < 10_000


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: scripts/setup")
def test_nothing_keeps_people_with_other_senses_out(talk):
    seen = talk(
        ("process", "started"), asks(1, "tools/call", name="a"), ("http", "POST http://127.0.0.1/mcp\nAccept: */*"),
        tells("notifications/message", level="info", data="x"), ("note", "odd"), answers(1, isError=True, content=[]),
        pins=[{"frame": 5, "message": "wrong", "warning": True}], note="1 broken requirement",
    )  # fmt: skip
    seen.page.keyboard.press("e")
    assert seen.faults() == []
