import { z } from 'zod';
import { json, type RouteDescriptions } from '../../description/route-description.ts';

const findingShape = z
  .object({
    about: z.string().describe('The part of the installation, such as `Models`.'),
    level: z
      .enum(['ok', 'fact', 'note', 'warning', 'broken'])
      .describe('`warning`: works, but maybe not as intended. `broken`: does not work until it is repaired.'),
    message: z.string().describe('Names the thing.'),
    cure: z.string().optional().describe('What to do about it.'),
  })
  .meta({ id: 'Finding' });

export const doctorDescriptions = {
  'GET /api/doctor': {
    tag: 'Gateway',
    summary: 'What is wrong with this gateway, and what to do about it',
    description:
      'Asks every backend and tool server again, and examines the data folder, keys, functions, hooks and presets; changes nothing. It takes as long as the slowest of them, at most half a minute. Requests during an examination get the findings of that one.',
    answers: {
      200: json('The findings, part by part.', z.object({ broken: z.int().describe('How many are.'), data: z.array(findingShape) })),
    },
  },
} satisfies RouteDescriptions;
