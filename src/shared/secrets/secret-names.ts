import { LRUCache } from 'lru-cache';

const secretWords = new Set(
  'auth authorization bearer cookie cookies jwt key keys otp pass pat pin psk pwd sig signature oauthclientinfo'.split(' '),
);
/** Also within one word, as in `githubtoken`. */
const secretEnding = /(?:token|secret|passwo?r?d|passphrase|passcode|apikey|accesskey|secretkey|privatekey|credential)s?$/;
/** Keys that open nothing. */
const harmlessKeys = new Set(['public', 'primary', 'foreign', 'sort', 'cache', 'partition']);
/** `secret_value` and `password2`: the word before says what it is. */
const trailing = /^(?:value|plain|text|pem|base64|hex|hash|raw|current|old|new|\d+)$/;
/** Every value within these is one that somebody else gives a meaning to: most often a credential. */
const carriers = new Set(['header', 'headers', 'cookies', 'env', 'environ', 'environment']);

interface NameTraits {
  isSecret: boolean;
  isCarrier: boolean;
  lastWord: string;
}

const maxNameLength = 100;
/** Of names that came before: a program has few different ones. */
const knownTraits = new LRUCache<string, NameTraits>({ max: 1_000 });

/** Whether what has this name is most likely a credential: `token`, `client_secret`, `X-Api-Key`, `dbPassword`; not `token_url`. */
export function isSecretName(name: string): boolean {
  return traitsOf(name).isSecret;
}

/** The same with the value in view: `max_tokens` counts, `auth` as an object describes, and `headers` as an object holds credentials. */
export function isSecretField(name: string, value: unknown): boolean {
  const { isSecret, isCarrier, lastWord } = traitsOf(name);
  if (typeof value === 'number' && lastWord.endsWith('tokens')) return false;
  const isObject = typeof value === 'object' && value !== null;
  if (lastWord === 'auth' && isObject && !Array.isArray(value)) return false;
  return isSecret || (isCarrier && isObject);
}

/** A header may carry a credential under the oddest name, and hiding one too many costs little. */
export function isSecretHeader(name: string): boolean {
  return /auth|key|token|secret|cookie|pass|credential|signature/i.test(name);
}

function traitsOf(name: string): NameTraits {
  const known = knownTraits.get(name);
  if (known !== undefined) return known;
  const words = wordsOf(name);
  const lastWord = words.at(-1) ?? '';
  const traits = { isSecret: isSecretWord(words), isCarrier: carriers.has(lastWord), lastWord };
  if (name.length <= maxNameLength) knownTraits.set(name, traits);
  return traits;
}

/** The words of `client_secret`, `client-secret` and `clientSecret`, in lower case. */
function wordsOf(name: string): string[] {
  return name
    .slice(-maxNameLength)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([a-z])(\d)/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

function isSecretWord(words: string[]): boolean {
  const last = words.findLastIndex((word) => !trailing.test(word));
  const word = words[last];
  if (word === undefined) return false;
  if (/^keys?$/.test(word) && harmlessKeys.has(words[last - 1] ?? '')) return false;
  const joined = words.slice(0, last + 1).join('');
  return secretWords.has(word) || secretWords.has(joined) || secretEnding.test(joined);
}
