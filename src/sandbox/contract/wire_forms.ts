/**
 * Files and inputs of an exec as JSON carries them.
 *
 * @module
 */
import * as z from "zod";
import { fromBase64, toBase64 } from "../../base64.ts";
import { ArgumentTypeError } from "../../errors.ts";
import { withRawIntegers } from "../../numbers/exact_numbers.ts";
import {
  BINARY_TYPES,
  type BinaryInput,
  type BinaryType,
  fromBinaryInput,
  MAX_INPUT_NAME_CHARACTERS,
  MAX_INPUTS,
  toBinaryInput,
} from "../exec/exec_inputs.ts";
import { MAX_PATH_CHARACTERS } from "./limits.ts";

/** Pattern of base64, which the generator of `/openapi.json` does not know. */
export const BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

const base64Schema = z.base64().meta({ pattern: BASE64 });
/** Path of a file. */
export const pathSchema = z.string().min(1).max(MAX_PATH_CHARACTERS);
/** Contents of files in base64, by path. */
export const filesSchema = z.record(pathSchema, base64Schema).meta({
  propertyNames: { minLength: 1, maxLength: MAX_PATH_CHARACTERS },
});

/** Names of the types of inputs that are sent as bytes. */
export const BINARY_TYPE_NAMES = Object.keys(BINARY_TYPES) as BinaryType[];
const inputName = z.string().min(1).max(MAX_INPUT_NAME_CHARACTERS);
/** Limits of inputs, which the sandbox checks. */
const INPUT_NAMES = {
  maxProperties: MAX_INPUTS,
  propertyNames: { minLength: 1, maxLength: MAX_INPUT_NAME_CHARACTERS },
};

/** Values that are set as globals before a program runs: plain JSON, and bytes and arrays in base64. */
export const inputsSchema = z.object({
  inputs: z.record(inputName, z.unknown()).meta(INPUT_NAMES).optional()
    .describe("values of JSON by name, a Python identifier; they are globals of the program"),
  binaryInputs: z.record(
    inputName,
    z.strictObject({ type: z.enum(BINARY_TYPE_NAMES), base64: base64Schema }),
  ).meta(INPUT_NAMES).optional().describe(
    "further globals: bytes becomes bytes, the other types an array.array of little-endian elements",
  ),
});

/** Returns files as JSON carries them: contents in base64, by path. */
export function toBase64Files(files: Readonly<Record<string, Uint8Array | string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(files).map(([path, contents]) => [path, toBase64(toBytes(contents))]),
  );
}

/** Returns the contents of files that JSON carried. */
export function fromBase64Files(
  files: Readonly<Record<string, string>>,
): Record<string, Uint8Array<ArrayBuffer>> {
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, fromBase64(text)]),
  );
}

/** Returns inputs of a program as JSON carries them. */
export function toWireInputs(inputs: Readonly<Record<string, unknown>> = {}): z.input<typeof inputsSchema> {
  const plain: [string, unknown][] = [];
  const binary: [string, { type: BinaryType; base64: string }][] = [];
  for (const [name, value] of Object.entries(inputs)) {
    const { type, contents } = toBinaryInput(value) ?? {};
    if (type && contents) binary.push([name, { type, base64: toBase64(contents) }]);
    else plain.push([name, withRawIntegers(value)]);
  }
  return {
    ...(plain.length > 0 && { inputs: Object.fromEntries(plain) }),
    ...(binary.length > 0 && { binaryInputs: Object.fromEntries(binary) }),
  };
}

/**
 * Returns the inputs of a program that JSON carried.
 *
 * @throws {ArgumentTypeError} if two inputs have the same name.
 * @throws {ArgumentRangeError} if an array has part of an element.
 */
export function fromWireInputs(
  { inputs = {}, binaryInputs = {} }: z.output<typeof inputsSchema>,
): Record<string, unknown> {
  const twice = Object.keys(binaryInputs).find((name) => Object.hasOwn(inputs, name));
  if (twice !== undefined) {
    throw new ArgumentTypeError(
      `Cannot exec as the names of inputs must be unique: '${twice}' is in 'inputs' and in 'binaryInputs'`,
    );
  }
  const binary = Object.entries(binaryInputs).map(([name, { type, base64 }]): [string, unknown] => {
    const input: BinaryInput = { type, contents: fromBase64(base64) };
    return [name, fromBinaryInput(name, input)];
  });
  return Object.fromEntries([...Object.entries(inputs), ...binary]);
}

function toBytes(contents: Uint8Array | string): Uint8Array {
  return typeof contents === "string" ? new TextEncoder().encode(contents) : contents;
}
