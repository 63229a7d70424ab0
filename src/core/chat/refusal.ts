import type { ChatEvent } from './chat.ts';

/** The words with which a model of OpenAI declines; empty for every other event. */
export function refusalIn(event: ChatEvent): string {
  const refusal = event.type === 'extra' && event.level === 'delta' ? event.fields['refusal'] : undefined;
  return typeof refusal === 'string' ? refusal : '';
}

/** The same event, or such words as text, for whoever has no other place for them. */
export function refusalAsText(event: ChatEvent): ChatEvent {
  const text = refusalIn(event);
  if (text === '' || event.type !== 'extra') return event;
  return { type: 'text', text, ...(event.choice !== undefined && { choice: event.choice }) };
}
