"""What verbs do to a thing."""

from orchestrator.language.deeds import is_any_change, is_vague, same_deed


def test_verbs_of_a_class_may_do_different_things() -> None:
    """A word for the same is no difference, nor is a form of it."""
    assert same_deed("reschedule", "move")
    assert same_deed("booking", "book")
    assert same_deed("notify", "send")
    assert not same_deed("move", "rename")
    assert not same_deed("pay", "refund")


def test_some_verbs_do_not_say_how() -> None:
    """To edit may be any change, and who puts something says nothing."""
    assert is_any_change("edit")
    assert not is_any_change("rename")
    assert is_vague("put")
