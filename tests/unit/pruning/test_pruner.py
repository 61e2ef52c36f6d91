"""Which tools of a request go on, in each mode, and what stays as it came."""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import zstandard

from orchestrator.catalog.catalog import Catalog
from orchestrator.pruning.answer_reader import AnswerReader
from orchestrator.pruning.conversation_memory import ConversationMemory
from orchestrator.pruning.model_apis import api_named
from orchestrator.pruning.pruner import MODES, Mode, Pruned, Pruner
from orchestrator.pruning.tool_list import ToolLists
from orchestrator.routing.router import Router
from tests.unit.routing.function_catalogs import ASSISTANT

CHAT, RESPONSES, MESSAGES = map(api_named, ("chat", "responses", "messages"))
FUNCTIONS = [entry.get("function", entry) for entry in ASSISTANT]


def _chat_tool(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters", function.get("inputSchema"))
    told = {k: v for k, v in function.items() if k in ("name", "description")}
    return {"type": "function", "function": {**told, "parameters": schema}}


CHAT_TOOLS = [_chat_tool(function) for function in FUNCTIONS]
NAMED_TOOLS = [{"type": "function", **tool["function"]} for tool in CHAT_TOOLS]
CLAUDE_TOOLS = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in CHAT_TOOLS
]

FORMS = {
    "chat": ("messages", CHAT_TOOLS),
    "responses": ("input", NAMED_TOOLS),
    "messages": ("messages", CLAUDE_TOOLS),
}


@pytest.fixture
def pruner() -> Pruner:
    """One without vectors and without a clock: each routing takes what it takes."""
    return Pruner(ToolLists(Router), ConversationMemory(b"secret"))


def chat(text: str, tools: list[Any] | None = None, **more: Any) -> bytes:
    """A request of one turn."""
    turns = [{"role": "user", "content": text}]
    return json.dumps({"messages": turns, "tools": tools or CHAT_TOOLS, **more}).encode()


def names(pruned: Pruned, member: str = "tools") -> list[str]:
    """Names of the tools that are sent, in their order."""
    tools = json.loads(pruned.body)[member]
    return [tool.get("function", tool).get("name", tool.get("type")) for tool in tools]


def asked(api: Any, text: str, **more: Any) -> bytes:
    """A request of one turn in the form of an API."""
    turns, tools = FORMS[api.name]
    return json.dumps({turns: [{"role": "user", "content": text}], "tools": tools, **more}).encode()


def test_the_seeds_example_sends_one_tool_of_51(pruner: Pruner) -> None:
    """With its headers; in the form of each API, and in that of clients before `tools`."""
    pruned = pruner.prune(CHAT, chat("weather in London"))
    turn = {"role": "user", "content": "weather in London"}
    functions = [tool["function"] for tool in CHAT_TOOLS]
    old = json.dumps({"messages": [turn], "functions": functions}).encode()

    assert pruned.headers == {
        "x-orqen-tools-input": "51",
        "x-orqen-tools-output": "1",
        "x-orqen-prune-ratio": "1/51",
        "x-orqen-routing": "semantic",
        "x-orqen-mode": "prune",
        "x-orqen-band": "crisp",
    }
    for api in (CHAT, RESPONSES, MESSAGES):
        assert names(pruner.prune(api, asked(api, "weather in London"))) == ["open_meteo_weather"]
    assert names(pruner.prune(CHAT, old), "functions") == ["open_meteo_weather"]
    shadow = pruner.prune(CHAT, chat("weather in London"), "shadow")
    assert shadow.body == chat("weather in London")
    assert shadow.names == {"open_meteo_weather"}
    assert shadow.headers["x-orqen-prune-ratio"] == "51/51"
    assert shadow.headers["x-orqen-band"] == "crisp"


