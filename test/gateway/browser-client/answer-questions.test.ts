import { describe, expect, it, vi } from 'vitest';
import { listen } from '../../_support/build-app.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { functionModule } from '../../_support/tools-folder.ts';
import { bankGateway, lastResults } from '../approvals/approval-fixture.ts';
import { connect as connectServer, connectingGateway } from '../sign-in/connecting-fixture.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import { waitFor } from '../../_support/wait-for.ts';

interface Options {
  url?: string;
  confirm?: (question: unknown, signal: AbortSignal) => unknown;
  input?: (question: unknown, signal: AbortSignal) => unknown;
  connect?: (question: { url: string }, signal: AbortSignal) => unknown;
}
const { connect } = (await import(new URL('../../../src/client/toolwharf-client.js', import.meta.url).href)) as {
  connect: (options: Options) => { chat(message: object): { done: Promise<unknown> }; close(): void };
};

const turns = () => [calls(['pay', { amount: 5 }]), says('So be it.')];

describe('a page that is asked for an approval', () => {
  it.each<[string, Options, string[]]>([
    ['says yes', { confirm: () => true }, ['{"amount":5}']],
    ['says yes later', { confirm: async () => true }, ['{"amount":5}']],
    ['changes the arguments', { confirm: () => ({ decision: 'approve', params: { amount: 3 } }) }, ['{"amount":3}']],
    ['says no', { confirm: () => false }, []],
    ['says no with words', { confirm: () => ({ decision: 'reject', message: 'No.' }) }, []],
    ['says something else', { confirm: () => 'yes' }, []],
    ['gives an object without a decision', { confirm: () => ({ params: { amount: 3 } }) }, []],
    ['gives nothing', { confirm: () => null }, []],
    ['throws', { confirm: () => Promise.reject(new Error('broken')) }, []],
    ['cannot be asked', {}, []],
  ])('and %s', async (_name, options, bodies) => {
    await using gateway = await bankGateway({ turns: turns() });
    const client = connect({ url: await listen(gateway.app), ...options });
    await client.chat({ content: 'Pay.', model: 'model' }).done;
    client.close();
    expect(gateway.sent.map(({ body }) => body)).toEqual(bodies);
  });

  it('is shown what it is about, and told when nobody waits for it any more', async () => {
    await using gateway = await bankGateway({ turns: turns(), environment: { APPROVAL_TIMEOUT_MS: '30' } });
    const confirm = vi.fn(
      (_question: unknown, signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(true))),
    );
    const client = connect({ url: await listen(gateway.app), confirm });
    await client.chat({ content: 'Pay.', model: 'model' }).done;
    await waitFor(() => expect(confirm.mock.calls[0]?.[1].aborted).toBe(true));
    client.close();
    expect(confirm.mock.calls[0]?.[0]).toMatchObject({ tool: 'pay', params: { amount: 5 }, title: 'Run pay?' });
    expect(gateway.sent).toEqual([]);
  });
});

it.each<[Options, string]>([
  [{ input: () => 'Rome' }, '"Rome"'],
  [{ input: () => undefined }, 'null'],
  [{}, 'null'],
])('a page that is asked for input by a function answers with %j', async (options, read) => {
  const execute = `async (args, context) => [(await context.ask('Where to?')) ?? null]`;
  await using gateway = await functionGateway(
    { 'a.js': functionModule('work', { execute }) },
    { turns: [calls(['work', {}]), says('Done.')] },
  );
  const client = connect({ url: await listen(gateway.app), ...options });
  await client.chat({ content: 'Go.', model: 'model' }).done;
  client.close();
  expect(lastResults(gateway)).toEqual([expect.stringContaining(read)]);
});

describe('a page whose user has to connect to a server', () => {
  const send = (): ReturnType<typeof turns> => [calls(['send', { to: 'bob' }]), says('So be it.')];

  it('shows the link, and is told when they have', async () => {
    await using gateway = await connectingGateway(send());
    const show = vi.fn((_question: { url: string }, _signal: AbortSignal) => undefined);
    const client = connect({ url: await listen(gateway.app), connect: show });
    const { done } = client.chat({ content: 'Send it', model: 'model' });
    await waitFor(() => expect(show).toHaveBeenCalledOnce());
    expect(show.mock.calls[0]?.[0].url).toContain('/connect/');
    await connectServer(gateway);
    await done;
    await waitFor(() => expect(show.mock.calls[0]?.[1].aborted).toBe(true));
    client.close();
    expect(gateway.sent).toHaveLength(1);
  });

  it.each<[string, Options]>([
    ['cannot show one', {}],
    ['says that they will not', { connect: () => false }],
    ['throws', { connect: () => Promise.reject(new Error('broken')) }],
  ])('and %s goes on without', async (_name, options) => {
    await using gateway = await connectingGateway(send());
    const client = connect({ url: await listen(gateway.app), ...options });
    await client.chat({ content: 'Send it', model: 'model' }).done;
    client.close();
    expect(lastResults(gateway)).toEqual([expect.stringContaining('does not want to connect')]);
  });
});
