const openingTag = /<(think|thinking|reason|reasoning|thought)>/i;

/**
 * The text without its thinking. A closing tag without an opening one ends thinking that the chat template had already opened;
 * an opening tag without an end leaves nothing behind it, because what follows is still thought.
 */
export function withoutReasoning(text: string): string {
  let rest = afterUnopenedThinking(text);
  let kept = '';
  for (;;) {
    const opening = openingTag.exec(rest);
    if (opening === null) return kept + rest;
    kept += rest.slice(0, opening.index);
    const closing = `</${opening[1]?.toLowerCase() ?? ''}>`;
    const end = rest.toLowerCase().indexOf(closing, opening.index);
    if (end === -1) return kept;
    rest = rest.slice(end + closing.length);
  }
}

function afterUnopenedThinking(text: string): string {
  const closing = /<\/(?:think|thinking|reason|reasoning|thought)>/i.exec(text);
  if (closing === null) return text;
  const opening = openingTag.exec(text);
  return opening === null || opening.index > closing.index ? text.slice(closing.index + closing[0].length) : text;
}
