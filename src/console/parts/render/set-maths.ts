import temml from 'temml';
import type { MathNode } from './render-messages.ts';

/** Macros that a formula may expand, and the largest sizes that it may name, in em and points. */
const limits = { maxExpand: 200, maxSize: [20, 200] as [number, number] };

/** A node of the library's tree. */
interface TemmlNode {
  type?: string;
  text?: string;
  attributes?: Readonly<Record<string, unknown>>;
  style?: Readonly<Record<string, unknown>>;
  children?: readonly TemmlNode[];
}

/** The MathML of a formula in TeX. Undefined if it has an error. */
export function setMaths(text: string, isBlock: boolean): MathNode | undefined {
  const options = { displayMode: isBlock, annotate: false, throwOnError: true, strict: false, trust: false, ...limits };
  const { __renderToMathMLTree: build } = temml as unknown as { __renderToMathMLTree: typeof temml.renderToMathMLTree };
  const [root] = toNodes(build(text, options) as TemmlNode);
  return root;
}

/** A fragment has no name of its own. */
function toNodes({ type, text, attributes = {}, style = {}, children = [] }: TemmlNode): MathNode[] {
  if (text !== undefined) return [text];
  const inner = children.flatMap(toNodes);
  return type === undefined ? inner : [{ tag: type, attributes: textsOf(attributes), style: textsOf(style), children: inner }];
}

function textsOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
