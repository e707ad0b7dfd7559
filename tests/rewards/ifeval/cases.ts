/**
 * A response to one instruction, and whether it follows the instruction in the strict and in the loose
 * check.
 */
export interface Case {
  readonly args?: Readonly<Record<string, unknown>>;
  readonly response: string;
  readonly strict: boolean;
  /**
   * @default the value of the strict check
   */
  readonly loose?: boolean;
}

const atLeast = (n: number, name = "num_words") => ({ [name]: n, relation: "at least" });
const lessThan = (n: number, name = "num_words") => ({ [name]: n, relation: "less than" });
const letters = (letter: string, let_frequency: number, let_relation: string) => ({
  letter,
  let_frequency,
  let_relation,
});
const capitals = (n: number, capital_relation: string) => ({ capital_frequency: n, capital_relation });
const first = (num_paragraphs: number, nth_paragraph: number, first_word: string) => ({
  num_paragraphs,
  nth_paragraph,
  first_word,
});

/** Responses that follow or violate each instruction. */
export const CASES: Readonly<Record<string, readonly Case[]>> = {
  "keywords:existence": [
    { args: { keywords: ["mom", "Mother"] }, response: "A mother is a MOM.", strict: true },
    { args: { keywords: ["mom"] }, response: "A moment.", strict: true },
    { args: { keywords: ["mom", "mother"] }, response: "A mom.", strict: false },
    { args: { keywords: ["a.b"] }, response: "axb", strict: false },
    { args: { keywords: ["one two"] }, response: "one *two*", strict: false, loose: true },
  ],
  "keywords:frequency": [
    { args: { keyword: "war", frequency: 2, relation: "at least" }, response: "War and warm.", strict: true },
    { args: { keyword: "war", frequency: 3, relation: "at least" }, response: "War, war.", strict: false },
    { args: { keyword: "war", frequency: 2, relation: "less than" }, response: "War.", strict: true },
    { args: { keyword: "war", frequency: 1, relation: "less than" }, response: "War.", strict: false },
    {
      args: { keyword: "war", frequency: 1, relation: "less than" },
      response: "A war poem:\nPeace.",
      strict: false,
      loose: true,
    },
  ],
  "keywords:forbidden_words": [
    { args: { forbidden_words: ["rock"] }, response: "Rocks and rocky roads", strict: true },
    { args: { forbidden_words: ["rock"] }, response: "A ROCK.", strict: false },
    { args: { forbidden_words: ["été"] }, response: "un été", strict: false },
    { args: { forbidden_words: ["é"] }, response: "été", strict: true },
    { args: { forbidden_words: ["sure"] }, response: "Sure:\nHere.", strict: false, loose: true },
  ],
  "keywords:letter_frequency": [
    { args: letters("q", 2, "at least"), response: "Quick query", strict: true },
    { args: letters("Q", 3, "at least"), response: "Quick query", strict: false },
    { args: letters("o", 1, "less than"), response: "A plain text", strict: true },
    { args: letters("o", 1, "less than"), response: "No", strict: false },
    { args: letters("#", 1, "at least"), response: "#1", strict: true },
    { args: letters("o", 1, "less than"), response: "No\nletter: A, b", strict: false, loose: true },
  ],
  "language:response_language": [
    { args: { language: "de" }, response: "Das ist ein kurzer Satz, und er ist gut.", strict: true },
    { args: { language: "de" }, response: "This is a short sentence.", strict: false },
    { args: { language: "en" }, response: "123!", strict: true },
    {
      args: { language: "fi" },
      response: "Here is the text that you have asked for, in the language that you wanted:\nTämä on lyhyt.",
      strict: false,
      loose: true,
    },
  ],
  "length_constraints:number_sentences": [
    { args: atLeast(2, "num_sentences"), response: "One. Two!", strict: true },
    { args: atLeast(3, "num_sentences"), response: "Dr. Smith came. He left.", strict: false },
    { args: lessThan(3, "num_sentences"), response: "Dr. Smith came. He left.", strict: true },
    { args: lessThan(2, "num_sentences"), response: "One. Two!", strict: false },
    { args: lessThan(2, "num_sentences"), response: "Sure.\nOne.", strict: false, loose: true },
  ],
  "length_constraints:number_paragraphs": [
    { args: { num_paragraphs: 2 }, response: "One\n***\nTwo", strict: true },
    { args: { num_paragraphs: 2 }, response: "***\nOne\n***\nTwo\n***", strict: true },
    { args: { num_paragraphs: 2 }, response: "One\n\nTwo", strict: false },
    { args: { num_paragraphs: 2 }, response: "One\n***\n***\nTwo", strict: false },
    { args: { num_paragraphs: 3 }, response: "One\n***\nTwo", strict: false },
    { args: { num_paragraphs: 1 }, response: "Zero\n***\nOne", strict: false, loose: true },
  ],
  "length_constraints:number_words": [
    { args: atLeast(3), response: "one-two three", strict: true },
    { args: atLeast(4), response: "one, two. three!", strict: false },
    { args: lessThan(3), response: "don't", strict: true },
    { args: lessThan(2), response: "don't", strict: false },
    { args: lessThan(3), response: "Sure, here it is:\none two", strict: false, loose: true },
  ],
  "length_constraints:nth_paragraph_first_word": [
    { args: first(2, 2, "weekend"), response: 'One\n\n"Weekend," he said', strict: true },
    { args: first(2, 2, "Weekend"), response: "One\n\nweekend's end", strict: true },
    { args: first(2, 2, "weekend"), response: "One\n\nThe weekend", strict: false },
    { args: first(3, 2, "weekend"), response: "One\n\nWeekend", strict: false },
    { args: first(2, 2, "weekend"), response: "One\n\n\n\nWeekend", strict: false },
    { args: first(1, 2, "weekend"), response: "weekend", strict: false },
    { args: first(2, 1, "weekend"), response: "**Weekend** it is\n\nTwo", strict: false, loose: true },
  ],
  "detectable_content:number_placeholders": [
    { args: { num_placeholders: 2 }, response: "[name], [address]", strict: true },
    { args: { num_placeholders: 2 }, response: "[[name]", strict: false },
    { args: { num_placeholders: 1 }, response: "[a\nb]", strict: false },
    { args: { num_placeholders: 0 }, response: "none", strict: true },
    { args: { num_placeholders: 1 }, response: "[]", strict: true },
  ],
  "detectable_content:postscript": [
    { args: { postscript_marker: "P.S." }, response: "Bye\np. s. more", strict: true },
    { args: { postscript_marker: "P.S." }, response: "Bye\nPS more", strict: false },
    { args: { postscript_marker: "P.P.S" }, response: "Bye\nP.P.S. more", strict: true },
    { args: { postscript_marker: "P.P.S" }, response: "Bye\nP.S. more", strict: false },
    { args: { postscript_marker: "(NB)" }, response: "Bye\n(nb) more", strict: true },
    { args: { postscript_marker: "P.S." }, response: "Bye\n**P*.S.* more", strict: false, loose: true },
  ],
  "detectable_format:number_bullet_lists": [
    { args: { num_bullets: 2 }, response: "* one\n* two", strict: true },
    { args: { num_bullets: 2 }, response: "text\n- one\n  * two\n**bold**", strict: true },
    { args: { num_bullets: 3 }, response: "* one\n* two", strict: false },
    { args: { num_bullets: 1 }, response: "* one\n* two", strict: false, loose: true },
    { args: { num_bullets: 1 }, response: "*\n* two", strict: true },
    { args: { num_bullets: 0 }, response: "a * b - c", strict: true },
  ],
  "detectable_format:constrained_response": [
    { response: "My answer is maybe.", strict: true },
    { response: "Well. My answer is yes. Really.", strict: true },
    { response: "my answer is yes.", strict: false },
    { response: "My answer is **no.**", strict: false, loose: true },
  ],
  "detectable_format:number_highlighted_sections": [
    { args: { num_highlights: 2 }, response: "*one* and *two*", strict: true },
    { args: { num_highlights: 1 }, response: "**one**", strict: true },
    { args: { num_highlights: 2 }, response: "**one**", strict: false },
    { args: { num_highlights: 1 }, response: "* * and **", strict: false },
    { args: { num_highlights: 1 }, response: "*over\nlines*", strict: false },
  ],
  "detectable_format:multiple_sections": [
    {
      args: { section_spliter: "SECTION", num_sections: 2 },
      response: "SECTION 1\na\nSECTION 2\nb",
      strict: true,
    },
    { args: { section_spliter: " Day ", num_sections: 1 }, response: "Day1: rest", strict: true },
    {
      args: { section_spliter: "SECTION", num_sections: 3 },
      response: "SECTION 1\na\nSECTION 2\nb",
      strict: false,
    },
    { args: { section_spliter: "SECTION", num_sections: 1 }, response: "Section 1", strict: false },
    {
      args: { section_spliter: "SECTION", num_sections: 1 },
      response: "**SECTION** 1",
      strict: false,
      loose: true,
    },
  ],
  "detectable_format:json_format": [
    { response: '{"a": [1, null]}', strict: true },
    { response: '```json\n{"a": 1}\n```', strict: true },
    { response: '```\n"text"\n```\n', strict: true },
    { response: "{'a': 1}", strict: false },
    { response: '{"a": 1} done', strict: false },
    { response: 'Here it is:\n{"a": 1}', strict: false, loose: true },
    { response: 'Here it is:\n{"a": 1}\nEnjoy!', strict: false, loose: true },
  ],
  "detectable_format:title": [
    { response: "<<poem of joy>>\nJoy", strict: true },
    { response: "a <<<b>>> c", strict: true },
    { response: "<poem of joy>", strict: false },
    { response: "<< >>", strict: false },
    { response: "<<a\nb>>", strict: false },
    { response: "<*<poem>*>", strict: false, loose: true },
  ],
  "combination:two_responses": [
    { response: "One\n******\nTwo", strict: true },
    { response: "******One******Two******", strict: true },
    { response: "One\n******\nOne", strict: false },
    { response: "One\n******\n\n******\nTwo", strict: false },
    { response: "One", strict: false },
    { response: "A******B******C", strict: false },
    { response: "A******\nB******C", strict: false, loose: true },
  ],
  "combination:repeat_prompt": [
    { args: { prompt_to_repeat: "Write a poem. " }, response: " write a POEM. Roses", strict: true },
    { args: { prompt_to_repeat: "Write a poem." }, response: "Roses. Write a poem.", strict: false },
    {
      args: { prompt_to_repeat: "Write a poem." },
      response: "Sure!\nWrite a poem.",
      strict: false,
      loose: true,
    },
    {
      args: { prompt_to_repeat: "Write a poem." },
      response: "**Write a poem.**",
      strict: false,
      loose: true,
    },
  ],
  "startend:end_checker": [
    { args: { end_phrase: " Peace! " }, response: "And so: PEACE! ", strict: true },
    { args: { end_phrase: "Peace!" }, response: '"And so: peace!"', strict: true },
    { args: { end_phrase: "Peace!" }, response: "Peace! Amen", strict: false },
    { args: { end_phrase: "Peace!" }, response: "Peace!\n(the end)", strict: false, loose: true },
  ],
  "startend:quotation": [
    { response: ' "all of it" ', strict: true },
    { response: '"', strict: false },
    { response: '"this" and that', strict: false },
    { response: "“all of it”", strict: false },
    { response: 'Sure:\n"all of it"', strict: false, loose: true },
  ],
  "change_case:capital_word_frequency": [
    { args: capitals(2, "at least"), response: "I am LOUD", strict: true },
    { args: capitals(3, "at least"), response: "I am LOUD", strict: false },
    { args: capitals(2, "at least"), response: "DON'T be", strict: true },
    { args: capitals(1, "less than"), response: "quiet Words", strict: true },
    { args: capitals(1, "less than"), response: "a B-52", strict: false },
    { args: capitals(1, "less than"), response: "OK:\nquiet", strict: false, loose: true },
  ],
  "change_case:english_capital": [
    { response: "THIS IS ALL OF IT, 1ST AND LAST.", strict: true },
    { response: "THIS IS NOT all OF IT", strict: false },
    { response: "DAS IST NICHT DEUTSCH, ODER IST ES DAS DOCH", strict: false },
    { response: "123", strict: false },
    { response: "Sure:\nTHIS IS IT", strict: false, loose: true },
  ],
  "change_case:english_lowercase": [
    { response: "this is all of it, 1st and last.", strict: true },
    { response: "This is not", strict: false },
    { response: "das ist nicht deutsch, oder ist es das doch", strict: false },
    { response: "Sure:\nthis is it", strict: false, loose: true },
  ],
  "punctuation:no_comma": [
    { response: "None at all; really", strict: true },
    { response: "One, two", strict: false },
    { response: "Well,\nnone", strict: false, loose: true },
    { response: "全部，没有", strict: true },
  ],
};
