import type { AnswerOf } from '../../api/api-types.ts';

export type Backend = AnswerOf<'GET /api/backends/:id'>;
/** As in a request. */
type Entry = Readonly<Record<string, unknown>>;
/** What a person chooses. Two of them speak the same API. */
export type BackendChoice = 'ollama' | 'openai' | 'anthropic' | 'compatible' | 'openai-responses';

/** A backend as it is edited in the form, with texts as they were typed. */
export interface BackendDraft {
  choice: BackendChoice;
  url: string;
  /** Further servers with the same models, one on each line. */
  otherUrls: string;
  /** Empty: unchanged. */
  key: string;
  isKeyRemoved: boolean;
  id: string;
  prefix: string;
  /** The only models, one on each line. */
  models: string;
  maxConcurrent: string;
  queue: string;
  /** Ids of models, one on each line. */
  fallbacks: string;
}

const typeOf: Record<BackendChoice, Backend['type']> = {
  ollama: 'ollama',
  openai: 'openai',
  anthropic: 'anthropic',
  compatible: 'openai',
  'openai-responses': 'openai-responses',
};

/** The address that each kind usually has. */
export const usualUrls: Record<BackendChoice, string> = {
  ollama: 'http://127.0.0.1:11434',
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  compatible: '',
  'openai-responses': '',
};

export const emptyDraft: BackendDraft = {
  choice: 'ollama',
  url: usualUrls.ollama,
  otherUrls: '',
  key: '',
  isKeyRemoved: false,
  id: '',
  prefix: '',
  models: '',
  maxConcurrent: '',
  queue: '',
  fallbacks: '',
};

export function toDraft({ id, type, url, urls, prefix, models, max_concurrent: max, queue, fallbacks }: Backend): BackendDraft {
  const [first = '', ...others] = urls ?? [url ?? ''];
  return {
    ...emptyDraft,
    choice: type !== 'openai' ? type : first === usualUrls.openai ? 'openai' : 'compatible',
    url: first,
    otherUrls: others.join('\n'),
    id,
    prefix: prefix ?? '',
    models: (models ?? []).join('\n'),
    maxConcurrent: String(max ?? ''),
    queue: String(queue ?? ''),
    fallbacks: (fallbacks ?? []).join('\n'),
  };
}

/** Chooses a kind. An address that was not typed becomes the usual one of that kind. */
export function withChoice(draft: BackendDraft, choice: BackendChoice): BackendDraft {
  const isTyped = draft.url !== '' && draft.url !== usualUrls[draft.choice];
  return { ...draft, choice, ...(!isTyped && { url: usualUrls[choice] }) };
}

/** The entry of a new backend. */
export function toEntry(draft: BackendDraft): Entry {
  const { id, key } = draft;
  const changes = Object.entries(toFields(draft)).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(changes), ...(id !== '' && { id }), ...(key !== '' && { key }) };
}

/** The change of a stored one. `null` removes a field. */
export function toChange(draft: BackendDraft): Entry {
  const { key, isKeyRemoved } = draft;
  return { ...toFields(draft), ...(isKeyRemoved ? { key: '' } : key !== '' && { key }) };
}

function toFields({ choice, url, otherUrls, prefix, models, maxConcurrent, queue, fallbacks }: BackendDraft): Entry {
  const others = linesOf(otherUrls);
  return {
    type: typeOf[choice],
    ...(others.length === 0 ? { url: url.trim() } : { urls: [url.trim(), ...others] }),
    prefix: prefix.trim() || null,
    models: orNull(linesOf(models)),
    max_concurrent: maxConcurrent === '' ? null : Number(maxConcurrent),
    queue: queue === '' ? null : Number(queue),
    fallbacks: orNull(linesOf(fallbacks)),
  };
}

function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function orNull(list: string[]): string[] | null {
  return list.length === 0 ? null : list;
}
