import type { Tool, ToolSpec } from '../../core/tools/tool.ts';
import { keepFor } from '../../shared/keep-last.ts';

/** The specs of an offer, in its order: the same array in all chats that have the same offer. */
export const specsOf = keepFor((tools: ReadonlyMap<string, Tool>): readonly ToolSpec[] => Array.from(tools.values(), ({ spec }) => spec));

/** The names of an offer, in its order. */
export const namesOf = keepFor((tools: ReadonlyMap<string, Tool>): readonly string[] => [...tools.keys()]);

/** The names of those that only calls from before a suspension may use. */
export const formerIn = keepFor((tools: ReadonlyMap<string, Tool>): readonly string[] =>
  Array.from(tools.values()).flatMap(({ isFormer, spec }) => (isFormer === true ? [spec.name] : [])),
);

/** Whether the definition of one of them is shortened. */
export const hasShortened = keepFor((tools: ReadonlyMap<string, Tool>): boolean => tools.values().some(({ whole }) => whole !== undefined));
