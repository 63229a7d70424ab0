import type { PlainJsonObject, PlainJsonValue } from '../../../shared/json/json.ts';

/** JSON as authors of functions and hooks know it: its numbers are JavaScript numbers. */
export type JsonValue = PlainJsonValue;
export type JsonObject = PlainJsonObject;
