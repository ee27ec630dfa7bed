"""A campaign from Python: a policy proposes, two furnaces work, everything is kept in a store."""

import tempfile
from pathlib import Path

from labenv import Store
from labenv.campaigns import CampaignRunner, parse_campaign, summarise

config = parse_campaign("""
name: ten experiments
seed: 7
parallelism: 2
policy: {name: sobol}
budget: {experiments: 10}
""")

with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "store.sqlite") as store:
    campaign_id = CampaignRunner.begin(store, config).run()
    summary = summarise(store, campaign_id)

for row, best in summary.best_so_far():
    print(f"experiment {row.index}: score {row.value:.3f}, best so far {best:.3f}")
print(f"{summary.lab_time_s / 86_400:.1f} days of lab time, cost {summary.cost:.0f}")
assert summary.best is not None
print(f"best: {summary.best.plan}")
