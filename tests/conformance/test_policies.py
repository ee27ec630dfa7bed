"""Every policy in the catalogue passes the contract."""

from __future__ import annotations

import pytest

from labenv.policies import make_policy, policy_names
from labenv.testing.policy import PolicyContract

OPTIONS = {"bayesian": {"initial": 4, "candidates": 64, "neighbours": 8}}  # it models soon


@pytest.mark.parametrize("name", policy_names())
class TestEveryPolicy(PolicyContract):
    experiments = 7

    @pytest.fixture
    def new_policy(self, name):
        return lambda: make_policy(name, **OPTIONS.get(name, {}))
