/** What the gateway's own fields mean, for the description of each dialect. */
export const gatewayFieldDescriptions = {
  tool_servers: 'Further tool servers, only for this request.',
  tool_ids: 'The registered tools that this request may use, such as `server:weather`. Absent: those that are on by default. Empty: none.',
  'params.function_calling': 'How the model uses tools: `native`, `default`, `react`, `simple` or `auto`.',
  'params.max_tool_rounds': 'Rounds of tool calls.',
  'params.tool_timeout_ms': 'Time for one tool call.',
  'params.system': 'A system prompt in front of the messages.',
  'params.resume_failed':
    '`false`: runs the calls again, even if the request repeats one that failed after calls that write. Default: it continues after them.',
  session_id: 'The websocket session whose browser runs calls and answers questions.',
  chat_id: 'Your id of the conversation.',
  id: 'Your id of the message.',
  variables: 'Texts for `{{NAME}}` in system prompts and presets.',
  files: 'Documents that the model answers from: `{"type": "text", "name", "content"}`.',
  interrupt: 'The running chat of the same `chat_id` is cancelled first.',
};
