/** Tokens that end a turn in templates. A server that does not know them as such passes them on as text. */
const endMarks = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|eot|>',
  '<|eom|>',
  '<|end|>',
  '<|return|>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|end_of_turn|>',
  '<|end_of_msg|>',
  '<|endofturn|>',
  '<|END_OF_TURN_TOKEN|>',
  '<|END_RESPONSE|>',
  '<|message_sep|>',
  '<|flush|>',
  '<|stop|>',
  '<|user|>',
  '<|observation|>',
  '<｜end▁of▁sentence｜>',
  '<end_of_turn>',
  '<turn|>',
  '<eos>',
  '</s>',
  '[EOS]',
  '[e~[',
];

/** The first character of each mark. */
const mayBegin = /^\s*[<[]/;

/** A text without the end marks and blanks at its beginning, and whether there were marks. */
function withoutEndMarks(text: string): { rest: string; hasMarks: boolean } {
  let rest = text.trimStart();
  for (;;) {
    const mark = endMarks.find((one) => rest.startsWith(one));
    if (mark === undefined) return { rest, hasMarks: rest.length < text.trimStart().length };
    rest = rest.slice(mark.length).trimStart();
  }
}

/** Whether a text consists of marks that end a turn, or may become that (`open`). */
export function readEndMarks(text: string): 'marks' | 'open' | 'text' {
  if (!mayBegin.test(text)) return 'text';
  const { rest, hasMarks } = withoutEndMarks(text);
  if (rest === '') return hasMarks ? 'marks' : 'text';
  return endMarks.some((mark) => mark.startsWith(rest)) ? 'open' : 'text';
}
