"""What the legs of a mission have found: each name once, the newest ones, none too long."""

from workflows.finds import SharedFinds


def test_a_name_is_kept_once_and_the_oldest_make_room() -> None:
    """A signal names no sender: however much is sent, little is kept and told."""
    finds = SharedFinds("m", running=list)
    assert finds.keep(["a", "b", "a"]) == ["a", "b"]
    assert finds.keep(["b", "c"]) == ["c"]
    finds.keep([f"tool_{number}" for number in range(30)])
    assert len(finds.tools) == 20
    assert finds.tools[-1] == "tool_29"
    assert finds.keep(["x" * 201]) == []
