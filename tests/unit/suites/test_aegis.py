"""Files of mcp-aegis, which has a smaller language than ours: what they say is taken as mcp-aegis takes it."""

import pytest

from mcp_conductor.suites.suite import load_suite
from mcp_conductor.suites.variables import Variables

REQUEST = 'request: {jsonrpc: "2.0", id: 1, method: tools/call, params: {name: x, arguments: {text: %s}}}'


def loaded(tmp_path, text):
    (tmp_path / "a.test.mcp.yml").write_text(text)
    return load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="a.test.mcp.yml", lenient=True)


@pytest.mark.parametrize("text", ["invalid json {{{", "{{ name }}", "{{ env.HOME }}", "\\{{", "{{"])
def test_braces_are_text(tmp_path, text):
    request = REQUEST % f"'{text}'"
    expect = f"expect: {{response: {{a: '{text}', b: 'match:contains:{text}'}}}}"
    suite = loaded(tmp_path, f"description: d\nvars: {{name: Ada}}\ntests:\n- {{it: '{text}', {request}, {expect}}}")
    (case,) = suite.cases
    (action,) = case.step.actions
    (expected,) = case.step.expects
    assert case.title == text
    assert action.sent(Variables()).params["arguments"] == {"text": text}
    assert expected.response.made(Variables()).check({"a": text, "b": f"<{text}>"}) == []
