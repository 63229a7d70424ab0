import type { JSX } from 'preact';

const tones: Readonly<Record<string, string>> = { completed: 'good', failed: 'bad', waiting: 'warn', running: '', cancelled: '' };

export function Status({ status }: { status: string }): JSX.Element {
  return <span class={`chip ${tones[status] ?? ''}`}>{status}</span>;
}
