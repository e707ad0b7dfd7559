import fc from "fast-check";
import { CheckpointError } from "../../src/errors.ts";
import { TemplateError, TemplateSyntaxError } from "../../src/chat/jinja/jinja_errors.ts";
import { Template } from "../../src/chat/jinja/template.ts";
import { JsoncError, parseJsonc } from "../../src/jsonc.ts";
import { isSameAnswer } from "../../src/rewards/math/same_answer.ts";
import { SealedCheckpoint } from "../../src/sandbox/checkpoint/checkpoint.ts";
import { parseTree, type TreeImage } from "../../src/sandbox/guest/checkpoint/file_tree.ts";
import { checkRuns, type PageRun } from "../../src/sandbox/guest/checkpoint/heap_delta.ts";
import { type OpenFile, parseOpenFiles } from "../../src/sandbox/guest/checkpoint/open_files.ts";
import { parseCall, parseDisplay, parseResult, parseShellResult } from "../../src/sandbox/guest_frames.ts";
import { linkLibraries } from "../../src/sandbox/image/native_libraries.ts";
import { loadProfile } from "../../src/sandbox/profile/profile.ts";
import {
  decodeLost,
  encodeFrame,
  encodeLost,
  FRAME_HEAD_BYTES,
  type FrameKind,
  FrameSplitter,
  join,
  MAX_FRAME_BYTES,
  payloadLength,
} from "../../src/sandbox/protocol.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { assemble, assembleSideModule } from "../sandbox/profile/side_modules.ts";
import latexWords from "./words/latex.txt" with { type: "text" };
import shellWords from "./words/shell.txt" with { type: "text" };
import templateWords from "./words/template.txt" with { type: "text" };
import { plainKind, type Target, toBytes, Violation } from "./fuzzer.ts";

/** Loads a target. Some need time, as they start a sandbox or an assembler. */
const LOADERS: Readonly<Record<string, () => Target | Promise<Target>>> = {
  protocol: protocolTarget,
  checkpoint: checkpointTarget,
  linker: linkerTarget,
  latex: latexTarget,
  template: templateTarget,
  jsonc: jsoncTarget,
  shell: shellTarget,
};

/** Names of all targets. */
export const TARGET_NAMES: readonly string[] = Object.keys(LOADERS);

/** Returns a target by its name. */
export async function loadTarget(name: string): Promise<Target> {
  const load = LOADERS[name];
  if (!load) {
    throw new TypeError(`Cannot load target as its name must be one of ${TARGET_NAMES}: found '${name}'`);
  }
  return await load();
}

const decoder = new TextDecoder();

function require(holds: boolean, what: string): void {
  if (!holds) throw new Violation(what);
}

/** Returns the pieces of a file, which three spaces or a newline separate. It writes a newline as ⏎ and a space as ␣. */
function wordsOf(text: string): string[] {
  return text.trim().split(/ {3}|\n/).map((word) => word.replaceAll("⏎", "\n").replaceAll("␣", " "));
}

/** Returns a value of an arbitrary as bytes. */
function sample(arbitrary: fc.Arbitrary<string | Uint8Array>, seed: number): Uint8Array {
  return toBytes(fc.sample(arbitrary, { seed, numRuns: 1 })[0] ?? "");
}

/** Returns what an error says if it is of an expected class. Throws any other error. */
function expectedError(error: unknown, classes: readonly (new (...args: never[]) => Error)[]): string {
  if (error instanceof Error && classes.some((type) => error instanceof type)) {
    // Messages of JSON.parse() and of a template's own errors have parts of the input.
    return OWN_TEXT.has(error.name) && !error.message.startsWith("Cannot ")
      ? error.name
      : `${error.name}: ${plainKind(error.message)}`;
  }
  throw error;
}

const OWN_TEXT = new Set(["SyntaxError", "TemplateError"]);

/** The frames of the first byte's choice: a stream of them in pieces, or the payload of one of them. */
function protocolTarget(): Target {
  const payloads: readonly ((payload: Uint8Array) => unknown)[] = [
    (payload) => parseResult(payload, 10_000),
    parseShellResult,
    (payload) => parseCall(payload),
    parseDisplay,
  ];
  return {
    form: "bytes",
    dictionary: [
      ...[
        '{"denied":{"files":1}}',
        '"droppedDisplays":',
        '{"name":"f","args":[],"kwargs":{}}',
        "\ud800",
        "__proto__",
      ],
      ...['{"text/plain":"x"}', '"image/png":"', '{"exitCode":0,"cwd":"/"}', new Uint8Array([0, 0, 0, 0])],
    ],
    generate: (seed) =>
      sample(
        fc.tuple(fc.nat(5), fc.array(fc.tuple(fc.nat(255), fc.nat(65_535), fc.uint8Array({ maxLength: 40 }))))
          .map(([choice, frames]) =>
            join([
              new Uint8Array([choice]),
              ...frames.map(([kind, session, payload]) => encodeFrame(kind as FrameKind, session, payload)),
            ])
          ),
        seed,
      ),
    run(input) {
      const [choice = 0, rest] = [input[0], input.subarray(1)];
      const parse = payloads[choice % (payloads.length + 2)];
      if (!parse) return splitStream(rest, choice);
      try {
        return `payload ${choice % 6}: ${kindOf(parse(rest))}`;
      } catch (error) {
        return expectedError(error, [SyntaxError]);
      }
    },
  };
}

