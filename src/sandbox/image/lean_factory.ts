import { type AnyNode, type ModuleDeclaration, parse, type Program, type Statement } from "acorn";

/** Options of {@linkcode stripFactory}. */
export interface StripFactoryOptions {
  /** Names of the functions that the Wasm module of a sandbox imports and may call. */
  imports: ReadonlySet<string>;
  /** Names of the properties of the finished module that the guest uses. */
  properties: readonly string[];
  /** New initial values of variables, by their names. */
  replaced: Readonly<Record<string, string>>;
}

/** A declaration, an assignment or another statement of the factory. */
interface Piece {
  readonly text: string;
  /** Names for whose sake the piece is kept. Without names it is always kept. */
  readonly names: readonly string[];
  /** Code that is part of the output if the piece is kept. Its names are kept as well. */
  readonly uses: string;
}

/** Table of the JavaScript functions that Wasm imports, one per property. */
const IMPORTS_TABLE = "wasmImports";
/** Function that assigns each export of the Wasm module to a variable. */
const ASSIGN_EXPORTS = "assignWasmExports";

/**
 * Returns Emscripten's JavaScript without the parts that a restored interpreter never calls: graphics, sound, the
 * bridge to JavaScript, and variables for thousands of C functions. Deno parses this file twice when a sandbox starts,
 * which takes a third of the CPU time of the start. A name that occurs anywhere in a part that is kept is kept too, be
 * it in a string or in another scope, so that the result has all that it can refer to.
 *
 * @throws {SyntaxError} if the file is not one function with a list of declarations, among them those to be replaced.
 */
export function stripFactory(source: string, options: StripFactoryOptions): string {
  const program = parse(source, { ecmaVersion: "latest", sourceType: "module" });
  const body = factoryBody(program);
  const assignments = body?.find((node) => isFunction(node, ASSIGN_EXPORTS));
  if (!body || assignments?.type !== "FunctionDeclaration") {
    throw new SyntaxError(
      `Cannot strip factory as it must be one function with a declaration of '${ASSIGN_EXPORTS}'`,
    );
  }
  const statements = body.filter((node) => node !== assignments);
  const pieces = statements.flatMap((node) => piecesOf(node, source, options));
  for (const name of Object.keys(options.replaced)) {
    if (pieces.some(({ names }) => names.includes(name))) continue;
    throw new SyntaxError(`Cannot strip factory as it must declare '${name}'`);
  }
  const exported = assignments.body.body.map((node) => exportPiece(node, source));
  const kept = keptPieces([...pieces, ...exported], [
    ASSIGN_EXPORTS,
    ...options.properties.map((name) => propertyName(name)),
  ]);
  const textOf = (list: readonly Piece[]) =>
    list.filter((piece) => kept.has(piece)).map(({ text }) => text).join("\n");
  const [first] = body;
  const last = body.at(-1);
  return [
    source.slice(0, first?.start),
    textOf(pieces),
    `function ${ASSIGN_EXPORTS}(wasmExports){`,
    textOf(exported),
    "}",
    source.slice(last?.end),
  ].join("\n");
}

/** Returns the statements of the file's only function, which it exports. */
function factoryBody({ body }: Program): readonly Statement[] | undefined {
  const [factory, exported, ...rest]: (Statement | ModuleDeclaration)[] = body;
  const isExpected = factory?.type === "FunctionDeclaration" &&
    exported?.type === "ExportDefaultDeclaration" && rest.length === 0;
  return isExpected ? factory.body.body : undefined;
}

function isFunction(node: Statement, name: string): boolean {
  return node.type === "FunctionDeclaration" && node.id.name === name;
}

function piecesOf(
  node: Statement,
  source: string,
  { imports, replaced }: Pick<StripFactoryOptions, "imports" | "replaced">,
): Piece[] {
  const text = source.slice(node.start, node.end);
  if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
    return [{ text, names: [node.id.name], uses: text }];
  }
  if (node.type === "VariableDeclaration") {
    return node.declarations.map((declaration) => {
      const { id, init } = declaration;
      const value = id.type === "Identifier" ? replaced[id.name] : undefined;
      if (id.type === "Identifier" && value !== undefined) {
        return { text: `${node.kind} ${id.name}=${value};`, names: [id.name], uses: "" };
      }
      const own = id.type === "Identifier" && id.name === IMPORTS_TABLE && init?.type === "ObjectExpression"
        ? importsTable(init.properties, source, imports)
        : source.slice(declaration.start, declaration.end);
      const names = id.type === "Identifier" && (!init || hasNoEffect(init)) ? [id.name] : [];
      return { text: `${node.kind} ${own};`, names, uses: own };
    });
  }
  const names = node.type === "ExpressionStatement" ? assignedNames(node.expression) : [];
  return [{ text, names, uses: text }];
}

