import type { Scenario } from './measure-load.ts';

/** What a chat of a default install is sent with: nothing, so that the default tools are offered. */
const withDefaultTools = {};
const withoutTools = { tool_ids: [] };

const atOnce = { chunks: 50, gapMs: 0 };
const paced = { chunks: 50, gapMs: 20 };

/**
 * A plain chat in three forms; the same with the tools of a default install, which the model does not call; and one whose tools are chosen by a prompt, which
 * is a second request of the model.
 */
export const scenarios: readonly Scenario[] = [
  { name: 'json', stream: false, concurrency: 32, plan: atOnce, body: withoutTools },
  { name: 'json-tools', stream: false, concurrency: 32, plan: atOnce, body: withDefaultTools },
  { name: 'json-prompt', stream: false, concurrency: 32, plan: atOnce, body: { params: { function_calling: 'default' } } },
  { name: 'burst', stream: true, concurrency: 32, plan: atOnce, body: withoutTools },
  { name: 'paced', stream: true, concurrency: 200, plan: paced, body: withoutTools },
  { name: 'paced-tools', stream: true, concurrency: 200, plan: paced, body: withDefaultTools },
];

/** Measured at the gateway alone, in each of its dialects. */
export const dialectScenarios: readonly Scenario[] = [
  { name: 'dialects', stream: false, concurrency: 32, plan: atOnce, body: withoutTools },
  { name: 'dialects-burst', stream: true, concurrency: 32, plan: atOnce, body: withoutTools },
];
