import { expect } from 'chai'
import { extract } from '../../../plugins/content/extract/extract.ts'
import { PSEUDO_CLASSES, selector } from '../../../server/rest/provider/domains/selectors.ts'

const faultOf = (text: string): string | undefined =>
  selector.safeParse(text).error?.issues[0]?.message

const GOOD = [
  'p',
  '#more, .ad > a[href^="https://" i]',
  'article :is(h1, h2) + p ~ ul',
  'li:nth-child(2n+1):not(:first-child)',
  'div:has(> img)',
  '[title="a:eq(1) < b"]',
  '.ümlaut, .\\31 a',
]

describe('CSS selectors of rules', () => {
  it('are accepted if they are valid', () => {
    for (const text of GOOD) expect(faultOf(text), text).to.equal(undefined)
  })

  it('are supported by the article reader in every accepted form', () => {
    const forms = [...PSEUDO_CLASSES].map(([name, argument]) => {
      const inner = { none: '', selectors: '(b, i)', nth: '(2n+1)' }[argument]
      return `p:${name}${inner}`
    })
    for (const text of [...GOOD, ...forms]) {
      expect(faultOf(text), text).to.equal(undefined)
      const page = `<article><p>${'Words that stay. '.repeat(20)}</p></article>`
      expect(
        () => extract(page, 'http://a.test/', { exclude: [`${text}, zz`] }),
        text,
      ).not.to.throw(/selector/)
    }
  })

  const bad: Readonly<Record<string, string>> = {
    'p, [': 'unexpected end of input, at character 5',
    'p:not(a': '")" is expected, at character 8',
    '<p>': 'selector is expected, at character 1',
    'a < b': 'unexpected input, at character 3',
    '[a!=b]': 'attribute selector (=, ~=, ^=, $=, *=, |=) is expected, at character 3',
    'p:contains(x)': ':contains is not supported, at character 2',
    'p:not(b:eq(1))': ':eq is not supported, at character 8',
    'p:hover': ':hover is not supported, at character 2',
    'p:nth-child(2 of b)': '“of” is not supported, at character 13',
    'p:nth-child': ':nth-child takes a position in parentheses, at character 2',
    'p:not()': ':not takes selectors in parentheses, at character 2',
    'p:first-child(b)': ':first-child takes no parentheses, at character 2',
    'p::before': '::before never matches an element, at character 2',
    'svg|p': 'namespaces are not supported, at character 1',
    '5%': 'a percentage is not a selector, at character 1',
    'a & b': '& is only valid in style sheets, at character 3',
  }
  for (const [text, fault] of Object.entries(bad)) {
    it(`are rejected with position and reason: ${text}`, () => {
      expect(faultOf(text)).to.equal(`must be a CSS selector: ${fault}`)
    })
  }
})
