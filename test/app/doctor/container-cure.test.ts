import { expect, it } from 'vitest';
import { containerCure } from '../../../src/app/doctor/container-loopback.ts';
import { OutboundError } from '../../../src/core/errors.ts';
import { scriptedSend } from '../../tools/scripted-send.ts';

const refused = new OutboundError('unreachable', 'Nothing listens there.', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
const unknownHost = new OutboundError('unreachable', 'No such host.', Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }));

it('says that an Ollama outside the container has to listen for others', async () => {
  const url = 'http://host.docker.internal:11434';
  const { send } = scriptedSend({ [url]: refused });
  expect(await containerCure({ url, isOllama: true }, send)).toContain('OLLAMA_HOST=0.0.0.0');
  expect(await containerCure({ url }, send)).toBeUndefined();
});

it('names both changes for an Ollama that is looked for in the container itself', async () => {
  const url = 'http://127.0.0.1:11434';
  const { send } = scriptedSend({ [url]: refused });
  expect(await containerCure({ url, isOllama: true }, send)).toMatch(
    /use http:\/\/host\.docker\.internal:11434\. .*OLLAMA_HOST=0\.0\.0\.0/,
  );
  expect(await containerCure({ url }, send)).toMatch(/use http:\/\/host\.docker\.internal:11434, and let that server listen/);
});

it('blames no Ollama that answers, nor a host that does not exist', async () => {
  const { send } = scriptedSend({ 'http://gone.test:11434': unknownHost });
  expect(await containerCure({ url: 'http://gone.test:11434', isOllama: true }, send)).toBeUndefined();
  expect(await containerCure({ url: 'http://there.test:11434', isOllama: true }, send)).toBeUndefined();
});