function splitStream(stream: Uint8Array, choice: number): string {
  const whole = splitAll([stream]);
  const size = 1 + choice % 13;
  const pieces = Array.from(
    { length: Math.ceil(stream.length / size) },
    (_, at) => stream.slice(at * size, at * size + size),
  );
  const split = splitAll(pieces);
  require(
    split.bytes.toHex() === whole.bytes.toHex(),
    "pieces of a stream have other frames than the stream",
  );
  require(split.refused === whole.refused, "pieces of a stream are refused where the stream is not");
  const again = splitAll([whole.bytes]);
  require(again.bytes.toHex() === whole.bytes.toHex(), "frames change when they are written and split");
  const lost = decodeLost(stream);
  const { exitCode, reason } = decodeLost(encodeLost(lost.reason, lost.exitCode));
  const isSame = exitCode === lost.exitCode && reason.toHex() === lost.reason.toHex();
  require(isSame, "a frame 'lost' changes");
  return `stream: ${Math.min(whole.count, 3)} frames, ${whole.refused ? "refused" : "taken"}`;
}

function splitAll(pieces: readonly Uint8Array[]): { bytes: Uint8Array; count: number; refused: boolean } {
  const splitter = new FrameSplitter();
  const frames: Uint8Array[] = [];
  try {
    for (const piece of pieces) {
      for (const { kind, session, payload } of splitter.push(piece)) {
        frames.push(encodeFrame(kind as FrameKind, session, payload.slice()));
      }
    }
    return { bytes: join(frames), count: frames.length, refused: false };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const rest = join(pieces).subarray(join(frames).length);
    const announced = rest.length < FRAME_HEAD_BYTES
      ? 0
      : new DataView(rest.slice(0, 4).buffer).getUint32(0, true);
    require(announced > MAX_FRAME_BYTES, `a frame of ${announced} bytes is refused`);
    require(isRefused(rest), "a frame is refused whose length is not");
    return { bytes: join(frames), count: frames.length, refused: true };
  }
}

function isRefused(head: Uint8Array): boolean {
  try {
    payloadLength(head);
    return false;
  } catch {
    return true; // the error of the splitter itself
  }
}

/** A checkpoint's bytes, or the JSON of the parts that a guest reads from its state. */
function checkpointTarget(): Target {
  const hash = "0".repeat(64);
  const header = { key: hash, image: hash, profile: hash, owner: hash, stateBytes: 3, compressedBytes: 4 };
  const node = fc.tuple(
    fc.integer({ min: -2, max: 4 }),
    fc.constantFrom("/", "a", "..", "b/c", "\0", ""),
    fc.nat(6),
    fc.constantFrom(0o040755, 0o100644, 0o120777, 0o010644, -1, 0.5),
    fc.array(fc.constantFrom(0, 1, 1e300, -1), { maxLength: 4 }),
    fc.constantFrom(0, 5, "x", -1, null),
  );
  const tree = fc.record({
    nodes: fc.array(node, { maxLength: 5 }),
    nextInode: fc.nat(9),
    workingFolder: fc.string(),
  });
  const file = fc.record({
    fds: fc.array(fc.integer({ min: -1, max: 5 })),
    node: fc.oneof(fc.integer({ min: -1, max: 3 }), fc.string()),
    path: fc.string(),
    flags: fc.integer(),
    position: fc.oneof(fc.nat(), fc.constantFrom(2 ** 53, -1, 0.5)),
    names: fc.option(fc.array(fc.string()), { nil: undefined }),
  });
  const parts = fc.record({
    tree,
    files: fc.array(file, { maxLength: 3 }),
    runs: fc.array(fc.tuple(fc.integer({ min: -1, max: 20 }), fc.integer({ min: -1, max: 20 }))),
  });
  return {
    form: "bytes",
    dictionary: [
      hash,
      '"tools":[]',
      '"stateBytes":',
      "paddock\0",
      "null",
      "1e309",
      "9007199254740993",
      '"__proto__":{}',
    ],
    generate: (seed) =>
      sample(
        fc.oneof(
          parts.map((value) => JSON.stringify(value)),
          fc.record({ tools: fc.array(fc.string()), extra: fc.boolean() }).map(({ tools, extra }) =>
            checkpointBytes({ ...header, sha256: hash, tools, ...(extra && { other: 1 }) })
          ),
        ),
        seed,
      ),
    run: async (input) =>
      input[0] === 0x7b ? parseGuestParts(decoder.decode(input)) : await readSealed(input),
  };
}

