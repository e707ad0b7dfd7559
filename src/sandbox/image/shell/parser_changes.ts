import { replace } from "./replace.ts";

/** Matches the parser's reading of a word. */
const PARSE_WORD = /parseWord\(([\w$]+)=([\w$]+)\.Default\)\{/g;
const SOURCED_WORD =
  "parseWord(...given){return sourcedOfPaddock(this,()=>this.parseWordOfEngine(...given))}" +
  "parseWordOfEngine($1=$2.Default){";
/** Code of a function that adds its text to what a parser reads. */
const SOURCED =
  "const sourcedOfPaddock=(parser,parse)=>{const{start}=parser.current();const node=parse(parser);" +
  "node.source=parser._input.slice(start,parser.tokens[parser.pos-1].end);return node};";
/** Matches the reading of an assignment before a command. */
const ASSIGNMENT = /([\w$]+)\.check\(([\w$]+)\.ASSIGNMENT_WORD\)\?([\w$]+)\.push\(([\w$]+)\(\1\)\)/g;
/** Matches the end of the reading of an argument that looks like an assignment. */
const ASSIGNED_ARGUMENT =
  /([\w$]+)\.push\(([\w$]+)\.parseAdjacentWordParts\([\w$]+\.parts,([\w$]+)\.end,[\w$]+\.Assignment\)\)\}/g;
