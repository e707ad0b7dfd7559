/**
 * The fields of an exec and of a command line: how each field is checked, and sent to a server or to a node of a
 * cluster. A field that is added to {@linkcode ExecOptions} is added here and in the guest, and everything between a
 * client and the guest carries the field.
 *
 * @module
 */
import * as z from "zod";
import { ArgumentRangeError, ArgumentTypeError } from "../../errors.ts";
import { checkContents, type CheckedProfile, checkPath, checkTimeout } from "../exec/exec_check.ts";
import {
  type BinaryType,
  checkInputs,
  encodeInputs,
  fromBinaryInput,
  MAX_INPUT_NAME_CHARACTERS,
  MAX_INPUTS,
} from "../exec/exec_inputs.ts";
import type { HostTool } from "../host_tool.ts";
import type { ExecOptions } from "./exec.ts";
import { type Fields, FieldTable } from "./field_table.ts";
import { MAX_FILES, MAX_SESSION_TOOLS, MAX_TIMEOUT_MS } from "./limits.ts";
import type { ShellOptions } from "./shell.ts";
import {
  BINARY_TYPE_NAMES,
  filesSchema,
  fromBase64Files,
  fromWireInputs,
  inputsSchema,
  pathSchema,
  toBase64Files,
  toWireInputs,
} from "./wire_forms.ts";

/** Maximum length of code. No program of a model is longer; longer code is a mistake of the caller. */
export const MAX_CODE_CHARACTERS = 10 * 1024 * 1024;
/** Pattern of the name of a tool, which is a Python identifier. */
export const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_]*$/;
const MAX_WRITTEN_FILES = 10_000;

const part = z.int().nonnegative();
const timeoutMs = z.number().positive().max(MAX_TIMEOUT_MS).optional();

const execFields = {
  timeoutMs: {
    check: (value) => checkTimeout(value),
    json: {
      timeoutMs: timeoutMs.describe("milliseconds until it is interrupted; default: the profile's limit"),
    },
    message: z.number().optional(),
  },
  memoryBytes: { check: checkMemory, message: z.number().optional() },
  stdin: {
    check: checkStdin,
    json: { stdin: z.string().optional().describe("input of input() and sys.stdin") },
    message: z.string().optional(),
  },
  argv: { check: checkArgv, json: "refused", message: z.tuple([z.string()], z.string()).optional() },
  cell: { check: checkCell, json: "refused", message: z.boolean().optional() },
  then: { check: checkThen, message: z.literal("rewind").optional() },
  inputs: {
    check: checkInputs,
    json: inputsSchema.shape,
    toJson: toWireInputs,
    fromJson: fromWireInputs,
    message: z.array(
      z.tuple([z.string().max(MAX_INPUT_NAME_CHARACTERS), z.enum(["json", ...BINARY_TYPE_NAMES]), part]),
    ).max(MAX_INPUTS).optional(),
    toMessage: (inputs, parts) =>
      encodeInputs(inputs).map(({ name, type, contents }) => [name, type, parts.add(contents)]),
    fromMessage: (inputs: readonly [string, BinaryType | "json", number][], parts) =>
      Object.fromEntries(inputs.map(([name, type, at]) => [
        name,
        type === "json" ? parts.json(at) : fromBinaryInput(name, { type, contents: parts.bytes(at).slice() }),
      ])),
  },
  tools: {
    check: checkTools,
    message: z.array(z.strictObject({
      name: z.string().max(256).regex(TOOL_NAME),
      description: z.string(),
      parameters: z.record(z.string(), z.unknown()),
      python: z.strictObject({
        checksArguments: z.boolean().optional(),
        alias: z.string().max(256).optional(),
        module: z.string().max(256).optional(),
      }).optional(),
    })).max(MAX_SESSION_TOOLS).optional(),
    toMessage: (tools) =>
      tools.map(({ name, description, parameters, python }) => ({
        name,
        description,
        parameters: z.toJSONSchema(parameters, { io: "input" }),
        ...(python && { python }),
      })),
    fromMessage: () => undefined, // the node makes functions of them, which call the caller
  },
  files: {
    check: checkFiles,
    json: { files: filesSchema.optional().describe("files written before it runs, by path, in base64") },
    toJson: (files) => ({ files: toBase64Files(files) }),
    fromJson: ({ files = {} }: { files?: Record<string, string> }) => fromBase64Files(files),
    message: z.array(z.tuple([pathSchema, part])).max(MAX_WRITTEN_FILES).optional(),
    toMessage: (files, parts) =>
      Object.entries(files).map(([path, contents]) => [
        path,
        parts.add(typeof contents === "string" ? new TextEncoder().encode(contents) : contents),
      ]),
    fromMessage: (files: readonly [string, number][], parts) =>
      Object.fromEntries(files.map(([path, at]) => [path, parts.bytes(at)])),
  },
  fetchFiles: {
    check: (paths) => paths.forEach(checkPath),
    json: {
      fetchFiles: z.array(pathSchema).max(MAX_FILES).optional()
        .describe("files to return; those that are missing, or beyond 64 MiB together, are left out"),
    },
    message: z.array(pathSchema).max(MAX_FILES).optional(),
  },
  suspendAt: {
    check: checkSuspendAt,
    json: {
      suspendAt: z.literal("tool").optional().describe(
        "tool ends the request with the status waiting at each call of one of the session's tools, to be answered at " +
          "/v1/sessions/{id}/resume; default: calls reach the client of a stream",
      ),
    },
  },
  captures: {},
  onOutput: {},
  onDisplay: {},
  signal: { check: (signal) => signal.throwIfAborted() },
} satisfies Fields<ExecOptions>;

