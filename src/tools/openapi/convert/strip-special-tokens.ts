/**
 * What opens and ends turns, thoughts and calls in the templates of well-known models (ChatML, Llama, Mistral, Gemma, DeepSeek, GLM, Qwen). Tokenizers
 * take it for these wherever it stands, so a description that holds it could end its own message and begin another one.
 */
const specialTokens = new RegExp(
  [
    // <|im_start|>, <|eot_id|>, <｜tool▁calls▁begin｜>
    '<[|｜][^<>|｜\\n]{1,40}[|｜]>',
    '</?(?:[a-z]{1,20}:)?(?:tool_calls?|tool_response|tool_use|function_calls?|arg_key|arg_value|invoke|think|tools)(?=[\\s>/])',
    '</?(?:function|parameter)=',
    '</?(?:s|bos|eos|pad|unk|sop|start_of_turn|end_of_turn|start_of_image)>',
    '<</?SYS>>',
    '\\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT|TOOL_CONTENT|ARGS|THINK|gMASK)\\]',
  ].join('|'),
  'gi',
);

/** The same text with a space within each of them, by which a reader loses nothing and a tokenizer finds only characters. */
export function stripSpecialTokens(text: string): string {
  return text.replaceAll(specialTokens, (token) => `${token.slice(0, 1)} ${token.slice(1)}`);
}
