import { expect, test } from 'vitest';
import { Rest, StreamDelegation, withDelegated } from '../../../src/chat/loop/stream-delegation.ts';
import type { ChatEvent } from '../../../src/core/chat.ts';

const said = (text: string): ChatEvent => ({ type: 'text', text });

async function* telling(texts: readonly string[], onStart: () => void = () => undefined): AsyncGenerator<ChatEvent> {
  onStart();
  for (const text of texts) yield await Promise.resolve(said(text));
}

async function* steppingAside(rest: AsyncGenerator<ChatEvent, unknown>): AsyncGenerator<ChatEvent, Rest> {
  yield said('first');
  await Promise.resolve();
  return new Rest(rest, said('last'));
}

/** As a reader goes on: event by event, until the end. */
async function readAll(succession: StreamDelegation): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for (;;) {
    let step = await succession.events.next();
    if (step.done === true) step = await succession.after(step.value);
    if (step.done === true) return events;
    events.push(step.value);
  }
}

const whole = ['first', 'a', 'b', 'last'].map(said);

test('what a generator steps aside for follows it, and its last event comes once, at the end', async () => {
  expect(await readAll(new StreamDelegation(steppingAside(telling(['a', 'b']))))).toEqual(whole);
});

test('a rest without events of its own still has its last one', async () => {
  expect(await readAll(new StreamDelegation(steppingAside(telling([]))))).toEqual(['first', 'last'].map(said));
});

test('a rest may step aside as well', async () => {
  const events = await readAll(new StreamDelegation(steppingAside(steppingAside(telling(['a'])))));
  expect(events.map((event) => event.type === 'text' && event.text)).toEqual(['first', 'first', 'a', 'last', 'last']);
});

test('whoever stops reading begins nothing else, also when the first generator ends only then', async () => {
  let hasStarted = false;
  const succession = new StreamDelegation(steppingAside(telling(['a'], () => (hasStarted = true))));
  await succession.events.next();
  // The end is on its way when the reader leaves.
  const ending = succession.events.next();
  await succession.return(undefined);
  const step = await ending;
  expect(step.done).toBe(true);
  expect(await succession.after(step.value)).toMatchObject({ done: true });
  expect(hasStarted).toBe(false);
});

test('who is in no hurry reads all in one', async () => {
  const events: ChatEvent[] = [];
  for await (const event of withDelegated(steppingAside(telling(['a', 'b'])))) events.push(event);
  expect(events).toEqual(whole);
});
