/** A piece of code and the kind of it, which decides its colour. */
export type CodeSpan = readonly [kind: CodeKind | '', text: string];

export const codeKinds = ['keyword', 'string', 'number', 'comment', 'title', 'type', 'attribute', 'meta', 'added', 'removed'] as const;
export type CodeKind = (typeof codeKinds)[number];

/** An element of MathML, or text. Its names come from a text of a model and are checked where they are rendered. */
export type MathNode = string | { tag: string; attributes: Record<string, string>; style: Record<string, string>; children: MathNode[] };

export type RenderJob = { kind: 'code'; code: string; language: string } | { kind: 'maths'; text: string; isBlock: boolean };
/** Undefined: the language is unknown, or the formula has an error. */
export type Rendered<Job extends RenderJob> = (Job extends { kind: 'code' } ? readonly CodeSpan[] : MathNode) | undefined;
