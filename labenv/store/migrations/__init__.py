"""Alembic's scripts for the store; run by `labenv.store.migrate`, never by hand."""
