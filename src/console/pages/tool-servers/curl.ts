/** A request as it was recorded. */
interface SentRequest {
  method?: string | undefined;
  url?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  body?: string | undefined;
  body_encoding?: 'base64' | undefined;
  truncated?: true | undefined;
}

const hidden = '[secret]';
/** Command arguments cannot contain it. */
const nul = '\0';

/** A POSIX shell command that repeats the request. Each credential is replaced by a variable, and a comment lists these. */
export function toCurl({ method = 'GET', url = '', headers = {}, body, body_encoding: encoding, truncated }: SentRequest): string {
  const variables = new Set<string>();
  const quote = (text: string, name: string): string => quoteWith(text, () => variableFor(name, variables));
  const asBytes = body !== undefined && (encoding === 'base64' || body.includes(nul));
  const address = quoteUrl(url, variables);
  const lines = [
    `curl --globoff${methodOption(method, body)} ${address}`,
    // With a colon, curl omits a header without a value.
    ...Object.entries(headers).map(([name, value]) => `  --header ${quote(value === '' ? `${name};` : `${name}: ${value}`, name)}`),
    // Otherwise curl adds the content type of a form.
    ...(body !== undefined && !Object.hasOwn(headers, 'content-type') ? ["  --header 'Content-Type:'"] : []),
    ...(body === undefined ? [] : asBytes ? ['  --data-binary @-'] : [`  --data-raw ${quote(body, 'body')}`]),
  ];
  const comments = [
    ...(variables.size > 0 ? [`# Set ${[...variables].join(', ')} first. Credentials are not shown.`] : []),
    ...(truncated === true ? ['# The body is incomplete: only its beginning was recorded.'] : []),
  ];
  const source = asBytes ? `printf %s '${encoding === 'base64' ? body : toBase64(body)}' | base64 -d | ` : '';
  return [...comments, source + lines.join(' \\\n')].join('\n');
}

function methodOption(method: string, body: string | undefined): string {
  if (method === 'HEAD') return ' --head';
  return method === (body === undefined ? 'GET' : 'POST') ? '' : ` --request ${quoteWith(method, () => '')}`;
}

/** Credentials in a URL are query values. */
function quoteUrl(url: string, variables: Set<string>): string {
  const names = [...url.matchAll(/[?&]([^=&]*)=\[secret\]/g)].map(([, name = '']) => name);
  return quoteWith(url, () => variableFor(names.shift() ?? 'url', variables));
}

/** Within single quotes, only the quote itself is special. */
function quoteWith(text: string, variable: () => string): string {
  const [first = '', ...others] = text.split(hidden).map((part) => part.replaceAll("'", String.raw`'\''`));
  return others.reduce((quoted, part) => `${quoted}'"$${variable()}"'${part}`, `'${first}`) + "'";
}

function variableFor(name: string, variables: Set<string>): string {
  const variable = `SECRET_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}`;
  variables.add(variable);
  return variable;
}

function toBase64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
