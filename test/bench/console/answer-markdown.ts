import { decode, encode } from 'gpt-tokenizer';

/** What a model says in one turn: thoughts, text, and calls, in this order. */
export interface Turn {
  reasoning?: readonly string[];
  text: readonly string[];
  calls?: number;
}

/** A text as the tokens of a model, which is how it arrives. */
export function tokensOf(text: string): string[] {
  return encode(text).map((token) => decode([token]));
}

const sentence = (index: number): string =>
  `The **${index}th** harbour keeps \`berth_${index}\` open until [the tide table](https://tides.example/${index}) says otherwise, which *rarely* happens before noon.`;

const section = (index: number): string =>
  [
    `## Part ${index}: what was found`,
    `${sentence(index)} ${sentence(index + 1)} ~~Not this one.~~`,
    `- ${sentence(index)}\n- A list of steps:\n  1. Look at the [log](https://log.example/${index}).\n  2. Compare \`a_${index}\` with **b**.\n     - and what lies below it\n- [x] Done & dusted`,
    `> ${sentence(index + 2)}\n>\n> And its answer.`,
    `| Berth | Ship | Draught | Remark |\n|---|:---|---:|:-:|\n${rows(8, index)}`,
    `\`\`\`ts\n${code(14, index)}\n\`\`\``,
    sentence(index + 3),
  ].join('\n\n');

const rows = (count: number, from = 0): string =>
  Array.from(
    { length: count },
    (_, index) =>
      `| ${from + index} | **Ship ${index}** | ${(index * 1.7).toFixed(1)} m | \`ok\` since [${index}](https://s.example/${index}) |`,
  ).join('\n');

const code = (lines: number, from = 0): string =>
  Array.from(
    { length: lines },
    (_, index) => `  const berth${from + index} = await find({ id: ${index}, kind: 'ship', isOpen: true }); // <b>not</b> markup`,
  ).join('\n');

/** So many tokens of text as models write it. */
export function longText(tokens: number): string[] {
  const pieces: string[] = [];
  for (let index = 0; pieces.length < tokens; index += 1) pieces.push(...tokensOf(`${section(index)}\n\n`));
  return pieces.slice(0, tokens);
}

/** 5,000 tokens with twenty calls, in six turns. */
function usualAnswer(): Turn[] {
  const text = longText(5_000);
  const size = text.length / 6;
  return Array.from({ length: 6 }, (_, index) => ({
    reasoning: tokensOf(`I have to look at part ${index}. ${sentence(index)}\n\n- first\n- second`),
    text: text.slice(Math.round(index * size), Math.round((index + 1) * size)),
    ...(index < 5 && { calls: 4 }),
  }));
}

const once = (text: string): Turn[] => [{ text: tokensOf(text) }];
/** In large pieces: what a person pastes and a model repeats, or a backend that is fast. */
const inPieces = (text: string, size: number): Turn[] => [{ text: text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [] }];

/** By the question that gets them. */
export const answers: Readonly<Record<string, () => Turn[]>> = {
  'a usual answer': usualAnswer,
  'one code block of 5,000 tokens': () => once(`\`\`\`ts\n${code(150)}\n\`\`\`\n`),
  'one table of 5,000 tokens': () => once(`| Berth | Ship | Draught | Remark |\n|---|---|---|---|\n${rows(140)}\n`),
  'one list of 5,000 tokens': () => once(Array.from({ length: 120 }, (_, index) => `- ${sentence(index)}`).join('\n')),
  'one paragraph of 5,000 tokens': () => once(Array.from({ length: 120 }, (_, index) => sentence(index)).join(' ')),
  'a table of 5,000 rows': () => inPieces(`| Berth | Ship | Draught | Remark |\n|---|---|---|---|\n${rows(5_000)}\n`, 400),
  'a code block of 20,000 lines': () => inPieces(`\`\`\`ts\n${code(20_000)}\n\`\`\`\n`, 4_000),
  'a line of 1 MB without spaces': () => inPieces('x'.repeat(1_000_000), 4_000),
  'a code block of one line of 1 MB': () => inPieces(`\`\`\`\n${'y'.repeat(1_000_000)}\n\`\`\``, 4_000),
  '10,000 links': () =>
    inPieces(Array.from({ length: 10_000 }, (_, index) => `[link ${index}](https://l.example/${index})`).join(' '), 1_000),
  'quotes and lists 2,000 deep': () => inPieces(`${'> '.repeat(2_000)}deep\n\n${'- '.repeat(2_000)}deep\n\n${'**a '.repeat(5_000)}`, 100),
  '5,000 paragraphs': () => inPieces(Array.from({ length: 5_000 }, (_, index) => sentence(index)).join('\n\n'), 2_000),
  'a short answer': () => once(section(1)),
};
