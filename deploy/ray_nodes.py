"""Starts a Paddock node on each machine of a Ray cluster, which trainers such as verl, slime and TRL run on.

    python deploy/ray_nodes.py nats://nats.example.org:4222 --sessions 8 --cluster-key-file /etc/paddock/cluster.key

Each machine needs a clone of Paddock in the folder of --clone, npx, and the key of the cluster in the file of
--cluster-key-file. The nodes run until this program ends. Programs
reach them through a gateway, `paddock serve --cluster URL`.

Tried: Ray 2.60 with one machine, where the node ran programs and ended with this program. Not tried: several machines.
"""

import argparse
import contextlib
import signal
import subprocess

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


@ray.remote(num_cpus=1)
class PaddockNode:
    """A node of the cluster, on the machine of the actor."""

    def __init__(self, clone: str, nats: str, sessions: int, key_file: str | None) -> None:
        command = ["npx", "-y", "deno@2.9.6", "run", "-A", "src/cli.ts", "serve", "--port", "0", "--until-stdin-ends"]
        options = ["--nats", nats, "--max-sessions", str(sessions)]
        options += ["--cluster-key-file", key_file] if key_file else []
        # The pipe ends with the actor, and the node with the pipe.
        self.process = subprocess.Popen([*command, *options], cwd=clone, stdin=subprocess.PIPE)

    def wait(self) -> int:
        """Returns the exit code of the node when it has ended."""
        return self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nats", help="address of NATS")
    parser.add_argument("--clone", default="/opt/paddock", help="folder of the clone on each machine")
    parser.add_argument("--sessions", type=int, default=8, help="sessions of each node")
    parser.add_argument("--cluster-key-file", help="file of the key of the cluster on each machine")
    options = parser.parse_args()
    ray.init(address="auto")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ray has set its own
    machines = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    actors = [
        PaddockNode.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=machine, soft=False)
        ).remote(options.clone, options.nats, options.sessions, options.cluster_key_file)
        for machine in machines
    ]
    print(f"Started {len(actors)} nodes")
    with contextlib.suppress(KeyboardInterrupt):
        ray.get([actor.wait.remote() for actor in actors])


if __name__ == "__main__":
    main()
