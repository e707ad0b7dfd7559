import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { replyAction } from "../../../src/envs/action.ts";
import { ChatEnv } from "../../../src/envs/chat_env.ts";
import { SandboxError } from "../../../src/errors.ts";
import { type PythonTools, pythonTools } from "../../../src/plugins/python/python_tools.ts";
import { SandboxPool } from "../../../src/sandbox/pool.ts";
import { loadProfile } from "../../../src/sandbox/profile/profile.ts";
import type { ToolResult } from "../../../src/tools/tool_result.ts";
import { TransformedEnv } from "../../../src/transforms/transformed_env.ts";
import { TempFolder } from "../../temp_folder.ts";

const profile = await loadProfile("python");

/** A file of tools, with a pool for it. */
class Setup implements AsyncDisposable {
  readonly pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });
  readonly printed: string[] = [];

  private constructor(readonly folder: TempFolder) {}

  static async of(text: string): Promise<Setup> {
    return new Setup(await TempFolder.of({ "t.py": text }));
  }

  get path(): string {
    return join(this.folder.path, "t.py");
  }

  async open(): Promise<PythonTools> {
    return await pythonTools(this.path, {
      pool: this.pool,
      onPrint: (text) => void this.printed.push(text),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    await this.folder[Symbol.asyncDispose]();
  }
}

async function openEnv(tools: PythonTools): Promise<TransformedEnv> {
  const env = new TransformedEnv(new ChatEnv(), [tools.makeTransform({ timeoutMs: 5_000 })]);
  await env.reset({ id: "1", query: "q" });
  return env;
}

async function call(env: TransformedEnv, name: string, args: unknown): Promise<ToolResult> {
  const { toolResults } = await env.step(replyAction(`<tool>${name}\n${JSON.stringify(args)}</tool>`));
  const [result] = toolResults;
  if (result === undefined) throw new Error("no result");
  return result;
}

Deno.test("pythonTools() describes functions by their type hints and docstrings", async () => {
  await using setup = await Setup.of(`
from __future__ import annotations
import dataclasses, enum
from typing import Annotated, Literal, NotRequired, Optional, TypedDict

class Unit(enum.Enum):
    KM = "km"
    MILE = "mile"

@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0

class Note(TypedDict):
    text: str
    tag: NotRequired[str]

def google(city: str, days: int = 3, unit: Unit = Unit.KM) -> str:
    """Returns the weather.

    It is made up.

    Args:
        city: Name of the city,
            in English.
        days (int): Number of days.

    Returns:
        A text.
    """

def numpy_style(points: list[Point], mode: Literal["a", "b"]):
    """Adds points.

    Parameters
    ----------
    points : list of Point
        The points.
    """

def sphinx(note: Note, pair: tuple[int, str], level: Optional[int] = None, where: Annotated[str, "A place."] = ""):
    """Keeps a note.

    :param note: The note.
    :returns: nothing
    """

def _private(x): pass
`);
  const { specs } = await setup.open();
  const point = {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "number" } },
    required: ["x"],
    additionalProperties: false,
  };
  const closed = { type: "object", additionalProperties: false };
  assertEquals(specs, [
    {
      name: "google",
      description: "Returns the weather.\n\nIt is made up.",
      parameters: {
        ...closed,
        properties: {
          city: { type: "string", description: "Name of the city, in English." },
          days: { type: "integer", default: 3, description: "Number of days." },
          unit: { enum: ["km", "mile"] },
        },
        required: ["city"],
      },
    },
    {
      name: "numpy_style",
      description: "Adds points.",
      parameters: {
        ...closed,
        properties: {
          points: { type: "array", items: point, description: "The points." },
          mode: { enum: ["a", "b"] },
        },
        required: ["points", "mode"],
      },
    },
    {
      name: "sphinx",
      description: "Keeps a note.",
      parameters: {
        ...closed,
        properties: {
          note: {
            ...closed,
            properties: { text: { type: "string" }, tag: { type: "string" } },
            required: ["text"],
            description: "The note.",
          },
          pair: {
            type: "array",
            prefixItems: [{ type: "integer" }, { type: "string" }],
            minItems: 2,
            maxItems: 2,
          },
          level: { anyOf: [{ type: "integer" }, { type: "null" }] },
          where: { type: "string", default: "", description: "A place." },
        },
        required: ["note", "pair"],
      },
    },
  ]);
});

