const visible = /[^\s\p{Cc}\p{Cf}]/u;

/** Whether nothing of a text can be seen: models also write spaces of no width. */
export function isBlank(text: string): boolean {
  return !visible.test(text);
}
