import type { Page } from 'playwright-core';

/**
 * What stands in a document and is none of the console's own elements and attributes, a line each: what a text would have to become to do harm. Empty
 * where all foreign text is text.
 */
export function findForeignMarkup(page: Page, within = 'body'): Promise<string[]> {
  return page.evaluate(
    ([selector, names, attributes]) => {
      const isKnownValue: Record<string, (value: string, element: Element) => boolean> = {
        // Browsers save what is under `download`, and open no such address as a page.
        href: (value, element) =>
          (value.startsWith('data:') && element.hasAttribute('download')) ||
          /^(?:https?:\/\/|mailto:|#content$|\/$|\/console\/|\/docs$)/.test(value),
        src: (value) => /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]+$/.test(value),
        type: (value) =>
          [
            'button',
            'submit',
            'text',
            'checkbox',
            'radio',
            'password',
            'number',
            'url',
            'email',
            'date',
            'search',
            'file',
            'datetime-local',
          ].includes(value),
        target: (value, element) => value === '_blank' && element.getAttribute('rel') === 'noopener noreferrer',
        rel: (value) => value === 'noopener noreferrer',
        // Words of the console's own alone: nothing of a text names a class.
        class: (value) => /^[a-z0-9 -]*$/.test(value) && !value.includes('evil'),
        // The title of a column, which style sheets show as text.
        'data-title': (value, element) => element.localName === 'td' && /^(?:URL|[A-Z][a-z]+)(?: [a-z]+)*$/.test(value),
        // What the console sets where something was measured.
        style: (value, element) =>
          (element.closest('.maths math') !== null &&
            /^(?:[a-z-]+: [\w#.%, ()+-]+; ?)+$/.test(value) &&
            !/url|position|image/.test(value)) ||
          /^(?:(?:height|width|left|transform): (?:min|translateY)?[\d.,%px() -]+; ?)+$/.test(value),
      };
      return [...document.querySelectorAll(`${selector}, ${selector} *`)].flatMap((element) => {
        const name = element.localName;
        if (!names.includes(name)) return [`<${name}>`];
        return [...element.attributes].flatMap(({ name: attribute, value }) => {
          const isKnown =
            attribute in isKnownValue
              ? isKnownValue[attribute]?.(value, element)
              : attributes.includes(attribute) || attribute.startsWith('aria-');
          return isKnown === true ? [] : [`<${name} ${attribute}="${value.slice(0, 80)}">`];
        });
      });
    },
    [within, elements, plainAttributes] as const,
  );
}

const elements = [
  'body div main aside nav header footer section noscript p span h1 h2 h3 h4 h5 h6 hr br ul ol li dl dt dd blockquote pre code strong em del a img',
  'table thead tbody tr th td svg path rect form fieldset legend label input textarea select option button progress dialog details summary time title figure figcaption mark ins kbd small output datalist optgroup g line circle text',
  'math mrow mi mo mn ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover munderover mtable mtr mtd',
].flatMap((names) => names.split(' '));

/** Whatever they hold does nothing. */
const plainAttributes = [
  'id for name title role tabindex start value alt loading open placeholder rows scope dir width height viewBox d rx disabled checked required',
  'autofocus autocomplete spellcheck min max step hidden selected download multiple accept datetime data-index list x y x1 x2 y1 y2 transform preserveAspectRatio cx cy r colspan rowspan maxlength minlength accept inputmode pattern cols wrap fill stroke',
  'accent accentunder columnalign columnspacing depth display displaystyle fence form linethickness lspace maxsize minsize movablelimits rspace rowspacing scriptlevel separator stretchy symmetric voffset mathvariant mathcolor mathbackground',
].flatMap((names) => names.split(' '));
