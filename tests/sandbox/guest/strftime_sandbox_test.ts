import { assertEquals } from "@std/assert";
import { withSession } from "../shared_session.ts";
import { value } from "../started.ts";
import table from "./strftime_glibc.json" with { type: "json" };

Deno.test("time.strftime() returns what glibc's function returns for each letter, flag, width and modifier", async () => {
  await withSession(async (session) => {
    const code = `import time
def differences(table):
  found = []
  for row in table["rows"]:
    fields = tuple(row["time"])
    at = fields if len(fields) == 9 else time.struct_time(fields)
    for prefix, texts in row["texts"].items():
      for letter, expected in zip(table["letters"], texts.split("|"), strict=True):
        text = time.strftime(f"%{prefix}{letter}", at)
        if text != expected: found.append((f"%{prefix}{letter}", fields, text, expected))
  for format, expected in table["formats"].items():
    text = time.strftime(format, tuple(table["rows"][0]["time"]))
    if text != expected: found.append((format, text, expected))
  return found
differences(table)`;
    assertEquals(value(await session.exec(code, { inputs: { table } })), "[]");
  });
});

Deno.test("date and datetime format each directive as CPython 3.14 on Linux", async () => {
  await withSession(async (session) => {
    const code = `import datetime, time
at = datetime.datetime(2024, 1, 5, 15, 4, 9, 1234)
early = datetime.date(45, 1, 1)
[at.strftime("%l:%M %P"), at.strftime("%-d %B %Y, %-I:%M %P"), f"{at:%k%%}", at.date().strftime("100%"), at.strftime("%:z %f %q"),
 early.strftime("%Y %F %C %-Y %%Y %c"), datetime.date(1, 1, 1).strftime("%G"), time.strftime("%Y", (45, 1, 1, 0, 0, 0, 0, 1, 0)),
 time.strftime("%Z", time.localtime()), at.strftime("%k\\0%l")]`;
    const expected =
      "[' 3:04 pm', '5 January 2024, 3:04 pm', '15%', '100%', ' 001234 %q', '0045 0045-01-01 00 45 %Y Sun Jan  1 00:00:00 45', " +
      "'0001', '45', 'UTC', '15\\x00 3']";
    assertEquals(value(await session.exec(code)), expected);
  });
});

Deno.test("time.strftime() refuses what CPython refuses", async () => {
  await withSession(async (session) => {
    const code = `import time
def refusal(*arguments):
  try: return time.strftime(*arguments)
  except Exception as error: return f"{type(error).__name__}: {error}"
[refusal(*each) for each in ((5,), ("%k", 5), ("%k", (1, 2)), ("%k", (2024, 13, 1, 0, 0, 0, 0, 0, 0)))]`;
    const expected = "['TypeError: strftime() argument 1 must be str, not int', " +
      "'TypeError: Tuple or struct_time argument required', 'TypeError: strftime(): illegal time tuple argument', " +
      "'ValueError: month out of range']";
    assertEquals(value(await session.exec(code)), expected);
  });
});
