import type { JSX } from 'preact';

const states = {
  connected: { label: 'connected', tone: 'good' },
  expired: { label: 'expired', tone: 'warn' },
  missing: { label: 'not connected', tone: '' },
} as const;

/** Whether a person is connected to a tool server. */
export function ConnectionState({ state }: { state: keyof typeof states }): JSX.Element {
  return <span class={`chip ${states[state].tone}`}>{states[state].label}</span>;
}
