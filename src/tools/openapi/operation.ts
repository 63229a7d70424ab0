import type { ToolSpec } from '../../core/tool.ts';

/**
 * How a value is written into its place: the styles of OpenAPI, and `json` for parameters that are declared with a media type.
 * Absent: the default of the place (`simple` in paths and headers, `form` in queries and cookies).
 */
export type ParameterStyle = 'simple' | 'label' | 'matrix' | 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'json';

/** Where an argument of the function goes in the request. */
export interface ArgumentPlace {
  /** The argument's name as the model sees it. */
  argument: string;
  in: 'path' | 'query' | 'header' | 'cookie' | 'body';
  /** The name on the wire. */
  name: string;
  isRequired: boolean;
  style?: ParameterStyle;
  explode?: boolean;
}

/** `properties`: the body is an object of the arguments whose place is the body. `whole`: the argument `argument` is the body. */
export interface BodyPlan {
  mediaType: string;
  kind: 'properties' | 'whole';
  isRequired: boolean;
  argument?: string;
}

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
  places: ArgumentPlace[];
  body: BodyPlan | undefined;
}

/** What became of a document: every operation is either here or named with the reason why not. */
export interface Conversion {
  operations: Operation[];
  renamed: { from: string; to: string; reason: string }[];
  omitted: { operation: string; reason: string }[];
  warnings: string[];
  /** How many of the omitted ones were left out for size or number alone, and why; absent when there are none. */
  cut?: { count: number; reason: string };
}

/** Why one operation cannot become a function. It costs that operation, never the document. */
export class OmittedOperation extends Error {}
