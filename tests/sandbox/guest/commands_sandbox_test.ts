import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { CheckpointError, loadProfile, type Session } from "../../../mod/sandbox.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const TIMEOUT_MS = 120_000;
const profile = await loadProfile("workspace");

function commandsTest(name: string, test: (session: Session) => Promise<void>): void {
  Deno.test(name, () => withSession(test, { profile }));
}

/** Programs, and what CPython 3.14 on Linux prints for each. */
const PROGRAMS: Record<string, [program: string, stdout: string]> = {
  "subprocess.run() runs commands of the shell": [
    String.raw`import subprocess
def show(r): print(r.returncode, repr(r.stdout), repr(r.stderr))
run = subprocess.run
with open("a.txt", "w") as f: f.write("one\ntwo\nthree\n")
show(run(["cat", "a.txt"], capture_output=True, text=True))
show(run(["grep", "-n", "t", "a.txt"], capture_output=True, text=True))
show(run(["grep", "zzz", "a.txt"], capture_output=True))
with open("a.txt") as f: show(run(["wc", "-l"], stdin=f, capture_output=True, text=True))
show(run(["sort"], input="b\na\né\n", capture_output=True, text=True))
print(run(["cat"], input=bytes(range(256)), capture_output=True).stdout == bytes(range(256)))
show(run(["head", "-c", "3"], input=b"\xff\xfe\xfd\xfc", capture_output=True))
show(run(["echo", "$HOME *; ls | cat", "a'b\"c", "", "é\n", "-n"], capture_output=True, text=True))
show(run(["printf", "%s-%s\\n", "a b", "$(ls)"], capture_output=True, text=True))
try: run(["false"], check=True)
except subprocess.CalledProcessError as e: print(e, e.returncode, e.cmd)
try: subprocess.check_output("echo out; echo err >&2; exit 3", shell=True, stderr=subprocess.STDOUT)
except subprocess.CalledProcessError as e: print(e, e.output)
with open("o.txt", "w") as f: run("echo to file; echo err >&2", shell=True, stdout=f, stderr=f)
with open("o.txt") as f: print(f.read())
run("echo new > n.txt", shell=True)
with open("n.txt") as f: print(f.read())
print(run(["rm", "n.txt"]).returncode, run(["ls", "n.txt"], stderr=subprocess.DEVNULL).returncode, run(["cat", "a.txt"], stdout=subprocess.DEVNULL).stdout)
`,
    String.raw`0 'one\ntwo\nthree\n' ''
0 '2:two\n3:three\n' ''
1 b'' b''
0 '3\n' ''
0 'a\nb\né\n' ''
True
0 b'\xff\xfe\xfd' b''
0 '$HOME *; ls | cat a\'b"c  é\n -n\n' ''
0 'a b-$(ls)\n' ''
Command '['false']' returned non-zero exit status 1. 1 ['false']
Command 'echo out; echo err >&2; exit 3' returned non-zero exit status 3. b'out\nerr\n'
to file
err

new

0 2 None
`,
  ],
  "a server in a job of the shell serves programs that the shell runs meanwhile": [
    String.raw`import pathlib, subprocess
def show(r): print(r.returncode, repr(r.stdout), repr(r.stderr))
pathlib.Path("server.py").write_text("""import pathlib, socket
server = socket.create_server(("127.0.0.1", 8765))
pathlib.Path("ready").touch()
while True:
    connection, _ = server.accept()
    with connection: connection.sendall(connection.recv(9).upper())
""")
pathlib.Path("client.py").write_text("""import socket, sys
with socket.create_connection(("localhost", 8765)) as client:
    client.sendall(sys.argv[1].encode()); print(client.recv(9).decode())
""")
script = """python3 server.py & until [ -e ready ]; do sleep 0.01; done
python3 client.py one; python3 client.py two | cat; kill $!; wait $!; echo $?
(sleep 0.01; echo job) & python3 -c "import time; time.sleep(0.1); print('program')"; wait"""
show(subprocess.run(["bash", "-c", script], capture_output=True, text=True))
`,
    "0 'ONE\\nTWO\\n143\\njob\\nprogram\\n' ''\n",
  ],
  "os.system() and command lines run in the shell": [
    String.raw`import os, subprocess
def show(r): print(r.returncode, repr(r.stdout), repr(r.stderr))
run = subprocess.run
show(run("echo a | wc -c", shell=True, capture_output=True, text=True))
print(subprocess.getoutput("echo hi"), subprocess.getstatusoutput("exit 4"), subprocess.call("exit 5", shell=True))
print(os.system("exit 3"), os.system("echo one > s.txt; ls s.txt > out.txt"), open("out.txt").read())
print(os.popen("cat s.txt").readlines(), os.popen("exit 2").close())
p = os.popen("cat > p.txt", "w"); p.write("hello"); print(p.close(), open("p.txt").read())
show(run(["sh", "-c", "echo $0 $1 $#", "name", "x y"], capture_output=True, text=True))
show(run(["bash", "-lc", "cd / && pwd; exit 3"], capture_output=True, text=True))
show(run(["bash", "-o", "pipefail", "-c", "false | true"], capture_output=True, text=True))
show(run(["bash", "-ec", "false; echo no"], capture_output=True, text=True))
show(run(["bash"], input="echo from stdin; exit 9", capture_output=True, text=True))
with open("s.sh", "w") as f: f.write("#!/bin/sh\necho script $1\nexit 6\n")
os.chmod("s.sh", 0o755)
for args in (["./s.sh", "x"], ["sh", "s.sh", "y"]): show(run(args, capture_output=True, text=True))
show(run("./s.sh z", shell=True, capture_output=True, text=True))
print(run("nosuch", shell=True, capture_output=True).returncode, run("nosuch | cat; exit $?", shell=True, capture_output=True).returncode)
for args, cwd in ((["nosuch", "x"], None), (["./nosuch"], None), (["/bin/nosuch"], None), (["cd", "/"], None), (["ls"], "/nowhere")):
    try: run(args, cwd=cwd)
    except OSError as e: print(type(e).__name__, e.strerror, e.filename)
for name, mode in (("noexec", 0o644), ("plain", 0o755)):
    with open(name, "w") as f: f.write("echo plain\n")
    os.chmod(name, mode)
    try: run([f"./{name}"])
    except OSError as e: print(type(e).__name__, e.strerror, e.filename)
`,
    String.raw`0 '2\n' ''
hi (4, '') 5
768 0 s.txt

['one\n'] 512
None hello
0 'name x y 1\n' ''
3 '/\n' ''
1 '' ''
1 '' ''
9 'from stdin\n' ''
6 'script x\n' ''
6 'script y\n' ''
6 'script z\n' ''
127 0
FileNotFoundError No such file or directory nosuch
FileNotFoundError No such file or directory ./nosuch
FileNotFoundError No such file or directory /bin/nosuch
FileNotFoundError No such file or directory cd
FileNotFoundError No such file or directory /nowhere
PermissionError Permission denied ./noexec
OSError Exec format error ./plain
`,
  ],
  "subprocess gives commands its environment and directory, and Python programs in them": [
    String.raw`import os, subprocess, sys
def show(r): print(r.returncode, repr(r.stdout), repr(r.stderr))
run = subprocess.run
show(run(["env"], env={"A": "1"}, capture_output=True, text=True))
show(run("echo $A-$HOME", shell=True, env={"A": "1"}, capture_output=True, text=True))
show(run(["pwd"], cwd="/", capture_output=True, text=True))
os.environ["V"] = "v"; os.chdir("/"); show(run("echo $V; pwd", shell=True, capture_output=True, text=True)); os.chdir("/tmp")
with open("s.py", "w") as f: f.write("#!/usr/bin/env python3\nimport os, sys\nprint('py', sys.argv, sys.stdin.read(), os.environ.get('W'))\nprint('e', file=sys.stderr)\nsys.exit(7)\n")
os.chmod("s.py", 0o755)
show(run("echo in | W=1 python3 s.py a b", shell=True, capture_output=True, text=True))
show(run(["./s.py", "k"], input="", capture_output=True, text=True))
show(run("python3 s.py < s.py | wc -l && echo no || echo yes; python3 s.py 2>&1 < /dev/null > f.txt; wc -l < f.txt", shell=True, capture_output=True, text=True))
show(run("cd / && X=1; export X; python3 -c 'import os; print(os.getcwd(), os.environ[\"X\"]); os.chdir(\"/tmp\")'; pwd", shell=True, capture_output=True, text=True))
print(os.getcwd(), os.environ.get("X"))
program = "import subprocess, sys; print(sys.argv[1]); sys.argv[1] != '0' and subprocess.run(['sh', '-c', f'python3 nested.py {int(sys.argv[1]) - 1}'])"
with open("nested.py", "w") as f: f.write(program.replace("print(sys.argv[1])", "print(sys.argv[1], flush=True)"))
show(run("python3 nested.py 4", shell=True, capture_output=True, text=True))
`,
    String.raw`0 'A=1\n' ''
0 '1-\n' ''
0 '/\n' ''
0 'v\n/\n' ''
7 "py ['s.py', 'a', 'b'] in\n 1\n" 'e\n'
7 "py ['./s.py', 'k']  None\n" 'e\n'
0 '6\nno\ne\n1\n' 'e\n'
0 '/ 1\n/\n' ''
/tmp None
0 '4\n3\n2\n1\n0\n' ''
`,
  ],
  "subprocess.Popen has pipes, signals and time limits with commands": [
    String.raw`import asyncio, os, signal, subprocess, time
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True); print(p.communicate("data\n"), p.returncode)
p1 = subprocess.Popen(["printf", "one\\ntwo\\n"], stdout=subprocess.PIPE); p2 = subprocess.Popen(["grep", "t"], stdin=p1.stdout, stdout=subprocess.PIPE); p1.stdout.close(); print(p2.communicate(), p1.wait())
p = subprocess.Popen("for i in 1 2 3; do echo $i; sleep 0.01; done", shell=True, stdout=subprocess.PIPE, text=True); print([line for line in p.stdout], p.wait())
p = subprocess.Popen("echo first; while [ ! -e go ]; do sleep 0.01; done; echo last", shell=True, stdout=subprocess.PIPE, text=True); print(p.stdout.readline(), p.poll()); open("go", "w").close(); print(p.communicate(), p.returncode)
p = subprocess.Popen(["sleep", "60"]); print(p.poll()); p.terminate(); print(p.wait())
p = subprocess.Popen("while :; do :; done", shell=True); time.sleep(0.05); print(p.poll()); p.kill(); print(p.wait())
for command in (["sleep", "60"], ["sh", "-c", "while :; do :; done"], ["awk", "BEGIN { while (1) x++ }"]):
    try: subprocess.run(command, timeout=0.2)
    except subprocess.TimeoutExpired as e: print(e)
try: subprocess.run("echo first; sleep 60", shell=True, timeout=2, capture_output=True)
except subprocess.TimeoutExpired as e: print(e, e.stdout)
p = subprocess.Popen("while :; do echo yyyy; done", shell=True, stdout=subprocess.PIPE); print(p.stdout.read(4), len(p.stdout.read(10**4))); p.stdout.close(); print(p.wait() != 0)
def ring(*_): raise TimeoutError("alarm")
signal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.1)
try: subprocess.run(["sleep", "60"])
except TimeoutError as e: print(e)
async def main():
    p = await asyncio.create_subprocess_exec("sort", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(b"b\na\n"), p.returncode)
    p = await asyncio.create_subprocess_shell("echo x; exit 3", stdout=asyncio.subprocess.PIPE)
    print(await p.communicate(), p.returncode)
    many = [await asyncio.create_subprocess_exec("sleep", "0.01") for _ in range(20)]
    print({await p.wait() for p in many})
asyncio.run(main())
`,
    String.raw`('data\n', None) 0
(b'two\n', None) 0
['1\n', '2\n', '3\n'] 0
first
 None
('last\n', None) 0
None
-15
None
-9
Command '['sleep', '60']' timed out after 0.2 seconds
Command '['sh', '-c', 'while :; do :; done']' timed out after 0.2 seconds
Command '['awk', 'BEGIN { while (1) x++ }']' timed out after 0.2 seconds
Command 'echo first; sleep 60' timed out after 2 seconds b'first\n'
b'yyyy' 10000
True
alarm
(b'a\nb\n', None) 0
(b'x\n', None) 3
{0}
`,
  ],
};

