import { replace } from "./replace.ts";

/** Matches the keys of an associative array, which the engine sorts. */
const KEYS =
  /function ([\w$]+)\(([\w$]+),([\w$]+)\)\{return Array\.from\(([\w$]+)\(\2,\3\)\?\.elements\.keys\(\)\?\?\[\]\)\.sort\(\)\}/g;
/** Matches the copy of an array, the setting of an element, and the removal of all elements before an assignment. */
const COPY = /\{return\{kind:([\w$]+)\.kind,elements:new Map\(\1\.elements\)\}\}/g;
const SET = /(?<="string_length"\);)([\w$]+)\.elements\.set\(([\w$]+),([\w$]+)\)(?=\}function)/g;
const CLEAR = /(function [\w$]+\(([\w$]+),([\w$]+)\)\{)([^{};]*"indexed"\))\.elements\.clear\(\)\}/g;

/** Matches the declaration of a local array without a value. */
const LOCAL =
  /(if\([\w$]+&&[\w$]+===void 0\)[\w$]+\([\w$]+,[\w$]+\),[\w$]+\([\w$]+,[\w$]+,"indexed"\));else if/g;
/** Matches the expansion of `"${array[@]@Q}"`. */
const LISTED =
  /(function [\w$]+\(([\w$]+),([\w$]+)\)\{if\(\3\.length!==1[^;]*return null;let ([\w$]+)=\3\[0\];)(?=if\(\4\.parts\.length!==1\|\|\4\.parts\[0\]\.type!=="ParameterExpansion"\|\|\4\.parts\[0\]\.operation\?\.type!=="Transform"\))/g;
/** Code of a function that changes the case of each value in `"${array[@]^}"`. */
const CASE_LIST = "const casesPaddock=(context,[part,...more])=>{const operation=part?.operation;" +
  'if(more.length>0||part?.type!=="ParameterExpansion"||operation?.type!=="CaseModification"||operation.pattern)return;' +
  "const[,name,all,positional]=/^(?:(\\w+)\\[([@*])\\]|([@*]))$/.exec(part.parameter)??[];const{state}=context;" +
  'let values;if(positional)values=Array.from({length:Number(state.env.get("#")??0)},(_,at)=>state.env.get(String(at+1))??"");' +
  "else{const array=state.arrays?.get(name);if(!array)return;const keys=[...array.elements.keys()];" +
  'const order=array.kind==="associative"?context.orderKeys?.(keys)??keys:keys.sort((left,right)=>left-right);' +
  "values=order.map((key)=>array.elements.get(key))}const changed=values.map((value)=>{" +
  'if(operation.all)return convertPaddock(operation.direction,value);const[first="",...rest]=value;' +
  'return convertPaddock(operation.direction,first)+rest.join("")});' +
  'return{values:(all??positional)==="*"?[changed.join((state.env.get("IFS")??" ").charAt(0))]:changed,quoted:!0}};';

/** Matches an element of an associative array without a key, and the setting of the elements. */
const WITHOUT_KEY =
  /(\}else\{)(let ([\w$]+)=await ([\w$]+)\(([\w$]+),([\w$]+)\);([\w$]+)\.push\(\{type:"invalid",expandedValue:\3\}\)\})/g;
const KEYED =
  /for\(let ([\w$]+) of ([\w$]+)\)(?=if\(\1\.type==="keyed"\)if\(\1\.append\)\{let [\w$]+=[\w$]+\(([\w$]+),([\w$]+),\1\.key\)\?\?"";([\w$]+)\(\3,\4,\1\.key,[^;]*"associative"\)\}else)/g;
/** Matches the choice of how a list is assigned. */
const LISTED_KEYS =
  /([\w$]+)&&([\w$]+)(?=\?await [\w$]+\([\w$]+,[\w$]+,[\w$]+,([\w$]+),[^()]*,[\w$]+=>\{[\w$]+\+=[\w$]+\}\):\2\?await)/g;
/** Matches the refusal of `${m[@]:1:2}` of an associative array, and the elements of the array. */
const SLICED =
  /if\(([\w$]+)\.state\.associativeArrays\?\.has\(([\w$]+)\)\)throw new [\w$]+\(1,"",`bash: \\\$\{\$\{\2\}\[@\]: 0: 3\}: bad substitution\n`\);(.{0,240}?[\w$]+=)([\w$]+\(\1,\2\))(?=[,;])/g;
/** Code that numbers the elements of an associative array from 1, as a slice of the array counts them. */
const POSITIONS = "const positionsOfPaddock=({state},name,entries)=>state.associativeArrays?.has(name)?" +
  "entries.map(([,value],at)=>[at+1,value]):entries;";

/** Matches the operators that change the case of a variable, and the test for the start of an operator. */
const CASE_OPERATOR =
  /if\(([\w$]+)==="\^"\|\|\1===","\)(\{let [\w$]+=[\w$]+===\1,[\w$]+=\1==="\^"\?"upper":)"lower"/g;
const OPERATOR_START = /\/\[:\\-\+=\?#%\/\^,@\[\]\/|\/\[:=\\-\+\?#%\/\^,@\]\//g;
/** Matches the change of case of the characters that match a pattern, and the change of a whole value. */
const CONVERTED =
  /([\w$]+)\.direction==="upper"\?([\w$]+)=>\2\.toUpperCase\(\):\2=>\2\.toLowerCase\(\)|([\w$]+)\.direction==="upper"\?\(([\w$]+)\)=>\4\.toUpperCase\(\):\(\4\)=>\4\.toLowerCase\(\)/g;
const CONVERT =
  /return ([\w$]+)\.direction==="upper"\?\1\.all\?([\w$]+)\.toUpperCase\(\):\2\.charAt\(0\)\.toUpperCase\(\)\+\2\.slice\(1\):/g;
const PRINTED = /([\w$]+)\.direction==="upper"\?"\^":","/g;
const CONVERSION =
  'const convertPaddock=(direction,text)=>direction==="upper"?text.toUpperCase():direction==="lower"?' +
  'text.toLowerCase():Array.from(text,(sign)=>sign===sign.toUpperCase()?sign.toLowerCase():sign.toUpperCase()).join("");';

/**
 * Changes variables:
 *
 * - The hook `orderKeys` of an interpreter's context orders the keys of an associative array.
 * - An array knows by `isAssigned` whether it has been assigned since its declaration.
 * - `m=(key value …)` sets elements of an associative array, and `"${m[@]:1:2}"` is a slice of the ordered values.
 * - `"${array[@]^}"` changes each value.
 * - `${x~}` and `${x~~}` change capitals to small letters and small letters to capitals.
 */
export function changeArrays(engine: string): string {
  const ordered = replace(
    engine,
    KEYS,
    "function $1($2,$3){const keys=Array.from($4($2,$3)?.elements.keys()??[]);return $2.orderKeys?.(keys)??keys.sort()}",
    1,
  );
  const copied = replace(ordered, COPY, "{return{...$1,elements:new Map($1.elements)}}", 1);
  const set = replace(copied, SET, "$1.isAssigned=!0,$1.elements.set($2,$3)", 1);
  const cleared = replace(set, CLEAR, "$1const array=$4;array.isAssigned=!0;array.elements.clear()}", 1);
  const local = replace(cleared, LOCAL, "$1.isAssigned=!1;else if", 1);
  const listed = replace(
    local,
    LISTED,
    "$1const casesOfPaddock=casesPaddock($2,$4.parts);if(casesOfPaddock)return casesOfPaddock;",
    1,
  );
  const chosen = replace(listed, LISTED_KEYS, "$1&&$3.length>0", 1);
  const paired = replace(
    chosen,
    WITHOUT_KEY,
    '$1if(!$7.some(({type})=>type!=="pair")){$7.push({type:"pair",value:await $4($5,$6)});continue}$2',
    1,
  );
  const keyed = replace(
    paired,
    KEYED,
    'const pairsPaddock=$2.filter(({type})=>type==="pair");for(let at=0;at<pairsPaddock.length;at+=2)' +
      '$5($3,$4,pairsPaddock[at].value,pairsPaddock[at+1]?.value??"","associative");' +
      'for(let $1 of $2)if($1.type!=="pair")',
    1,
  );
  const sliced = replace(keyed, SLICED, "$3positionsOfPaddock($1,$2,$4)", 2);
  return CONVERSION + CASE_LIST + POSITIONS + toggleCase(sliced);
}

function toggleCase(engine: string): string {
  const started = replace(engine, OPERATOR_START, (text) => text.replace("^", "~^"), 3);
  const read = replace(
    started,
    CASE_OPERATOR,
    'if($1==="^"||$1===","||$1==="~")$2$1==="~"?"toggle":"lower"',
    1,
  );
  const printed = replace(read, PRINTED, '{upper:"^",lower:",",toggle:"~"}[$1.direction]', 1);
  const matched = replace(printed, CONVERTED, (text) => {
    const [name = ""] = text.split(".");
    return `(sign)=>convertPaddock(${name}.direction,sign)`;
  }, 1);
  return replace(
    matched,
    CONVERT,
    'if($1.direction==="toggle"){const[first="",...rest]=$2;' +
      'return convertPaddock($1.direction,$1.all?$2:first)+($1.all?"":rest.join(""))}$&',
    1,
  );
}