@pytest.mark.parametrize(
    "agreed", ["yes, please do that", "ok", "go ahead", "ja bitte", "そうして"]
)
@pytest.mark.parametrize("api", [CHAT, RESPONSES])
def test_an_agreement_is_read_with_the_turns_before_it(
    pruner: Pruner, api: Any, agreed: str
) -> None:
    """It names no tool: the offer that it accepts does, in any language of the answer."""
    member, tools = FORMS[api.name]
    kind = "output_text" if member == "input" else "text"
    offer = [{"type": kind, "text": "It may rain there. Shall I look up the weather in London?"}]
    turns = [
        {"role": "user", "content": "I have a meeting in London tomorrow."},
        {"role": "assistant", "content": offer},
        {"role": "user", "content": agreed},
    ]

    assert "open_meteo_weather" in names(
        pruner.prune(api, json.dumps({member: turns, "tools": tools}).encode())
    )


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (CHAT, {"messages": [{"role": "developer", "content": "{}"}]}),
        (RESPONSES, {"instructions": "{}", "input": []}),
        (RESPONSES, {"input": [{"role": "system", "content": "{}"}]}),
        (MESSAGES, {"system": [{"type": "text", "text": "{}"}], "messages": []}),
        (MESSAGES, {"system": "{}", "messages": []}),
    ],
)
@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("After every answer call `todo_add`.", {"todo_add"}),
        ("必ずtodo_addを呼ぶこと", {"todo_add"}),
        ("Use functions.todo_add, then contacts.search.", {"todo_add", "contacts.search"}),
        ("Never my_todo_add or todo_adds.", set()),
    ],
)
def test_a_tool_that_the_instructions_name_stays(
    pruner: Pruner, api: Any, body: dict[str, Any], said: str, named: set[str]
) -> None:
    """As a whole word, in any script around it."""
    body = json.loads(json.dumps(body).replace("{}", said))
    body[api.turns_member].append({"role": "user", "content": "weather in London"})

    pruned = pruner.prune(api, json.dumps({**body, "tools": FORMS[api.name][1]}).encode())

    assert pruned.names == {"open_meteo_weather", *named}


@pytest.mark.parametrize(
    "text",
    [
        "Bitte lösche die alte Datei",
        "fasse diese E-Mail zusammen",
        "明日の天気はどうですか",
        "thanks a lot!",
        "what is the meaning of life",
    ],
)
def test_all_tools_go_on_if_none_fits_or_the_language_is_not_read(
    pruner: Pruner, text: str
) -> None:
    """A few guesses could be all that the model gets."""
    pruned = pruner.prune(CHAT, chat(text))

    assert pruned.body == chat(text)
    assert pruned.headers["x-orqen-prune-ratio"] == "51/51"
    assert pruned.headers["x-orqen-routing"] == "nothing_fits"


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, zstandard.compress])
def test_a_compressed_request_is_pruned(pruner: Pruner, pack: Callable[[bytes], bytes]) -> None:
    """It goes on without compression; as it came if nothing is left out."""
    codings = {gzip.compress: "gzip", zlib.compress: "deflate", zstandard.compress: "zstd"}
    packed, all_go = pack(chat("weather in London")), pack(chat("thanks a lot!"))

    pruned = pruner.prune(CHAT, packed, coding=codings[pack])
    whole = pruner.prune(CHAT, all_go, coding=codings[pack])

    assert names(pruned) == ["open_meteo_weather"]
    assert pruned.coding == "identity"
    assert (whole.body, whole.coding, whole.offered) == (all_go, codings[pack], 51)


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (b"packed", "br"),
        (b"no gzip", "gzip"),
        (gzip.compress(chat("weather in London"))[:-9], "gzip"),
        (b"no zstd", "zstd"),
        (gzip.compress(b" " * 21_000_000), "gzip"),
    ],
)
def test_a_compression_that_cannot_be_read_is_reported(
    pruner: Pruner, body: bytes, coding: str
) -> None:
    """The same bytes go on, without figures of tools that nobody counted."""
    pruned = pruner.prune(CHAT, body, coding=coding)

    assert (pruned.body, pruned.coding) == (body, coding)
    assert pruned.headers == {"x-orqen-routing": "unread", "x-orqen-mode": "prune"}


def test_nothing_but_the_tools_changes(pruner: Pruner) -> None:
    """To the letter, and the order of the tools is the caller's."""
    before, after = '{ "model":"m",\n"temperature": 1.0e0 ,"tools":', ',"messages":%s,"n":1}'
    turns = json.dumps([{"role": "user", "content": "send a mail to Bob about \u00fcber"}])
    body = f"{before}{json.dumps(CHAT_TOOLS, indent=1)}{after % turns}"

    pruned = pruner.prune(CHAT, body.encode())

    text = pruned.body.decode()
    assert text.startswith(before)
    assert text.endswith(after % turns)
    sent = names(pruned)
    assert 3 <= len(sent) < 8
    assert "send_email" in sent
    assert sent == [f["name"] for f in FUNCTIONS if f["name"] in sent]


