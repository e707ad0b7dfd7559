"""Checks paddock.serve(). $PADDOCK_COMMAND is the command line of Paddock, as JSON. Each line is a check that passed."""

import json
import os
import signal
import subprocess
import sys
import time

import paddock
import paddock.server

paddock.server.command = lambda arguments: [*json.loads(os.environ["PADDOCK_COMMAND"]), *arguments]


def check(name, holds):
    if not holds:
        sys.exit(f"failed: {name}")
    print(name)


def ends(process_id):
    """Waits for the end of a process."""
    for _ in range(600):
        try:
            os.kill(process_id, 0)
            with open(f"/proc/{process_id}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.1)
    return False


if sys.argv[1:] == ["leave"]:
    left = paddock.serve(max_sessions=1)
    print(left._process.pid, left.client().exec("6 * 7").value, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

with paddock.serve(max_sessions=1) as server:
    check("a server runs programs", server.client().exec("6 * 7").value == "42")
    try:
        paddock.Client(server.url).exec("1")
    except paddock.PaddockError as error:
        check("a client without its token is refused", error.status == 401)
    process = server._process
check("it has ended after the block", process.returncode == 0)
server.close()
try:
    paddock.serve("--no-such-option")
except paddock.PaddockError as error:
    check("a server that does not start gives its message", "no-such-option" in str(error) and "exit code 2" in str(error))
try:
    paddock.serve(profile="none")
except paddock.PaddockError as error:
    check("a missing profile is named", "'none'" in str(error))
killed = subprocess.run([sys.executable, __file__, "leave"], stdout=subprocess.PIPE, text=True)
server_id, value = killed.stdout.split()
check("a process that is killed has had its server", (killed.returncode, value) == (-signal.SIGKILL, "42"))
check("the server ends with it", ends(int(server_id)))
print("serve() is checked")
