import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/shared/json/json.ts';
import { listen } from '../../_support/build-app.ts';
import { connectFakeBrowser } from '../../_support/fake-browser.ts';
import { calls, says } from '../../_support/scripted-model.ts';
import { waitFor, waitUntil } from '../../_support/wait-for.ts';
import { functionGateway } from '../functions/function-gateway.ts';
import type { FunctionGateway } from '../functions/function-gateway.ts';
import { askPlainly, decide, lastResults, linkOf, storesIn, textOfPage, visit } from '../approvals/approval-fixture.ts';
import type { Asked } from '../approvals/approval-fixture.ts';

/** `pay` asks for approval, and its rule throws for an account that is locked. */
const pay = `import { defineTool } from 'toolwharf';
const parameters = { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } }, required: ['amount'] };
const needsApproval = ({ to }) => { if (to === 'locked') throw new Error('locked'); return true; };
export default defineTool({ name: 'pay', description: 'Pays', parameters, needsApproval, execute: ({ amount, to }) => 'PAID ' + amount + ' ' + to });
`;
/** Refuses amounts above 100, and lowers those above 50. */
const guard = `import { changeArguments, ToolError } from 'toolwharf';
export function beforeTool({ name, arguments: args }) {
  if (args.amount > 100) throw new ToolError('policy: at most 100');
  if (args.amount > 50) return changeArguments({ ...args, amount: 50 });
}
`;
const files = { 'pay.js': pay, '_guard.mjs': guard };
const hooks = ['_guard.mjs'];
const turns = () => [calls(['pay', { amount: 5, to: 'ada' }]), says('Done.')];

interface Way {
  edit: (gateway: FunctionGateway, asked: Asked, args: JsonObject) => Promise<void>;
  /** Takes part in the second approval: what it shows, and approves it. */
  approveAgain: (gateway: FunctionGateway) => Promise<string>;
}

function byToken(): Way {
  let again: Asked | undefined;
  return {
    async edit(gateway, asked, args) {
      again = (await decide(gateway, asked, { arguments: args })).json<Asked>();
    },
    async approveAgain(gateway) {
      if (again?.approval === undefined) throw new Error('Nothing waits again');
      await decide(gateway, again);
      return JSON.stringify(again.approval.calls.map(({ arguments: args }) => args));
    },
  };
}

function byLink(): Way {
  let page = '';
  return {
    async edit(gateway, asked, args) {
      const form = { call: asked.approval.calls[0]?.id ?? '', decision: 'approve', arguments: JSON.stringify(args) };
      const { statusCode, headers } = await visit(gateway, linkOf(asked), { form });
      expect(statusCode).toBe(303);
      page = `${linkOf(asked)}${String(headers.location)}`;
    },
    async approveAgain(gateway) {
      const next = await waitUntil(async () => /class="next" href="\.\/([^"]+)"/.exec((await visit(gateway, page)).body)?.[1]);
      const shown = textOfPage(await visit(gateway, `/approvals/${next}`));
      await visit(gateway, `/approvals/${next}`, { form: { decision: 'approve' } });
      return shown;
    },
  };
}

const gatewayWith = (options: Partial<Parameters<typeof functionGateway>[1]> = {}): Promise<FunctionGateway> =>
  functionGateway(files, { hooks, turns: turns(), ...options });
const resultOf = async (gateway: FunctionGateway): Promise<unknown> => {
  await waitFor(() => expect(gateway.model.requests).toHaveLength(2));
  return lastResults(gateway)[0];
};

