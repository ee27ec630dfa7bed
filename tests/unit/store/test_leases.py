"""Which leaders are known to be dead."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from labenv.store import Store, leases
from labenv.testing.store import begin
from labenv_schemas.errors import ConfigError, StoreError

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


@linux
def test_this_process_lives():
    identity = leases._process_identity(os.getpid())
    assert identity
    assert not leases._is_known_dead(identity)


@linux
def test_another_process_that_got_the_same_number_is_not_the_leader():
    identity = leases._process_identity(os.getpid())
    assert identity
    assert leases._is_known_dead(identity.rpartition("@")[0] + "@1")


@linux
def test_a_process_that_ended_is_dead_even_before_its_parent_looks():
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        identity = leases._process_identity(child.pid)
        assert identity
        assert not leases._is_known_dead(identity)
        child.kill()
        assert child.stdout is not None
        child.stdout.read()  # ends when the process does; it is a zombie until waited for
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert leases._is_known_dead(identity)


@pytest.mark.parametrize("process", ["", "nonsense", "other-boot|pid:[1]|2@3", "|1@1", "||x@"])
def test_what_this_kernel_cannot_know_is_not_declared_dead(process):
    assert not leases._is_known_dead(process)


def test_a_leader_elsewhere_keeps_its_lease_until_it_expires(tmp_path, monkeypatch):
    with Store.open(tmp_path / "lab.db") as store:
        campaign_id, _ = begin(store)
        monkeypatch.setattr(leases, "_process_identity", lambda _pid: "other-boot|pid:[1]|2@3")
        store.lease(campaign_id, "elsewhere", ttl_s=3600.0)
        monkeypatch.undo()
        with pytest.raises(StoreError, match="elsewhere"):
            store.lease(campaign_id, "here")


@pytest.mark.parametrize("ttl_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_senseless_time_is_refused(tmp_path, ttl_s):
    with Store.open(tmp_path / "lab.db") as store:
        campaign_id, _ = begin(store)
        with pytest.raises(ConfigError, match="makes no sense"):
            store.lease(campaign_id, "x", ttl_s=ttl_s)


def test_a_lease_needs_a_campaign(tmp_path):
    with Store.open(tmp_path / "lab.db") as store:
        with pytest.raises(StoreError, match="no campaign"):
            store.lease("c00001", "x")
        with pytest.raises(StoreError, match="they look like"):
            store.lease("c1", "x")
