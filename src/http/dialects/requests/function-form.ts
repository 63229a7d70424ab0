/** How a function is sent in chat completions and to Ollama, for messages to clients that send it as another protocol has it. */
export const nestedFunctionForm = 'Send a function as {"type": "function", "function": {"name", "description", "parameters"}}.';
