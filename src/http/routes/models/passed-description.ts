import { z } from 'zod';
import { json, type BodyDescription, type RouteDescription, type RouteDescriptions } from '../../description/route-description.ts';
import { serverSentEvent } from '../../description/shared-schemas.ts';

const answered = json('The answer of the backend.', z.looseObject({}));
const file = z.string().meta({ format: 'binary' });

/** What is not named here goes to the backend as well. */
function passed(summary: string, body: BodyDescription, answers: RouteDescription['answers'] = { 200: answered }): RouteDescription {
  return { tag: 'Models', summary, description: 'Passed on to the backend of the model, and answered as it answers.', body, answers };
}

function form(shape: z.ZodRawShape): BodyDescription {
  return { type: 'multipart/form-data', schema: z.looseObject({ model: z.string(), ...shape }) };
}

const transcription: RouteDescription['answers'] = {
  200: {
    about: 'The text, in the form that `response_format` names, or as a stream.',
    content: { 'application/json': z.looseObject({}), 'text/plain': z.string(), 'text/event-stream': serverSentEvent },
  },
};

export const passedDescriptions = {
  'POST /v1/embeddings': passed('Embeddings', {
    schema: z.looseObject({ model: z.string(), input: z.unknown() }),
    fields: { input: 'A text, or a list of texts.' },
    example: { model: 'nomic-embed-text', input: 'Osaka' },
  }),
  'POST /v1/audio/speech': passed(
    'Speech from a text',
    {
      schema: z.looseObject({ model: z.string(), input: z.string(), voice: z.unknown() }),
      example: { model: 'tts-1', input: 'Good morning.', voice: 'alloy' },
    },
    { 200: { about: 'The speech, in the form that `response_format` names, or as a stream.', content: { 'audio/*': file } } },
  ),
  'POST /v1/audio/transcriptions': passed('The text of a recording', form({ file }), transcription),
  'POST /v1/audio/translations': passed('The text of a recording in English', form({ file }), transcription),
  'POST /v1/images/generations': passed('Images from a text', {
    schema: z.looseObject({ model: z.string(), prompt: z.string() }),
    example: { model: 'gpt-image-1', prompt: 'A lighthouse in the rain' },
  }),
  'POST /v1/images/edits': passed('Images changed by a text', form({ image: file, prompt: z.string() })),
  'POST /v1/images/variations': passed('Variations of an image', form({ image: file })),
  'POST /v1/rerank': passed('Documents in the order in which they fit a question', {
    schema: z.looseObject({ model: z.string(), query: z.string(), documents: z.array(z.unknown()) }),
    example: { model: 'bge-reranker-v2-m3', query: 'Where is Osaka?', documents: ['Osaka is in Japan.', 'Oslo is in Norway.'] },
  }),
  'POST /v1/moderations': passed('Whether a text or an image is harmful', {
    schema: z.looseObject({ model: z.string(), input: z.unknown() }),
    example: { model: 'omni-moderation-latest', input: 'Good morning.' },
  }),
} satisfies RouteDescriptions;
