import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';
import { listQuery, listQueryFields, nextShape } from '../list-page.ts';
import { anyObject, deletedShape, isoTime } from '../../description/shared-schemas.ts';

const presetShape = z
  .object({
    id: z.string(),
    object: z.literal('preset'),
    name: z.string().nullable(),
    description: z.string().nullable(),
    base_model: z.string(),
    origin: z.enum(['file', 'database']).optional(),
    created: isoTime.optional(),
    fallbacks: z.array(z.string()).nullish(),
    system: z.string().nullish(),
    tools: z.array(z.string()).nullish(),
    sub_agents: z.array(z.string()).optional(),
    params: anyObject.optional(),
    function_calling: z.string().nullish(),
    max_tool_rounds: z.int().nullish(),
    tool_timeout_ms: z.int().nullish(),
    needs_approval: z.union([z.boolean(), z.array(z.string())]).nullish(),
  })
  .meta({ id: 'Preset', description: 'Users see the first five fields; null is what is not set.' });
const savedShape = presetShape
  .extend({ warnings: z.array(z.string()).describe('Models, tools and presets that it names and that do not exist now.') })
  .meta({ id: 'SavedPreset' });

const fields = {
  id: 'The name of the model in chats.',
  base_model: 'A model of a backend, or another preset.',
  fallbacks: 'Models that answer if the base model cannot, in the place of those of its backend; empty: none.',
  system: 'A system prompt; may hold `{{NAME}}` for `variables`.',
  tools: 'Entries as in `tool_ids`, in the place of the defaults; empty: none.',
  sub_agents: 'Presets to which it may hand the conversation over.',
  params: 'Model parameters, where a request has none of its own.',
  function_calling: 'How the model uses tools.',
  needs_approval: 'Whether calls need approval by a person: all, or those of these functions.',
};
const params = { id: 'The id of the preset.' };

/** `schema`: what checks a preset. */
export function presetDescriptions(schema: z.ZodType) {
  return {
    'GET /api/presets': {
      tag: 'Presets',
      summary: 'List the presets that the key may use',
      query: { schema: listQuery, fields: listQueryFields },
      answers: { 200: json('The presets.', z.object({ data: z.array(presetShape), next: nextShape })) },
    },
    'POST /api/presets': {
      tag: 'Presets',
      summary: 'Create a preset',
      body: { schema, fields, example: { id: 'clerk', base_model: 'demo', system: 'You are a clerk.', tools: ['server:time'] } },
      answers: { 201: json('The preset.', savedShape) },
    },
    'GET /api/presets/:id': { tag: 'Presets', summary: 'One preset', params, answers: { 200: json('The preset.', presetShape) } },
    'PATCH /api/presets/:id': {
      tag: 'Presets',
      summary: 'Change a preset',
      description: 'Omitted fields stay unchanged; null removes a field.',
      params,
      body: { schema: partial(schema), fields },
      answers: { 200: json('The preset as it is now.', savedShape) },
    },
    'DELETE /api/presets/:id': { tag: 'Presets', summary: 'Delete a preset', params, answers: { 200: json('Deleted.', deletedShape) } },
  } satisfies RouteDescriptions;
}

/** A change is merged into the preset first, and the whole is checked. */
function partial(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodObject ? schema.partial() : schema;
}
