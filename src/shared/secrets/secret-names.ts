const secretWords = new Set(
  'auth authorization bearer cookie cookies jwt key keys otp pass pat pin psk pwd sig signature oauthclientinfo'.split(' '),
);
/** Also as the end of a word, as in `githubtoken`. */
const secretEnding = /(?:token|secret|passwo?r?d|passphrase|passcode|apikey|accesskey|secretkey|privatekey|credential)s?$/;
/** Words before `key` that make it harmless. */
const harmlessKeys = new Set(['public', 'primary', 'foreign', 'sort', 'cache', 'partition']);
/** Last words that say nothing, as in `secret_value` and `password2`: the word before decides. */
const trailing = /^(?:value|plain|text|pem|base64|hex|hash|raw|current|old|new|\d+)$/;
/** Objects whose values are all treated as secrets: their names are arbitrary, and often the values are credentials. */
const carriers = new Set(['header', 'headers', 'cookies', 'env', 'environ', 'environment']);

interface NameTraits {
  isSecret: boolean;
  isCarrier: boolean;
  lastWord: string;
}

const maxNameLength = 100;
/** By name, emptied when it is full: a program has few different names, and a log line asks for each of its own. */
const knownTraits = new Map<string, NameTraits>();
const maxKnown = 1_000;

/** Whether a field of this name is most likely a credential: `token`, `client_secret`, `X-Api-Key`, `dbPassword`; not `token_url`. */
export function isSecretName(name: string): boolean {
  return traitsOf(name).isSecret;
}

/** Considers the value too: a number of `max_tokens` is no secret, nor is an object `auth`, but an object `headers` contains secrets. */
export function isSecretField(name: string, value: unknown): boolean {
  const { isSecret, isCarrier, lastWord } = traitsOf(name);
  if (typeof value === 'number' && lastWord.endsWith('tokens')) return false;
  const isObject = typeof value === 'object' && value !== null;
  if (lastWord === 'auth' && isObject && !Array.isArray(value)) return false;
  return isSecret || (isCarrier && isObject);
}

/** Broader than `isSecretName`: headers carry credentials under all kinds of names, and redacting one too many is harmless. */
export function isSecretHeader(name: string): boolean {
  return /auth|key|token|secret|cookie|pass|credential|signature/i.test(name);
}

function traitsOf(name: string): NameTraits {
  const known = knownTraits.get(name);
  if (known !== undefined) return known;
  const words = wordsOf(name);
  const lastWord = words.at(-1) ?? '';
  const traits = { isSecret: isSecretWord(words), isCarrier: carriers.has(lastWord), lastWord };
  if (knownTraits.size >= maxKnown) knownTraits.clear();
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
