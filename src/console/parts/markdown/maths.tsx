import { createElement } from 'preact';
import type { ComponentChild, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { MathNode } from '../render/render-messages.ts';

interface MathsProps {
  /** In TeX. */
  text: string;
  isBlock: boolean;
}

/** A formula. Its TeX is shown until it is set, and if it has an error. */
export function Maths({ text, isBlock }: MathsProps): JSX.Element {
  const [set, setSet] = useState<{ text: string; node: MathNode }>();
  useEffect(() => {
    let isCurrent = true;
    void import('../render/render-aside.ts')
      .then(({ renderAside }) => renderAside({ kind: 'maths', text, isBlock }))
      .then((node) => isCurrent && node !== undefined && setSet({ text, node }));
    return () => void (isCurrent = false);
  }, [text, isBlock]);
  const content = set?.text === text ? renderNode(set.node, 0) : <code>{text}</code>;
  const frame = isBlock ? 'maths block' : 'maths';
  return (
    <span class={frame} dir="ltr" {...(isBlock && { tabIndex: 0, role: 'group', 'aria-label': 'Formula' })}>
      {content}
    </span>
  );
}

/** Everything that formulas consist of. Links, images and scripts are not among it. */
const tags = new Set(
  'math mrow mi mo mn ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd menclose'.split(
    ' ',
  ),
);
const attributeNames = new Set(
  'accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle fence form frame height largeop linethickness lquote lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rowspan rquote rspace scriptlevel separator stretchy symmetric voffset width'.split(
    ' ',
  ),
);
const styleNames = new Set(
  'backgroundColor border borderBottom borderLeft borderRight borderTop color fontSize fontStyle fontWeight height marginLeft marginRight mathDepth mathStyle padding paddingBottom paddingLeft paddingRight paddingTop textAlign verticalAlign width'.split(
    ' ',
  ),
);
/** A colour, a size or a word, and nothing that is fetched. */
const styleValue = /^[\w#.%,() +-]{1,60}$/;
const maxDepth = 100;

function renderNode(node: MathNode, depth: number): ComponentChild {
  if (typeof node === 'string') return node;
  if (depth > maxDepth) return null;
  const attributes = Object.entries(node.attributes).filter(([name]) => attributeNames.has(name));
  const style = Object.entries(node.style).filter(([name, value]) => styleNames.has(name) && styleValue.test(value) && !/url/i.test(value));
  return createElement(
    tags.has(node.tag) ? node.tag : 'mrow',
    { ...Object.fromEntries(attributes), ...(style.length > 0 && { style: Object.fromEntries(style) }) },
    ...node.children.map((child) => renderNode(child, depth + 1)),
  );
}
