"""The proxy of tool calls: one that cannot be used is told before any call."""

import pytest

from orchestrator.adapters.http.addresses import AddressPolicy
from orchestrator.adapters.http.transport import CheckedTransport
from orchestrator.core.errors import UsageError


@pytest.mark.parametrize("proxy", ["socks5://ann:pw@proxy:1080", "proxy", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_one_sentence(proxy: str) -> None:
    """It names the variable and what is wanted, and not the password that a URL may hold."""
    with pytest.raises(UsageError, match=r"ORCHESTRATOR_PROXY: an http:// or https://") as refused:
        CheckedTransport(AddressPolicy(()), proxy=proxy)

    assert proxy not in str(refused.value)
