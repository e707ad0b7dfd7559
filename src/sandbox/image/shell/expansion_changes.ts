import { findName, replace } from "./replace.ts";

/** Matches the function that reads `${…}`. */
const PARAMETER = /function ([\w$]+)\(([\w$]+),([\w$]+),([\w$]+),([\w$]+)=!1\)\{(?=let [\w$]+=\4\+2)/g;
/** Matches the reading of what follows `${#name`, and the test for `${##}`. */
const LENGTH =
  /([\w$]+)\[([\w$]+)\]!=="\}"&&\/\[-\+=\?\]\/\.test\(\1\[\2\]\)\?[\w$]+\.error\(`[^`]*`\):\1\[\2\]==="\/"\?[\w$]+\.error\(`[^`]*`\):/g;
const COUNTED = /([\w$]+)\[([\w$]+)\]==="#"&&(!\/\[\}:#%\/\^,\]\/\.test\(\1\[\2\+1\]\|\|"\}"\))/g;
/** Matches the refusal of signs that no operator begins with. */
const UNKNOWN = /[\w$]+\.error\(`\\\$\{\$\{[\w$]+\.slice\(2,-1\)\}\}: bad substitution`\)/g;
/** Matches the class of the error of a bad substitution, and the object that makes nodes. */
const BAD = /([\w$]+)=class extends [\w$]+\{name="BadSubstitutionError";/g;
const NODES = /return\{part:([\w$]+)\.parameterExpansion\([\w$]+,[\w$]+\),endIndex:[\w$]+\+1\}\}function/g;

/** Code that reads `${…}`, and makes a part of what the parser refuses: only its expansion is an error. */
const READ = "class BadParameterOfPaddock extends Error{}" +
  "const refuseParameterOfPaddock=()=>{throw new BadParameterOfPaddock};" +
  "const endOfParameterPaddock=(text,start)=>{let depth=1,at=start+2;" +
  'for(;at<text.length&&depth>0;at++)if(text[at]==="\\\\")at++;else if(text[at]==="{")depth++;' +
  'else if(text[at]==="}")depth--;return at};';

/** Matches the value of `${!x}`. */
const INDIRECT =
  /(coverage\?\.hit\("bash:expansion:indirection"\),[^]{0,200}?;if\(([\w$]+)\))\{if\([\w$]+\.innerOp\?\.type==="UseAlternative"\)return"";throw new [\w$]+\(`\\\$\{!\$\{([\w$]+)\}\}`\)\}(let ([\w$]+)=[\w$]+;)/g;
const NAMED = "const isNamePaddock=(text)=>/^(?:[a-zA-Z_]\\w*(?:\\[[^]+\\])?|\\d+|[@*#?$!-])$/.test(text);";

/** Matches the start of the value of `${x:1:2}`. */
const SUBSTRING =
  /(async function [\w$]+\([\w$]+,([\w$]+),([\w$]+),[\w$]+\)\{)(?=[\w$]+\.coverage\?\.hit\("bash:expansion:substring"\))/g;

/** Matches the prompt's sign of a user in `${x@P}`. */
const PROMPT_SIGN = /case"\$":([\w$]+)\.append\("\$"\)(?=,[\w$]+\+=2;break;case"\[":case"\]")/g;

/** Matches the value of `${#x}`, and the value of `${x@P}`. */
const LENGTH_VALUE = /case"Length":return ([\w$]+)\(([\w$]+),([\w$]+),([\w$]+)\);(?=case"LengthSliceError")/g;
const PROMPTED = /(case"Q":return [\w$]+\?"":[\w$]+\([\w$]+\);case"P":return )([\w$]+\(([\w$]+),[\w$]+\))/g;
/** Matches the expansion of a word: the class of its parser, and the function. */
const PARSER =
  /new ([\w$]+)(?:\(\))?\.parseWordFromString\([\w$]+,!1,!1\);return [\w$]+\([\w$]+,[\w$]+\)\}return/g;
const EXPAND =
  /new [\w$]+(?:\(\))?\.parseWordFromString\([\w$]+,!1,!1\);return ([\w$]+)\([\w$]+,[\w$]+\)\}return/g;

/** Matches the outputs of `$(…)`, of a script that ends and of one that exits, without the last line ends. */
const SUBSTITUTED =
  /([\w$]+)\.stdout\.replace\(\/\\n\+\$\/,""\)(?=;return [\w$]+\([\w$]+,([\w$]+)\.limits\.maxStringLength,"command substitution"\))/g;
/** Code that leaves null bytes out of the output, and warns. */
const WITHOUT_NULLS = "const withoutNullsOfPaddock=(context,text)=>{" +
  'if(!text.includes("\\0"))return text;const{state}=context;' +
  'state.expansionStderr=(state.expansionStderr||"")+"bash: line "+state.currentLine+' +
  '": warning: command substitution: ignored null byte in input\\n";return text.replaceAll("\\0","")};';

/**
 * Changes expansions:
 *
 * - `${x!}` and other bad substitutions are errors when they are expanded, and `${##}` is the length of `$#`.
 * - `${!x}` refuses a value that is no name, and an `x` that is not set.
 * - `${x:1:2}` of an empty `x` is empty, whatever the numbers are.
 * - A substitution leaves out null bytes and warns.
 * - `\$` in a prompt is the sign of root, and `${x@P}` expands the prompt.
 */
export function changeExpansions(engine: string): string {
  const counted = replace(engine, COUNTED, '$1[$2]==="#"&&($3||$1[$2+1]==="#"&&$1[$2+2]==="}")', 1);
  const measured = replace(counted, LENGTH, '$1[$2]!=="}"?refuseParameterOfPaddock():', 1);
  const unknown = replace(measured, UNKNOWN, "refuseParameterOfPaddock()", 1);
  const nodes = findName(engine, NODES).replaceAll("$", "$$$$");
  const read = replace(
    unknown,
    PARAMETER,
    "function $1($2,$3,$4,$5=!1){try{return $1OfEngine($2,$3,$4,$5)}catch(error){" +
      "if(!(error instanceof BadParameterOfPaddock))throw error;const end=endOfParameterPaddock($3,$4);" +
      `return{part:${nodes}.parameterExpansion("",{type:"BadSubstitution",text:$3.slice($4,end)}),endIndex:end}}}` +
      "function $1OfEngine($2,$3,$4,$5=!1){",
    1,
  );
  const bad = findName(engine, BAD).replaceAll("$", "$$$$");
  const indirect = replace(
    read,
    INDIRECT,
    `$1{if(!/^[a-zA-Z_]/.test($3))return"";throw new ${bad}("","",\`bash: \${$3}: invalid indirect expansion\\n\`)}$4` +
      `if(!isNamePaddock($5))throw new ${bad}("","",\`bash: \${$5}: invalid variable name\\n\`);`,
    1,
  );
  const signed = replace(indirect, PROMPT_SIGN, 'case"$$":$1.append("#")', 1);
  const clean = replace(
    signed,
    SUBSTITUTED,
    'withoutNullsOfPaddock($2,$1.stdout).replace(/\\n+$$/,"")',
    2,
  );
  const cut = replace(clean, SUBSTRING, '$1if($3===""&&!/^[@*]$|\\[[@*]\\]$/.test($2))return"";', 1);
  const sized = replace(
    cut,
    LENGTH_VALUE,
    'case"Length":if(/^[@*]$/.test($3))return $2.state.env.get("#")??"0";return $1($2,$3,$4);',
    1,
  );
  const prompt = "const promptOfPaddock=async(context,text)=>/[$`\\\\]/.test(text)?" +
    `await ${findName(engine, EXPAND)}(context,new ${findName(engine, PARSER)}()` +
    ".parseWordFromString('\"'+text.replaceAll('\"','\\\\\"')+'\"',!1,!1)):text;";
  const prompted = replace(sized, PROMPTED, "$1promptOfPaddock($3,$2)", 1);
  return prompt + READ + NAMED + WITHOUT_NULLS + prompted;
}
