import { assertEquals, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import { pythonStubs, tool, withPythonNames } from "../../../mod/tools.ts";
import { toolSpec } from "../../../src/tools/tool_arguments.ts";

function stubs(...specs: Parameters<typeof withPythonNames>[0][number][]): string {
  return pythonStubs(withPythonNames(specs));
}

Deno.test("withPythonNames() makes identifiers, and keeps names apart", () => {
  const names = ["get-user", "get_user", "get.user", "class", "2fa", "ok", "überall", "match"];
  const specs = names.map((name) => ({ name, description: "", parameters: {} }));
  assertEquals(withPythonNames(specs).map(({ pythonName }) => pythonName), [
    "get_user_2",
    "get_user",
    "get_user_3",
    "class_",
    "tool_2fa",
    "ok",
    "tool__berall",
    "match",
  ]);
});

Deno.test("pythonStubs() shows types, defaults and descriptions", () => {
  const search = tool({
    name: "search",
    description: "Searches the catalogue.",
    parameters: z.object({
      query: z.string().describe("What to look for."),
      limit: z.int().default(10),
      order: z.enum(["price", "date"]).optional(),
      tags: z.array(z.string()).optional(),
      filter: z.object({ min: z.number(), max: z.number().nullable(), note: z.string().optional() }),
    }),
    run: () => [],
  });
  assertEquals(
    stubs(toolSpec(search)),
    `class SearchFilter(TypedDict):
    min: float
    max: float | None
    note: NotRequired[str]

def search(query: str, limit: int = 10, order: Literal["price", "date"] = ..., tags: list[str] = ..., *, filter: SearchFilter) -> Any:
    """
    Searches the catalogue.
    query: What to look for.
    """`,
  );
});

Deno.test("pythonStubs() names what Python cannot write, and stays Python whatever a description has", () => {
  const spec = {
    name: "get-item",
    description: 'Gets """one""" \\ item.\n  Indented.',
    parameters: {
      type: "object",
      properties: {
        "item-id": { type: "integer" },
        "class": { const: "a" },
        flag: { type: ["boolean", "null"], default: true },
      },
      required: ["item-id"],
    },
  };
  assertEquals(
    stubs(spec),
    `def get_item(flag: bool | None = True, **others: Any) -> Any:
    """
    Gets \\"\\"\\"one\\"\\"\\" \\\\ item.
      Indented.
    The tool is named "get-item".
    Further arguments, given as **{"name": value}: "item-id", "class"
    """`,
  );
});

Deno.test("pythonStubs() follows references within a schema, and ends where they go in a circle", () => {
  const parameters = {
    type: "object",
    properties: {
      node: { $ref: "#/$defs/node" },
      loop: { $ref: "#/$defs/loop" },
      other: { $ref: "https://x.test/y" },
    },
    $defs: {
      node: { type: "object", properties: { next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } } },
      loop: { $ref: "#/$defs/loop" },
    },
  };
  const text = stubs({ name: "walk", description: "Walks.", parameters });
  assertEquals(
    text.includes("def walk(node: WalkNode = ..., loop: Any = ..., other: Any = ...) -> Any:"),
    true,
    text,
  );
  assertStringIncludes(text, 'class WalkNode(TypedDict):\n    next: NotRequired["WalkNode | None"]');
  assertEquals(text.match(/^class /gm)?.length, 1);
  const tree = { type: "object", properties: { parts: { type: "array", items: { $ref: "#/$defs/tree" } } } };
  const both = { type: "object", properties: { a: { $ref: "#/$defs/tree" }, b: { $ref: "#/$defs/tree" } } };
  const shared = stubs({ name: "cut", description: "", parameters: { ...both, $defs: { tree } } });
  assertStringIncludes(shared, 'class CutA(TypedDict):\n    parts: NotRequired[list["CutA"]]');
  assertStringIncludes(shared, "def cut(a: CutA = ..., b: CutA = ...) -> Any:\n    ...");
});

Deno.test("withPythonNames() keeps functions apart from the builtins, and modules apart from names of paddock", () => {
  const specsOf = (...names: string[]) => names.map((name) => ({ name, description: "", parameters: {} }));
  const functions = withPythonNames(specsOf("open", "open_", "search", "is"), "functions");
  assertEquals(functions.map(({ alias }) => alias), ["open__2", "open_", "search", "is_"]);
  const names = [
    "shop.buy",
    "shop.get-item",
    "shop.get_item",
    "tools.run",
    "my-shop.buy",
    "my_shop.buy",
    "clock",
    "a.b.c",
  ];
  const modules = withPythonNames(specsOf(...names), "modules");
  assertEquals(modules.map(({ module = "", alias = "" }) => `${module}.${alias}`), [
    "shop.buy",
    "shop.get_item_2",
    "shop.get_item",
    "tools_.run",
    "my_shop_2.buy",
    "my_shop.buy",
    ".",
    "a.b_c",
  ]);
  assertEquals(new Set(modules.map(({ pythonName }) => pythonName)).size, names.length);
});

Deno.test("pythonStubs() puts functions of a module behind the import of the module", () => {
  const specs = ["shop.buy", "shop.get-item", "clock"].map((name) => ({
    name,
    description: `Does ${name}.`,
    parameters: {},
  }));
  assertEquals(
    pythonStubs(withPythonNames(specs, "modules")),
    `# from paddock import shop

def buy() -> Any:
    """Does shop.buy."""

def get_item() -> Any:
    """
    Does shop.get-item.
    The tool is named "shop.get-item".
    """

def clock() -> Any:
    """Does clock."""`,
  );
});
