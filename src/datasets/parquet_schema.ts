import { type FileMetaData, parquetSchema } from "hyparquet";

/** A node of the schema of a Parquet file: a column, or a field within a column. */
export type ParquetNode = ReturnType<typeof parquetSchema>;

type Element = FileMetaData["schema"][number];

/** Kinds of nodes, which decide how their values are assembled. */
export type NodeShape = "list" | "map" | "struct" | "value" | "whole";

/** Returns the shape of a node. The library converts a `whole` node, with all nodes below. */
export function shapeOf({ element, children }: ParquetNode): NodeShape {
  if (isConvertedByLibrary(element)) return "whole";
  if (children.length === 0) return "value";
  const [only] = children;
  if (children.length > 1 || only?.element.repetition_type !== "REPEATED") return "struct";
  if (isMap(element)) return only.children.length === 2 ? "map" : "struct";
  return element.converted_type === "LIST" && only.children.length <= 1 ? "list" : "struct";
}

/** Returns the node of the elements of a list. The middle level of three has no counterpart in the values. */
export function elementOf({ children }: ParquetNode): ParquetNode | undefined {
  const [repeated] = children;
  return repeated?.children.length === 1 ? repeated.children[0] : repeated;
}

function isMap({ converted_type }: Element): boolean {
  return converted_type === "MAP" || converted_type === "MAP_KEY_VALUE";
}

/** Types of geographic data, which stay as the library reads them. */
function isConvertedByLibrary({ logical_type }: Element): boolean {
  return ["GEOMETRY", "GEOGRAPHY"].includes(logical_type?.type ?? "");
}

/**
 * Returns metadata with which the library reads texts, and each other value in the stored form: as an integer, a
 * floating point number or bytes. The library's own conversions lose digits of decimals and of timestamps, and throw
 * for some types, for which the whole file could not be read. Maps become lists of entries, since the library writes
 * their keys as properties.
 */
export function withStoredTypes(metadata: FileMetaData): FileMetaData {
  const kept = new Set<Element>();
  keepWhole(parquetSchema(metadata), kept, false);
  return {
    ...metadata,
    schema: metadata.schema.map((element) => kept.has(element) ? element : stored(element)),
  };
}

/** Collects the elements at and below those that the library converts. */
function keepWhole({ element, children }: ParquetNode, kept: Set<Element>, isBelow: boolean): void {
  const isKept = isBelow || isConvertedByLibrary(element);
  if (isKept) kept.add(element);
  for (const child of children) keepWhole(child, kept, isKept);
}

function stored(element: Element): Element {
  const { converted_type, logical_type: _, ...plain } = element;
  if (element.num_children) return converted_type === "LIST" ? { ...plain, converted_type } : plain;
  return isText(element) ? { ...plain, converted_type: "UTF8" } : plain;
}

/** True if the values of a column are texts: strings, names of an enumeration, or JSON. */
export function isText({ type, converted_type, logical_type }: Element): boolean {
  return type === "BYTE_ARRAY" && (["UTF8", "ENUM", "JSON"].includes(converted_type ?? "") ||
    ["STRING", "ENUM", "JSON"].includes(logical_type?.type ?? ""));
}

/**
 * Checks that no column is a `VARIANT`. Values of a `VARIANT` refer to their parts by offsets, so that some hundred
 * bytes can have any number of parts, and the library reads decimals as inexact numbers and texts beyond the end of
 * their value (hyparquet 1.31.5).
 *
 * @throws {TypeError} if a column or field has this type. The message names the column.
 */
export function requireNoVariant(metadata: FileMetaData): void {
  const variant = findVariant(parquetSchema(metadata));
  if (variant === undefined) return;
  throw new TypeError(
    `columns of the type VARIANT are not read, write them as JSON: found '${variant.path.join(".")}'`,
  );
}

function findVariant(node: ParquetNode): ParquetNode | undefined {
  if (node.element.logical_type?.type === "VARIANT") return node;
  for (const child of node.children) {
    const found = findVariant(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Checks that the columns of each row group are in the schema. Otherwise the library throws while other columns are
 * read, and an error of these columns, which nothing handles, would end the process (hyparquet 1.31.5).
 *
 * @throws {TypeError} if a column is not in the schema, or has no description or another file.
 */
export function requireColumns(metadata: FileMetaData): void {
  const known = new Set(pathsOf(parquetSchema(metadata)));
  for (const { meta_data, file_path } of metadata.row_groups.flatMap(({ columns }) => columns)) {
    const path = meta_data?.path_in_schema;
    if (path !== undefined && known.has(JSON.stringify(path)) && !file_path) continue;
    throw new TypeError(`the columns must be in the file and its schema: found [${path?.join(", ") ?? ""}]`);
  }
}

function pathsOf({ path, children }: ParquetNode): string[] {
  return children.length === 0 ? [JSON.stringify(path)] : children.flatMap(pathsOf);
}
