import { assertEquals } from "@std/assert";
import { causeOf, isSame } from "../../bench/compare/difference.ts";
import { readPrograms } from "../../bench/compare/programs.ts";
import { formatTable } from "../../bench/compare/table.ts";
import { TempFolder } from "../temp_folder.ts";

const printed = (stdout: string) => ({ stdout, stderr: "", exitCode: 0 });
const raised = (message: string) => ({ stdout: "", stderr: `Traceback …\n${message}\n`, exitCode: 1 });
const timedOut = { stdout: "", stderr: "", exitCode: null };

Deno.test("isSame() compares exit code, stdout and the last line of stderr", () => {
  assertEquals(
    isSame(raised("ValueError: 1"), { ...raised("ValueError: 1"), stderr: "ValueError: 1" }),
    true,
  );
  assertEquals(isSame(raised("ValueError: 1"), raised("ValueError: 2")), false);
  const missing = (path: string) =>
    raised(`ImportError: cannot import name 'gcd' from 'fractions' (${path})`);
  const session = missing("/lib/python314.zip/fractions.py");
  assertEquals(isSame(missing("/usr/lib/python3.14/fractions.py"), session), true);
  assertEquals(isSame(printed("1"), printed("1\n")), false);
  assertEquals(isSame(printed(""), { ...printed(""), exitCode: 1 }), false);
});

Deno.test("causeOf() names the cause of a difference", () => {
  const cases = [
    [timedOut, printed("1"), timedOut, "native time-out"],
    [printed("1"), printed("2"), printed("3"), "varies natively"],
    [printed("1"), timedOut, printed("1"), "time"],
    [printed("1"), { ...printed(""), exitCode: 137 }, printed("1"), "interpreter lost"],
    [printed("1"), raised("MemoryError"), printed("1"), "memory"],
    [printed("1"), raised("ModuleNotFoundError: No module named 'x'"), printed("1"), "missing module"],
    [printed("1"), raised("ValueError"), printed("1"), "exit code"],
    [raised("OSError: 1"), raised("OSError: 2"), raised("OSError: 1"), "message"],
    [printed("{(1, 2), (3,)}"), printed("{(3,), (1, 2)}"), printed("{(1, 2), (3,)}"), "order"],
    [
      printed("x 0.30000000000000004"),
      printed("x 0.3"),
      printed("x 0.30000000000000004"),
      "last digit of a float",
    ],
    [printed("10 2"), printed("10 3"), printed("10 2"), "output"],
    [printed("0.5"), printed("0.6"), printed("0.5"), "output"],
  ] as const;
  for (const [native, session, again, cause] of cases) assertEquals(causeOf(native, session, again), cause);
});

Deno.test("readPrograms() yields a program once for each of its inputs, with its other files", async () => {
  await using folder = await TempFolder.of({
    "a/one/main.py": "print(1)",
    "a/one/data/x.txt": "x",
    "b/deep/two/main.py": "print(input())",
    "b/deep/two/1.in": "1",
    "b/deep/two/2.in": "2",
  });
  const programs = await Array.fromAsync(readPrograms(folder.path));
  assertEquals(programs.map(({ name, corpus, stdin }) => [name, corpus, stdin]), [
    ["a/one", "a", ""],
    ["b/deep/two/1.in", "b", "1"],
    ["b/deep/two/2.in", "b", "2"],
  ]);
  assertEquals(Object.keys(programs[0]?.files ?? {}), ["data/x.txt"]);
});

Deno.test("formatTable() leaves differences that do not count out of the share", () => {
  const table = formatTable([
    { name: "a/1", corpus: "a" },
    { name: "a/2", corpus: "a", cause: "order" },
    { name: "b/1", corpus: "b", cause: "memory" },
    { name: "b/2", corpus: "b" },
  ]);
  assertEquals(
    table.replaceAll(/ +/g, " "),
    `corpus programs same share causes
a 2 1 100.00 % order 1
b 2 1 50.00 % memory 1
all 4 2 66.67 % order 1, memory 1
`,
  );
});
