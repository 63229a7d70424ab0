export interface ReasoningTag {
  open: string;
  close: string;
}

const names = ['think', 'thinking', 'reason', 'reasoning', 'thought', 'seed:think'];

/** Between these models write their reasoning into their text. */
export const reasoningTags: readonly ReasoningTag[] = [
  ...names.map((name) => ({ open: `<${name}>`, close: `</${name}>` })),
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|begin_of_thought|>', close: '<|end_of_thought|>' },
  { open: '[THINK]', close: '[/THINK]' },
];

/** Whether something else can hardly be written so, unlike a plain tag (`<reason>`). */
export function isUnmistakable({ open }: ReasoningTag): boolean {
  return !/^<\w+>$/.test(open);
}
