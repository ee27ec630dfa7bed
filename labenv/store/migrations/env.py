"""Run migrations on the connection that `labenv.store.migrate` hands over."""

from alembic import context

from labenv.store.migrate import VERSION_TABLE
from labenv.store.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
    transactional_ddl=True,  # the caller's transaction; our SQLite connections begin their own
)
context.run_migrations()
