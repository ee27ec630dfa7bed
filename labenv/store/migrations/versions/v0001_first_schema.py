"""First schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_WORDS = sa.Text()
_JSON = sa.Text()
_REAL = sa.Float(53)
_MOMENT = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


def upgrade() -> None:
    _create_campaigns()
    _create_experiments()
    _create_parts_of_experiments()


def _create_campaigns() -> None:
    op.create_table(
        "array_blob",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("dtype", sa.String(length=8), nullable=False),
        sa.Column("shape", sa.String(length=80), nullable=False),
        sa.Column("encoding", sa.String(length=16), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_array_blob")),
    )
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", _WORDS, nullable=True),
        sa.Column("config", _JSON, nullable=False),
        sa.Column("seed", sa.String(length=40), nullable=False),
        sa.Column("versions", _JSON, nullable=False),
        sa.Column("lab_hash", _WORDS, nullable=False),
        sa.Column("task_hash", _WORDS, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("finished_at", _MOMENT, nullable=True),
        sa.CheckConstraint(
            "status IN ('running', 'finished', 'stopped', 'failed')",
            name=op.f("ck_campaign_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaign")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_campaign_name"), "campaign", ["name"], unique=False)
    op.create_table(
        "episode",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("seed", sa.String(length=40), nullable=False),
        sa.Column("policy", _WORDS, nullable=False),
        sa.Column("started_at", _MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_episode_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episode")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_episode_campaign_id"), "episode", ["campaign_id"], unique=False)
    op.create_table(
        "journal_event",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("experiment_name", _WORDS, nullable=False),
        sa.Column("lab_time_s", _REAL, nullable=False),
        sa.Column("recorded_at", _MOMENT, nullable=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_journal_event_campaign_id")
        ),
        sa.PrimaryKeyConstraint("campaign_id", "sequence", name=op.f("pk_journal_event")),
    )
    op.create_table(
        "lease",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("owner", _WORDS, nullable=False),
        sa.Column("host", _WORDS, nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process", _WORDS, nullable=False),
        sa.Column("acquired_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("ttl_s", _REAL, nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_lease_campaign_id")
        ),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f("pk_lease")),
    )


def _create_experiments() -> None:
    op.create_table(
        "experiment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("episode_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("proposal", _JSON, nullable=False),
        sa.Column("proposal_digest", sa.String(length=64), nullable=False),
        sa.Column("submitted_s", _REAL, nullable=False),
        sa.Column("submitted_at", _MOMENT, nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("message", _WORDS, nullable=True),
        sa.Column("sample", _JSON, nullable=True),
        sa.Column("warnings", _JSON, nullable=True),
        sa.Column("extra", _JSON, nullable=True),
        sa.Column("cost", _REAL, nullable=True),
        sa.Column("finished_s", _REAL, nullable=True),
        sa.Column("outcome_at", _MOMENT, nullable=True),
        sa.Column("recorded_at", _MOMENT, nullable=True),
        sa.Column("completion", sa.Integer(), nullable=True),
        sa.Column("content_digest", sa.String(length=64), nullable=True),
        sa.CheckConstraint(
            "(status = 'pending') = (completion IS NULL)", name=op.f("ck_experiment_completion")
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'ok', 'invalid', 'failed_machine', 'failed_chemistry', "
            "'cancelled')",
            name=op.f("ck_experiment_status"),
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaign.id"], name=op.f("fk_experiment_campaign_id")
        ),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episode.id"], name=op.f("fk_experiment_episode_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiment")),
        sa.UniqueConstraint("campaign_id", "name", name="uq_experiment_campaign_id_name"),
        sa.UniqueConstraint("campaign_id", "position", name=op.f("uq_experiment_campaign_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_experiment_completion", "experiment", ["campaign_id", "completion"], unique=False
    )
    op.create_index(op.f("ix_experiment_episode_id"), "experiment", ["episode_id"], unique=False)
    op.create_index(op.f("ix_experiment_name"), "experiment", ["name"], unique=False)


def _create_parts_of_experiments() -> None:
    op.create_table(
        "analysis",
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("body", _JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_analysis_experiment_id")
        ),
        sa.PrimaryKeyConstraint("experiment_id", "position", name=op.f("pk_analysis")),
    )
    op.create_table(
        "measurement",
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("instrument", _JSON, nullable=True),
        sa.Column("measured_at", _MOMENT, nullable=True),
        sa.Column("lab_time_s", _REAL, nullable=True),
        sa.Column("body", _JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_measurement_experiment_id")
        ),
        sa.PrimaryKeyConstraint("experiment_id", "position", name=op.f("pk_measurement")),
    )
    op.create_table(
        "operation",
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("plan_index", sa.Integer(), nullable=False),
        sa.Column("op", _WORDS, nullable=False),
        sa.Column("station", _WORDS, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("queued_s", _REAL, nullable=False),
        sa.Column("started_s", _REAL, nullable=False),
        sa.Column("finished_s", _REAL, nullable=False),
        sa.Column("cost", _REAL, nullable=False),
        sa.Column("message", _WORDS, nullable=True),
        sa.CheckConstraint(
            "status IN ('ok', 'failed', 'cancelled', 'skipped')", name=op.f("ck_operation_status")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_operation_experiment_id")
        ),
        sa.PrimaryKeyConstraint("experiment_id", "position", name=op.f("pk_operation")),
    )
    op.create_table(
        "reward",
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("value", _REAL, nullable=True),
        sa.Column("reason", _WORDS, nullable=False),
        sa.Column("reward", _REAL, nullable=False),
        sa.Column("success", sa.Boolean(create_constraint=True, name="success"), nullable=False),
        sa.CheckConstraint("value IS NOT NULL OR reason <> ''", name=op.f("ck_reward_says_why")),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_reward_experiment_id")
        ),
        sa.PrimaryKeyConstraint("experiment_id", name=op.f("pk_reward")),
    )
    op.create_table(
        "truth",
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=200), nullable=False),
        sa.Column("fraction", _REAL, nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_truth_experiment_id")
        ),
        sa.PrimaryKeyConstraint("experiment_id", "phase", name=op.f("pk_truth")),
    )
    op.create_table(
        "measurement_array",
        sa.Column("experiment_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["digest"], ["array_blob.digest"], name=op.f("fk_measurement_array_digest")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id", "position"],
            ["measurement.experiment_id", "measurement.position"],
            name=op.f("fk_measurement_array_experiment_id"),
        ),
        sa.PrimaryKeyConstraint(
            "experiment_id", "position", "channel", name=op.f("pk_measurement_array")
        ),
    )
