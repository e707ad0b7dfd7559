import { assertEquals, assertStringIncludes } from "@std/assert";
import type { MimeBundle } from "../../src/sandbox/contract/exec.ts";
import { withSession } from "./shared_session.ts";

/** A package with the interface of matplotlib that its backends have. */
const MATPLOTLIB = {
  "matplotlib/__init__.py": "",
  "matplotlib/figure.py":
    "class Figure:\n    def __init__(self, number):\n        self.number, self.canvas = number, Canvas(self)\n\n" +
    "class Canvas:\n    def __init__(self, figure):\n        self.figure = figure\n" +
    "    def print_figure(self, file, format, bbox_inches):\n        file.write(b'PNG %d' % self.figure.number)\n",
  "matplotlib/_pylab_helpers.py":
    "class Gcf:\n    figs = []\n    @classmethod\n    def get_all_fig_managers(cls):\n        return list(cls.figs)\n",
  "matplotlib/backend_bases.py":
    "class FigureManagerBase:\n    def __init__(self, canvas): self.canvas = canvas\n",
  "matplotlib/backends/__init__.py": "",
  "matplotlib/backends/backend_agg.py": "class FigureCanvasAgg: pass\n",
  "matplotlib/pyplot.py": `import importlib, os
from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure
class Parameters(dict):
    def _get(self, name): return self[name]
rcParams = Parameters(backend=os.environ["MPLBACKEND"])
backend = importlib.import_module(rcParams["backend"].removeprefix("module://"))
def figure():
    Gcf.figs.append(backend.FigureManager(Figure(len(Gcf.figs) + 1).canvas))
def show(): backend.show()
def close(which): Gcf.figs.clear()
`,
};

const PNG = "iVBORw0KGgo=";
/** Programs, and what they show. */
const PROGRAMS: [string, MimeBundle[] | undefined][] = [
  ["1 + 1", undefined],
  ["print(1)", undefined],
  ["display(1, 'a')", [{ "text/plain": "1" }, { "text/plain": "'a'" }]],
  ["class A:\n  def _repr_html_(self): return '<b>'\n  def __repr__(self): return 'A'\nA()", [{
    "text/html": "<b>",
  }]],
  [
    "class A:\n  def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\n  def __repr__(self): return 'A'\ndisplay(A())",
    [
      { "image/png": PNG, "text/plain": "A" },
    ],
  ],
  [
    "class A:\n  def _repr_mimebundle_(self, **_): return {'text/x': 't'}, {}\n  def __repr__(self): return 'A'\nA()",
    [{
      "text/x": "t",
    }],
  ],
  ["from IPython.display import HTML\nHTML('<i>')", [{
    "text/html": "<i>",
  }]],
  ["from IPython.core.display import JSON, Image\ndisplay(JSON({'a': [1, None]}), Image(b'GIF89a'))", [
    { "application/json": { a: [1, null] }, "text/plain": "<IPython.core.display.JSON object>" },
    { "image/gif": "R0lGODlh", "text/plain": "<IPython.core.display.Image object>" },
  ]],
  ["display({'text/html': '<p>', 'text/plain': 'p'}, raw=True)", [{ "text/html": "<p>", "text/plain": "p" }]],
  ["from IPython.display import clear_output\ndisplay(1)\nclear_output(wait=True)\ndisplay(2)", [{
    "text/plain": "2",
  }]],
  ["display(1)\nraise SystemExit(3)", [{ "text/plain": "1" }]],
  ["class A:\n  def __getattr__(self, name): return lambda: 'magic'\nA() and None", undefined],
  ["int", undefined],
];

Deno.test("Session.exec() returns what a program shows, by MIME type", () =>
  withSession(async (session) => {
    for (const [code, display] of PROGRAMS) {
      const result = await session.exec(code);
      assertEquals([code, result.display, result.droppedDisplays], [code, display, undefined]);
    }
  }));

Deno.test("Session.exec() shows the open figures of matplotlib at plt.show() and at the end of a block", () =>
  withSession(async (session) => {
    const files = MATPLOTLIB;
    const shown =
      "import matplotlib.pyplot as plt\nplt.figure(); plt.show()\ndisplay('between')\nplt.figure()";
    const { display = [] } = await session.exec(shown, { files });
    const image = (number: number) => new TextEncoder().encode(`PNG ${number}`).toBase64();
    assertEquals(display.map((bundle) => bundle["image/png"] ?? bundle["text/plain"]), [
      image(1),
      "'between'",
      image(1),
    ]);
    assertEquals((await session.exec("2")).display, undefined);
    assertEquals((await session.exec("plt.rcParams['backend'] = 'agg'; plt.figure()")).display, undefined);
  }));

Deno.test("Session.exec() drops what is beyond the limits, or not what its type says, and counts it", () =>
  withSession(async (session) => {
    const many = await session.exec("for i in range(105): display(i)");
    assertEquals([many.display?.length, many.droppedDisplays], [100, 5]);
    const cleared = await session.exec(
      "from IPython.display import clear_output\nfor i in range(105): clear_output(); display(i)",
    );
    assertEquals([cleared.display, cleared.droppedDisplays], [[{ "text/plain": "104" }], undefined]);
    const large = await session.exec("display('x' * 5_000_000); display('y' * 5_000_000)");
    assertEquals([large.display?.length, large.droppedDisplays], [1, 1]);
    const removed = await session.exec("for i in range(200_000): clear_output()");
    assertEquals([removed.status, removed.display], ["ok", undefined]);
    for (
      const bundle of [
        "{'no type': 'x'}",
        "{'image/png': '<script>'}",
        "{'text/html': 5}",
        "{'a/b': {}}",
        "[]",
      ]
    ) {
      const result = await session.exec(
        `import os\nos.write(3, b"D" + __import__('json').dumps(${bundle}).encode())`,
      );
      assertEquals([bundle, result.status, result.display, result.droppedDisplays], [
        bundle,
        "ok",
        undefined,
        1,
      ]);
    }
  }));

Deno.test("Session.exec() prints the error of a method that shows an object", () =>
  withSession(async (session) => {
    const result = await session.exec("class A:\n  def _repr_html_(self): 1 / 0\nA()");
    assertEquals([result.status, result.display], ["ok", undefined]);
    assertStringIncludes(result.stderr, "ZeroDivisionError: division by zero");
  }));

Deno.test("ExecOptions.onDisplay is called in order with the output", () =>
  withSession(async (session) => {
    let events = "";
    await session.exec("print('a')\ndisplay(1)\nprint('b')\ndisplay(2)", {
      onOutput: (_, text) => void (events += text),
      onDisplay: (bundle) => void (events += `<${bundle["text/plain"]}>`),
    });
    assertEquals(events, "a\n<1>b\n<2>");
  }));

Deno.test("a script has no display(), as in python", () =>
  withSession(async (session) => {
    const result = await session.exec("display(1)", { argv: ["main.py"] });
    assertEquals("error" in result && result.error.message, "name 'display' is not defined");
  }));