Deno.test("pythonTools() passes arguments in the types of the hints and returns JSON", async () => {
  await using setup = await Setup.of(`
import dataclasses, enum
class Unit(enum.Enum):
    KM = "km"

@dataclasses.dataclass
class Point:
    x: float
    unit: Unit = Unit.KM

def show(point: Point, many: list[float], pair: tuple[int, str], level: int | None = None) -> str:
    return repr([point, many, pair, level])

async def data(n: int):
    return {"n": n, "list": (1, 2.5, None, True)}
`);
  await using env = await openEnv(await setup.open());
  const { value } = await call(env, "show", { point: { x: 1 }, many: [1, 2.5], pair: [1, "b"], level: 2 });
  assertEquals(value, "[Point(x=1.0, unit=<Unit.KM: 'km'>), [1.0, 2.5], (1, 'b'), 2]");
  assertEquals((await call(env, "data", { n: 3 })).value, { n: 3, list: [1, 2.5, null, true] });
  const refused = await call(env, "data", { n: "three" });
  assertEquals(refused.status === "ok", false);
});

Deno.test("pythonTools() keeps the state of an episode, and no other episode sees it", async () => {
  await using setup = await Setup.of(`
notes: list[str] = []
def add(text: str) -> int:
    notes.append(text)
    return len(notes)
`);
  const tools = await setup.open();
  await using one = await openEnv(tools);
  await using other = await openEnv(tools);
  assertEquals((await call(one, "add", { text: "a" })).value, 1);
  assertEquals((await call(one, "add", { text: "b" })).value, 2);
  assertEquals((await call(other, "add", { text: "c" })).value, 1);
  await one.reset({ id: "2", query: "q" });
  assertEquals((await call(one, "add", { text: "d" })).value, 1);
});

Deno.test("pythonTools() copies the state of an episode with a checkpoint of its env", async () => {
  await using setup = await Setup.of(
    "total = 0\ndef add(n: int) -> int:\n    global total\n    total += n\n    return total\n",
  );
  await using env = await openEnv(await setup.open());
  await call(env, "add", { n: 2 });
  const checkpoint = await env.checkpoint();
  assertEquals((await call(env, "add", { n: 3 })).value, 5);
  await using copy = await checkpoint.copy();
  const { toolResults } = await copy.step(replyAction(`<tool>add\n{"n": 10}</tool>`));
  assertEquals(toolResults[0]?.value, 12);
});

Deno.test("pythonTools() answers exceptions and lost interpreters, and shows the developer the line", async () => {
  await using setup = await Setup.of(`
import os
count = 0
def fail(how: str):
    global count
    count += 1
    if how == "raise":
        raise ValueError("no such city")
    if how == "set":
        return {1, 2}
    if how == "die":
        os._exit(3)
    return count
`);
  await using env = await openEnv(await setup.open());
  const raised = await call(env, "fail", { how: "raise" });
  assertEquals([raised.status === "ok", raised.text.includes(setup.path)], [false, false]);
  assertStringIncludes(raised.text, "ValueError: no such city");
  assertStringIncludes(setup.printed.splice(0).join(""), `File "${setup.path}", line 8, in fail`);
  assertStringIncludes(
    (await call(env, "fail", { how: "set" })).text,
    "fail() must return values of JSON: it returned {1, 2}, a value of type set",
  );
  assertStringIncludes(setup.printed.splice(0).join(""), `(${setup.path}, line 4)`);
  assertEquals((await call(env, "fail", { how: "count" })).value, 3);
  assertEquals((await call(env, "fail", { how: "die" })).status === "ok", false);
  assertEquals((await call(env, "fail", { how: "count" })).value, 1);
});

Deno.test("pythonTools() does not start with functions that it cannot describe", async () => {
  const wrong: Readonly<Record<string, string>> = {
    "x = 1": "it must define functions with type hints, which are the tools: found none",
    "\ndef f(x): pass": "the parameter 'x' of f() must have a type hint, as in 'x: str': found none (",
    "def f(*x: int): pass": "the parameters of f() must have names: found '*x: int'",
    "def f(x: set[int]): pass": "the type of 'x' of f() must be one of JSON",
    "def f(x: 'Unknown'): pass": "the type hints of f() must name known types: name 'Unknown' is not defined",
    "tools = [1]": "'tools' must be a list of functions: found [1]",
    "def f(): pass\ntools = [f, f]": "each tool must have a unique name: f() is there twice",
  };
  for (const [text, message] of Object.entries(wrong)) {
    await using setup = await Setup.of(text);
    const error = await assertRejects(() => setup.open(), SandboxError);
    assertStringIncludes(error.message, message);
    assertStringIncludes(error.message, "t.py");
  }
});
