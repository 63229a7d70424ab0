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
/** What no argument of a command can hold. */
const nul = '\0';

/** A command for POSIX shells that sends the request again. A variable is in the place of each credential; its first lines say which. */
export function toCurl({ method = 'GET', url = '', headers = {}, body, body_encoding: encoding, truncated }: SentRequest): string {
  const variables = new Set<string>();
  const quote = (text: string, name: string): string => quoteWith(text, () => variableFor(name, variables));
  const asBytes = body !== undefined && (encoding === 'base64' || body.includes(nul));
  const address = quoteUrl(url, variables);
  const lines = [
    `curl --globoff${methodOption(method, body)} ${address}`,
    // With a colon curl leaves a header without a value out.
    ...Object.entries(headers).map(([name, value]) => `  --header ${quote(value === '' ? `${name};` : `${name}: ${value}`, name)}`),
    // Otherwise curl names a form.
    ...(body !== undefined && !Object.hasOwn(headers, 'content-type') ? ["  --header 'Content-Type:'"] : []),
    ...(body === undefined ? [] : asBytes ? ['  --data-binary @-'] : [`  --data-raw ${quote(body, 'body')}`]),
  ];
  const remarks = [
    ...(variables.size > 0 ? [`# Set ${[...variables].join(', ')} first: credentials are not shown.`] : []),
    ...(truncated === true ? ['# The body is longer: only its beginning is here.'] : []),
  ];
  const source = asBytes ? `printf %s '${encoding === 'base64' ? body : toBase64(body)}' | base64 -d | ` : '';
  return [...remarks, source + lines.join(' \\\n')].join('\n');
}

function methodOption(method: string, body: string | undefined): string {
  if (method === 'HEAD') return ' --head';
  return method === (body === undefined ? 'GET' : 'POST') ? '' : ` --request ${quoteWith(method, () => '')}`;
}

/** Its credentials are values of the query. */
function quoteUrl(url: string, variables: Set<string>): string {
  const names = [...url.matchAll(/[?&]([^=&]*)=\[secret\]/g)].map(([, name = '']) => name);
  return quoteWith(url, () => variableFor(names.shift() ?? 'url', variables));
}

/** Within single quotes nothing is special but they themselves. */
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