function checkpointBytes(header: unknown): Uint8Array {
  const json = toBytes(JSON.stringify(header));
  const prefix = new Uint8Array(16);
  prefix.set(toBytes("paddock\0"));
  const view = new DataView(prefix.buffer);
  view.setUint32(8, 2, true);
  view.setUint32(12, json.length, true);
  return join([prefix, json, new Uint8Array(32), new Uint8Array(4)]);
}

async function readSealed(input: Uint8Array): Promise<string> {
  try {
    const checkpoint = await SealedCheckpoint.read(input);
    require(
      (await checkpoint.toBytes()).toHex() === input.toHex(),
      "a checkpoint changes when it is read and written",
    );
    require(checkpoint.storedBytes === input.length, "a checkpoint's size is not that of its bytes");
    return `checkpoint with ${Math.min(2, checkpoint.tools.length)} tools`;
  } catch (error) {
    return expectedError(error, [CheckpointError]);
  }
}

function parseGuestParts(text: string): string {
  let parts: { tree: TreeImage; files: OpenFile[]; runs: PageRun[] };
  try {
    parts = JSON.parse(text);
  } catch (error) {
    return expectedError(error, [SyntaxError]);
  }
  const outcomes = [
    () => parseTree(parts.tree ?? {}),
    () => parseOpenFiles(parts.files, 4, 64),
    () => checkRuns(Array.isArray(parts.runs) ? parts.runs : [], 64 * 65_536),
  ].map((parse) => {
    try {
      parse();
      return "taken";
    } catch (error) {
      // A guest throws plain errors, which become the reason why a checkpoint is refused.
      if (error instanceof Error && error.constructor === Error) return plainKind(error.message);
      throw error;
    }
  });
  return outcomes.join("; ");
}

/** A native library of a wheel. */
function linkerTarget(): Target {
  const main = assemble(`(module
    (memory (export "memory") 1)
    (global (export "__stack_pointer") (mut i32) (i32.const 0))
    (func (export "malloc") (param i32) (result i32) (i32.const 0)))`);
  const base = assembleSideModule(
    `(import "env" "malloc" (func $malloc (param i32) (result i32)))
     (import "GOT.func" "malloc" (global (mut i32))) (import "GOT.mem" "data" (global (mut i32)))
     (import "env" "own" (func $own (param i32 f64) (result i32)))`,
    `(func (export "own") (param i32 f64) (result i32) (call $own (local.get 0) (local.get 1)))
     (global (export "data") i32 (i32.const 8)) (data (global.get $memory_base) "abcd")
     (elem (global.get $table_base) func $own)`,
    { memoryBytes: 16, tableSlots: 1 },
  );
  return {
    form: "bytes",
    dictionary: [
      base,
      ...["dylink.0", "GOT.func", "GOT.mem", "env", "malloc", "memory", "__memory_base", "__proto__", "exit"],
      ...[[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0], [0xff, 0xff, 0xff, 0xff, 0x0f], [0x60, 0, 0], [
        0x41,
        0,
        0x0b,
      ]]
        .map((bytes) => new Uint8Array(bytes)),
    ],
    generate: (seed) =>
      sample(
        fc.record({
          memoryBytes: fc.nat(100_000),
          tableSlots: fc.nat(3_000_000),
          libraries: fc.array(fc.constantFrom("libbase.so", "library.so", "x"), { maxLength: 2 }),
        }).map((info) => assembleSideModule("", "", info)),
        seed,
      ),
    run(input) {
      try {
        const [library] = linkLibraries([{ path: "/p/library.so", contents: input }], main);
        const isValid = WebAssembly.validate(input as Uint8Array<ArrayBuffer>);
        if (isValid) {
          require(
            WebAssembly.validate(library?.wasm as Uint8Array<ArrayBuffer>),
            "a valid library becomes an invalid one",
          );
          const { trampolines } = library ?? {};
          if (trampolines) {
            require(WebAssembly.validate(trampolines), "the trampolines of a valid library are invalid");
          }
        }
        return `linked, ${isValid ? "valid" : "invalid"}, ${
          library?.trampolines ? "with" : "without"
        } trampolines`;
      } catch (error) {
        const kind = expectedError(error, [TypeError]);
        require(kind.includes("Cannot link native library"), `a reader fails: ${kind}`);
        return kind;
      }
    },
  };
}

