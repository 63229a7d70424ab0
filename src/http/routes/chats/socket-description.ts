import type { RouteDescriptions } from '../../description/route-description.ts';

export const socketDescriptions = {
  'GET /ws': {
    tag: 'Chat',
    summary: 'The websocket',
    description: 'Chats, and calls that run in the page of the user. The key is sent as a subprotocol or in the first frame.',
    answers: { 101: { about: 'The websocket is open.' } },
  },
  'GET /v1/responses': {
    tag: 'Chat',
    summary: 'Responses over a websocket',
    description:
      'OpenAI’s WebSocket mode: each text frame is an object with `"type": "response.create"` and the fields of `POST /v1/responses`, and each event of its ' +
      'stream is a frame. `previous_response_id` continues the last response of the connection. Errors are frames `{"type": "error", "status", "error"}`.',
    answers: { 101: { about: 'The websocket is open.' } },
  },
} satisfies RouteDescriptions;
