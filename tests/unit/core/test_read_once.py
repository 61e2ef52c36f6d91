"""Reading once: the very object is asked about once, and no other one is taken for it."""

from orchestrator.core.read_once import Recent, read_once


def test_the_same_object_is_read_once() -> None:
    """An equal one is another: comparing them would cost what reading costs."""
    read: list[dict[str, int]] = []

    def largest(one: dict[str, int]) -> int:
        read.append(one)
        return max(one.values())

    once = read_once(largest)
    first = {"a": 1, "b": 3}

    assert [once(first), once(first), once({**first})] == [3, 3, 3]
    assert len(read) == 2


def test_so_many_are_held_and_no_more() -> None:
    """The oldest is read again; those that are held keep their identities to themselves."""
    read: list[int] = []

    def length(one: list[int]) -> int:
        read.append(len(one))
        return len(one)

    once = read_once(length, most=2)
    first = [0]
    once(first)
    for size in range(2, 20):  # each is garbage at once, and makes room for the next
        assert once([0] * size) == size
    once(first)
    assert read == [1, *range(2, 20), 1]


def test_the_values_used_longest_ago_go() -> None:
    """At most so many are kept, those that were asked for or put last."""
    recent: Recent[str, int] = Recent(2)
    for key in ("a", "b"):
        recent.put(key, ord(key))

    assert recent.get("a") == ord("a")
    assert recent.put("c", 1) == 1
    assert (len(recent), recent.get("a"), recent.get("b")) == (2, ord("a"), None)
