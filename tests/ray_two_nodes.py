"""A run on a local Ray cluster of two nodes; the second is killed amid its first shard.

    PYTHONPATH=.:tests python tests/ray_two_nodes.py FOLDER

A program of its own (tests/test_sandbox_cluster.py starts it), since a cluster that
does not come up ends the process. Writes into FOLDER: `started` when the cluster is up,
`notes.txt` with a line "node dialogue" a reply, `told.json` at the end.
"""

import json
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox_fakes import FakePolicy, FakeUser
from world_cards import make_cards

from helpers.sandbox.cluster import run_cluster
from helpers.sandbox.episode import RunSettings

CASES, SHARD = 24, 6


class Noted(FakePolicy):
    """Takes its time, and notes which node answers which dialogue."""

    def __init__(self, notes: Path):
        super().__init__()
        self.notes = notes

    def start(self, scenario_id, seed):
        import ray

        session = super().start(scenario_id, seed)
        quick, node = session.reply, ray.get_runtime_context().get_node_id()

        def reply(history):
            time.sleep(0.1)
            with open(self.notes, "a") as f:
                f.write(f"{node} {scenario_id}\n")
            return quick(history)

        session.reply = reply
        return session


@dataclass(frozen=True)
class Roles:
    notes: Path

    def __call__(self):
        return Noted(self.notes), FakeUser(), None, None


def main(folder: Path) -> None:
    from ray.cluster_utils import Cluster

    notes, killed = folder / "notes.txt", []
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    (folder / "started").touch()

    def kill():
        """When the second node has made two dialogues of its shard of six."""
        while not killed:
            time.sleep(0.02)
            told = notes.read_text().splitlines() if notes.exists() else []
            mine = [line.split()[1] for line in told if second.node_id in line]
            if len(mine) >= 5:
                killed.extend(dict.fromkeys(mine))
                nodes.remove_node(second, allow_graceful=False)

    threading.Thread(target=kill, daemon=True).start()
    report = run_cluster(
        iter(make_cards(CASES)), Roles(notes), RunSettings(2, None, None), base_seed=1,
        folder=folder, shard=SHARD, address=nodes.address,
    )  # fmt: skip
    told = {"made": report.made, "second": second.node_id, "at_kill": killed}
    (folder / "told.json").write_text(json.dumps(told))
    nodes.shutdown()


if __name__ == "__main__":
    # Ray names a class by its module: not __main__, which the nodes do not have.
    import ray_two_nodes

    ray_two_nodes.main(Path(sys.argv[1]).resolve())
