import { encodeBase64 } from "@std/encoding";
import { parseUntrustedDataJson } from "../numbers/data_json.ts";
import { losesDigits } from "../numbers/decimal.ts";
import { errorMessage } from "../errors.ts";
import { elementOf, isText, type ParquetNode, shapeOf } from "./parquet_schema.ts";
import { dateText, intervalText, timestampText, timeText, type TimeUnit } from "./parquet_times.ts";

/** Converts a value of Parquet, in the library's form, to JSON data. */
export type ToData = (value: unknown) => unknown;

/**
 * Returns the function that converts the values of a node to JSON data, in which nothing is lost:
 *
 * | in Parquet | as data |
 * | --- | --- |
 * | null of any type | `null` |
 * | integer, decimal | a number if JavaScript writes the same digits, else text |
 * | floating point number | a number; `NaN`, `Infinity` and `-Infinity` as text |
 * | timestamp, date | ISO 8601 in UTC with 3, 6 or 9 digits of seconds; `infinity` and `-infinity` |
 * | time of day, interval | text such as `12:30:00.5` and `P1M2DT3.5S` |
 * | string, enum, UUID | text |
 * | JSON | the value |
 * | bytes without a type | text if they are UTF-8, else `{ "base64": "…" }` |
 * | bytes of fixed length, BSON | `{ "base64": "…" }` |
 * | list, struct, map | list, object, object with texts as keys |
 *
 * @throws {SyntaxError} (the returned function) if a text is not UTF-8, or JSON is not valid.
 */
export function toDataOf(node: ParquetNode): ToData {
  const convert = converterOf(node);
  return (value) => value === null || value === undefined ? null : convert(value);
}

function converterOf(node: ParquetNode): ToData {
  const shape = shapeOf(node);
  if (shape === "whole") return looseData;
  if (shape === "list") return listData(node);
  if (shape === "map") return mapData(node);
  const convert = shape === "struct" ? structData(node) : valueData(node);
  // A repeated field outside of a list is a separate list.
  return (value) =>
    Array.isArray(value) ? value.map((item) => item === null ? null : convert(item)) : convert(value);
}

function listData(node: ParquetNode): ToData {
  const element = elementOf(node);
  const toData = element === undefined ? looseData : itemData(element);
  return (value) => Array.isArray(value) ? value.map(toData) : looseData(value);
}

/** Converts an element of a list; the repetition of a list of two levels is the list's. */
function itemData(node: ParquetNode): ToData {
  return toDataOf({ ...node, element: { ...node.element, repetition_type: "OPTIONAL" } });
}

function mapData({ children: [entries] }: ParquetNode): ToData {
  const [key, value] = entries?.children ?? [];
  if (entries === undefined || key === undefined || value === undefined) return looseData;
  const [toKey, toValue] = [toDataOf(key), toDataOf(value)];
  return (map) => {
    const list: unknown[] = Object(map)[entries.element.name] ?? [];
    return Object.fromEntries(list.map((entry) => {
      const { [key.element.name]: name, [value.element.name]: member } = Object(entry);
      return [keyText(toKey(name)), toValue(member)];
    }));
  };
}

function keyText(key: unknown): string {
  return typeof key === "string" ? key : JSON.stringify(key);
}

function structData({ children }: ParquetNode): ToData {
  const fields = children.map((child) => [child.element.name, toDataOf(child)] as const);
  return (value) => Object.fromEntries(fields.map(([name, toData]) => [name, toData(Object(value)[name])]));
}

/** Largest scale of a decimal, and largest number of its bytes: both come from the file, and cost time and memory. */
const [MAX_SCALE, MAX_DECIMAL_BYTES] = [1_000, 256];

/**
 * Returns the converter of a column's stored values.
 *
 * @throws {RangeError} if the scale of a decimal is out of range.
 */
