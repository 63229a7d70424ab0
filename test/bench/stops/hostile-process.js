// An MCP server as a process, whose only tool `speak` answers with what a case of the bench wants: `{what: 'words' | 'lists' | 'chatter' | 'flood' | 'file'}`.
import { createInterface } from 'node:readline';

const tool = { name: 'speak', inputSchema: { type: 'object', properties: { what: { type: 'string' } } } };
const serverInfo = { name: 'hostile', version: '1' };
const write = (text) => process.stdout.write(`${text}\n`);
const answer = (id, result) => write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
const words = '{"content":[{"type":"text","text":"Done."}]}';

function notify(times, id) {
  write('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"Still here."}}\n'.repeat(times));
  answer(id, words);
}

const answers = {
  words: (id) => answer(id, words),
  lists: (id) => answer(id, `{"content":[{"type":"text","text":"Done."}],"structuredContent":{"lists":[${'[],'.repeat(2_700_000)}[]]}}`),
  chatter: (id) => notify(5_000, id),
  flood: (id) => notify(100_000, id),
  file(id) {
    answer(
      id,
      `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/zip","blob":"${'UEsDBBQA'.repeat(1_000_000)}"}}]}`,
    );
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    answer(id, JSON.stringify({ protocolVersion: '2025-06-18', capabilities: { tools: {}, logging: {} }, serverInfo }));
  else if (method === 'tools/list') answer(id, JSON.stringify({ tools: [tool] }));
  else if (method === 'tools/call') (answers[params.arguments.what] ?? answers.words)(id);
  else if (id !== undefined) write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_601, message: `There is no ${method}` } }));
});
