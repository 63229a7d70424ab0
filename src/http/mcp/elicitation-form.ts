import { randomUUID } from 'node:crypto';
import {
  isSpecType,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
} from '@modelcontextprotocol/server';
import { limits } from '../../core/limits.ts';
import type { ElicitationReply, ElicitationRequest } from '../../core/user-input/elicitation.ts';
import { isJsonObject, ownValue, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { visibleText } from '../../shared/text/visible-text.ts';

/** Whether a client answers forms. Who names no mode means forms (MCP specification, client/elicitation). */
function answersForms(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Whether a client can be asked at all. */
export function canBeAsked(capabilities: ClientCapabilities | undefined): boolean {
  return answersForms(capabilities) || showsLinks(capabilities);
}

/** Whether a client shows links (URL mode). */
function showsLinks(capabilities: ClientCapabilities | undefined): boolean {
  return capabilities?.elicitation?.url !== undefined;
}

/** Undefined if this client cannot be asked in this way. */
export function toElicitation(
  request: ElicitationRequest,
  capabilities: ClientCapabilities | undefined,
): ElicitRequestFormParams | ElicitRequestURLParams | undefined {
  if (request.type !== 'connect') return answersForms(capabilities) ? toForm(request) : undefined;
  const { message, url } = request.data;
  if (!showsLinks(capabilities) || typeof message !== 'string' || typeof url !== 'string') return undefined;
  return { mode: 'url', message: visible(message), url, elicitationId: randomUUID() };
}

/** No default: a person who only confirms the form has decided nothing. */
const decisionSchema: JsonObject = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: ['approve', 'reject'] },
    message: {
      type: 'string',
      title: 'Why not',
      description: 'What the model reads if you reject it',
      maxLength: limits.approvalMessageCharacters,
    },
  },
  required: ['decision'],
};

/** An elicitation as a form; undefined if its schema is one that forms cannot have: MCP allows an object of plain values. */
function toForm({ type, data }: ElicitationRequest): ElicitRequestFormParams | undefined {
  const { title, message, params, schema } = data;
  const shown = [title, message, type === 'confirmation' && isJsonObject(params) ? JSON.stringify(params, null, 2) : undefined];
  const form = {
    mode: 'form',
    message: shown
      .filter((text) => typeof text === 'string')
      .filter((text) => text !== '')
      .map(visible)
      .join('\n\n'),
    requestedSchema:
      type === 'confirmation' ? decisionSchema : isJsonObject(schema) && schema['type'] === 'object' ? schema : wrapped(schema),
  };
  return isSpecType.ElicitRequestFormParams(form) ? form : undefined;
}

/** The answer of a client, as a session gives it. A person who accepts a link has not opened it yet. */
export function toReply(request: ElicitationRequest, result: ElicitResult): ElicitationReply {
  return { type: 'answered', data: answerData(request, result) };
}

function answerData({ type, data: { schema } }: ElicitationRequest, { action, content = {} }: ElicitResult): JsonObject {
  const given = content as JsonObject;
  if (type === 'confirmation') {
    const isApproved = action === 'accept' && ownValue(given, 'decision') === 'approve';
    const message = ownValue(given, 'message');
    return { decision: isApproved ? 'approve' : 'reject', ...(typeof message === 'string' && { message }) };
  }
  if (action !== 'accept') return { cancelled: true };
  if (type === 'connect') return {};
  const value = isJsonObject(schema) && schema['type'] === 'object' ? given : ownValue(given, 'value');
  return value === undefined ? { cancelled: true } : { value };
}

/** A dialog shows no more; the number of what it does not show is part of what is decided on. */
const shownCharacters = 16_000;

function visible(text: string): string {
  const more = text.length - shownCharacters;
  const shown = text.slice(0, shownCharacters).toWellFormed();
  return visibleText(more > 0 ? `${shown}\n… and ${more} more characters` : shown);
}

function wrapped(schema: JsonValue | undefined): JsonObject {
  return { type: 'object', properties: { value: isJsonObject(schema) ? schema : { type: 'string' } }, required: ['value'] };
}
