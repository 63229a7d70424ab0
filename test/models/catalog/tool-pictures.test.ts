import { expect, it } from 'vitest';
import type { BackendConfig } from '../../../src/core/models/backend-config.ts';
import { picturesForModel, picturesOfBackend } from '../../../src/models/catalog/tool-pictures.ts';
import { toModelRecords } from '../../../src/models/openai/openai-model-list.ts';
import { backendConfig } from '../../storage/records.ts';

it.each<[Partial<BackendConfig>, string | undefined, boolean | undefined]>([
  [{ kind: 'openai' }, 'after_results', false],
  [{ kind: 'openai', url: 'https://api.openai.com/v1' }, 'after_results', true],
  [{ kind: 'openai', url: 'https://generativelanguage.googleapis.com/v1beta/openai' }, 'after_results', true],
  [{ kind: 'openai-responses' }, 'in_result', true],
  [{ kind: 'anthropic' }, 'in_result', true],
  [{ kind: 'ollama' }, 'after_results', false],
  [{ kind: 'anthropic', toolImages: 'never' }, undefined, undefined],
  [{ kind: 'anthropic', toolImages: 'auto' }, 'in_result', true],
])('a backend %j takes pictures: %s, known to see: %s', (fields, place, isKnownToSee) => {
  const pictures = picturesOfBackend(backendConfig(fields));
  expect([pictures?.place, pictures?.isKnownToSee]).toEqual([place, isKnownToSee]);
});

it.each<[string, object, 'sees' | 'unknown' | 'never']>([
  ['nothing', {}, 'unknown'],
  ['the capability vision', { capabilities: ['completion', 'vision'] }, 'sees'],
  ['multimodal (llama.cpp)', { capabilities: ['completion', 'multimodal'] }, 'sees'],
  ['vision among switches (Mistral)', { capabilities: { completion_chat: true, vision: true } }, 'sees'],
  ['vision switched off', { capabilities: { completion_chat: true, vision: false } }, 'never'],
  ['capabilities without sight', { capabilities: ['completion', 'tools'] }, 'never'],
  [
    'image among the modalities (OpenRouter)',
    { architecture: { input_modalities: ['text', 'image'] }, supported_parameters: ['tools'] },
    'sees',
  ],
  ['only text among them', { architecture: { input_modalities: ['text'] }, supported_parameters: ['tools'] }, 'never'],
  ['only which parameters it takes', { supported_parameters: ['tools'] }, 'unknown'],
])('a model with %s', (_what, entry, outcome) => {
  const [record] = toModelRecords([{ id: 'm', ...entry }]) ?? [];
  if (record === undefined) throw new Error('no record');
  const pictures = picturesForModel({ place: 'after_results', isKnownToSee: false }, record);
  expect(pictures === undefined ? 'never' : pictures.isKnownToSee ? 'sees' : 'unknown').toBe(outcome);
  expect(picturesForModel(undefined, record)).toBeUndefined();
});
