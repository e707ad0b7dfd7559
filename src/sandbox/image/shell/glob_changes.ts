import { replace } from "./replace.ts";

/** Matches the value of a part of a word that is split, and the value of a part of a default in a word. */
const SPLIT_PART =
  /(let ([\w$]+)=[\w$]+\(([\w$]+)\),[\w$]+=\3\.type==="DoubleQuoted"\|\|\3\.type==="SingleQuoted",[\w$]+=\2\?await [\w$]+\([\w$]+,\3\):null,([\w$]+)=await [\w$]+\([\w$]+,\3\);[\w$]+\.push\(\{value:)\4(?=,isSplittable:\2)/g;
const DEFAULT_PART =
  /(for\(let ([\w$]+) of [\w$]+\)\{let ([\w$]+)=!\(\2\.type==="DoubleQuoted"\|\|\2\.type==="SingleQuoted"\),([\w$]+)=await [\w$]+\([\w$]+,\2\);[\w$]+\.push\(\{value:)\4(?=,isSplittable:\3)/g;
/** Matches the values of the parts of a word with `"$@"` beside other parts. */
const LISTED_PARTS =
  /(type==="DoubleQuoted"\)\{let ([\w$]+)=await [\w$]+\([\w$]+,([\w$]+),[\w$]+,([\w$]+)\);([\w$]+)\.push\()\2(\)\}else if\(\3\.type==="DoubleQuoted"\|\|\3\.type==="SingleQuoted"\)\{let ([\w$]+)=)(await \4\([\w$]+,\3\))(;\5\.push\(\[\7\]\)\}else if\(\3\.type==="Literal"\)\5\.push\(\[\3\.value\]\);else if\(\3\.type==="ParameterExpansion"\)\{let ([\w$]+)=)(await \4\([\w$]+,\3\))(;.{0,120}\}else\{let ([\w$]+)=)(await \4\([\w$]+,\3\))/g;
/** Matches the value of a part of a word with braces. */
const BRACED_PART =
  /(typeof ([\w$]+)=="string"\?([\w$]+)\.push\(\2\):\3\.push\()(await [\w$]+\([\w$]+,\2\))(?=\))/g;

/** Matches the search for the names that match the words of an expansion, and the words of braces. */
const SPLIT_WORDS =
  /if\(([\w$]+)\.state\.options\.noglob\)return\{values:([\w$]+),quoted:!1\};let ([\w$]+)=\[\];for\(let ([\w$]+) of \2\)if\(([\w$]+)\(\4,(\1\.state\.shoptOptions\.extglob)\)\)\{let ([\w$]+)=(await [\w$]+\(\1,\4\));([\w$]+\(\3,\7,\1\.limits\.maxArrayElements,"glob expansion"\)\}else \3\.push\()\4\)/g;
const BRACED_WORDS =
  /(if\(!\(![\w$]+&&([\w$]+)===""\)\)if\()![\w$]+&&(!([\w$]+)\.state\.options\.noglob&&[\w$]+\()\2(,\4\.state\.shoptOptions\.extglob\)\)\{let ([\w$]+)=)(await [\w$]+\(\4,\2\))(;[\w$]+\([\w$]+,\6,\4\.limits\.maxArrayElements,"brace\/glob expansion"\)\}else [\w$]+\.push\()\2(?=\))/g;

/** Matches the function that makes an expression of a pattern. */
const EXPRESSION =
  /function ([\w$]+)\(([\w$]+),([\w$]+)="",([\w$]+)=\{\}\)\{return new ([\w$]+)\(\2,\3,\4\)\}/g;
/** Code of expressions with `!(…)`, which the engine's own cannot express. Only at the end is its meaning that. */
const NEGATION = "class NegationOfPaddock extends RegExp{constructor(source,flags){super(source,flags);" +
  'if(!/^[^]*\\(\\?!\\(\\?:[^]*\\)\\$\\)\\.\\*\\)?\\$?$/.test(source))throw new Error("a pattern with signs behind !(…) is not available in the sandbox")}' +
  "replace(text,by){return text.replace(this,by)}match(text){return text.match(this)}" +
  "matchAll(text){return text.matchAll(this)}split(text,limit){return text.split(this,limit)}" +
  "search(text){return text.search(this)}}";

/** Matches the search for the paths that match a pattern. */
const EXPAND = /async expand\(([\w$]+)\)\{(?=if\(this\.globstar\))/g;

/** Code that makes patterns of values: what was quoted matches itself, and so does a backslash in a variable. */
const PATTERNS = 'const quotedOfPaddock=(text)=>text.replace(/[*?[\\]\\\\()|]/g,"\\\\$&"),' +
  'escapedOfPaddock=(text)=>text.replaceAll("\\\\","\\\\\\\\");' +
  'const patternOfPaddock=({type,value},text)=>type==="DoubleQuoted"||type==="SingleQuoted"||type==="Escaped"' +
  '?quotedOfPaddock(text):type==="Literal"||type==="Glob"?text:escapedOfPaddock(text);' +
  'const literalOfPaddock=(pattern)=>pattern.replace(/\\\\(.)/gs,"$1"),' +
  'signsOfPaddock=(pattern)=>pattern.replace(/\\\\./gs,"");' +
  "const filesOfPaddock=(files)=>files.pathNames?files:filesOfPaddock(files.baseFs);" + // below /dev/fd
  "const namesOfPaddock=(pattern,names)=>names.length===1&&names[0]===pattern?[literalOfPaddock(pattern)]:names;";

/**
 * Changes how words become paths:
 *
 * - Quoted parts of a word match themselves, also beside expansions and braces: `'*'$x` names no other file.
 * - Patterns with quoted parts and braces match files.
 * - `!(…)` is known at the end of a pattern.
 * - The guest looks for the paths, with `*` + `/` for folders only and `**` for all below a folder.
 */
export function changePatterns(engine: string): string {
  const split = replace(engine, SPLIT_PART, "$1patternOfPaddock($3,$4)", 1);
  const defaulted = replace(split, DEFAULT_PART, "$1patternOfPaddock($2,$4)", 1);
  const listed = replace(
    defaulted,
    LISTED_PARTS,
    "$1$2.map(quotedOfPaddock)$6quotedOfPaddock($8)$9escapedOfPaddock($11)$12escapedOfPaddock($14)",
    1,
  );
  const braced = replace(listed, BRACED_PART, "$1patternOfPaddock($2,$4)", 2);
  const words = replace(
    braced,
    SPLIT_WORDS,
    "if($1.state.options.noglob)return{values:$2.map(literalOfPaddock),quoted:!1};let $3=[];for(let $4 of $2)" +
      "if($5(signsOfPaddock($4),$6)){let $7=namesOfPaddock($4,$8);$9literalOfPaddock($4))",
    1,
  );
  const joined = replace(
    words,
    BRACED_WORDS,
    "$1$3signsOfPaddock($2)$5namesOfPaddock($2,$7)$8literalOfPaddock($2)",
    1,
  );
  const expanded = replace(
    joined,
    EXPAND,
    "async expand($1){return this.filterGlobignore(filesOfPaddock(this.fs).pathNames($1,this))}async expandOfEngine($1){",
    1,
  );
  const negated = replace(
    expanded,
    EXPRESSION,
    'function $1($2,$3="",$4={}){return $2.includes("(?!")?new NegationOfPaddock($2,$3):new $5($2,$3,$4)}',
    1,
  );
  return PATTERNS + NEGATION + negated;
}
