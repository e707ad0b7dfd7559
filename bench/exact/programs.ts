/**
 * Random programs for the check of exact episodes. Each uses threads, processes, event loops, waits, alarms, random numbers,
 * files, commands and host tools in ways in which their results depend on time, order and randomness.
 */
import { deriveSeed, type Random, seededRandom } from "../../src/seeded_random.ts";

/** A program, and the families of the parts that it consists of. */
export interface ExactProgram {
  readonly code: string;
  readonly families: readonly string[];
}

/** Helpers that every program begins with. `note` records what the program sees. */
const HEAD =
  `import asyncio, collections, concurrent.futures, datetime, gc, hashlib, multiprocessing, os, queue, random, sched
import secrets, signal, subprocess, tempfile, threading, time, uuid
seen = []
def note(*values): seen.append(values)
`;
const END = `
text = repr(seen)
print(hashlib.sha256(text.encode()).hexdigest(), len(seen), text[:400])
time.time(), len(seen)`;

/** Returns an integer from `min` to `max`, both included. */
type Pick = (min: number, max: number) => number;

type Family = (pick: Pick) => string;

/** The parts of programs, by family. `{` and `}` of Python are doubled nowhere, as the texts are templates of this language. */
const FAMILIES: Readonly<Record<string, Family>> = {
  threads: (pick) => `
order = []
def work(number, count):
    for step in range(count):
        order.append(number)
        if step % ${pick(50, 900)} == 0: note("t", number, step, random.random())
threads = [threading.Thread(target=work, args=(number, ${pick(1, 30)} * 1000 + number)) for number in range(${
    pick(2, 6)
  })]
for thread in threads: thread.start()
for thread in threads: thread.join()
note(hashlib.sha256(bytes(order)).hexdigest(), sum(a != b for a, b in zip(order, order[1:])))`,
  locks: (pick) => `
lock, total, moments = threading.Lock(), [0], []
def add(number):
    for _ in range(${pick(20, 200)}):
        with lock:
            value = total[0]
            if value % ${pick(3, 9)} == 0: time.sleep(random.random() / ${pick(10, 1000)})
            total[0] = value + 1
            moments.append((number, round(time.monotonic(), 6)))
with concurrent.futures.ThreadPoolExecutor(${pick(2, 5)}) as pool: list(pool.map(add, range(${pick(2, 6)})))
note(total, moments[-3:], hashlib.sha256(repr(moments).encode()).hexdigest())`,
  queues: (pick) => `
items, out = queue.Queue(${pick(1, 5)}), []
def consume(number):
    while (item := items.get()) is not None:
        if item % ${pick(2, 7)} == 0: time.sleep(item / 5000)
        out.append((number, item, time.perf_counter_ns()))
consumers = [threading.Thread(target=consume, args=(number,)) for number in range(${pick(2, 4)})]
for thread in consumers: thread.start()
for item in range(${pick(20, 120)}): items.put(item)
for _ in consumers: items.put(None)
for thread in consumers: thread.join()
try: items.get(timeout=${pick(1, 5)})
except queue.Empty: note("empty", time.monotonic())
note(out)`,
  asyncio: (pick) => `
async def step(number):
    for turn in range(${pick(1, 5)}):
        await asyncio.sleep(random.random() * ${pick(1, 60)})
        note("a", number, turn, time.monotonic())
async def main():
    jobs = [asyncio.create_task(step(number)) for number in range(${pick(2, 12)})]
    done, left = await asyncio.wait(jobs, timeout=${pick(5, 60)})
    note(len(done), len(left))
    for job in left: job.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    try: await asyncio.wait_for(asyncio.sleep(100), ${pick(1, 9)})
    except TimeoutError: note("timeout", time.monotonic())
    note(await asyncio.to_thread(time.sleep, 0.25), time.monotonic())
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()`,
  sleeps: (pick) => `
began = time.time()
for _ in range(${pick(1, 6)}):
    time.sleep(random.expovariate(1 / ${pick(1, 900)}))
    note(time.time() - began, datetime.datetime.now().isoformat(), time.process_time())
jobs = sched.scheduler(time.time, time.sleep)
for number in range(${pick(2, 6)}): jobs.enter(random.random() * ${pick(1, 99)}, 1, note, ("job", number))
jobs.run()
note(time.time())`,
  alarms: (pick) => `
class Alarm(Exception): pass
def ring(*_): raise Alarm
signal.signal(signal.SIGALRM, ring)
count = 0
signal.setitimer(signal.ITIMER_REAL, ${pick(1, 40)} / 1000)
try:
    while True: count += 1
except Alarm: note("alarm", count, time.monotonic())
signal.alarm(${pick(1, 100)})
try: time.sleep(1000)
except Alarm: note("alarm", time.monotonic())
signal.signal(signal.SIGALRM, signal.SIG_DFL)`,
  random: (pick) => `
note(random.random(), random.gauss(0, 1), random.sample(range(1000), ${
    pick(2, 9)
  }), uuid.uuid4().hex, secrets.token_hex(4))
note(os.urandom(${pick(1, 40)}).hex(), hash("${pick(0, 999)}"), [*{f"k{n}" for n in range(${pick(3, 30)})}])
note(id(object()), [id(note)], tempfile.mktemp(), random.SystemRandom().random(), len(gc.get_objects()) > 0)`,
  processes: (pick) => `
def square(number):
    time.sleep(number / ${pick(1, 50)})
    return number * number, os.getpid(), round(time.monotonic(), 6), random.random()
with multiprocessing.Pool(${pick(2, 4)}) as pool:
    note(pool.map(square, range(${pick(2, 8)})))
    note(sorted(pool.imap_unordered(square, range(${pick(2, 6)}))))
def send(results, number): results.put((number, time.time()))
results = multiprocessing.Queue()
children = [multiprocessing.Process(target=send, args=(results, number)) for number in range(${pick(1, 4)})]
for child in children: child.start()
note([results.get() for _ in children])
for child in children: child.join()
note([child.exitcode for child in children])`,
  files: (pick) => `
with tempfile.TemporaryDirectory() as folder:
    for number in range(${pick(1, 8)}):
        with open(os.path.join(folder, uuid.uuid4().hex), "w") as file: file.write("x" * number)
        time.sleep(${pick(0, 3)})
    note(sorted((e.name, e.stat().st_mtime, e.stat().st_ino, e.stat().st_size) for e in os.scandir(folder)))
with open("kept${pick(0, 9)}", "a") as file: file.write(f"{time.time()} {random.random()}\\n")
note([(name, os.stat(name).st_mtime_ns, os.stat(name).st_ctime_ns) for name in sorted(os.listdir("."))])`,
  tools: (pick) => `
from paddock import tools
note(tools.delay(ms=${pick(0, 30)}), time.monotonic())
async def call(number):
    value = await tools.delay.call_async(ms=(number * 7) % ${pick(2, 25)})
    note("call", number, value, time.monotonic())
async def calls():
    await asyncio.gather(*(call(number) for number in range(${
    pick(2, 6)
  })), asyncio.sleep(0.0005), asyncio.sleep(2))
loop = asyncio.new_event_loop()
loop.run_until_complete(calls())
loop.close()
workers = [threading.Thread(target=lambda n=n: note("threads", n, tools.delay(ms=n * ${
    pick(1, 9)
  }), time.monotonic())) for n in range(3)]
for worker in workers: worker.start()
spun = 0
while any(worker.is_alive() for worker in workers): spun += 1
note(spun)`,
  commands: (pick) => `
note(subprocess.run("date +%s.%N; sleep ${pick(1, 30)}; echo $RANDOM; (sleep 2; echo a; date +%s) & (sleep ${
    pick(1, 4)
  }; echo b) & wait; timeout 2 sleep 9; echo $?; date; ls -la --full-time . | tail -n +2 | sha256sum",
    shell=True, capture_output=True, text=True))
child = subprocess.Popen(["python3", "-c", "import time, random; time.sleep(${
    pick(1, 9)
  }); print(time.time(), random.random())"], stdout=subprocess.PIPE)
note(child.poll(), child.communicate()[0], child.returncode, time.monotonic())`,
  recursion: (pick) => `
def depth(number):
    try: return depth(number + 1)
    except RecursionError: return number
note(depth(0) > 100, (3 ** ${pick(1000, 20_000)}).bit_length(), sum(range(${
    pick(10_000, 500_000)
  })), time.monotonic())
nested = []
for _ in range(${pick(100, 20_000)}): nested = [nested]
try: note(len(repr(nested)))
except RecursionError as error: note(str(error))
while nested: nested = nested[0]
note(time.process_time())`,
};

/** Names of the families of parts. */
export const FAMILY_NAMES: readonly string[] = Object.keys(FAMILIES);

/** Returns a program of two to four parts, the same for the same seed. */
export function exactProgram(seed: number): ExactProgram {
  const random = seededRandom(deriveSeed(seed, 48));
  const pick = (min: number, max: number) => min + Math.floor(random() * (max - min + 1));
  const families = shuffled(FAMILY_NAMES, random).slice(0, pick(2, 4));
  const parts = families.map((name) => FAMILIES[name]?.(pick) ?? "");
  return { code: `${HEAD}${parts.join("\n")}${END}`, families };
}

function shuffled(names: readonly string[], random: Random): string[] {
  return names.map((name) => [random(), name] as const).sort(([a], [b]) => a - b).map(([, name]) => name);
}
