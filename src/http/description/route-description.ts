import type { z } from 'zod';
import type { JsonObject } from '../../shared/json/json.ts';

/** What the routes are grouped by, in the order of the document. */
export const tags = {
  Chat: 'Chats with models that have tools. A route for each wire format; the fields for tools are the same in all.',
  Models: 'What can be asked: the models of all backends, and presets.',
  Backends: 'The servers of models.',
  Tools: 'The functions that a key may use, without a model in between.',
  Runs: 'What has happened in a chat, and approvals of what is about to happen.',
  'Stored chats': 'Chats that were stored for their caller.',
  Presets: 'Models of your own: a base model with a prompt, tools and parameters.',
  'Tool servers': 'Where the functions come from.',
  Keys: 'Who may use the gateway, and for what.',
  Usage: 'What was used, and the people who used it.',
  Gateway: 'The gateway itself.',
} as const;

type Tag = keyof typeof tags;

/** Texts are Markdown of one paragraph: code in backquotes, links. */
export interface RouteDescription {
  tag: Tag;
  /** A few words without a full stop: what the route does. */
  summary: string;
  description?: string;
  /** Another route that this one is another name of. */
  aliasOf?: string;
  /** The path of the document, where the route's pattern ends with `*`. */
  path?: string;
  /** What the parameters in the path mean. */
  params?: Readonly<Record<string, string>>;
  /** The schema that checks the query. */
  query?: QueryDescription;
  headers?: Readonly<Record<string, string>>;
  body?: BodyDescription;
  /** By status. Errors are added by themselves, but those whose answer has a shape of its own. */
  answers: Readonly<Record<number, AnswerDescription>>;
  /** The body of its errors, where that is not the gateway's. */
  errors?: z.ZodType;
}

interface QueryDescription {
  schema: z.ZodObject;
  fields: Readonly<Record<string, string>>;
  /** Parameters such as `metadata[topic]=kitchen`, by the name before the brackets. */
  maps?: Readonly<Record<string, string>>;
}

export interface BodyDescription {
  /** The schema that checks the body. */
  schema: z.ZodType;
  /** What fields mean, by name or path (`params.system`). A field that the schema does not have is an error. */
  fields?: Readonly<Record<string, string>>;
  example?: JsonObject;
  isOptional?: boolean;
  /** Default: `application/json`. */
  type?: string;
}

export interface AnswerDescription {
  about: string;
  /** By media type; absent for an answer without a body. */
  content?: Readonly<Record<string, z.ZodType>>;
}

/** By route, as in the table of roles. */
export type RouteDescriptions = Readonly<Record<string, RouteDescription>>;

/** The usual answer. Its schema keeps its type, from which the console has the types of the API. */
export function json<Schema extends z.ZodType>(about: string, schema: Schema): { about: string; content: { 'application/json': Schema } } {
  return { about, content: { 'application/json': schema } };
}