for (const [name, [program, stdout]] of Object.entries(PROGRAMS)) {
  commandsTest(`${name}, as CPython does`, async (session) => {
    const result = await session.exec(program, { argv: ["main.py"], timeoutMs: TIMEOUT_MS });
    assertEquals([result.status, result.stdout, result.stderr], ["ok", stdout, ""]);
  });
}

commandsTest("subprocess.run() runs jobs beside their shell", async (session) => {
  const script = "sleep 1000 & kill $!; wait $!; echo $?; { sleep 0.01; echo job; } & echo shell; wait";
  const result = await session.exec(
    `import subprocess; subprocess.run(${JSON.stringify(script)}, shell=True).returncode`,
    { timeoutMs: TIMEOUT_MS },
  );
  assertEquals([result.stdout, value(result)], ["143\nshell\njob\n", "0"]);
});

commandsTest("subprocess.run() reports commands that the shell does not have", async (session) => {
  const code = `
import os, subprocess
print(os.system("nothing here"), subprocess.run("nothing | wc -l", shell=True, capture_output=True))
subprocess.run(["nothing"])`;
  const result = await session.exec(code, { timeoutMs: TIMEOUT_MS });
  const text = "bash: line 1: nothing: command not found";
  assertEquals(
    result.stdout,
    `32512 CompletedProcess(args='nothing | wc -l', returncode=0, stdout=b'0\\n', stderr=b'${text}\\n')\n`,
  );
  assertEquals(result.stderr, `${text}\n`);
  assertStringIncludes("error" in result ? result.error.message : "", "No such file or directory: 'nothing'");
});

