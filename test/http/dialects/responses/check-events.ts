import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../../../src/shared/json/json.ts';
import { dataOf } from '../parity/chat.ts';

/** The fields of a type of OpenAI's. */
interface Shape {
  required: Set<string>;
  optional: Set<string>;
}

const typesFile = new URL('../../../../node_modules/openai/resources/responses/responses.d.ts', import.meta.url);
const declarations = readFileSync(typesFile, 'utf8').replaceAll(/\/\*\*.*?\*\//gs, '');

/** The shapes of all interfaces with a literal `type`, by that. Several interfaces may share one. */
const shapes = new Map<string, Shape[]>();
for (const [, indent = '', body = ''] of declarations.matchAll(/^( *)(?:export )?interface \w+[^{\n]*\{\n(.*?)^\1\}/gms)) {
  const fields = [...body.matchAll(/^( *)(\w+)(\??): (.*)$/gm)].filter(([, depth = '']) => depth.length === indent.length + 4);
  const type = /^'([\w.]+)';/.exec(fields.find(([, , name]) => name === 'type')?.[4] ?? '')?.[1];
  if (type === undefined) continue;
  const names = (mark: string): Set<string> => new Set(fields.flatMap(([, , name = '', optional]) => (optional === mark ? [name] : [])));
  shapes.set(type, [...(shapes.get(type) ?? []), { required: names(''), optional: names('?') }]);
}

/** Fields that OpenAI's servers send and that some of its types lack. */
const lenient = new Set(['status', 'id']);

function shapeFaults(value: JsonObject, place: string): string[] {
  const known = shapes.get(String(value['type']));
  if (known === undefined) return [`${place}: type ${String(value['type'])} is not OpenAI's`];
  const faults = known.map(({ required, optional }) => [
    ...[...required].filter((name) => !(name in value)).map((name) => `${place}: ${name} is missing`),
    ...Object.keys(value)
      .filter((name) => !required.has(name) && !optional.has(name) && !lenient.has(name))
      .map((name) => `${place}: ${name} is not OpenAI's`),
  ]);
  return faults.toSorted((left, right) => left.length - right.length)[0] ?? [];
}

/** What is wrong with a stream, by OpenAI's types and by the order of its events. */
export function faultsIn(stream: string): string[] {
  const events = dataOf(stream);
  const names = [...stream.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  const faults = events.flatMap((event, index) => [
    ...(names[index] === event['type'] ? [] : [`${index}: the event is named ${String(names[index])}`]),
    ...(event['sequence_number'] === index ? [] : [`${index}: sequence_number is ${String(event['sequence_number'])}`]),
    ...shapeFaults(event, `${index}`),
  ]);
  if (stream.includes('[DONE]')) faults.push('there is a [DONE]');
  const [first, second] = events.map(({ type }) => type);
  if (first !== 'response.created' || second !== 'response.in_progress') faults.push(`begins with ${String(first)}, ${String(second)}`);
  const order = new EventOrder();
  for (const [index, event] of events.entries()) order.check(event, index);
  return [...faults, ...order.end(events.at(-1))];
}

interface SeenItem {
  item: JsonObject;
  isDone: boolean;
  openParts: Set<string>;
  deltas: Map<string, string>;
}

/** The field of a `done` event that has the text of its deltas. */
const wholeTexts: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.refusal': 'refusal',
  'response.reasoning_summary_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
  'response.mcp_call_arguments': 'arguments',
};

class EventOrder {
  readonly #items: SeenItem[] = [];
  readonly #faults: string[] = [];

  check(event: JsonObject, index: number): void {
    const type = String(event['type']);
    const say = (fault: string): void => void this.#faults.push(`${index} ${type}: ${fault}`);
    const place = event['output_index'];
    if (typeof place !== 'number') return;
    if (type === 'response.output_item.added') {
      const item = event['item'] as JsonObject;
      if (place !== this.#items.length) say('is not the next item');
      this.#faults.push(...shapeFaults(item, `${index} item`));
      this.#items.push({ item, isDone: false, openParts: new Set(), deltas: new Map() });
      return;
    }
    const seen = this.#items[place];
    if (seen === undefined) say('comes before its item');
    else if (seen.isDone) say('comes after its item is done');
    else if (type === 'response.output_item.done') this.#checkDone(seen, event['item'] as JsonObject, say);
    else if (event['item_id'] === seen.item['id']) checkPart(seen, event, say);
    else say('has the id of another item');
  }

  #checkDone(seen: SeenItem, item: JsonObject, say: (fault: string) => void): void {
    for (const fault of shapeFaults(item, 'item')) say(fault);
    if (item['id'] !== seen.item['id'] || item['type'] !== seen.item['type']) say('is another item');
    if (seen.openParts.size > 0) say('has open parts');
    if (item['status'] === 'in_progress') say('is in progress');
    Object.assign(seen, { isDone: true, item });
  }

  end(last: JsonObject | undefined): string[] {
    const type = String(last?.['type']);
    if (!['response.completed', 'response.incomplete', 'response.failed'].includes(type)) return [...this.#faults, `ends with ${type}`];
    const { output } = (last?.['response'] ?? { output: [] }) as { output: JsonObject[] };
    if (type !== 'response.failed' && this.#items.some(({ isDone }) => !isDone)) this.#faults.push('an item is not done at the end');
    for (const [index, { item, isDone }] of this.#items.entries())
      if (isDone && JSON.stringify(item) !== JSON.stringify(output[index])) this.#faults.push(`output ${index} is not as it was told`);
    if (output.length !== this.#items.length) this.#faults.push('the output has other items');
    return this.#faults;
  }
}

function checkPart(seen: SeenItem, event: JsonObject, say: (fault: string) => void): void {
  const type = String(event['type']);
  const part = String(event['content_index'] ?? event['summary_index'] ?? '');
  const stem = type.replace(/\.(?:delta|done)$/, '');
  if (type.endsWith('part.added')) seen.openParts.add(part);
  else if (type.endsWith('part.done')) {
    if (!seen.openParts.delete(part)) say('was not added');
    const content = event['part'] as JsonObject;
    if ((content['text'] ?? content['refusal']) !== seen.deltas.get(part)) say('differs from its deltas');
  } else if (type.endsWith('.delta')) {
    if (part !== '' && !seen.openParts.has(part)) say('comes before its part');
    seen.deltas.set(part, (seen.deltas.get(part) ?? '') + String(event['delta']));
  } else if (stem in wholeTexts && event[wholeTexts[stem] ?? ''] !== seen.deltas.get(part)) say('differs from its deltas');
}