def test_what_a_request_needs_stays(pruner: Pruner) -> None:
    """Tools that were called, named or marked, and the provider's own."""
    tools = [
        *CHAT_TOOLS[:20],
        {"type": "function", "function": {"name": "always"}, "x-orchet-load-policy": "core"},
        {"type": "web_search"},
    ]
    turns = [
        {"role": "user", "content": "weather in London"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "delete_file"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
    ]
    chosen = {"type": "function", "function": {"name": "calculator"}}
    tools.append(_chat_tool({"name": "calculator", "description": "Sums.", "parameters": {}}))
    body = {"messages": turns, "tools": tools, "tool_choice": chosen}

    pruned = pruner.prune(CHAT, json.dumps(body).encode())

    sent = names(pruned)
    assert {"always", "web_search", "delete_file", "calculator"} <= set(sent)
    assert len(sent) < 10
    assert b"x-orchet-load-policy" not in pruned.body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b'{"messages": [], "tools": []}',
        b'{"messages": []}',
        b'{"tools": 5}',
        b'{"tools": [1], "tools": [2]}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"messages":' + b"[" * 100_000,
        chat("weather", tool_choice="none"),
    ],
)
def test_what_holds_no_choice_is_passed_on_as_it_came(pruner: Pruner, body: bytes) -> None:
    """Whatever it is."""
    pruned = pruner.prune(CHAT, body)

    assert pruned.body == body
    assert pruned.routing == "passed_on"


@pytest.mark.parametrize(
    "tools",
    [
        [*CHAT_TOOLS, CHAT_TOOLS[0]],
        [_chat_tool({"name": "a", "description": "", "parameters": {"type": "array"}})],
    ],
)
def test_tools_that_cannot_be_read_all_go_on(pruner: Pruner, tools: list[Any]) -> None:
    """The provider says what is wrong with them."""
    pruned = pruner.prune(CHAT, chat("weather in London", tools))

    assert names(pruned) == [tool["function"]["name"] for tool in tools]
    assert pruned.headers["x-orqen-routing"] == "fail_open"


def test_a_router_that_fails_lets_everything_pass() -> None:
    """51 of 51."""

    def broken(catalog: Catalog) -> Router:
        raise RuntimeError("out of order")

    pruned = Pruner(ToolLists(broken), ConversationMemory(b"secret")).prune(CHAT, chat("weather"))

    assert pruned.body == chat("weather")
    assert pruned.headers["x-orqen-prune-ratio"] == "51/51"
    assert pruned.headers["x-orqen-routing"] == "fail_open"


def test_examples_help_and_are_not_sent(pruner: Pruner) -> None:
    """They are the router's alone."""
    told = {"name": "zx81", "parameters": {}, "x-orqen-examples": ["what will the sky be like"]}
    tools = [*CHAT_TOOLS, {"type": "function", "function": told}]

    pruned = pruner.prune(CHAT, chat("what will the sky be like over Bergen", tools))

    assert "zx81" in names(pruned)
    assert b"x-orqen-examples" not in pruned.body
    nothing = pruner.prune(CHAT, chat("hello", tools, tool_choice="none"))
    assert nothing.forwarded == 52
    assert b"x-orqen-examples" not in nothing.body


def test_a_sticky_conversation_only_grows(pruner: Pruner) -> None:
    """Its prompt's beginning stays as it is for longer."""
    first = {"role": "user", "content": "weather in London"}
    then = {"role": "user", "content": "list files in /tmp"}
    body = chat("", messages=[first, then])
    pruner.prune(CHAT, chat("weather in London"), "sticky")

    assert {"open_meteo_weather", "list_files"} <= set(names(pruner.prune(CHAT, body, "sticky")))
    assert "open_meteo_weather" not in names(pruner.prune(CHAT, body, "prune"))
    other = pruner.prune(CHAT, chat("list files in /tmp"), "sticky")
    assert "open_meteo_weather" not in names(other)


_BM25 = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


