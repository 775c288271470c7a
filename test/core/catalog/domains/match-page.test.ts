import { expect } from 'chai'
import * as fc from 'fast-check'
import { matchPage, sortBySpecificity } from '../../../../core/catalog/domains/match-page.ts'
import { micros, usd } from '../../../../core/money.ts'
import type { PageRule } from '../../../../core/plugin/pages.ts'

const rule = (pattern: string, more: Partial<PageRule> = {}): PageRule => ({
  pattern,
  agents: [],
  allow: true,
  price: usd('0.01'),
  cachedPrice: usd('0.01'),
  maxAgeSeconds: 0,
  previewCharacters: 0,
  waitFor: null,
  exclude: [],
  fast: false,
  ...more,
})
const deny = (pattern: string) => rule(pattern, { allow: false })

const under = (patterns: readonly (string | PageRule)[]) => {
  const rules = sortBySpecificity(
    patterns.map((one) => (typeof one === 'string' ? rule(one) : one)),
  )
  const domain = { host: 'owner.test', origin: 'https://owner.test', rules }
  return (url: string, agent?: string) => {
    const full = url.startsWith('/') ? `https://owner.test${url}` : url
    const found = matchPage(domain, full, agent)
    return typeof found === 'string' ? found : found.rule.pattern
  }
}

