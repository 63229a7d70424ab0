/** Texts that try to become markup, script, a request or a style; the addresses are `evil.example`, and the scripts call `alert`. */
export const hostileTexts: Readonly<Record<string, string>> = {
  'a script': '<script>alert(1)</script>',
  'handlers of events': '<img src=x onerror=alert(1)> <b onclick="alert(1)">b</b> <details open ontoggle=alert(1)>d</details>',
  styles: '<style>*{display:none}</style> <p style="position:fixed;inset:0">p</p> <link rel=stylesheet href=https://evil.example/s.css>',
  'frames and objects':
    '<iframe srcdoc="<script>alert(1)</script>"></iframe> <object data=https://evil.example></object> <embed src=//evil.example>',
  'forms and bases':
    '<form action=https://evil.example><button formaction=javascript:alert(1)>b</button></form> <base href=https://evil.example/>',
  'SVG and MathML': '<svg onload=alert(1)><a xlink:href="javascript:alert(1)">a</a></svg> <math href="javascript:alert(1)">m</math>',
  'a block of HTML': '<div class="evil">\n<img src="https://evil.example/p.png">\n\n*still*\n</div>',
  'comments and sections': '<!-- --><img src=x> <![CDATA[<img src=x>]]> <?php <img src=x> ?> <!DOCTYPE html><img src=x>',
  'addresses of scripts':
    '[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](vbscript:x) [d](&#106;avascript:alert(1)) [e](java&Tab;script:alert(1)) [f](\u0001javascript:alert(1))',
  'addresses of data':
    '[a](data:text/html,<script>alert(1)</script>) [b](data:text/html;base64,PHNjcmlwdD4=) [c](blob:https://evil.example/x) [d](file:///etc/passwd)',
  'addresses without a scheme':
    '[a](//evil.example) [b](/api/keys) [c](\\\\evil.example) [d](..) [e](#x) [f](?x) [g]( https:evil.example) [h](http:\\\\evil.example)',
  'addresses with tricks':
    '[a](https://127.0.0.1@evil.example) [b](https://evil.example "t" onmouseover=\\"alert(1)") [c](<javascript:alert(1)>) [d](https://evil.example/%0Ajavascript:x)',
  'addresses alone':
    '<javascript:alert(1)> <https://evil.example/?a=1&b=2> www.evil.example https://evil.example/<b> ada@evil.example <mailto:a@b.c?body=%0A>',
  references:
    '[a]: javascript:alert(1) "t"\n[b]: https://evil.example/p.png\n[__proto__]: data:text/html,x\n\n[a] [a][] [x][a] ![b] ![x][b] [__proto__] [constructor]',
  'references in quotes and lists':
    '[c] before\n\n> [a]: https://evil.example/a\n\nfirst [a]\n\n- [c]: https://evil.example/c\n\nsecond [a] and [c]\n\nthird',
  'pictures of others':
    '![a](https://evil.example/p.png) ![](//evil.example/p.png) ![c](http://evil.example/p.gif "t") [![d](https://evil.example/d.png)](javascript:alert(1))',
  'pictures that are documents':
    '![a](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+) ![b](data:image/png,x onerror=alert(1)) ![c](data:image/png;base64,AAAA"onerror="alert(1))',
  'character references':
    '&lt;img src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62; &amp;lt;b&amp;gt; &#x3c;b&#x3e; &#0; &#x110000; &#xD800; &nosuch;',
  code: '```"><img src=x onerror=alert(1)>\n</code></pre><script>alert(1)</script>\n```\n\n`</code><img src=x>`\n\n    <script>alert(1)</script>\n\n~~~__proto__ evil\nx',
  'a table':
    '| <b>a</b> | [x](javascript:alert(1)) |\n|:--|--:|\n| <img src=x onerror=alert(1)> | ![p](https://evil.example/p.png) |\n| `<i>` | a \\| b | c |',
  'a list of tasks': '- [x] <input onfocus=alert(1) autofocus>\n- [ ] [x](javascript:alert(1))\n  1. <b>one\n  2. > ![p](//evil.example)',
  headings: '# <img src=x>\n## [x](javascript:alert(1)) {#evil onclick=alert(1)}\n<b>\n===\n',
  'marks of emphasis': '**<b onclick=alert(1)>**x*_~~[a](javascript:alert(1))~~_* __init__ ***',
  brackets: '[[[[a](javascript:alert(1))](https://evil.example)]] [](https://evil.example) ![[x]](y) [x](y(z)) [x](<y>z) [x]()',
  'marks of direction': '\u202Egnp.exe\u202C [\u2066moc.live\u2069](https://evil.example/\u202Egnp) \u200F\u200E `\u202Ecode`',
  controls: 'a\u0000b\u001B[31mred\u0007 \uFEFF\u2028line\u2029 \uD800 \uDC00 \r\n\tx\r',
  'names of properties': '__proto__ constructor toString\n\n[__proto__]: https://evil.example\n\n```constructor\nx\n```',
};

/** Nesting that a reader with a stack does not survive. */
export const deepTexts: Readonly<Record<string, string>> = {
  quotes: `${'>'.repeat(3_000)} deep`,
  lists: `${'- '.repeat(500)}list`,
  brackets: '['.repeat(2_000),
  links: `${'['.repeat(300)}a${'](https://evil.example)'.repeat(300)}`,
  emphasis: `${'*a **b '.repeat(400)}${'** *'.repeat(400)}`,
  'a table': `|${'a|'.repeat(400)}\n|${'-|'.repeat(400)}\n|${'b|'.repeat(400)}`,
};
