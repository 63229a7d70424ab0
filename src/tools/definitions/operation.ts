import type { ToolSpec } from '../../core/tools/tool.ts';

/**
 * How a value is serialized: the styles of OpenAPI (`cookie` is 3.2's), Swagger 2.0's `tsv`, and for what is declared with a media
 * type `json`, `text` or `urlencoded`. Absent: the default of the location (`simple` in paths and headers, `form` in queries and cookies; in forms
 * lists repeat the name and objects are JSON).
 */
export type ParameterStyle =
  | 'simple'
  | 'label'
  | 'matrix'
  | 'form'
  | 'spaceDelimited'
  | 'pipeDelimited'
  | 'tabDelimited'
  | 'deepObject'
  | 'cookie'
  | 'json'
  | 'text'
  | 'urlencoded';

/** The content of one part of a multipart body, or of a whole body that is not JSON. `type` is its content type, where the document says one. */
export interface PartPlan {
  kind: 'text' | 'json' | 'file';
  type?: string;
}

/** Where an argument of the function goes in the request. */
export interface ArgumentBinding {
  /** The argument's name as the model sees it. */
  argument: string;
  /** `querystring` (OpenAPI 3.2): the whole query. */
  in: 'path' | 'query' | 'querystring' | 'header' | 'cookie' | 'body';
  /** The name on the wire. */
  name: string;
  isRequired: boolean;
  /** Required in a body that may itself be omitted. */
  isRequiredInBody?: true;
  style?: ParameterStyle;
  explode?: boolean;
  allowReserved?: boolean;
  /** Only of multipart bodies. */
  part?: PartPlan;
}

/** `properties`: the body is an object of the arguments that are sent in the body. `whole`: the argument `argument` is the body. */
export interface BodyPlan {
  /** May be a range such as `image/*` where the body is a file, which then says what it is. */
  mediaType: string;
  kind: 'properties' | 'whole';
  isRequired: boolean;
  argument?: string;
  /** Absent: JSON. `text` and `file` are whole bodies. */
  format?: 'form' | 'multipart' | 'text' | 'file';
  /** Arguments that have no binding are members too, all in this way. Absent: there are none. */
  further?: Pick<ArgumentBinding, 'style' | 'explode' | 'part'>;
  /** Other media types with members of their own: the first whose members include all that a call gives is sent. */
  alternatives?: BodyAlternative[];
}

export interface BodyAlternative {
  plan: BodyPlan;
  /** All of them in the body. What it shares with another type has one argument for both. */
  bindings: ArgumentBinding[];
}

/** Where a key is sent: in the header of an HTTP scheme (RFC 9110 section 11.6.2), or in a header, query parameter or cookie. */
export type CredentialLocation =
  | { kind: 'bearer' }
  | { kind: 'basic' }
  /** `prefix` is sent before the key, as in `Token abc`. */
  | { kind: 'header' | 'query' | 'cookie'; name: string; prefix?: string };

/** One alternative of an operation's security: all of its credentials together. */
export type CredentialSet = CredentialLocation[];

/** One operation of a document as a function: what a model sees, and how its arguments become a request. */
export interface Operation {
  /** As in the document, or derived from method and path. */
  operationId: string;
  /** Upper case. */
  method: string;
  /** The template, beginning with `/`. */
  path: string;
  /** Its name is legal and unique within the document. */
  spec: ToolSpec;
  bindings: ArgumentBinding[];
  body: BodyPlan | undefined;
  /** As in the document; absent: none. */
  tags?: string[];
  /** Media types beside JSON that it may answer with; absent: none. */
  accepts?: string[];
  /** Ids of the gateways that it comes through, nearest first; absent: none. */
  gateways?: string[];
  /** The path of the server entry that the operation or its path item names. Absent: the document's. */
  serverPath?: string;
  /** As `Tool.isForApps`. */
  isForApps?: true;
  /** Each of these suffices. Absent: the document says nothing about credentials. */
  security?: CredentialSet[];
}

/** Whether the operation has neither parameters nor a body. */
export function takesNothing({ bindings, body }: Operation): boolean {
  return bindings.length === 0 && body === undefined;
}

/** The result of converting a document: every operation is either converted, or omitted with the reason. */
export interface Conversion {
  operations: Operation[];
  renamed: { from: string; to: string; reason: string }[];
  omitted: { operation: string; reason: string }[];
  warnings: string[];
  /** How many operations were omitted because of size or number only, and why; absent when there are none. */
  cut?: { count: number; reason: string };
}

/** Why one operation cannot become a function. It costs that operation, never the document. */
export class OmittedOperation extends Error {}