const shellFields = {
  silenceMs: {
    check: (value) => checkTimeout(value, "silenceMs"),
    json: { silenceMs: timeoutMs.describe("milliseconds without output until it is interrupted") },
    message: z.number().optional(),
  },
  timeoutMs: execFields.timeoutMs,
  memoryBytes: execFields.memoryBytes,
  stdin: {
    ...execFields.stdin,
    json: { stdin: z.string().optional().describe("input of the first command") },
  },
  onOutput: {},
  signal: execFields.signal,
} satisfies Fields<ShellOptions>;

/** The fields of {@linkcode ExecOptions}, in the order in which they are checked. */
export const EXEC_FIELDS = new FieldTable<ExecOptions, typeof execFields>(
  "exec",
  execFields,
);
/** The fields of {@linkcode ShellOptions}. */
export const SHELL_FIELDS = new FieldTable<ShellOptions, typeof shellFields>(
  "run command",
  shellFields,
);

/**
 * Checks the arguments of an exec before anything starts.
 *
 * @throws {ArgumentTypeError | ArgumentRangeError} if an argument is invalid.
 * @throws the reason of `signal` if aborted.
 */
export function checkExec(code: unknown, options: ExecOptions, profile: CheckedProfile): void {
  checkCode(code);
  EXEC_FIELDS.check(options, profile);
}

/**
 * Checks the arguments of a command line before anything starts.
 *
 * @throws {ArgumentTypeError | ArgumentRangeError} if an argument is invalid or the profile has no shell.
 */
export function checkShell(
  command: unknown,
  options: ShellOptions,
  profile: CheckedProfile & { readonly shell: boolean },
): void {
  if (!profile.shell) {
    throw new ArgumentTypeError(
      `Cannot run command as profile '${profile.name}' must have 'shell': current value is false`,
    );
  }
  checkCode(command);
  SHELL_FIELDS.check(options, profile);
}

function checkCode(code: unknown): void {
  if (typeof code !== "string") {
    throw new ArgumentTypeError(`Cannot exec as code must be a string: current value is ${typeof code}`);
  }
  if (code.length > MAX_CODE_CHARACTERS) {
    throw new ArgumentRangeError(
      `Cannot exec as code must have at most ${MAX_CODE_CHARACTERS} characters: current value has ${code.length}`,
    );
  }
}

function checkMemory(memoryBytes: number): void {
  if (memoryBytes > 0) return;
  throw new ArgumentRangeError(`Cannot exec as 'memoryBytes' must be > 0: current value is ${memoryBytes}`);
}

function checkStdin(stdin: unknown): void {
  if (typeof stdin === "string") return;
  throw new ArgumentTypeError(`Cannot exec as 'stdin' must be a string: current value is ${typeof stdin}`);
}

function checkArgv(argv: readonly unknown[]): void {
  const isList = Array.isArray(argv) && argv.length > 0 && argv.every((word) => typeof word === "string");
  if (!isList) {
    throw new ArgumentTypeError("Cannot exec as 'argv' must be a non-empty list of strings");
  }
  checkPath(String(argv[0]));
}

function checkCell(cell: unknown, { argv }: ExecOptions): void {
  if (typeof cell !== "boolean") {
    throw new ArgumentTypeError(`Cannot exec as 'cell' must be a boolean: current value is ${typeof cell}`);
  }
  if (cell && argv !== undefined) {
    throw new ArgumentTypeError("Cannot exec as only one of 'cell' and 'argv' may be given: found both");
  }
}

function checkThen(then: unknown): void {
  if (then === "rewind") return;
  throw new ArgumentTypeError(`Cannot exec as 'then' must be 'rewind': current value is '${then}'`);
}

function checkSuspendAt(suspendAt: unknown, { then }: ExecOptions, { name, network }: CheckedProfile): void {
  if (suspendAt !== "tool") {
    throw new ArgumentTypeError(`Cannot exec as 'suspendAt' must be 'tool': current value is '${suspendAt}'`);
  }
  if (then !== undefined) {
    throw new ArgumentTypeError(
      "Cannot exec as only one of 'suspendAt' and 'then' may be given: the lease of a single exec has 'then'",
    );
  }
  if (network !== undefined) {
    throw new ArgumentTypeError(
      `Cannot exec with 'suspendAt' as profile '${name}' must have no 'network': a checkpoint would connect again`,
    );
  }
}

function checkFiles(files: Readonly<Record<string, unknown>>): void {
  const entries = Object.entries(files);
  if (entries.length > MAX_WRITTEN_FILES) {
    throw new ArgumentRangeError(
      `Cannot exec as 'files' must have at most ${MAX_WRITTEN_FILES} entries: current value has ${entries.length}`,
    );
  }
  for (const [path, contents] of entries) {
    checkPath(path);
    checkContents(path, contents);
  }
}

function checkTools(tools: readonly HostTool[], _options: ExecOptions, profile: CheckedProfile): void {
  if (tools.length > 0 && !profile.hostTools) {
    throw new ArgumentTypeError(
      `Cannot grant host tools as profile '${profile.name}' must have 'hostTools': current value is false`,
    );
  }
  const names = tools.map((tool) => tool.name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) {
    throw new ArgumentTypeError(
      `Cannot grant host tools as their names must be unique: '${duplicate}' occurs more than once`,
    );
  }
}
