import ts from "typescript";

/** A place where code branches on the text of an error message. */
export interface MessageBranch {
  readonly file: string;
  /** Line number, from 1. */
  readonly line: number;
  /** The name of the innermost named function around it; empty outside of functions. */
  readonly inFunction: string;
  readonly code: string;
}

/** Methods that test the text they belong to. */
const TEXT_QUERIES = new Set([
  "includes",
  "startsWith",
  "endsWith",
  "match",
  "matchAll",
  "search",
  "indexOf",
  "lastIndexOf",
  "localeCompare",
]);
/** Methods that test their argument: of regular expressions, lists, sets and maps. */
const ARGUMENT_QUERIES = new Set(["test", "exec", "has", "get", "includes", "indexOf", "lastIndexOf"]);
const EQUALITY = new Set([
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
]);
/** Functions of other files that return the text of an error. */
const TEXT_FUNCTIONS = new Set(["errorMessage", "thrownText"]);

/**
 * Finds the places where files branch on the text of a `.message`: by a method of the text, a regular expression, a
 * comparison, a `switch`, or a look-up, also through variables, destructuring, assignments and functions of the file.
 * A test for `undefined` or `null` does not count.
 *
 * @param sources The text of each file, by its name.
 */
export function messageBranches(sources: ReadonlyMap<string, string>): MessageBranch[] {
  const options: ts.CompilerOptions = {
    noResolve: true,
    noLib: true,
    types: [],
    allowImportingTsExtensions: true,
    target: ts.ScriptTarget.ESNext,
  };
  const host: ts.CompilerHost = {
    getSourceFile: (name, version) => {
      const text = sources.get(name);
      return text === undefined ? undefined : ts.createSourceFile(name, text, version, true);
    },
    getDefaultLibFileName: () => "",
    writeFile: () => {},
    getCurrentDirectory: () => "",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    fileExists: (name) => sources.has(name),
    readFile: (name) => sources.get(name),
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  const checker = program.getTypeChecker();
  return [...sources.keys()].flatMap((name) => {
    const file = program.getSourceFile(name);
    if (file === undefined) throw new Error(`Cannot check '${name}' as it must be TypeScript`);
    return new FileCheck(file, checker).branches();
  });
}

/** The variables, properties and functions of one file that hold or return the text of a message. */
class FileCheck {
  readonly #file: ts.SourceFile;
  readonly #checker: ts.TypeChecker;
  readonly #texts = new Set<ts.Symbol>();
  readonly #functions = new Set<ts.Symbol>();

  constructor(file: ts.SourceFile, checker: ts.TypeChecker) {
    this.#file = file;
    this.#checker = checker;
  }

  branches(): MessageBranch[] {
    for (let known = -1; known < this.#texts.size + this.#functions.size;) {
      known = this.#texts.size + this.#functions.size;
      visit(this.#file, (node) => this.#collect(node));
    }
    const found: MessageBranch[] = [];
    visit(this.#file, (node) => {
      if (this.#isBranch(node)) found.push(this.#describe(node));
    });
    return found;
  }

  #collect(node: ts.Node): void {
    if (ts.isVariableDeclaration(node) && node.initializer && this.#isText(node.initializer)) {
      this.#add(this.#texts, node.name);
    }
    if (ts.isVariableDeclaration(node) && node.initializer && this.#returnsText(node.initializer)) {
      this.#add(this.#functions, node.name);
    }
    const isMember = ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent);
    if (isMember && nameOf(node.propertyName ?? node.name) === "message") this.#add(this.#texts, node.name);
    if (ts.isBinaryExpression(node) && isAssignment(node.operatorToken.kind) && this.#isText(node.right)) {
      const target = ts.isPropertyAccessExpression(node.left) ? node.left.name : node.left;
      this.#add(this.#texts, target);
    }
    const isNamed = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node);
    if (isNamed && node.name && this.#returnsText(node)) this.#add(this.#functions, node.name);
  }

  /** Adds a variable, or every variable of an array pattern. */
  #add(symbols: Set<ts.Symbol>, name: ts.Node): void {
    if (ts.isObjectBindingPattern(name)) return; // its members are looked at by their names
    if (ts.isArrayBindingPattern(name)) {
      for (const element of name.elements) {
        if (ts.isBindingElement(element)) this.#add(symbols, element.name);
      }
      return;
    }
    const symbol = this.#checker.getSymbolAtLocation(name);
    if (symbol) symbols.add(symbol);
  }

  #has(symbols: Set<ts.Symbol>, node: ts.Node): boolean {
    const symbol = this.#checker.getSymbolAtLocation(node);
    return symbol !== undefined && symbols.has(symbol);
  }

  /** True if the expression holds the text of a message, as it is or changed. */
  #isText(node: ts.Expression): boolean {
    if (ts.isIdentifier(node)) return this.#has(this.#texts, node);
    if (ts.isPropertyAccessExpression(node)) {
      return node.name.text === "message" || this.#has(this.#texts, node.name);
    }
    if (ts.isElementAccessExpression(node)) {
      const { argumentExpression: key, expression } = node;
      return (ts.isStringLiteralLike(key) && key.text === "message") || this.#isText(expression);
    }
    if (
      ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isNonNullExpression(node) ||
      ts.isSatisfiesExpression(node)
    ) return this.#isText(node.expression);
    if (ts.isConditionalExpression(node)) return this.#isText(node.whenTrue) || this.#isText(node.whenFalse);
    if (ts.isTemplateExpression(node)) {
      return node.templateSpans.some(({ expression }) => this.#isText(expression) || isCaught(expression));
    }
    if (ts.isBinaryExpression(node)) {
      const { kind } = node.operatorToken;
      const gives = kind === ts.SyntaxKind.PlusToken || kind === ts.SyntaxKind.QuestionQuestionToken ||
        kind === ts.SyntaxKind.BarBarToken || isAssignment(kind);
      return gives && (this.#isText(node.left) || this.#isText(node.right));
    }
    if (ts.isCallExpression(node)) return this.#isTextCall(node);
    return false;
  }

  #isTextCall({ expression, arguments: [first] }: ts.CallExpression): boolean {
    if (ts.isIdentifier(expression)) {
      if (TEXT_FUNCTIONS.has(expression.text)) return true;
      if (expression.text === "String" && first) return this.#isText(first) || isCaught(first);
      return this.#has(this.#functions, expression);
    }
    if (!ts.isPropertyAccessExpression(expression)) return false;
    if (this.#has(this.#functions, expression.name)) return true;
    return !TEXT_QUERIES.has(expression.name.text) && this.#isText(expression.expression);
  }

  /** True if a function returns the text of a message. */
  #returnsText(node: ts.Node): boolean {
    if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return this.#isText(node.body);
    const body = isFunction(node) ? node.body : undefined;
    if (body === undefined) return false;
    let returns = false;
    visit(body, (inner) => {
      if (ts.isReturnStatement(inner) && inner.expression && functionAround(inner) === node) {
        returns ||= this.#isText(inner.expression);
      }
    });
    return returns;
  }

  #isBranch(node: ts.Node): boolean {
    if (ts.isBinaryExpression(node) && EQUALITY.has(node.operatorToken.kind)) {
      const sides = [node.left, node.right];
      return sides.some((side) => this.#isText(side)) && !sides.some(isNothing);
    }
    if (ts.isSwitchStatement(node)) return this.#isText(node.expression);
    if (ts.isElementAccessExpression(node)) return this.#isText(node.argumentExpression);
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
    const { name, expression } = node.expression;
    const isQueried = TEXT_QUERIES.has(name.text) && this.#isText(expression);
    return isQueried ||
      (ARGUMENT_QUERIES.has(name.text) && node.arguments.some((each) => this.#isText(each)));
  }

  #describe(node: ts.Node): MessageBranch {
    const start = node.getStart(this.#file);
    return {
      file: this.#file.fileName,
      line: this.#file.getLineAndCharacterOfPosition(start).line + 1,
      inFunction: functionNameAround(node),
      code: node.getText(this.#file).split("\n")[0] ?? "",
    };
  }
}

function visit(node: ts.Node, work: (node: ts.Node) => void): void {
  work(node);
  ts.forEachChild(node, (child) => visit(child, work));
}

function nameOf(node: ts.Node): string {
  return ts.isIdentifier(node) || ts.isStringLiteral(node) ? node.text : "";
}

function isAssignment(kind: ts.SyntaxKind): boolean {
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

function isNothing(node: ts.Expression): boolean {
  return node.kind === ts.SyntaxKind.NullKeyword || nameOf(node) === "undefined" || ts.isVoidExpression(node);
}

/** True if the expression is the variable of a `catch` around it. */
function isCaught(node: ts.Expression): boolean {
  if (!ts.isIdentifier(node)) return false;
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (!ts.isCatchClause(at)) continue;
    if (at.variableDeclaration && nameOf(at.variableDeclaration.name) === node.text) return true;
  }
  return false;
}

function isFunction(
  node: ts.Node,
): node is ts.FunctionDeclaration | ts.FunctionExpression | ts.ArrowFunction | ts.MethodDeclaration {
  return ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node) || ts.isArrowFunction(node) ||
    ts.isMethodDeclaration(node);
}

function functionAround(node: ts.Node): ts.Node | undefined {
  for (let at = node.parent; at !== undefined; at = at.parent) if (isFunction(at)) return at;
  return undefined;
}

function functionNameAround(node: ts.Node): string {
  for (let at = functionAround(node); at !== undefined; at = functionAround(at)) {
    if ((ts.isFunctionDeclaration(at) || ts.isMethodDeclaration(at)) && at.name) return at.name.getText();
  }
  return "";
}