describe.each<[how: string, way: () => Way]>([
  ['with a token', byToken],
  ['on the page of a link', byLink],
])('arguments that an approver edits %s', (_how, way) => {
  it('go through the hooks, which refuse them', async () => {
    await using gateway = await gatewayWith();
    await way().edit(gateway, await askPlainly(gateway), { amount: 1_000_000, to: 'eve' });
    expect(await resultOf(gateway)).toContain('policy: at most 100');
  });

  it('run as they are where the hooks let them', async () => {
    await using gateway = await gatewayWith();
    await way().edit(gateway, await askPlainly(gateway), { amount: 20, to: 'bob' });
    expect(await resultOf(gateway)).toBe('PAID 20 bob');
  });

  it('are shown to the rule of the function, which may refuse them', async () => {
    await using gateway = await gatewayWith();
    await way().edit(gateway, await askPlainly(gateway), { amount: 5, to: 'locked' });
    expect(await resultOf(gateway)).not.toContain('PAID');
  });

  it('need another approval where a hook has changed them', async () => {
    await using gateway = await gatewayWith();
    const { edit, approveAgain } = way();
    await edit(gateway, await askPlainly(gateway), { amount: 80, to: 'bob' });
    expect(await approveAgain(gateway)).toMatch(/"amount": ?50, ?"to": ?"bob"/);
    expect(await resultOf(gateway)).toBe('PAID 50 bob');
  });
});

it('what a hook has made of edited arguments is rejected, and does not run', async () => {
  await using gateway = await gatewayWith();
  const again = (await decide(gateway, await askPlainly(gateway), { arguments: { amount: 80, to: 'bob' } })).json<Asked>();
  await decide(gateway, again, { decision: 'reject' });
  expect(await resultOf(gateway)).toContain('rejected');
});

it('what a hook has made of edited arguments is edited once more', async () => {
  await using gateway = await gatewayWith();
  const again = (await decide(gateway, await askPlainly(gateway), { arguments: { amount: 80, to: 'bob' } })).json<Asked>();
  const last = (await decide(gateway, again, { arguments: { amount: 90, to: 'eve' } })).json<Asked>();
  expect(last.approval.calls).toMatchObject([{ arguments: { amount: 50, to: 'eve' } }]);
  await decide(gateway, last);
  expect(await resultOf(gateway)).toBe('PAID 50 eve');
});

it('what a hook has made of edited arguments is approved after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolwharf-edited-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const open = (): ReturnType<typeof storesIn> => {
    const stores = storesIn(folder);
    onTestFinished(() => stores.close());
    return stores;
  };
  let again: Asked;
  {
    await using gateway = await gatewayWith(open());
    again = (await decide(gateway, await askPlainly(gateway), { arguments: { amount: 80, to: 'bob' } })).json<Asked>();
  }
  await using gateway = await gatewayWith({ ...open(), turns: [says('Done.')] });
  await decide(gateway, again);
  await waitFor(() => expect(lastResults(gateway)).toEqual(['PAID 50 bob']));
});

describe('arguments that are edited in a confirmation', () => {
  async function confirmed(...edits: JsonObject[]): Promise<{ result: unknown; asked: unknown[] }> {
    await using gateway = await gatewayWith();
    const browser = await connectFakeBrowser({ url: await listen(gateway.app) });
    onTestFinished(() => browser.terminate());
    browser.send({ type: 'message', data: { content: 'Pay 5.', model: 'model' } });
    const asked: unknown[] = [];
    for (const edit of edits) {
      const { data } = await browser.next('confirmation');
      asked.push(data['params']);
      browser.send({ type: 'confirmation:result', data: { id: data['id'] ?? null, decision: 'approve', ...edit } });
    }
    return { result: await resultOf(gateway), asked };
  }

  it('go through the hooks', async () => {
    expect((await confirmed({ params: { amount: 1_000_000 } })).result).toContain('policy: at most 100');
  });

  it('are asked about again where a hook has changed them', async () => {
    const { result, asked } = await confirmed({ params: { amount: 80, to: 'bob' } }, {});
    expect([result, asked.at(-1)]).toEqual(['PAID 50 bob', { amount: 50, to: 'bob' }]);
  });

  it('are asked about three times at most', async () => {
    const edit = { params: { amount: 80, to: 'bob' } };
    expect((await confirmed(edit, edit, edit)).result).toContain('A hook changed the arguments');
  });
});