/** Returns the table of imports with those that are called. */
function importsTable(properties: readonly AnyNode[], source: string, imports: ReadonlySet<string>): string {
  const called = properties.filter((node) =>
    node.type !== "Property" || node.key.type !== "Identifier" || imports.has(node.key.name)
  );
  return `${IMPORTS_TABLE}={${called.map(({ start, end }) => source.slice(start, end)).join(",")}}`;
}

/** True if a variable's initial value can be left out with the variable. */
function hasNoEffect(node: AnyNode): boolean {
  if (node.type === "ObjectExpression") {
    return node.properties.every((part) =>
      part.type === "Property" && !part.computed && hasNoEffect(part.value)
    );
  }
  if (node.type === "ArrayExpression") return node.elements.every((part) => !part || hasNoEffect(part));
  if (node.type === "MemberExpression") {
    return hasNoEffect(node.object) && (!node.computed || hasNoEffect(node.property));
  }
  return ["FunctionExpression", "ArrowFunctionExpression", "Literal", "Identifier"].includes(node.type);
}

/** Returns the name that an assignment to a property is for: `Module["x"]=y` for the property, `f.sig="i"` for `f`. */
function assignedNames(node: AnyNode): string[] {
  if (node.type !== "AssignmentExpression" || !hasNoEffect(node.right)) return [];
  const { left } = node;
  if (left.type !== "MemberExpression" || left.object.type !== "Identifier") return [];
  if (left.object.name !== "Module") return [left.object.name];
  const { property } = left;
  if (property.type === "Identifier" && !left.computed) return [propertyName(property.name)];
  return property.type === "Literal" ? [propertyName(String(property.value))] : [];
}

/** Matches the assignment of an export: `_f=Module["_f"]=wasmExports["f"]`. */
const EXPORT = /^((?:[\w$]+=|Module\["[\w$]+"\]=)+)wasmExports\["[\w$]+"\](?:\.value>>>0)?;?$/;

function exportPiece({ start, end }: Statement, source: string): Piece {
  const text = source.slice(start, end);
  const [, targets = ""] = EXPORT.exec(text) ?? [];
  const variables = [...targets.matchAll(/(?:^|=)([\w$]+)(?==)/g)].map(([, name = ""]) => name);
  const properties = [...targets.matchAll(/Module\["([\w$]+)"\]/g)].map(([, name = ""]) =>
    propertyName(name)
  );
  return { text, names: [...variables, ...properties], uses: variables.join() };
}

function propertyName(name: string): string {
  return `Module.${name}`;
}

/** Returns the pieces without names, those with the given names, and all that these use. */
function keptPieces(pieces: readonly Piece[], names: readonly string[]): Set<Piece> {
  const byName = new Map<string, Piece[]>();
  for (const piece of pieces) {
    for (const name of piece.names) byName.set(name, [...byName.get(name) ?? [], piece]);
  }
  const kept = new Set<Piece>(pieces.filter((piece) => piece.names.length === 0));
  const wanted = new Set(names);
  for (const { uses } of kept) addNames(wanted, uses);
  for (const name of wanted) {
    for (const piece of byName.get(name) ?? []) {
      kept.add(piece);
      addNames(wanted, piece.uses);
    }
  }
  return kept;
}

/** Adds every word of a text, and every property of `Module`. */
function addNames(names: Set<string>, text: string): void {
  for (const [word] of text.matchAll(/[\w$]+/g)) names.add(word);
  for (const [, dotted, quoted] of text.matchAll(/\bModule(?:\.([\w$]+)|\["([\w$]+)"\])/g)) {
    names.add(propertyName(dotted ?? quoted ?? ""));
  }
}