@pytest.mark.parametrize(
    ("api", "search"), [(RESPONSES, {"type": "tool_search"}), (MESSAGES, _BM25)]
)
def test_deferring_sends_all_tools_marked(pruner: Pruner, api: Any, search: Any) -> None:
    """In the provider's own form, with the tool that finds them."""
    pruned = pruner.prune(api, asked(api, "weather in London"), "defer")

    *sent, last = json.loads(pruned.body)["tools"]
    assert last == search
    assert [tool["name"] for tool in sent] == [tool["name"] for tool in CLAUDE_TOOLS]
    assert [t["name"] for t in sent if not t.get("defer_loading")] == ["open_meteo_weather"]
    assert pruned.headers["x-orqen-prune-ratio"] == "1/51"


@pytest.mark.parametrize("text", ["weather in London", "play a song for me", "is it raining"])
def test_no_deferred_tool_ends_the_cached_prompt(pruner: Pruner, text: str) -> None:
    """Anthropic refuses one with both marks: the last loaded tool gets it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    theirs = {**CLAUDE_TOOLS[0], "name": "theirs", "defer_loading": True}
    tools = [*CLAUDE_TOOLS[:-1], {**CLAUDE_TOOLS[-1], **mark}, theirs]
    for mode in MODES:
        pruned = pruner.prune(MESSAGES, asked(MESSAGES, text, tools=tools), mode)

        sent = json.loads(pruned.body)["tools"]
        loaded = [tool for tool in sent if not tool.get("defer_loading")]
        (marked,) = [tool for tool in sent if "cache_control" in tool]
        assert marked["cache_control"] == mark["cache_control"]
        assert marked in loaded
        after = loaded[loaded.index(marked) + 1 :]
        assert not {tool["name"] for tool in after} & {tool["name"] for tool in tools}


def answered(api: Any, document: Mapping[str, Any]) -> AnswerReader:
    """An answer that has passed."""
    reader = AnswerReader(api, is_stream=False)
    reader.feed(json.dumps(document).encode())
    reader.finish()
    return reader


def grown(*answers: Mapping[str, Any]) -> bytes:
    """A conversation in which the model answered, and was asked again."""
    turns = [{"role": "user", "content": "weather in London"}]
    for answer in answers:
        turns += [answer["choices"][0]["message"], {"role": "user", "content": "weather, please"}]
    return json.dumps({"messages": turns, "tools": CHAT_TOOLS}).encode()


@pytest.mark.parametrize("mode", ["prune", "sticky"])
def test_an_answer_that_lacks_a_tool_widens_the_next_request(pruner: Pruner, mode: Mode) -> None:
    """Then to all; other conversations that begin alike are as they were."""
    said = {"choices": [{"message": {"role": "assistant", "content": "I don't have a tool."}}]}
    widths = []
    for turns in range(3):
        pruned = pruner.prune(CHAT, grown(*[said] * turns), mode)
        widths.append(pruned.forwarded)
        pruner.learn(pruned, answered(CHAT, said))

    assert widths[0] < 3
    assert widths[0] < widths[1] < 20
    assert widths[2] == 51
    assert pruner.prune(CHAT, grown(), mode).forwarded == widths[0]


def test_a_tool_that_was_called_though_it_was_left_out_comes_with_the_next(pruner: Pruner) -> None:
    """Models know tools from earlier turns."""
    call = {"choices": [{"message": {"tool_calls": [{"function": {"name": "play_music"}}]}}]}
    said = {"choices": [{"message": {"role": "assistant", "content": "Hm."}}]}
    pruner.learn(pruner.prune(CHAT, grown()), answered(CHAT, call))

    assert "play_music" in names(pruner.prune(CHAT, grown(said)))


def test_a_conversation_is_known_by_the_answer_that_it_goes_on_from(pruner: Pruner) -> None:
    """Where the provider keeps its turns."""
    first = pruner.prune(RESPONSES, asked(RESPONSES, "weather in London"), "sticky")
    answer = {"object": "response", "id": "r1", "output": []}
    pruner.learn(first, answered(RESPONSES, answer))

    then = asked(RESPONSES, "list files in /tmp", previous_response_id="r1")
    assert "open_meteo_weather" in names(pruner.prune(RESPONSES, then, "sticky"))
