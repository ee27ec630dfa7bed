"""Conformance suites: subclass one, override its fixture, inherit its tests.

One module a kind, none imported here, so that each needs only what its kind needs. They use public
API only and are never imported at run time.
"""