commandsTest("Session.exec() interrupts a program that waits for a command", async (session) => {
  await session.exec("import subprocess; subprocess.run(['true'])"); // the first command loads the shell
  for (const command of ["sleep 1000", "while :; do :; done", "yes | awk '{ while (1) x++ }'"]) {
    const code = `import subprocess; subprocess.run(${JSON.stringify(command)}, shell=True)`;
    const result = await session.exec(code, { timeoutMs: 500 });
    assertEquals([result.status, result.stateKept], ["timeout", true], command);
  }
  assertEquals(value(await session.exec("subprocess.check_output(['echo', 'ok'])")), "b'ok\\n'");
});

commandsTest("Session.exec() continues the commands of the previous block", async (session) => {
  const start = `
import subprocess
child = subprocess.Popen("echo a; sleep 0.05; echo b", shell=True, stdout=subprocess.PIPE)
child.poll()`;
  assertEquals(value(await session.exec(start)), undefined);
  assertEquals((await session.shell("echo between; sleep 0.01")).stdout, "between\n");
  assertEquals(value(await session.exec("child.communicate(), child.poll()")), "((b'a\\nb\\n', None), 0)");
});

commandsTest(
  "Session.reset() by 'rewind' ends commands, which change no file afterwards",
  async (session) => {
    const start = `
import subprocess, time
for line in ("sleep 0.1; echo late > /tmp/late.txt", "while :; do echo x >> /tmp/loop.txt; done", "sleep 1000"):
    subprocess.Popen(line, shell=True)
time.sleep(0.05)`;
    for (let lease = 0; lease < 2; lease++) {
      assertEquals(value(await session.exec(start, { timeoutMs: TIMEOUT_MS })), undefined);
      await session.reset({ mode: "rewind" });
      const listed = await session.exec("import os, time; time.sleep(0.2); os.listdir('/tmp')");
      assertEquals(value(listed), "[]");
      assertEquals((await session.shell("sleep 0.2; ls /tmp")).stdout, "");
    }
    assertEquals(value(await session.exec("import threading; threading.active_count()")), "1");
  },
);

