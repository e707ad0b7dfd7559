import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Session } from "../../../mod/sandbox.ts";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";

const SET_ZONE = `import datetime, os, time
def zone(name):
  os.environ["TZ"] = name
  time.tzset()
  at = time.localtime(1751328000)
  return time.tzname, time.timezone, time.altzone, time.mktime((2025, 1, 1, 12, 0, 0, 0, 0, -1)), at[2:5], at.tm_zone
`;

/** What \`zone\` returns for each value of TZ, in CPython on Linux. */
const ZONES: Record<string, string> = {
  "Foo": "(('Foo', 'Foo'), 0, 0, 1735732800.0, (1, 0, 0), 'Foo')",
  "EST5EDT": "(('EST', 'EDT'), 18000, 14400, 1735750800.0, (30, 20, 0), 'EDT')",
  "EST5": "(('EST', 'EST'), 18000, 18000, 1735750800.0, (30, 19, 0), 'EST')",
  "Europe/Paris": "(('CET', 'CEST'), -3600, -7200, 1735729200.0, (1, 2, 0), 'CEST')",
  ":Asia/Kolkata": "(('IST', 'IST'), -19800, -19800, 1735713000.0, (1, 5, 30), 'IST')",
  "CET-1CEST": "(('CET', 'CEST'), -3600, -7200, 1735729200.0, (1, 2, 0), 'CEST')",
  "<+03>-3": "(('+03', '+03'), -10800, -10800, 1735722000.0, (1, 3, 0), '+03')",
  "GMT0BST,M3.5.0/1,M10.5.0": "(('GMT', 'BST'), 0, -3600, 1735732800.0, (1, 1, 0), 'BST')",
  "Australia/Sydney": "(('AEST', 'AEDT'), -36000, -39600, 1735693200.0, (1, 10, 0), 'AEST')",
};

Deno.test("time.tzset() sets the zone of time and datetime until a rewind", async () => {
  await withSession(async (session) => {
    value(await session.exec(SET_ZONE));
    for (const [name, expected] of Object.entries(ZONES)) {
      assertEquals(value(await session.exec(`zone(${JSON.stringify(name)})`)), expected, name);
    }
    const code = `zone("America/New_York")
str(datetime.datetime.fromtimestamp(1.7e9).astimezone()), time.mktime((2025, 3, 9, 2, 30, 0, 0, 0, 1)), time.ctime(1.6e9)`;
    const expected = "('2023-11-14 17:13:20-05:00', 1741501800.0, 'Sun Sep 13 08:26:40 2020')";
    assertEquals(value(await session.exec(code)), expected);
    await session.reset({ mode: "rewind" });
    const after =
      "import time\ntime.tzname, time.strftime('%Z'), time.localtime(0)[3], 'TZ' in __import__('os').environ";
    assertEquals(value(await session.exec(after)), "(('UTC', 'UTC'), 'UTC', 0, False)");
  });
});

/** Reads the clock 2,000 times. Returns the first value, the last, the number of values, and the smallest step. */
const READ_CLOCK = `import datetime, time
values = [time.time_ns() for _ in range(2000)]
micros = {datetime.datetime.now().microsecond % 1000 for _ in range(2000)}
values[0], values[-1], len(set(values)), min(b - a for a, b in zip(values, values[1:])), len(micros)`;

Deno.test("time.time_ns() advances by less than a microsecond and agrees with the host's clock, also after a rewind, a checkpoint and a fork", async () => {
  await withSession(async (session, sandbox) => {
    const check = async (session: Session) => {
      const before = Date.now();
      const values = (value(await session.exec(READ_CLOCK)) ?? "").slice(1, -1).split(", ");
      const [first = NaN, last = NaN, count = NaN, step = NaN, micros = NaN] = values.map(Number);
      const after = Date.now();
      assert(Math.floor(first / 1e6) >= before, `${first} ns is before ${before} ms`);
      assert(Math.floor(last / 1e6) <= after, `${last} ns is after ${after} ms`);
      assert(
        count > 1900 && step >= 0 && micros > 100,
        `${count} values, step ${step} ns, ${micros} fractions`,
      );
    };
    await check(session);
    await session.reset({ mode: "rewind" });
    await check(session);
    const checkpoint = await session.checkpoint();
    await session.restore(checkpoint);
    await check(session);
    await using other = await sandbox.openSession();
    await other.restore(checkpoint);
    await check(other);
    const resolution = "import time\ntime.get_clock_info('time').resolution < 1e-5";
    assertEquals(value(await session.exec(resolution)), "True");
  });
});

