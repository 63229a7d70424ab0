/** The version of Ollama whose API is spoken: clients switch on what they use by it. */
export const ollamaVersion = '0.32.15';
