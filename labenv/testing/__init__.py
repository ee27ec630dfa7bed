"""Conformance suites: subclass one, override its fixture, inherit its tests.

One module a kind (`env`, `policy`, `store`, `task`), none imported here, so that each needs only
what its kind needs. They use public API only and are never imported at run time.
"""

import pytest

# So that a test that fails shows the two sides of its comparison, to whoever inherits it.
pytest.register_assert_rewrite(
    *(f"{__name__}.{kind}" for kind in ("env", "policy", "store", "task"))
)
