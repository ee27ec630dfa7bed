"""Policies: whatever proposes experiments."""

from labenv.policies.base import Policy, SpacePolicy, make_policy, policy_names

__all__ = ["Policy", "SpacePolicy", "make_policy", "policy_names"]
