import { replace } from "./replace.ts";

/** Matches the reading of `<<-`, of `<<`, and of operators of three signs, which are none in `((…))`. */
const DOCUMENT_START = /if\(([\w$]+)==="<"&&([\w$]+)==="<"(?:&&[\w$]+==="-")?(?=\)(?:\{)?return )/g;
const LONG_OPERATOR =
  /(for\(let\[([\w$]+),([\w$]+),([\w$]+),[\w$]+\]of [\w$]+\)if\()(?=[\w$]+===\2&&[\w$]+===\3&&[\w$]+===\4\))/g;
/** Matches the end of the reading of `((…))`, whose text the engine joins from words. */
const COMMAND_TEXT =
  /(let ([\w$]+)=this\.expect\([\w$]+\.DPAREN_START\),[^]{0,1600}?)(?=let [\w$]+=this\.parseArithmeticExpression\(([\w$]+)\.trim\(\)\))/g;
/** Matches the test for `((name =…`, which is no subshell in a subshell. */
const ASSIGNED = /(?<=if\()(?=([\w$]+)==="="&&([\w$]+)\[([\w$]+)\+1\]!=="=")/g;
/** Matches the reading of `for ((…; …; …))`. */
const LOOP =
  /(function [\w$]+\(([\w$]+),[\w$]+,[\w$]+\)\{)(\2\.expect\([\w$]+\.DPAREN_START\));([^]{0,400}?)(\2\.expect\([\w$]+\.DPAREN_END\)),([^]{0,700}?)return(\{type:"CStyleFor",[^{}]*)\}/g;
/** Code of functions that return the text of `((…))`, and the parts of a loop's head, as the script has them. */
const SOURCES = "const arithmeticPaddock=(parser,start,joined)=>{" +
  "const text=parser._input.slice(start.end,parser.tokens[parser.pos-1].end);" +
  'return text.endsWith("))")?text.slice(0,-2):joined};' +
  'const headPaddock=(parser,start,end)=>{const parts=[""];let depth=0;' +
  "for(const sign of parser._input.slice(start.end,end.start)){" +
  'if(sign==="(")depth++;else if(sign===")")depth--;' +
  'if(sign===";"&&depth===0)parts.push("");else parts[parts.length-1]+=sign}return parts};';

/** Changes commands of arithmetic and the heads of loops so that they keep their text, in which `<<` shifts. */
export function changeArithmetic(engine: string): string {
  const shifted = replace(engine, DOCUMENT_START, "$&&&this.dparenDepth===0", 2);
  const operated = replace(shifted, LONG_OPERATOR, "$1this.dparenDepth===0&&", 1);
  const assigned = replace(operated, ASSIGNED, '/[-+*\\/%&^|]/.test($1)&&$2[$3+1]==="="||', 1);
  const read = replace(assigned, COMMAND_TEXT, "$1$3=arithmeticPaddock(this,$2,$3);", 1);
  return SOURCES + replace(
    read,
    LOOP,
    "$1const paddockStart=$3;$4const paddockEnd=$5;$6return$7,header:headPaddock($2,paddockStart,paddockEnd)}",
    1,
  );
}
