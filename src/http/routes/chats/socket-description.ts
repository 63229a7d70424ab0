import type { RouteDescriptions } from '../../description/route-description.ts';

export const socketDescriptions = {
  'GET /ws': {
    tag: 'Chat',
    summary: 'The websocket',
    description: 'Chats, and calls that run in the page of the user. The key is sent as a subprotocol or in the first frame.',
    answers: { 101: { about: 'The websocket is open.' } },
  },
} satisfies RouteDescriptions;
