export interface ReasoningTag {
  open: string;
  close: string;
}

const names = ['think', 'thinking', 'reason', 'reasoning', 'thought', 'seed:think'];

/** Tags between which models write reasoning into their text. */
export const reasoningTags: readonly ReasoningTag[] = [
  ...names.map((name) => ({ open: `<${name}>`, close: `</${name}>` })),
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|begin_of_thought|>', close: '<|end_of_thought|>' },
  { open: '[THINK]', close: '[/THINK]' },
];

/** Whether ordinary text is unlikely to contain the tag, unlike a plain one (`<reason>`). */
export function isUnmistakable({ open }: ReasoningTag): boolean {
  return !/^<\w+>$/.test(open);
}
