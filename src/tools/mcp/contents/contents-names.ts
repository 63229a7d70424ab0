import { limits } from '../../../core/limits.ts';

/** Before the URIs of resources: what follows is the server's id, a slash, and the resource's own URI, unchanged. */
const scheme = 'toolwharf://';

/** No list has a longer one: the scheme, a server's id and its own URI. A client may ask for megabytes. */
const longest = limits.mcpUriCharacters + 100;

const uriForm = /^toolwharf:\/\/(?<server>[a-z0-9_-]{1,64})\/(?<own>.+)$/s;
const nameForm = /^(?<server>[a-z0-9_-]{1,64})\/(?<own>.+)$/s;

/** Something of one server: `own` is its URI or name there. */
export interface OwnName {
  server: string;
  own: string;
}

/** The URI of a resource, or the template of one, under which clients of the gateway know it. What a template becomes is read by `readUri` as well. */
export function toUri({ server, own }: OwnName): string {
  return `${scheme}${server}/${own}`;
}

/** The name of a prompt under which clients of the gateway know it. */
export function toName({ server, own }: OwnName): string {
  return `${server}/${own}`;
}

export function readUri(uri: string): OwnName | undefined {
  return read(uriForm, uri);
}

export function readName(name: string): OwnName | undefined {
  return read(nameForm, name);
}

function read(form: RegExp, text: string): OwnName | undefined {
  if (text.length > longest) return undefined;
  const { server, own } = form.exec(text)?.groups ?? {};
  return server === undefined || own === undefined ? undefined : { server, own };
}