commandsTest("Session.shell() runs programs that run commands", async (session) => {
  await session.shell("mkdir -p d; cd d; export X=1");
  const program =
    "import subprocess; print(subprocess.run('pwd; echo $X; python3 -c \"print(2)\"', shell=True).returncode)";
  await session.exec(`with open("p.py", "w") as f: f.write(${JSON.stringify(program)})`);
  assertEquals((await session.shell("python ../p.py; echo $?")).stdout, "/home/pyodide/d\n1\n2\n0\n0\n");
  assertEquals((await session.shell("python ../p.py | wc -l")).stdout, "4\n");
  const stopped = await session.shell("python -c 'import os; os.system(\"sleep 1000\")'; echo after", {
    timeoutMs: 500,
  });
  assertEquals([stopped.status, stopped.stateKept, stopped.stdout], ["timeout", true, ""]);
});

commandsTest(
  "subprocess.run() ends the Python program of a command that does not wait for it",
  async (session) => {
    const code = String.raw`
import subprocess
line = "timeout 0.2 python3 -c 'while True: pass'; echo $?; timeout 20 python3 -c 'print(1)'; echo $?"
subprocess.check_output(line, shell=True)`;
    assertEquals(value(await session.exec(code, { timeoutMs: TIMEOUT_MS })), "b'124\\n1\\n0\\n'");
  },
);

commandsTest("subprocess runs 16 commands at a time, and the others afterwards", async (session) => {
  const code = `
import subprocess
children = [subprocess.Popen(["sleep", "0.01"]) for _ in range(50)]
{child.wait() for child in children}`;
  assertEquals(value(await session.exec(code, { timeoutMs: TIMEOUT_MS })), "{0}");
});

commandsTest(
  "a checkpoint is made after a command of the shell was killed, and none while it runs",
  async (session) => {
    const code = `
import subprocess
try: subprocess.run("echo begun; sleep 1000; echo x > left", shell=True, timeout=0.2)
except subprocess.TimeoutExpired: pass`;
    assertEquals((await session.exec(code)).status, "ok");
    const checkpoint = await session.checkpoint();
    const look = "import os; os.path.exists('left'), subprocess.check_output(['echo', 'next'])";
    assertEquals(value(await session.exec(look)), "(False, b'next\\n')");
    await session.restore(checkpoint);
    assertEquals(value(await session.exec(look)), "(False, b'next\\n')");
    await session.exec("running = subprocess.Popen(['sleep', '1000'])\nimport time; time.sleep(0.1)");
    await assertRejects(() => session.checkpoint(), CheckpointError);
    await session.exec("running.kill()");
    await session.checkpoint();
  },
);
