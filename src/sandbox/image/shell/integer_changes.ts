import { findName, replace } from "./replace.ts";

/** Matches the start of the functions for operators of `$((…))`: between two values, and in assignments. */
const OPERATORS =
  /(function [\w$]+\(([\w$]+),([\w$]+),([\w$]+)\)\{)(?=switch\(\4\)\{case"(?:\+":return \2\+\3;case"-":return \2-\3;case"\*":return \2\*\3;case"\/":if|=":return \3;case"\+=":return))/g;
/** Matches the operators before a value. */
const SIGNS = /case"-":return-([\w$]+);case"\+":return\+\1;(case"!":[^;]*;)case"~":return~\1;/g;
/** Matches the class of the error of an arithmetic expression. */
const ERROR = /([\w$]+)=class extends [\w$]+\{name="ArithmeticError";/g;
/** Matches the functions that read a value, up to the end of the last one. */
const VALUES =
  /async function [\w$]+\([\w$]+,[\w$]+,[\w$]+\)\{if\(![\w$]+\)return 0;let [\w$]+=Number\.parseInt\([^]*?case"ArithDynamicElement":\{[^]*?default:return 0\}\}/g;
/** Matches the function that reads a number of a script. */
const LITERAL =
  /(function [\w$]+\(([\w$]+)\)\{)(?=if\(\2\.includes\("#"\)\)\{let [\w$]+=\2\.split\("#"\);[^{}]*return Number\.NaN)/g;

/** Matches the reading of an operand of `-gt` and other comparisons of `[[`. */
const COMPARED =
  /(async function [\w$]+\([\w$]+,([\w$]+)\)\{if\(\2=\2\.trim\(\),\2===""\)return 0;)(?=if\(\/\^\[\+-\]\?)/g;

/** Matches a step by `++` or `--`, its start from a variable, and the value that an assignment changes. */
const STEP = /([\w$]+)\.operator==="\+\+"\?([\w$]+)\+1:\2-1/g;
const STEPPED =
  /(let ([\w$]+)=await [\w$]+\(([\w$]+)\.operand\);if\(\3\.operator==="\+\+"[^]*?,[\w$]+=)Number\.parseInt\(await [\w$]+\([\w$]+,[\w$]+\),10\)\|\|0/g;
const ASSIGNED =
  /([\w$]+)=Number\.parseInt\(([\w$]+)\|\|"0",10\)\|\|0(?=,[\w$]+=await [\w$]+\(([\w$]+)\.value\),[\w$]+=[\w$]+\(\1,[\w$]+,\3\.operator\);return ([\w$]+)===void 0\?([\w$]+)\.state\.env\.set\(([\w$]+),)/g;
/** Matches the function that computes the text of a variable, and the one that computes a part of an expression. */
const TEXT_VALUE = /async function ([\w$]+)\([\w$]+,[\w$]+,[\w$]+,([\w$]+)\)\{if\(\2\.depth>100\)/g;
const EVALUATE =
  /async function ([\w$]+)\([\w$]+,[\w$]+,([\w$]+),([\w$]+)\)\{let [\w$]+=\([\w$]+,[\w$]+=\2\)=>\1\(/g;
/** Matches the test whether the text of a variable is a number, which no octal one is. */
const DECIMAL = /\/\^-\?\\d\+\$\//g;
/** Matches the refusal of a quoted number in `$((…))`. */
const QUOTED = /(case"ArithSingleQuote":\{)if\([\w$]+\)(throw [^;]*;)return [\w$]+\.value/g;

/**
 * Code that computes in 64 bits. A value that a number holds exactly is a number, and any other a bigint, so that equal
 * values are identical.
 */
const INTEGERS = "const wideOfPaddock=(value)=>{const bits=BigInt.asIntN(64,value),number=Number(bits);" +
  "return Number.isSafeInteger(number)?number:bits};" +
  'const isWholePaddock=(value)=>typeof value==="bigint"||Number.isSafeInteger(value);' +
  "const integersOfPaddock=(operator,left,right)=>{" +
  'if(/^[/%]=$/.test(operator)&&right===0)throw new ARITHMETIC_ERROR("division by 0");' +
  'const name=operator.replace(/(?<![<>=!])=$|(?<=<<|>>)=$/,"");' +
  "if(!/^(?:[-+*\\/%&^|]|<<|>>|\\*\\*)$/.test(name)||!isWholePaddock(left)||!isWholePaddock(right))return;" +
  'if(typeof left==="number"&&typeof right==="number"){if(name==="/"||name==="%")return;' +
  'const quick=name==="+"?left+right:name==="-"?left-right:name==="*"?left*right:NaN;' +
  "if(Number.isSafeInteger(quick))return quick}" +
  'if(right===0&&(name==="/"||name==="%")||name==="**"&&right<0)return;' +
  "const a=BigInt(left),b=BigInt(right),bits=b&63n;" +
  'return wideOfPaddock(name==="+"?a+b:name==="-"?a-b:name==="*"?a*b:name==="/"?a/b:name==="%"?a%b:name==="&"?a&b:' +
  'name==="|"?a|b:name==="^"?a^b:name==="<<"?a<<bits:name===">>"?a>>bits:powerOfPaddock(a,b))};' +
  "const powerOfPaddock=(base,exponent)=>{let result=1n,factor=base;for(let left=exponent;left>0n;left>>=1n){" +
  "if(left&1n)result=BigInt.asIntN(64,result*factor);factor=BigInt.asIntN(64,factor*factor)}return result};" +
  "const parsePaddock=(text,base)=>{const number=Number.parseInt(text,base);" +
  "if(Number.isNaN(number)||Number.isSafeInteger(number))return number;" +
  "return wideOfPaddock(BigInt(/^\\s*([-+]?\\d+)/.exec(text)[1]))};" +
  'const digitsPaddock="0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_";' +
  "const literalPaddock=(text)=>{if(text.length<10)return;let value;" +
  "const[,base,digits]=/^(\\d+)#(\\w|@)+$/.test(text)?text.split(/^(\\d+)#/):[];" +
  "if(/^0[xX][\\da-fA-F]+$/.test(text)||/^[1-9]\\d*$/.test(text))value=BigInt(text);" +
  'else if(/^0[0-7]+$/.test(text))value=BigInt("0o"+text.slice(1));' +
  "else if(base>=2&&base<=64){value=0n;for(const sign of base>36?digits:digits.toLowerCase()){" +
  "const digit=digitsPaddock.indexOf(sign);if(digit>=base)return;value=value*BigInt(base)+BigInt(digit)}}" +
  "return value===void 0?void 0:wideOfPaddock(value)};";

/**
 * Lets arithmetic have 64 bits, with these differences to the engine:
 *
 * - A variable with a leading zero is octal, and `x++` and `x+=1` compute the text of `x`.
 * - Division by zero is an error in assignments too.
 * - A number in single quotes is refused in each place.
 */
export function changeIntegers(engine: string): string {
  const operators = replace(
    engine,
    OPERATORS,
    "$1const paddock=integersOfPaddock($4,$2,$3);if(paddock!==void 0)return paddock;",
    2,
  );
  const signed = replace(
    operators,
    SIGNS,
    'case"-":return integersOfPaddock("-",0,$1)??-$1;case"+":return $1;$2case"~":return integersOfPaddock("-",-1,$1);',
    1,
  );
  const literal = replace(
    signed,
    LITERAL,
    "$1const wide=literalPaddock($2);if(wide!==void 0)return wide;",
    1,
  );
  const compared = replace(
    literal,
    COMPARED,
    "$1if($2.length>15&&/^[-+]?[1-9]\\d*$/.test($2))return wideOfPaddock(BigInt($2));",
    1,
  );
  const valueOfText = findName(engine, TEXT_VALUE).replaceAll("$", "$$$$");
  const [, , , visits = ""] = [...engine.matchAll(EVALUATE)][0] ?? [];
  const values = replace(
    compared,
    VALUES,
    (text) => changeValues(text, valueOfText, visits.replaceAll("$", "$$$$")),
    1,
  );
  return INTEGERS.replace("ARITHMETIC_ERROR", () => findName(engine, ERROR)) + values;
}

function changeValues(functions: string, valueOfText: string, visits: string): string {
  const stepped = replace(functions, STEPPED, "$1$2", 1);
  const assigned = replace(
    stepped,
    ASSIGNED,
    `$1=$3.operator==="="?0:await ${valueOfText}($5,$6,$2||"0",${visits})`,
    1,
  );
  const quoted = replace(assigned, QUOTED, "$1$2", 1);
  const decimal = replace(quoted, DECIMAL, "/^-?(?:0|[1-9]\\d*)$/", 3);
  return replace(decimal, STEP, 'integersOfPaddock($1.operator==="++"?"+":"-",$2,1)', 4)
    .replaceAll("Number.parseInt(", "parsePaddock(");
}
