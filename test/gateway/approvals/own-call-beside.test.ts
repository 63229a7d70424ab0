import { describe, expect, it } from 'vitest';
import { approvalPagePath } from '../../../src/core/user-input/approval.ts';
import { textOf } from '../../../src/core/chat/chat.ts';
import type { ModelRequest } from '../../../src/core/models/model.ts';
import { backendOf } from '../../_support/build-app.ts';
import { generatedBy } from '../../_support/scripted-model.ts';
import { waitFor } from '../../_support/wait-for.ts';
import type { Answer, Turn } from '../../http/dialects/parity/chat.ts';
import { servedClients } from '../../http/dialects/parity/clients.ts';
import { bankGateway, call, visit } from './approval-fixture.ts';

/** A model that pays, which needs an approval, and notes it with a function of the client. It notes again what was not noted. */
function payer() {
  const asked: ModelRequest[] = [];
  const backend = generatedBy(async function* (request) {
    asked.push({ ...request, messages: structuredClone(request.messages) });
    const results = request.messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
    const wanted = results.length === 0 ? ['pay', 'note'] : /was not made/u.test(textOf(results.at(-1)?.content ?? null)) ? ['note'] : [];
    for (const [index, name] of wanted.entries()) {
      const args = name === 'pay' ? { amount: 5 } : { text: 'paid' };
      yield { type: 'tool-call', call: { id: `call-${asked.length}-${index}`, name, arguments: JSON.stringify(args) } };
    }
    if (wanted.length === 0) yield { type: 'text', text: 'All is done.' };
    yield { type: 'finish', reason: wanted.length === 0 ? 'stop' : 'tool_calls' };
  });
  return { asked, backend };
}

const functions = [{ name: 'note', description: 'Notes it.', parameters: { type: 'object', properties: { text: { type: 'string' } } } }];
const question: Turn = { role: 'user', text: 'Pay 5 and note it.' };

/** The calls and results of a request, in short. */
function callsIn(request: ModelRequest | undefined): string[] {
  return (request?.messages ?? []).flatMap((message): string[] => {
    if (message.role === 'tool') return [textOf(message.content)];
    return message.role === 'assistant' ? message.toolCalls.map(({ name }) => `${name}()`) : [];
  });
}

describe.each(servedClients.map((client) => ({ name: client.name, client })))('$name', ({ client }) => {
  describe.each([true, false])('streaming: %s', (stream) => {
    async function start() {
      const { asked, backend } = payer();
      const gateway = await bankGateway({ backends: [backendOf(backend)] });
      const headers = { host: '127.0.0.1:8080', ...client.headers };
      const send = async (path: string, payload: object): Promise<Omit<Answer, 'status'>> => {
        const answer = await gateway.app.server.inject({ method: 'POST', url: path, headers, payload });
        expect([answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([200, '']);
        return stream ? client.readStream(answer.body) : client.read(answer.json());
      };
      const ask = (...turns: Turn[]) => send(client.path, client.write({ turns: [question, ...turns], functions }, stream));
      return { gateway, asked, send, ask };
    }

    it('gets its own call beside one that waited with the answer to the decision', async () => {
      const { gateway, asked, send, ask } = await start();
      await using _gateway = gateway;
      const first = await ask();
      expect([first.calls, first.waiting.map(({ tool }) => tool)]).toEqual([[], ['pay']]);
      const { path, body } = client.decide({ turns: [question], functions }, first.waiting, true);
      const decided = await send(path, 'stream' in body ? { ...body, stream } : body);
      expect([decided.finish, decided.calls.map(({ name, args }) => ({ name, args }))]).toEqual([
        'calls',
        [{ name: 'note', args: { text: 'paid' } }],
      ]);
      const [note] = decided.calls;
      if (note === undefined) throw new Error('There is no call');
      const last = await ask(
        { role: 'assistant', text: first.text },
        { role: 'assistant', calls: [note] },
        { role: 'result', of: note, text: 'Noted.' },
      );
      expect(last.text).toBe('All is done.');
      expect(callsIn(asked.at(-1))).toEqual(['pay()', 'note()', '{\n  "paid": true\n}', 'Noted.']);
    });

    it('gets it in its next request after a decision on the page, whose model knows that it was not made', async () => {
      const { gateway, asked, ask } = await start();
      await using _gateway = gateway;
      const first = await ask();
      const path = `${approvalPagePath}${first.text.split(approvalPagePath)[1]?.split(/[)\s]/u)[0]}`;
      await visit(gateway, path, { form: { decision: 'approve' } });
      await waitFor(async () => {
        const { data } = (await call(gateway, 'GET /api/runs')).json<{ data: { status: string }[] }>();
        expect(data.map(({ status }) => status)).toEqual(['completed']);
      });
      const said: Turn[] = [
        { role: 'assistant', text: first.text },
        { role: 'user', text: 'Approved.' },
      ];
      const next = await ask(...said);
      expect(next.calls.map(({ name }) => name)).toEqual(['note']);
      expect(callsIn(asked.at(-1))).toEqual(['pay()', 'note()', '{\n  "paid": true\n}', expect.stringContaining('was not made')]);
      const [note] = next.calls;
      if (note === undefined) throw new Error('There is no call');
      const last = await ask(...said, { role: 'assistant', calls: [note] }, { role: 'result', of: note, text: 'Noted.' });
      expect(last.text).toBe('All is done.');
      expect(callsIn(asked.at(-1)).slice(-2)).toEqual(['note()', 'Noted.']);
      expect(gateway.sent.map(({ url }) => url)).toEqual(['http://bank.test/pay']);
    });
  });
});
