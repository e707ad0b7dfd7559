"""Calls the Python SDKs of E2B, and prints a line of JSON for each of 40 calls: its name and its error, if any."""

import json
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from e2b_code_interpreter import Sandbox
from e2b import SandboxQuery, SandboxState, TimeoutException

# Home directory of the user `root` in a sandbox.
ROOT_HOME = "/root"


def main():
    sandbox = Sandbox.create(metadata={"user": "ada"}, envs={"FOO": "bar"}, timeout=120)
    other = Sandbox.create(timeout=120)
    files, commands = sandbox.files, sandbox.commands
    display = "from IPython.display import display, HTML; display(HTML('<b>1</b>')); display({'a': 1}); 6 * 7"

    def check(condition):
        assert condition

    def isolated():
        sandbox.run_code("x = 1")
        check(other.run_code("x").error.name == "NameError")

    def stream():
        texts = []
        sandbox.run_code("print('a')", on_stdout=lambda message: texts.append(message.line))
        check(texts == ["a\n"])

    def late():
        try:
            sandbox.run_code("while True: pass", timeout=1)
        except TimeoutException:
            return
        check(False)

    def contexts():
        context = sandbox.create_code_context()
        sandbox.run_code("y = 1", context=context)
        check(sandbox.run_code("y").error and context.id in [one.id for one in sandbox.list_code_contexts()])
        sandbox.restart_code_context(context)
        check(sandbox.run_code("y", context=context).error.name == "NameError")
        sandbox.remove_code_context(context)
        check(context.id not in [one.id for one in sandbox.list_code_contexts()])

    def download_url():
        with urlopen(sandbox.download_url("dir/a.txt", use_signature_expiration=60)) as response:
            check(response.read() == b"hello")
        try:
            urlopen(other.download_url("dir/a.txt"))
        except HTTPError as error:
            return check(error.code == 404)
        check(False)

    def upload_url():
        url = sandbox.upload_url("dir/up.txt", user="root", use_signature_expiration=60)
        request = Request(url, b"up", {"content-type": "application/octet-stream"})
        check(json.load(urlopen(request))[0]["path"] == f"{ROOT_HOME}/dir/up.txt")
        check(files.read("dir/up.txt", user="root") == "up" and not files.exists("dir/up.txt"))

    def watch():
        handle = files.watch_dir("dir")
        files.write("dir/new.txt", "1")
        check("new.txt" in [event.name for event in handle.get_new_events()])
        handle.stop()

    def background():
        command = commands.run("sleep 30", background=True)
        check(command.pid in [one.pid for one in commands.list()] and command.kill())

    def stdin():
        command = commands.run("cat", background=True, stdin=True)
        command.send_stdin("in")
        command.close_stdin()
        check(command.wait().stdout == "in")

    def timeout():
        other.set_timeout(1)
        time.sleep(2)
        check(not other.is_running())

    def pause():
        check(sandbox.pause() and not sandbox.is_running() and not sandbox.pause())
        check(sandbox.get_info().state == SandboxState.PAUSED)

    def ids(state):
        return [one.sandbox_id for one in Sandbox.list(query=SandboxQuery(state=[state])).next_items()]

    def list_states():
        check(sandbox.sandbox_id in ids(SandboxState.PAUSED))
        check(sandbox.sandbox_id not in ids(SandboxState.RUNNING))

    def resume():
        check(Sandbox.connect(sandbox.sandbox_id, timeout=120).run_code("x").text == "1")
        check(files.read("c") == "[" and commands.run("echo $FOO").stdout == "bar\n")

    def beta_pause():
        check(sandbox.beta_pause() and not sandbox.is_running())
        check(sandbox.connect(timeout=120).run_code("x").text == "1")

    def fork():
        copies = sandbox.fork(count=2, timeout=60)
        check(len({one.sandbox_id for one in copies} | {sandbox.sandbox_id}) == 3)
        for copy in copies:
            check(copy.run_code("x += 1; x").text == "2" and copy.files.read("c") == "[")
            check(copy.kill())
        check(sandbox.run_code("x").text == "1")

    snapshots = []

    def create_snapshot():
        snapshots.append(sandbox.create_snapshot(name="calls"))
        check(snapshots[0].names == ["calls:default"])
        sandbox.run_code("x = 5")

    def list_snapshots():
        for query in [{}, {"sandbox_id": sandbox.sandbox_id}, {"name": "calls"}]:
            found = Sandbox.list_snapshots(**query).next_items()
            check([one.snapshot_id for one in found] == [snapshots[0].snapshot_id])
        check(Sandbox.list_snapshots(name="others").next_items() == [])

    def create_from_snapshot():
        for template in [snapshots[0].snapshot_id, "calls"]:
            with Sandbox.create(template, timeout=60) as copy:
                check(copy.run_code("x").text == "1" and copy.files.read("c") == "[")

    def delete_snapshot():
        check(Sandbox.delete_snapshot(snapshots[0].snapshot_id))
        check(not Sandbox.delete_snapshot(snapshots[0].snapshot_id))

    def start_pausing(auto_resume):
        started = Sandbox.create(timeout=1, lifecycle={"on_timeout": "pause", "auto_resume": auto_resume})
        started.run_code("x = 7")
        for _ in range(100):
            if started.get_info().state == SandboxState.PAUSED:
                return started
            time.sleep(0.1)
        check(False)

    def auto_pause():
        paused = start_pausing(False)
        check(not paused.is_running() and paused.connect(timeout=60).run_code("x").text == "7")
        paused.kill()

    def auto_resume():
        paused = start_pausing(True)
        check(paused.run_code("x").text == "7")
        paused.kill()

    def kill():
        check(sandbox.kill() and not sandbox.is_running() and not Sandbox.kill(sandbox.sandbox_id))

    calls = {
        "create": lambda: check(sandbox.sandbox_id != other.sandbox_id),
        "run_code": lambda: check(sandbox.run_code("1 + 1").text == "2"),
        "isolation": isolated,
        "run_code error": lambda: check(sandbox.run_code("1 / 0").error.name == "ZeroDivisionError"),
        "run_code stream": stream,
        "run_code envs": lambda: check(
            sandbox.run_code("import os; os.environ['A'] + os.environ['FOO']", envs={"A": "1"}).text == "1bar"
        ),
        "run_code timeout": late,
        "run_code results": lambda: check(sandbox.run_code(display).results[0].html == "<b>1</b>"),
        "run_code bash": lambda: check(sandbox.run_code("echo $FOO", language="bash").logs.stdout == ["bar\n"]),
        "contexts": contexts,
        "files.write": lambda: check(files.write("dir/a.txt", "hello").path == "/home/user/dir/a.txt"),
        "files.read": lambda: check(files.read("dir/a.txt") == "hello"),
        "files.write_files": lambda: check(
            len(files.write_files([{"path": "b", "data": b"\x00"}, {"path": "c", "data": "["}])) == 2
        ),
        "files.list": lambda: check([entry.name for entry in files.list("dir")] == ["a.txt"]),
        "files.exists": lambda: check(files.exists("b") and not files.exists("missing")),
        "files.get_info": lambda: check(files.get_info("dir/a.txt").size == 5),
        "download_url": download_url,
        "upload_url": upload_url,
        "files.make_dir": lambda: check(files.make_dir("made") and not files.make_dir("made")),
        "files.rename": lambda: check(files.rename("b", "made/b").path == "/home/user/made/b"),
        "files.remove": lambda: check(files.remove("made") is None and not files.exists("made")),
        "files.watch_dir": watch,
        "commands.run": lambda: check(commands.run("echo $FOO; pwd").stdout == "bar\n/home/user\n"),
        "commands background": background,
        "commands stdin": stdin,
        "info and list": lambda: check(
            sandbox.get_info().metadata == {"user": "ada"} and len(Sandbox.list(limit=1).next_items()) == 1
        ),
        "connect": lambda: check(Sandbox.connect(sandbox.sandbox_id).run_code("x").text == "1"),
        "set_timeout": timeout,
        "pause": pause,
        "list states": list_states,
        "connect after pause": resume,
        "beta_pause": beta_pause,
        "fork": fork,
        "create_snapshot": create_snapshot,
        "list_snapshots": list_snapshots,
        "create from a snapshot": create_from_snapshot,
        "delete_snapshot": delete_snapshot,
        "auto_pause": auto_pause,
        "auto_resume": auto_resume,
        "kill": kill,
    }
    for name, call in calls.items():
        error = None
        try:
            call()
        except Exception as thrown:
            error = f"{type(thrown).__name__}: {thrown}"
        print(json.dumps({"name": name, "error": error}), flush=True)


main()