Deno.test("time.process_time() counts neither waits nor the time before a rewind", async () => {
  await withSession(async (session) => {
    const code = `import time
def busy():
  end = time.monotonic() + 0.05
  while time.monotonic() < end: pass
start = time.process_time(), time.thread_time_ns(), time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)
time.sleep(0.5)
slept = time.process_time() - start[0]
busy()
slept < 0.4, time.process_time() - start[0] >= 0.049, time.thread_time_ns() - start[1] >= 49_000_000`;
    assertEquals(value(await session.exec(code)), "(True, True, True)");
    const spin = "import time\nwhile time.process_time() < 2: pass\ntime.process_time() >= 2";
    assertEquals(value(await session.exec(spin)), "True");
    await session.reset({ mode: "rewind" });
    assertEquals(value(await session.exec("import time\ntime.process_time() < 2")), "True");
  });
});

Deno.test("resource remembers limits until a rewind, and returns the usage", async () => {
  await withSession(async (session) => {
    await session.reset({ mode: "fresh" }); // another test may have grown the heap, which counts as used
    const code = `import resource
limit = resource.RLIMIT_AS
before = resource.getrlimit(limit), resource.getrlimit(resource.RLIMIT_STACK)
resource.setrlimit(limit, (4 << 30, 4 << 30))
def error(soft, hard):
  try: resource.setrlimit(limit, (soft, hard))
  except ValueError as error: return str(error)
used = resource.getrusage(resource.RUSAGE_SELF)
held = bytearray(50 << 20)
more = resource.getrusage(resource.RUSAGE_SELF)
before, resource.getrlimit(limit), error(2, 1), resource.getpagesize(), used.ru_utime > 0, more.ru_maxrss - used.ru_maxrss >= 30000`;
    const expected =
      "(((-1, -1), (8388608, -1)), (4294967296, 4294967296), 'current limit exceeds maximum limit', 4096, True, True)";
    assertEquals(value(await session.exec(code)), expected);
    await session.reset({ mode: "rewind" });
    assertEquals(
      value(await session.exec("import resource\nresource.getrlimit(resource.RLIMIT_AS)")),
      "(-1, -1)",
    );
  });
});

Deno.test("signal.setitimer() has timers of CPU time", async () => {
  await withSession(async (session) => {
    const code = `import signal, time
got = []
for number in (signal.SIGVTALRM, signal.SIGPROF): signal.signal(number, lambda number, frame: got.append(number))
signal.setitimer(signal.ITIMER_VIRTUAL, 0.02, 0.02)
signal.setitimer(signal.ITIMER_PROF, 0.02)
while got.count(signal.SIGVTALRM) < 3 or not got.count(signal.SIGPROF): pass
signal.getitimer(signal.ITIMER_VIRTUAL)[1], signal.setitimer(signal.ITIMER_PROF, 0), signal.setitimer(signal.ITIMER_VIRTUAL, 0)[1]`;
    assertEquals(value(await session.exec(code)), "(0.02, (0.0, 0.0), 0.02)");
    const end =
      "signal.signal(signal.SIGPROF, signal.SIG_DFL)\nsignal.setitimer(signal.ITIMER_PROF, 0.01)\nwhile True: pass";
    const result = await session.exec(end);
    assertEquals([result.status, "exitCode" in result && result.exitCode], ["exited", 155]);
  });
});

Deno.test("faulthandler.dump_traceback_later() prints the stacks of all threads, and can end the program", async () => {
  const code = `import faulthandler, threading, time
faulthandler.enable()
threading.Thread(target=time.sleep, args=(60,), name="other", daemon=True).start()
faulthandler.dump_traceback_later(30)
faulthandler.cancel_dump_traceback_later()
def spin():
  faulthandler.dump_traceback_later(0.05, exit=True)
  while True: pass
spin()`;
  await withSession(async (session) => {
    const result = await session.exec(code, { argv: ["main.py"] });
    assertEquals(result.status, "crashed");
    assertMatch(
      result.stderr,
      /^Timeout \(0:00:00\.050000\)!\nThread 0x[0-9a-f]{16} \[python3\] \(most recent/,
    );
    const main =
      '  File "/home/pyodide/main.py", line 8 in spin\n  File "/home/pyodide/main.py", line 9 in <module>\n';
    assert(result.stderr.includes(main), result.stderr);
    assert(result.stderr.includes("in _bootstrap\n") && !result.stderr.includes("<paddock"), result.stderr);
  });
});