/** Matches the reading of an argument such as `name=(1 2)`. */
const ARRAY_ARGUMENT =
  /let ([\w$]+)=([\w$]+\([\w$]+\))(;[\w$]+\.expect\([\w$]+\.RPAREN\);let [\w$]+=\1\.map\([^`]*`\$\{([\w$]+)\}=\(\$\{[\w$]+\.join\(" "\)\}\)`;[\w$]+\.push\()([\w$]+\.parseWordFromString\([\w$]+,!1,!1,!0\))\)/g;
/** Matches the setting of a here-document's text. */
const HERE_DOCUMENT =
  /\.redirect\.target=([\w$]+\.hereDoc\([\w$]+\.delimiter,[\w$]+,[\w$]+\.stripTabs,[\w$]+\.quoted,([\w$]+)\.heredocTerminated\?\?!1\))/g;

/**
 * Matches the reading of the next sign of a word. `$6` is true in a here-document, and `$7` is the text so
 * far.
 */
const DOCUMENT_SIGN =
  /(for\(;([\w$]+)<([\w$]+)\.length;\)\{let ([\w$]+)=\3\[\2\];)(?=if\(\4==="\\\\"&&\2\+1<\3\.length\)\{let ([\w$]+)=\3\[\2\+1\];if\([\w$]+\)\{[\w$]+\(\),[\w$]+\.push\([\w$]+\.escaped\(\5\)\),\2\+=2;continue\}if\(!([\w$]+)&&[^]{0,400}?:([\w$]+)\+=`\\\\\$\{\5\}`)/g;
/**
 * In a here-document only `$`, a backtick, and a backslash before those, another or a line end are special.
 */
const READ_DOCUMENT_SIGN = "$1if($6){const next=$3[$2+1];" +
  'if($4==="\\\\"&&next!==void 0){$7+=next==="\\n"?"":"$$`\\\\".includes(next)?next:"\\\\"+next;$2+=2;continue}' +
  'if($4!=="`"&&!($4==="$$"&&next!=="\'"&&next!==\'"\')){$7+=$4;$2++;continue}}';

/** Matches the reading of a regular expression, and of a command of arithmetic. */
const EXPRESSION = /([\w$]+==="=~"\?[\w$]+=)([\w$]+)\(([\w$]+)\)(?=:)/g;
const ARITHMETIC_COMMAND = /parseArithmeticCommand\(\)\{/g;

/**
 * Matches places where a word is expected and text with `=` must be a word too: in loops, arrays and `case`.
 */
const LISTED_WORD = /(!([\w$]+)\.check\(([\w$]+)\.SEMICOLON,\3\.NEWLINE,\3\.DO,\3\.EOF\)&&)\2\.isWord\(\)/g;
const CASE_WORD = /(([\w$]+)\.expect\(([\w$]+)\.CASE\),)\2\.isWord\(\)/g;
const ARRAY_WORD =
  /(([\w$]+)\.checkIterationLimit\(\),)\2\.isWord\(\)(\?[\w$]+\.push\()\2\.parseWord\(\)(?=\):)/g;
/** Code of a function that reads an element of an array. A key may have blanks: `[a b]=c` is one word. */
const ELEMENT =
  `const elementOfPaddock=(parser)=>{const{start}=parser.current(),first=parser.parseWord(),{pos}=parser;` +
  `if(!/^\\[[^\\]]*$/.test(first.source))return first;` +
  `while(parser.isWord()||parser.current().type==="ASSIGNMENT_WORD"){const{source}=parser.parseWord();` +
  `if(!source.includes("]"))continue;if(!/\\]\\+?=/.test(source))break;` +
  `const text=parser._input.slice(start,parser.tokens[parser.pos-1].end);` +
  `const key=text.slice(0,text.indexOf("]")).replace(/^.(.*)$/s,'["$1"');` +
  `return Object.assign(parser.parseWordFromString(key+text.slice(text.indexOf("]")),!1,!1,!0),{source:text})}` +
  `parser.pos=pos;return first};`;
const PATTERN_WORD =
  /(for\(;)([\w$]+)\.isWord\(\)(?=&&\([\w$]+\.push\(\2\.parseWord\(\)\),\2\.check\(([\w$]+)\.PIPE\)\);\))/g;
const TARGET_WORD = /([\w$]+)\.isWord\(\)(?=\|\|\1\.error\("Expected redirection target"\))/g;
/** Matches the choice of a command's reader by the first word of the command. */
const FOR_COMMAND = /case ([\w$]+)\.FOR:return/g;
const FOR_LOOP = /let ([\w$]+)=([\w$]+)\.expect\(([\w$]+)\.FOR\);/g;
const FOR_NODE = /return ([\w$]+\.forNode\([\w$]+,[\w$]+,[\w$]+,[\w$]+\))(?=\})/g;

/** Matches the reading of a statement of a script. */
const SCRIPT_STATEMENT =
  /([\w$]+)=this\.parseStatement\(\);\1&&([\w$]+)\.push\(\1\),(this\.check\([\w$]+\.HEREDOC_CONTENT\)&&this\.processHeredocs\(\),this\.skipSeparators\(!1\),)/g;

/** Matches the start of the reading of a script, whose statements are `$1`. */
const SCRIPT = /parseScript\(\)\{let ([\w$]+)=\[\],([\w$]+)=0;/g;
/** Returns the lines before a line that cannot be parsed, and a statement that reports that line. */
const READ_SCRIPT =
  "parseScript(){const read=[];let error=this.unreadOfPaddock;this.unreadOfPaddock=void 0;" +
  "try{const script=this.parseStatementsOfPaddock(read);if(!error)return script}" +
  'catch(thrown){if(!error&&thrown?.name!=="ParseException")throw thrown;error??=thrown;' +
  "read.length=read.findLastIndex(({endsLine})=>endsLine)+1}" +
  "if(read.length===0)throw error;error.script??=this._input;" +
  "const broken={...read[0],pipelines:[],operators:[],background:!1,sourceText:void 0,parseError:error};" +
  'return{type:"Script",statements:[...read,broken]}}parseStatementsOfPaddock($1){let $2=0;';
/** Matches the splitting of a script into tokens. */
const TOKENS = /(let ([\w$]+)=new [\w$]+\(([\w$]+),([\w$]+)\);if\(this\.tokens=)\2\.tokenize\(\)/g;
/**
 * Code of a function that returns the tokens of a script, or the tokens of the lines before a quote that does
 * not end.
 */
const TOKENIZE =
  "const tokensOfPaddock=(parser,lexer,input,options)=>{try{return lexer.tokenize()}catch(error){" +
  "if(!(error?.line>1)||!/^(?:[^:]*: )?unexpected EOF/.test(error.message))throw error;" +
  'const lines=input.split("\\n").slice(0,error.line-1).join("\\n")+"\\n";' +
  "error.script=input;parser.unreadOfPaddock=error;parser._input=lines;" +
  "try{return new lexer.constructor(lines,options).tokenize()}catch{throw error}}};";
/** Matches the start of the execution of a statement. */
const STATEMENT = /(async executeStatement\(([\w$]+)\)\{)(?=if\(this\.assertDefenseContext)/g;

/**
 * Changes the engine's parser:
 *
 * - Words, assignments and here-documents keep their text, from which functions are printed.
 * - The lines of a script before a line that cannot be parsed run.
 * - A statement of a script knows whether the line ends with the statement, as an error of an expansion ends
 *   a line.
 * - The text of a here-document has no quotes, patterns or tildes.
 * - A key of an array may have blanks.
 * - A word with `=` is a word in `for`, `case`, arrays and redirections.
 * - `select` is read as a loop of words with `isSelect`, and `coproc` as a command in a node of its own.
 */
export function changeParser(engine: string): string {
  const sourced = replace(engine, PARSE_WORD, SOURCED_WORD, 1);
  const assigned = replace(
    sourced,
    ASSIGNMENT,
    "$1.check($2.ASSIGNMENT_WORD)?$3.push(sourcedOfPaddock($1,$4))",
    1,
  );
  const listed = replace(
    assigned,
    ARRAY_ARGUMENT,
    "let $1=$2$3Object.assign($5,{array:{name:$4,words:$1}}))",
    1,
  );
  const argued = replace(
    listed,
    ASSIGNED_ARGUMENT,
    "$&$1.at(-1).source=$2._input.slice($3.start,$2.tokens[$2.pos-1].end);",
    1,
  );
  const documented = replace(argued, HERE_DOCUMENT, ".redirect.target=Object.assign($1,{text:$2.value})", 1);
  const literal = replace(documented, DOCUMENT_SIGN, READ_DOCUMENT_SIGN, 1);
  const expressed = replace(literal, EXPRESSION, "$1sourcedOfPaddock($3,$2)", 1);
  const computed = replace(
    expressed,
    ARITHMETIC_COMMAND,
    "parseArithmeticCommand(){return sourcedOfPaddock(this,()=>this.parseArithmeticOfEngine())}parseArithmeticOfEngine(){",
    1,
  );
  const lined = replace(
    computed,
    SCRIPT_STATEMENT,
    "$1=this.parseStatement();const paddockEnd=this.tokens[this.pos-1]?.end??0;$1&&$2.push($1),$3" +
      '$1&&($1.endsLine=this._input.slice(paddockEnd,this.current().start).includes("\\n")),',
    1,
  );
  const split = replace(lined, TOKENS, "$1tokensOfPaddock(this,$2,$3,$4)", 1);
  const read = replace(split, SCRIPT, READ_SCRIPT, 1);
  const reported = replace(read, STATEMENT, "$1if($2.parseError)throw $2.parseError;", 1);
  return `${SOURCED}${TOKENIZE}${COPROC}${readSelect(acceptAssignments(reported))}`;
}

function acceptAssignments(engine: string): string {
  const either = (parser: string) => `(${parser}.isWord()||${parser}.current().type==="ASSIGNMENT_WORD")`;
  const looped = replace(engine, LISTED_WORD, `$1${either("$2")}`, 1);
  const cased = replace(looped, CASE_WORD, `$1${either("$2")}`, 1);
  const listed = replace(cased, ARRAY_WORD, `$1${either("$2")}$3elementOfPaddock($2)`, 1);
  const matched = replace(listed, PATTERN_WORD, `$1${either("$2")}`, 1);
  return ELEMENT + replace(matched, TARGET_WORD, either("$1"), 1);
}

/** Code of a function that reads `coproc command`, and `coproc NAME command` of a command of the grammar. */
const COPROC = "const coprocOfPaddock=(parser,types)=>{const{start}=parser.current();parser.advance();" +
  'const opens=(token)=>["LBRACE","LPAREN","DPAREN_START","DBRACK_START","IF","FOR","WHILE","UNTIL","CASE","SELECT"]' +
  ".some((name)=>token?.type===types[name]);" +
  "const isNamed=parser.isWord()&&opens(parser.tokens[parser.pos+1]);" +
  "const coprocName=isNamed?parser.advance().value:void 0,line=parser.current().line;" +
  "const coproc=parser.parseCommand();" +
  'return{type:"Coproc",coproc,coprocName,line,redirections:[],' +
  'source:parser._input.slice(start,parser.tokens[parser.pos-1].end).replace(/^coproc\\s+/,"")}};';

function readSelect(engine: string): string {
  const chosen = replace(
    engine,
    FOR_COMMAND,
    "case $1.COPROC:return coprocOfPaddock(this,$1);case $1.SELECT:case $1.FOR:return",
    1,
  );
  const read = replace(
    chosen,
    FOR_LOOP,
    "let $1=$2.check($3.SELECT)?$2.advance():$2.expect($3.FOR),paddockLoop=$1;",
    1,
  );
  return replace(read, FOR_NODE, 'return Object.assign($1,paddockLoop.type==="SELECT"&&{isSelect:true})', 1);
}