describe('the rules of a domain', () => {
  it('apply by specificity, in whatever order they were written', () => {
    const patterns = ['/**', '/blog/**', '/blog/*', '/blog/first', '/*/about', '/blog/20*-*']
    const wanted: Readonly<Record<string, string>> = {
      '/': '/**',
      '/a/b/c': '/**',
      '/blog': '/blog/**',
      '/blog/': '/blog/**',
      '/blog/one': '/blog/*',
      '/blog/one/two': '/blog/**',
      '/blog/first': '/blog/first',
      '/blog/first/': '/blog/first',
      '/blog/first?page=2': '/blog/first',
      '/blog/2024-x': '/blog/20*-*',
      '/team/about': '/*/about',
    }
    for (const [url, pattern] of Object.entries(wanted)) {
      expect(under(patterns)(url), url).to.equal(pattern)
      expect(under(patterns.toReversed())(url), url).to.equal(pattern)
    }
  })

  it('deny among equally specific rules, and allow a more specific sale', () => {
    const at = under([
      '/x/**',
      deny('/x/**'.replace('x', 'y')),
      '/y/press/*',
      rule('/z/*'),
      deny('/z/*'),
    ])
    expect(at('/x/a')).to.equal('/x/**')
    expect(at('/y/a')).to.equal('page_denied')
    expect(at('/y/press/a')).to.equal('/y/press/*')
    expect(at('/z/a')).to.equal('page_denied')
  })

  it('apply to agents by name, to any verified one, or to everyone, in this order', () => {
    const price = (of: number, agents: string[]) => rule('/**', { agents, price: micros(of) })
    const all = [price(3, []), price(2, ['*']), price(1, ['a.example'])]
    for (const rules of [all, all.toReversed()]) {
      const host = { host: 'owner.test', origin: 'https://owner.test' }
      const domain = { ...host, rules: sortBySpecificity(rules) }
      const prices = ['a.example', 'b.example', undefined].map((agent) => {
        const found = matchPage(domain, 'https://owner.test/x', agent)
        return typeof found === 'string' ? found : found.rule.price
      })
      expect(prices).to.deep.equal([1n, 2n, 3n])
    }
  })

  it('deny an agent what rules for more agents sell, and no others', () => {
    const at = under([
      '/**',
      rule('/**', { agents: ['a.example'], allow: false }),
      rule('/blog/**', { agents: ['*'] }),
      rule('/blog/a/**', { agents: ['a.example'] }),
      rule('/staff/**', { agents: ['b.example'] }),
    ])
    expect(at('/x', 'a.example')).to.equal('page_denied')
    expect(at('/blog/x', 'a.example')).to.equal('page_denied')
    expect(at('/blog/a/x', 'a.example')).to.equal('/blog/a/**')
    expect(at('/blog/x', 'b.example')).to.equal('/blog/**')
    expect(at('/staff/x', 'b.example')).to.equal('/staff/**')
    expect([at('/staff/x'), at('/x')]).to.deep.equal(['/**', '/**'])
  })

  it('sell nothing that no rule matches', () => {
    expect(under(['/blog/*'])('/shop')).to.equal('page_not_for_sale')
    expect(under([])('/')).to.equal('page_not_for_sale')
  })

  it('cannot be bypassed by another spelling of a path', () => {
    const at = under(['/**', deny('/members/**')])
    const spellings = [
      '/members',
      '/members/',
      '/members/a',
      '/MEMBERS/a',
      '/%6dembers/a',
      '//members//a',
      '/x/../members/a',
      '/x/%2e%2e/members/a',
      '/./members/a',
      '/members/a?x=/public',
      '/members/a#/public',
    ]
    for (const url of spellings) expect(at(url), url).to.equal('page_denied')
    for (const url of [
      '/%2fmembers/a',
      '/x/%252e%252e/members/a',
      '/x%5c..%5cmembers',
      '/%ff',
      '/a%00',
    ]) {
      expect(at(url), url).to.be.oneOf(['malformed_url', 'page_denied'])
    }
  })

  it('apply to exactly the registered host (case A095)', () => {
    const at = under(['/**'])
    const others = [
      'https://owner.test.evil.example/',
      'https://www.owner.test/',
      'https://owner.test./',
      'https://xowner.test/',
      'https://owner.test@evil.example/',
      'https://ówner.test/',
      'https://оwner.test/',
      'https://owner.test:8443/',
      'https://127.0.0.1/',
    ]
    for (const url of others) expect(at(url), url).to.equal('domain_not_registered')
    expect(at('https://user:pass@owner.test/')).to.equal('malformed_url')
    expect(at('ftp://owner.test/')).to.equal('malformed_url')
    expect(at('owner.test/a')).to.equal('malformed_url')
    expect(at(' https://owner.test/')).to.equal('malformed_url')
    expect(at('HTTPS://OWNER.TEST/a'), 'the same host').to.equal('/**')
    expect(at('https://ｏwner.test/a'), 'the same host, to every resolver').to.equal('/**')
  })

  it('give every page one URL at the registered origin', () => {
    const domain = { host: 'owner.test', origin: 'https://owner.test', rules: [rule('/**')] }
    const spell = (url: string) => (matchPage(domain, url) as { url: string }).url
    expect(spell('http://OWNER.test:80/a/../b?q=1#top')).to.equal('https://owner.test/b?q=1')
  })

  it('are matched in linear time, whatever the pattern', () => {
    const at = under([`/${'*a'.repeat(10)}b`, '/**'])
    expect(at(`/${'a'.repeat(2_000)}`)).to.equal('/**')
  })

  it('match a path by its text, and by a star for any part of it', () => {
    const segment = fc.stringMatching(/^[a-z0-9._~()+$^|-]{1,8}$/).filter((s) => !/^\.+$/.test(s))
    const path = fc.array(segment, { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(path, fc.nat(), (parts, n) => {
        const at = n % parts.length
        const exact = `/${parts.join('/')}`
        const starred = `/${parts.map((part, i) => (i === at ? '*' : part)).join('/')}`
        expect(under([exact])(exact)).to.equal(exact)
        expect(under([starred])(exact)).to.equal(starred)
        expect(under([`/${parts.slice(0, at).join('/')}${at > 0 ? '/' : ''}**`])(exact)).to.match(
          /\*\*$/,
        )
        expect(under([`${exact}x`])(exact)).to.equal('page_not_for_sale')
        expect(under([exact, starred, '/**'])(exact), 'the exact one first').to.equal(exact)
      }),
      { numRuns: 200 },
    )
  })

  it('have a total order, so that all processes agree', () => {
    const pattern = fc.stringMatching(/^\/[ab*]{0,4}$/).filter((text) => !text.includes('***'))
    fc.assert(
      fc.property(fc.uniqueArray(pattern, { maxLength: 6 }), (patterns) => {
        const order = (list: readonly string[]) =>
          sortBySpecificity(list.map((text) => rule(text, { price: micros(1n) }))).map(
            (one) => one.pattern,
          )
        expect(order(patterns)).to.deep.equal(order(patterns.toReversed()))
      }),
    )
  })
})