function valueData({ element }: ParquetNode): ToData {
  const { type, converted_type = "", logical_type, scale = 0 } = element;
  const logical = logical_type?.type;
  if (isText(element)) return converted_type === "JSON" || logical === "JSON" ? jsonData : textData;
  if (converted_type === "DECIMAL" || logical === "DECIMAL") {
    if (!(scale >= 0 && scale <= MAX_SCALE)) {
      throw new RangeError(`the scale of a decimal must be from 0 to ${MAX_SCALE}: found ${scale}`);
    }
    return (value) =>
      decimalData(value instanceof Uint8Array ? signedInteger(value) : BigInt(value as bigint), scale);
  }
  const unit = logical_type !== undefined && "unit" in logical_type
    ? logical_type.unit
    : unitOf(converted_type);
  if (converted_type === "DATE" || logical === "DATE") return (value) => dateText(Number(value));
  if (type === "INT96") return (value) => timestampText(value as bigint, "NANOS");
  if (converted_type.startsWith("TIMESTAMP") || logical === "TIMESTAMP") {
    return (value) => timestampText(BigInt(value as bigint), unit);
  }
  if (converted_type.startsWith("TIME_") || logical === "TIME") {
    return (value) => timeText(BigInt(value as bigint), unit);
  }
  const isUnsigned = converted_type.startsWith("UINT") ||
    logical_type?.type === "INTEGER" && !logical_type.isSigned;
  if (type === "INT64") {
    return (value) => integerData(isUnsigned ? BigInt.asUintN(64, value as bigint) : value as bigint);
  }
  if (type === "INT32") return isUnsigned ? (value) => Number(value) >>> 0 : (value) => value;
  if (type === "FLOAT" || type === "DOUBLE") return floatData;
  if (type === "FIXED_LEN_BYTE_ARRAY") {
    if (converted_type === "INTERVAL") return (value) => intervalText(value as Uint8Array);
    if (logical === "FLOAT16") return (value) => floatData(float16(value as Uint8Array));
    if (logical === "UUID") return (value) => uuidText(value as Uint8Array);
    return (value) => bytesData(value as Uint8Array);
  }
  if (type === "BYTE_ARRAY") {
    return converted_type === "BSON" || logical === "BSON"
      ? (value) => bytesData(value as Uint8Array)
      : (value) => decodeText(value as Uint8Array) ?? bytesData(value as Uint8Array);
  }
  return looseData;
}

function unitOf(converted: string): TimeUnit {
  return converted.endsWith("MICROS") ? "MICROS" : "MILLIS";
}

function integerData(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

function floatData(value: unknown): unknown {
  return Number.isFinite(value) ? value : String(value);
}

/** Returns the decimal `unscaled / 10 ** scale`: a number if JavaScript writes the same digits, else text. */
function decimalData(unscaled: bigint, scale: number): number | string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const point = digits.length - scale;
  const text = (unscaled < 0n ? "-" : "") + digits.slice(0, point) +
    (scale > 0 ? `.${digits.slice(point)}` : "");
  return losesDigits(text) ? text : Number(text);
}

/** Returns the integer in two's complement with the highest byte first. */
function signedInteger(bytes: Uint8Array): bigint {
  if (bytes.length > MAX_DECIMAL_BYTES) {
    throw new RangeError(`a decimal must have at most ${MAX_DECIMAL_BYTES} bytes: found ${bytes.length}`);
  }
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x0${bytes.toHex()}`));
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns bytes as text; `undefined` if they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined; // the decoder throws for nothing else
  }
}

/** The library has decoded a text, unless the text was not UTF-8. */
function textData(value: unknown): string {
  if (typeof value === "string") return value;
  throw new SyntaxError("a column of strings must be UTF-8: found an invalid byte");
}

function jsonData(value: unknown): unknown {
  try {
    return parseUntrustedDataJson(textData(value));
  } catch (cause) {
    throw new SyntaxError(`a column of JSON must have JSON: ${errorMessage(cause)}`, { cause });
  }
}

function bytesData(bytes: Uint8Array): unknown {
  return { base64: encodeBase64(bytes) };
}

function uuidText(bytes: Uint8Array): string {
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function float16(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, 2).getFloat16(0, true);
}

/** Converts a value without a schema: of geographic data, or of a type that a newer version of Parquet adds. */
function looseData(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === "bigint") return integerData(value);
  if (typeof value === "number") return floatData(value);
  if (value instanceof Date) return timestampText(BigInt(value.getTime()), "MILLIS");
  if (value instanceof Uint8Array) return bytesData(value);
  if (Array.isArray(value)) return value.map(looseData);
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, looseData(member)]));
}
