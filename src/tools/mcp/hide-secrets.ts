import type { ToolServerRecord } from '../../core/registry.ts';
import { callHeaders, callQuery } from '../connection-headers.ts';

/** Shorter values are words that a text may hold by chance. */
const shortestSecret = 8;

/** Messages reach the model and the caller; no credential may, whatever the server said. */
export function hideSecrets(text: string, record: ToolServerRecord): string {
  const sent = [
    ...Object.values(callHeaders(record, undefined)),
    ...Object.values(callQuery(record)),
    ...Object.values(record.process?.environment ?? {}),
  ];
  const values = sent.flatMap((value) => [value, encodeURIComponent(value.toWellFormed()), ...value.split(/[ =]/)]);
  return values
    .filter((value) => value.length >= shortestSecret)
    .toSorted((left, right) => right.length - left.length)
    .reduce((hidden, secret) => hidden.replaceAll(secret, '[secret]'), text);
}
