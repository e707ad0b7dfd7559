import { ArgumentRangeError, ArgumentTypeError } from "../../errors.ts";
import { JSON_LIMITS } from "../../json.ts";
import { MAX_DIGITS, writeIntegers } from "../../numbers/exact_numbers.ts";

/** Maximum size of all inputs of one program together, in bytes. */
export const MAX_INPUT_BYTES: number = 64 * 1024 * 1024;
/** Maximum number of inputs of one program. */
export const MAX_INPUTS = 256;
/** Maximum length of an input's name. */
export const MAX_INPUT_NAME_CHARACTERS = 256;

/** Inputs that are sent as bytes: `bytes` becomes Python's `bytes`, the others become an `array.array`. */
export const BINARY_TYPES = {
  bytes: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
} as const;

/** Name of a type of inputs that are sent as bytes. */
export type BinaryType = keyof typeof BINARY_TYPES;

/** An input that is sent as bytes, and its type. */
export interface BinaryInput {
  readonly type: BinaryType;
  readonly contents: Uint8Array<ArrayBuffer>;
}

/**
 * Checks the inputs of a program.
 *
 * @throws {ArgumentTypeError} if a name is not a Python identifier, or a value is not plain data.
 * @throws {ArgumentRangeError} if there are too many inputs, or they are too large.
 */
export function checkInputs(inputs: unknown): void {
  if (inputs === undefined) return;
  if (!isPlainObject(inputs)) {
    throw new ArgumentTypeError("Cannot exec as 'inputs' must be an object of values by name");
  }
  const entries = Object.entries(inputs);
  if (entries.length > MAX_INPUTS) {
    throw new ArgumentRangeError(
      `Cannot exec as 'inputs' must have at most ${MAX_INPUTS} entries: current value has ${entries.length}`,
    );
  }
  const left = { bytes: MAX_INPUT_BYTES, values: JSON_LIMITS.values };
  for (const [name, value] of entries) {
    checkName(name);
    if (binaryTypeOf(value) !== undefined) left.bytes -= (value as Uint8Array).byteLength;
    else checkPlain(name, value, left);
    if (left.bytes < 0) throw inputsTooLarge();
  }
}

/** Returns a copy of the bytes of an input that is sent as bytes; `undefined` for another one. */
export function toBinaryInput(value: unknown): BinaryInput | undefined {
  const type = binaryTypeOf(value);
  if (type === undefined) return undefined;
  const { buffer, byteOffset, byteLength } = value as Uint8Array;
  return { type, contents: new Uint8Array(new Uint8Array(buffer, byteOffset, byteLength)) };
}

/**
 * Returns the value of an input that was sent as bytes.
 *
 * @throws {ArgumentRangeError} if the number of bytes is not a multiple of the size of an element.
 */
export function fromBinaryInput(name: string, { type, contents }: BinaryInput): ArrayBufferView {
  const size = BINARY_TYPES[type].BYTES_PER_ELEMENT;
  if (contents.length % size === 0) return new BINARY_TYPES[type](contents.slice().buffer);
  throw new ArgumentRangeError(
    `Cannot exec as input '${name}' must have a multiple of ${size} bytes: current value has ${contents.length}`,
  );
}

/** An input as it is sent to the guest. */
export interface EncodedInput {
  readonly name: string;
  readonly type: BinaryType | "json";
  readonly contents: Uint8Array;
}

/**
 * Returns copies of inputs that {@linkcode checkInputs} accepts, as they are sent to the guest.
 *
 * @throws {ArgumentRangeError} if their JSON is too large.
 */
export function encodeInputs(inputs: Readonly<Record<string, unknown>> = {}): EncodedInput[] {
  let bytes = 0;
  return Object.entries(inputs).map(([name, value]) => {
    const { type, contents } = toBinaryInput(value) ?? {
      type: "json" as const,
      contents: new TextEncoder().encode(JSON.stringify(value, writeIntegers)),
    };
    bytes += contents.length;
    if (bytes > MAX_INPUT_BYTES) throw inputsTooLarge();
    return { name, type, contents };
  });
}

function binaryTypeOf(value: unknown): BinaryType | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const found = Object.entries(BINARY_TYPES).find(([, type]) => value instanceof type);
  return found?.[0] as BinaryType | undefined;
}

function inputsTooLarge(): ArgumentRangeError {
  return new ArgumentRangeError(
    `Cannot exec as all inputs together must have at most ${MAX_INPUT_BYTES} bytes`,
  );
}

const KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from " +
    "global if import in is lambda nonlocal not or pass raise return try while with yield").split(" "),
);

/** Throws unless a program can use the name, and it is not one that Python itself uses. */
function checkName(name: string): void {
  const isIdentifier = /^[\p{XIDS}_]\p{XIDC}*$/u.test(name) && name.normalize("NFKC") === name;
  const isReserved = KEYWORDS.has(name) || /^__.*__$/.test(name);
  if (isIdentifier && !isReserved && name.length <= MAX_INPUT_NAME_CHARACTERS) return;
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  throw new ArgumentTypeError(
    "Cannot exec as the name of an input must be a Python identifier of at most " +
      `${MAX_INPUT_NAME_CHARACTERS} characters, no keyword, and not begin and end with '__': current value is ${shown}`,
  );
}

/** Throws unless JSON can represent the value exactly. `left` has what all inputs together may still have. */
function checkPlain(name: string, value: unknown, left: { bytes: number; values: number }): void {
  const fault = faultOf(value, JSON_LIMITS.depth, left);
  if (fault !== undefined) {
    throw new ArgumentTypeError(
      `Cannot exec as input '${name}' must be plain JSON, a Uint8Array or a typed array: ` +
        `found ${fault.found} at ${name}${fault.path}`,
    );
  }
}

interface Fault {
  readonly found: string;
  readonly path: string;
}

function faultOf(value: unknown, depth: number, left: { bytes: number; values: number }): Fault | undefined {
  left.values--;
  left.bytes -= typeof value === "string" ? value.length : 1;
  if (left.values < 0) {
    throw new ArgumentRangeError(
      `Cannot exec as all inputs together must have at most ${JSON_LIMITS.values} values: use typed arrays for more`,
    );
  }
  if (left.bytes < 0) throw inputsTooLarge();
  if (typeof value === "bigint") {
    const digits = String(value < 0n ? -value : value).length;
    left.bytes -= digits;
    return digits <= MAX_DIGITS ? undefined : { found: `a bigint of ${digits} digits`, path: "" };
  }
  if (value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) {
    return undefined;
  }
  if (!Array.isArray(value) && !isPlainObject(value)) return { found: describe(value), path: "" };
  if (depth === 0) {
    throw new ArgumentRangeError(
      `Cannot exec as inputs must be nested at most ${JSON_LIMITS.depth} levels deep`,
    );
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return { found: "a toJSON method", path: "" };
  }
  const parts = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, part] of parts) {
    if (typeof key === "string") left.bytes -= key.length;
    const fault = faultOf(part, depth - 1, left);
    if (fault) return { ...fault, path: (typeof key === "number" ? `[${key}]` : `.${key}`) + fault.path };
  }
  return undefined;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describe(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return typeof value;
  if (ArrayBuffer.isView(value)) return `a ${value.constructor.name}`;
  return `an instance of ${value.constructor?.name ?? "another class"}`;
}
