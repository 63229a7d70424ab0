import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { closePages, describeInChromium, findFaultsInAllLooks, openPage } from '../_support/chromium.ts';
import { program } from '../_support/program.ts';
import { events, respond, startUpstream, stream } from '../_support/upstream-server.ts';
import type { UpstreamServer } from '../_support/upstream-server.ts';

afterAll(closePages);

interface Asked {
  stream?: boolean;
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string } }[];
}

const answerText = 'You have to water the plants.';

/** A server with OpenAI's API whose model lists the tasks, and then says what they are. */
async function scriptedBackend(): Promise<UpstreamServer> {
  const server = await startUpstream((request) => {
    const { url, headers } = request;
    if (headers['authorization'] !== 'Bearer model-key') return respond(401, { error: { message: 'Incorrect API key provided' } });
    if (url === '/v1/models') return respond(200, { object: 'list', data: [{ id: 'harbour-1', object: 'model', max_model_len: 32_768 }] });
    const { messages, tools = [], stream: isStreamed } = request.json() as Asked;
    const name = tools.map(({ function: { name } }) => name).find((each) => each.includes('list_tasks'));
    const call = { index: 0, id: 'call_1', type: 'function', function: { name, arguments: '{}' } };
    const isAnswer = messages.at(-1)?.role === 'tool' || name === undefined;
    const message = isAnswer ? { role: 'assistant', content: answerText } : { role: 'assistant', tool_calls: [call] };
    const reason = isAnswer ? 'stop' : 'tool_calls';
    const head = { id: 'c', created: 1, model: 'harbour-1' };
    return isStreamed === true
      ? stream(
          events(
            { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: message, finish_reason: null }] },
            { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: reason }] },
            '[DONE]',
          ),
        )
      : respond(200, { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }] });
  });
  onTestFinished(() => server.close());
  return server;
}

/** Starts a program until the test has ended. @returns what it announces */
async function start(args: readonly string[], { cwd, announces }: { cwd: string; announces: RegExp }): Promise<string> {
  const env = { PATH: process.env['PATH'], PORT: '0', OLLAMA_BASE_URLS: ';' };
  const child: ChildProcess = spawn(process.execPath, args, { cwd, env });
  const ended = new Promise((resolve) => void child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  const announced = Promise.withResolvers<string>();
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    const found = announces.exec(output)?.[0];
    if (found !== undefined) announced.resolve(found);
  });
  child.once('exit', () => announced.reject(new Error(output)));
  return announced.promise;
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'newcomer-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describeInChromium('a newcomer', () => {
  it('gets from an empty folder to an answer with a tool of their own, and connects a second program, in the browser alone', async () => {
    const folder = await newFolder();
    const backend = await scriptedBackend();
    const taskList = await start([join(import.meta.dirname, '../../docs/examples/task-list.js'), '0'], {
      cwd: folder,
      announces: /http:\/\/\S+(?=\n)/,
    });
    const link = new URL(await start([program, 'serve'], { cwd: folder, announces: /http:\/\/\S+#key=\S+/ }));
    await using it = await openPage(link.origin, { path: `/${link.hash}` });
    const { page, faults, foreign } = it;

    const steps = page.getByRole('region', { name: 'Set up toolwharf' });
    const doneSteps = steps.locator('li.done');
    await page.getByText('7 tools from 1 server').waitFor();
    expect(await findFaultsInAllLooks(page)).toEqual([]);
    expect(await doneSteps.count()).toBe(0);

    await steps.getByRole('link', { name: 'Connect a model' }).click();
    await page.getByLabel('Another server').check();
    await page.getByLabel('URL').fill(`${backend.origin}/v1`);
    await page.getByRole('textbox', { name: 'API key' }).fill('model-key');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByRole('button', { name: 'Add 1 model' }).click();
    await page.getByRole('link', { name: 'Chat with harbour-1' }).waitFor();

    await page.goBack();
    await page.goBack();
    await steps.getByRole('link', { name: 'Add tools' }).click();
    await page.getByLabel('URL, configuration or command').fill(taskList);
    await page.getByRole('button', { name: 'Add 2 functions' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();

    await page.goto(link.origin);
    await page.getByText('9 tools from 2 servers').waitFor();
    await expect.poll(() => doneSteps.count()).toBe(2);
    await page.getByRole('combobox', { name: 'Model' }).selectOption('harbour-1');
    await page.getByRole('button', { name: 'List all open tasks' }).click();
    await page.getByText(answerText).waitFor();
    expect(await page.locator('.call').innerText()).toContain('list_tasks');

    await page.goto(link.origin);
    await steps.getByRole('link', { name: 'Point your program here' }).click();
    await page.getByRole('tab', { name: 'OpenAI SDK' }).click();
    await page.getByRole('tabpanel').getByRole('button', { name: 'Copy code' }).first().click();
    await symlink(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'ask.mjs'), await page.evaluate(() => navigator.clipboard.readText()));
    const { stdout } = await promisify(execFile)(process.execPath, ['ask.mjs'], { cwd: folder });
    expect(stdout.trim()).toBe(answerText);
    await page.getByText('A program has reached this gateway.').waitFor();

    await page.goto(link.origin);
    await page.getByText('9 tools from 2 servers').waitFor();
    await it.settled();
    expect(await steps.count()).toBe(0);
    // Everything was set up in the browser.
    expect((await readdir(folder)).toSorted()).toEqual(['ask.mjs', 'data', 'node_modules']);
    expect(faults).toEqual([]);
    expect(foreign).toEqual([]);
  });
});
