import { assertEquals, assertStringIncludes } from "@std/assert";
import { PaddockClient } from "../../mod/client.ts";
import { withPython } from "./with_python.ts";

const PNG = "iVBORw0KGgo=";
const CODE = String.raw`
class Plot:
    def __repr__(self): return "plot"
    def _repr_png_(self): return b"\x89PNG\r\n\x1a\n"
class Table:
    def __repr__(self): return "table"
    def _repr_html_(self): return "<table></table>"
    def _repr_mimebundle_(self, **options): return {"application/vnd.x+json": {"a": 1}}
display(Plot())
print("out")
Table()`;
const PLOT = { "image/png": PNG, "text/plain": "plot" };
/** The value of the last expression, whose text is `value`. */
const TABLE = { "application/vnd.x+json": { a: 1 }, "text/html": "<table></table>" };

Deno.test("/v1 returns shown values, and streams them in order with the output", async () => {
  await withPython(async (server) => {
    const { body: { id } } = await server.send("POST", "/v1/sessions", {});
    const { body } = await server.send("POST", `/v1/sessions/${id}/exec`, { code: CODE });
    assertEquals([body.display, body.value, body.droppedDisplays], [[PLOT, TABLE], "table", undefined]);
    const many = { code: "for i in range(105): display(i)" };
    const batch = await server.send("POST", "/v1/exec:batch", { items: [many, { code: "1" }] });
    const [limited, plain] = batch.body.results;
    assertEquals([limited.result.display.length, limited.result.droppedDisplays], [100, 5]);
    assertEquals("display" in plain.result, false);
    const stream = await server.send("POST", `/v1/sessions/${id}/stream`, { code: CODE });
    const events = String(stream.body).match(/^event: (.*)\ndata: (.*)$/gm) ?? [];
    const shown = events.filter((event) => event.startsWith("event: display"));
    assertEquals(shown.map((event) => JSON.parse(event.split("\ndata: ")[1] ?? "")), [{ data: PLOT }, {
      data: TABLE,
    }]);
    assertStringIncludes(events[0] ?? "", "display");
    assertStringIncludes(events.at(-1) ?? "", '"display":[');
  });
});

Deno.test("PaddockClient calls onDisplay with shown values and returns them", async () => {
  await withPython(async ({ app }) => {
    const fetch = async (url: string | URL | Request, init?: RequestInit) =>
      await app.fetch(new Request(url, init));
    await using client = new PaddockClient({ url: "http://localhost", fetch });
    await using lease = await client.acquire();
    const bundles: unknown[] = [];
    const result = await lease.session.exec(CODE, { onDisplay: (bundle) => bundles.push(bundle) });
    assertEquals(result.display, [PLOT, TABLE]);
    assertEquals(bundles, [PLOT, TABLE]);
  });
});

Deno.test("/execute sends shown values in the fields of E2B's results", async () => {
  await withPython(async (server) => {
    const { body } = await server.send("POST", "/execute", { code: CODE });
    const lines = String(body).trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.filter(({ type }) => type === "result"), [
      { type: "result", png: PNG, text: "plot", is_main_result: false },
      {
        type: "result",
        html: "<table></table>",
        text: "table",
        extra: { "application/vnd.x+json": { a: 1 } },
        is_main_result: true,
      },
    ]);
    const failed = await server.send("POST", "/execute", { code: "display(1)\n1/0" });
    const types = String(failed.body).trimEnd().split("\n").map((line) => JSON.parse(line).type);
    assertEquals(types.slice(1), ["result", "error", "end_of_execution"]);
  });
});

Deno.test("/run_jupyter returns shown values as the display of their cell", async () => {
  await withPython(async ({ send }) => {
    const { body } = await send("POST", "/run_jupyter", { cells: [CODE, "1 + 1", "display(3)\n4"] });
    assertEquals(body.cells.map(({ display }: { display: unknown }) => display), [
      [PLOT, { ...TABLE, "text/plain": "table" }],
      [{ "text/plain": "2" }],
      [{ "text/plain": "3" }, { "text/plain": "4" }],
    ]);
  });
});
