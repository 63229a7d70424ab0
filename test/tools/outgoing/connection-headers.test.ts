import { describe, expect, it } from 'vitest';
import { callHeaders, callQuery, requestServerHeaders } from '../../../src/tools/outgoing/connection-headers.ts';
import { runContext } from '../../_support/tools.ts';
import { toolServerRecord } from '../../storage/registry-contract.ts';

describe('the credential of a connection', () => {
  it.each([
    ['none', 'k', undefined, {}, {}],
    ['bearer', 'k', undefined, { authorization: 'Bearer k' }, {}],
    ['bearer', undefined, undefined, {}, {}],
    ['basic', 'user:pässword', undefined, { authorization: 'Basic dXNlcjpww6Rzc3dvcmQ=' }, {}],
    ['header', 'k', undefined, { 'x-api-key': 'k' }, {}],
    ['header', 'k', 'X-Token', { 'x-token': 'k' }, {}],
    ['query', 'k', undefined, {}, { api_key: 'k' }],
    ['query', 'k', 'token', {}, { token: 'k' }],
  ] as const)('%s with key %s and name %s', (authType, key, authName, headers, query) => {
    const record = toolServerRecord({ authType, ...(key !== undefined && { key }), ...(authName !== undefined && { authName }) });
    expect(callHeaders(record, runContext())).toEqual(headers);
    expect(callQuery(record)).toEqual(query);
  });

  it('wins over a header of the same name', () => {
    const record = toolServerRecord({ authType: 'bearer', key: 'k', headers: { Authorization: 'other', 'X-A': '1' } });
    expect(callHeaders(record, undefined)).toEqual({ authorization: 'Bearer k', 'x-a': '1' });
  });
});

describe('a header with placeholders', () => {
  const expand = (value: string, run = runContext({ chatId: 'c', messageId: 'm' })): string | undefined =>
    callHeaders(toolServerRecord({ headers: { 'x-a': value } }), run)['x-a'];

  it("gets the run's ids", () => {
    expect(expand('{{USER_ID}}/{{ CHAT_ID }}/{{MESSAGE_ID}}/{{RUN_ID}}')).toBe('local/c/m/run-1');
  });

  it('gets nothing for an id that is not there, or while no run is', () => {
    expect(expand('a{{CHAT_ID}}b', runContext())).toBe('ab');
    expect(callHeaders(toolServerRecord({ headers: { 'x-a': '{{USER_ID}}' } }), undefined)).toEqual({ 'x-a': '' });
  });

  it('keeps names that mean nothing here', () => {
    expect(expand('{{USER_ROLE}} {{constructor}}')).toBe('{{USER_ROLE}} {{constructor}}');
  });

  it('encodes spaces at the ends of a value, and reads a million within it once', () => {
    const spaces = ' '.repeat(1_000_000);
    expect(expand('{{CHAT_ID}}', runContext({ chatId: `  a${spaces}b ` }))).toBe(`%20%20a${spaces}b%20`);
  });

  it('is expanded once, and an id cannot end the header', () => {
    expect(expand('{{CHAT_ID}}', runContext({ chatId: '{{RUN_ID}}' }))).toBe('{{RUN_ID}}');
    expect(expand('{{CHAT_ID}}', runContext({ chatId: 'a\r\nx: y 時\ud800' }))).toBe('a%0D%0Ax: y %E6%99%82%EF%BF%BD');
  });
});

describe('headers of both kinds of servers', () => {
  it('lets the credential win, whatever the spelling', () => {
    const connection = { authType: 'header', authName: 'x-a', key: '3', headers: { 'X-A': '1', 'x-b': '2' } } as const;
    expect(requestServerHeaders(connection)).toEqual({ 'x-a': '3', 'x-b': '2' });
    expect(callHeaders(toolServerRecord(connection), undefined)).toEqual({ 'x-a': '3', 'x-b': '2' });
  });

  it('sends the headers of a server of a request as they are', () => {
    expect(requestServerHeaders({ authType: 'none', headers: { 'x-a': '{{USER_ID}}' } })).toEqual({ 'x-a': '{{USER_ID}}' });
  });
});