/** Two answers, one a line. */
function latexTarget(): Target {
  const words = wordsOf(latexWords);
  return {
    form: "text",
    dictionary: words,
    generate: (seed) =>
      sample(fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join("")), seed),
    run(input) {
      const [given = "", truth = given] = decoder.decode(input).split("\n");
      const isSame = isSameAnswer(given, truth);
      require(typeof isSame === "boolean", "a comparison has no outcome");
      const kinds = [/\\[a-z]+/g, /[[({|]/g, /[=<>]/g].map((kind) =>
        Math.min(2, given.match(kind)?.length ?? 0)
      );
      return `${isSame ? "same" : "different"}, ${given === truth ? "equal texts" : "other texts"}, ${
        kinds.join(" ")
      }`;
    },
  };
}

/** A chat template. */
function templateTarget(): Target {
  const words = wordsOf(templateWords);
  const now = () => new Date(0);
  const variables = {
    messages: [{ role: "user", content: "é 1" }, {
      role: "assistant",
      content: "b",
      tool_calls: [{ name: "f" }],
    }],
    tools: [{ name: "f", parameters: { a: [1, 2.5, null, true] } }],
    bos_token: "<s>",
    add_generation_prompt: true,
  };
  return {
    form: "text",
    dictionary: words,
    generate: (seed) =>
      sample(fc.array(fc.constantFrom(...words), { maxLength: 25 }).map((parts) => parts.join(" ")), seed),
    run(input) {
      const source = decoder.decode(input);
      try {
        const template = new Template(source);
        const text = template.render(variables, { now });
        require(new Template(source).render(variables, { now }) === text, "a second rendering differs");
        return `rendered ${text.length === 0 ? "nothing" : "text"}, generation ${template.hasGeneration}`;
      } catch (error) {
        return expectedError(error, [TemplateSyntaxError, TemplateError]);
      }
    },
  };
}

/** A file of settings. */
function jsoncTarget(): Target {
  return {
    form: "text",
    dictionary: [
      ...[
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"a"',
        '"__proto__"',
        "//",
        "/*",
        "*/",
        "\n",
        "\r",
        "\u2028",
        "\ufeff",
        "null",
      ],
      ...[
        "true",
        "1",
        "-0",
        "1e999",
        "0x1",
        "01",
        ".5",
        "\\u0041",
        "\\ud800",
        "\\x",
        "'",
        "\u00a0",
        "NaN",
        "\0",
      ],
    ],
    generate: (seed) => sample(fc.json({ maxDepth: 4 }), seed),
    run(input) {
      const text = decoder.decode(input);
      const asJson = tryJson(text);
      try {
        const value = parseJsonc(text, "file");
        const written = JSON.stringify(value);
        require(
          JSON.stringify(parseJsonc(written, "file")) === written,
          "a value changes when it is written and read",
        );
        if (asJson) {
          require(JSON.stringify(asJson.value) === written, "a value of JSON is read in another way");
        }
        return `value: ${kindOf(value)}${asJson ? "" : ", no JSON"}`;
      } catch (error) {
        const kind = expectedError(error, [JsoncError]);
        const mayRefuse = /twice|__proto__|unknown key|nested|at most/.test((error as Error).message);
        require(!asJson || mayRefuse, `JSON is refused: ${kind}`);
        return kind;
      }
    },
  };
}

function tryJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // not JSON
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "empty list" : "list";
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return `object with ${Math.min(3, Object.keys(value).length)}`;
}

/** A script of the shell, which a sandbox parses and does not run. */
async function shellTarget(): Promise<Target> {
  const sandbox = await Sandbox.start({ profile: await loadProfile("workspace") });
  let session = await sandbox.openSession();
  const words = wordsOf(shellWords);
  return {
    form: "text",
    dictionary: words,
    generate: (seed) =>
      sample(fc.array(fc.constantFrom(...words), { maxLength: 25 }).map((parts) => parts.join(" ")), seed),
    async run(input) {
      const script = decoder.decode(input).replaceAll("\0", "");
      const result = await session.shell(`if false; then\n${script}\nfi`, { timeoutMs: 2_000 });
      const isLost = result.status === "crashed" || result.status === "timeout" && !result.stateKept;
      if (isLost || result.status === "memory") {
        await session[Symbol.asyncDispose]();
        session = await sandbox.openSession();
      }
      const { stderr = "" } = result;
      require(result.status !== "crashed", `the interpreter is lost: ${stderr.slice(0, 200)}`);
      const inner =
        /is not a function|Cannot read properties|is not iterable|Maximum call stack|is not defined$/m;
      require(!inner.test(stderr), `an error of the engine reaches the output: ${stderr.slice(0, 200)}`);
      return `${result.status}: ${plainKind(stderr.split("\n")[0] ?? "")}`;
    },
    close: () => sandbox[Symbol.asyncDispose](),
  };
}
