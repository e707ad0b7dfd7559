import { replace } from "./replace.ts";

/** Matches the place where the engine starts a script. `$3` is the state that the script changes. */
const START = /await new ([\w$]+)\(([\w$]+),([\w$]+)\)\.executeScript\(/g;
/**
 * Replacement that passes interpreter and state to the guest: state is kept for the next script and output is
 * streamed.
 */
const SHOWN_START = "await this.onStart(new $1($2,$3),$3).executeScript(";

/** Matches the function by which the engine decodes output bytes as text. */
const TO_TEXT = /\.stdout=([\w$]+)\([\w$]+\.stdout\),/;
/** Matches the places where `read` and `mapfile` have a line, as one character for each byte. */
const LINE_READ = /(===`\n`&&([\w$]+)\.endsWith\(`\n`\)&&\(\2=\2\.slice\(0,-1\)\);)(?=let )/g;
const LINE_MAPPED =
  /(`mapfile: string length limit exceeded [^`]*`,"string_length"\);[\w$]+\.push\()([\w$]+)(?=\))/g;

/** Matches the start of the functions for operators of `$((…))`: between two values, in assignments, before a value. */
const ARITHMETIC =
  /(function [\w$]+\(([\w$]+),([\w$]+),([\w$]+)\)\{)(?=switch\(\4\)\{case"(?:\+":return \2\+\3;case"-":return \2-\3;case"\*":return \2\*\3;case"\/":if|=":return \3;case"\+=":return))/g;
const COMPLEMENT = /case"~":return~([\w$]+);/g;
/** Computes in 64 bits. A result that the engine's numbers cannot hold is an error. */
const INTEGER_OPERATION =
  `const integersOfPaddock=(operator,left,right)=>{const name=operator.replace(/=$/,"");` +
  `if(!/^(?:[-+*&|^]|<<|>>|\\*\\*)$/.test(name)||!Number.isSafeInteger(left)||!Number.isSafeInteger(right))return;` +
  `if(name==="**"&&right<0)return;const a=BigInt(left),b=BigInt(right);const bits=b&63n;` +
  `const result=BigInt.asIntN(64,name==="+"?a+b:name==="-"?a-b:name==="*"?a*b:name==="&"?a&b:name==="|"?a|b:` +
  `name==="^"?a^b:name==="<<"?a<<bits:name===">>"?a>>bits:powerOfPaddock(a,b));const number=Number(result);` +
  `if(Number.isSafeInteger(number))return number;` +
  `throw new Error("arithmetic: the sandbox computes integers of up to 53 bits: the result is "+result)};` +
  `const powerOfPaddock=(base,exponent)=>{let result=1n,factor=base;for(let left=exponent;left>0n;left>>=1n){` +
  `if(left&1n)result=BigInt.asIntN(64,result*factor);factor=BigInt.asIntN(64,factor*factor)}return result};`;

/** Matches the rounding of \`int\` in the engine's awk. */
const AWK_INTEGER =
  /(async function [\w$]+\(([\w$]+),[\w$]+,[\w$]+\)\{return \2\.length===0\?0:)Math\.floor\(/g;

/** Matches \`wait\`, which the engine lets succeed. Without this, the shell's own command is run. */
const WAIT = /if\([\w$]+==="wait"\)return [\w$]+;/g;

/** Matches the reading of a variable whose default is the only part of a quoted word, such as `"${x:-1}"`. */
const DEFAULTED =
  /(=await [\w$]+\(([\w$]+),([\w$]+)\),[\w$]+=await [\w$]+\(\2,\3)(?=\),[\w$]+=[\w$]+==="",[\w$]+=[\w$]+\.checkEmpty)/g;

/** Returns the engine's minified code with the changes that {@linkcode bundleEngine} lists. */
export function changeEngine(engine: string): string {
  const defaulted = replace(computeIntegers(engine), DEFAULTED, "$1,!1", 1); // the third argument: refuse if not set
  const waiting = replace(defaulted, WAIT, "", 1);
  const started = decodeLines(replace(waiting, START, SHOWN_START, 1));
  return `${INTEGER_OPERATION}${started}`;
}

function computeIntegers(engine: string): string {
  const operators = replace(
    engine,
    ARITHMETIC,
    "$1const paddock=integersOfPaddock($4,$2,$3);if(paddock!==void 0)return paddock;",
    2,
  );
  const complements = replace(operators, COMPLEMENT, 'case"~":return-1-$1;', 1);
  return replace(complements, AWK_INTEGER, "$1Math.trunc(", 1);
}

function decodeLines(engine: string): string {
  const [, toText = ""] = TO_TEXT.exec(engine) ?? [];
  const reading = replace(engine, LINE_READ, `$1$2=${toText}($2);`, toText === "" ? 0 : 1);
  return replace(reading, LINE_MAPPED, `$1${toText}($2)`, 1);
}
