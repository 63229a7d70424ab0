import type { AppView } from '../../core/tools/server-contents.ts';
import type { ListedTool } from '../../core/tools/tool.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../shared/json/json.ts';

/** Prefixes the URI of an interface if two servers use it, or if a server uses this prefix itself. */
const ownScheme = 'ui://toolwharf/';

/** The interfaces of a caller's functions (MCP Apps). */
export interface AppViews {
  /** By the URI that clients know. */
  find(uri: string): AppView | undefined;
  /** The URI that clients know, of one on this server; undefined if no function has this interface. */
  uriOf(server: string, own: string): string | undefined;
}

const known = new WeakMap<readonly ListedTool[], AppViews>();

/** The interfaces that these functions name. Each keeps its URI, unless several servers have it. */
export function appViewsOf(listed: readonly ListedTool[]): AppViews {
  const views = known.get(listed) ?? createViews(listed);
  known.set(listed, views);
  return views;
}

function createViews(listed: readonly ListedTool[]): AppViews {
  const serversOf = new Map<string, Set<string>>();
  for (const { server, presentation } of listed) {
    for (const own of urisIn(presentation?._meta)) serversOf.set(own, (serversOf.get(own) ?? new Set()).add(server));
  }
  const views = new Map<string, AppView>();
  const uris = new Map<string, string>();
  for (const [own, servers] of serversOf) {
    const isUnique = servers.size === 1 && !own.startsWith(ownScheme);
    for (const server of servers) {
      const uri = isUnique ? own : `${ownScheme}${server}/${own.slice('ui://'.length)}`;
      views.set(uri, { server, own, uri });
      uris.set(`${server} ${own}`, uri);
    }
  }
  return { find: (uri) => views.get(uri), uriOf: (server, own) => uris.get(`${server} ${own}`) };
}

/** Where tools name their interface: in MCP Apps, in its earlier version, and in OpenAI's Apps SDK. */
const flatKeys = ['ui/resourceUri', 'openai/outputTemplate'] as const;

function urisIn(meta: JsonObject | undefined): string[] {
  const ui = meta?.['ui'];
  const named = [isJsonObject(ui) ? ui['resourceUri'] : undefined, ...flatKeys.map((key) => meta?.[key])];
  return named.filter((uri): uri is string => isViewUri(uri));
}

function isViewUri(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.startsWith('ui://');
}

/** `_meta` of a function with the URIs that clients know. */
export function shownMeta({ server, presentation }: ListedTool, views: AppViews): JsonObject {
  const meta = presentation?._meta ?? {};
  const renamed = (uri: JsonValue | undefined): JsonValue | undefined => (isViewUri(uri) ? views.uriOf(server, uri) : undefined) ?? uri;
  const { ui } = meta;
  const flat = flatKeys.flatMap((key) => (meta[key] === undefined ? [] : [[key, renamed(meta[key])]]));
  return {
    ...meta,
    ...(Object.fromEntries(flat) as JsonObject),
    ...(isJsonObject(ui) && ui['resourceUri'] !== undefined && { ui: { ...ui, resourceUri: renamed(ui['resourceUri']) ?? null } }),
  };
}

const listedForm = /^toolwharf:\/\/(?<server>[a-z0-9_-]{1,64})\/(?<own>ui:\/\/.+)$/s;

/** The entries of a list of resources, with interfaces under the URIs by which tools name them. `list`: called only if there is one. */
export async function withViewUris(
  items: readonly JsonObject[],
  list: () => Promise<readonly ListedTool[]>,
): Promise<readonly JsonObject[]> {
  const namesOf = ({ uri }: JsonObject): Partial<Record<string, string>> | undefined =>
    typeof uri === 'string' ? listedForm.exec(uri)?.groups : undefined;
  if (!items.some((item) => namesOf(item) !== undefined)) return items;
  const views = appViewsOf(await list());
  return items.map((item) => {
    const { server = '', own = '' } = namesOf(item) ?? {};
    const uri = views.uriOf(server, own);
    return uri === undefined ? item : { ...item, uri };
  });
}
