import { expect } from 'chai'
import * as fc from 'fast-check'
import { EgressError } from '../../../core/egress/errors.ts'
import { parseSandboxHosts } from '../../../core/egress/sandbox.ts'
import { parseTarget, type TargetRules } from '../../../core/egress/target.ts'

const sandboxHosts = parseSandboxHosts('seller.test=127.0.0.1:4701')

function refusal(url: string, rules: TargetRules = {}): string {
  try {
    parseTarget(url, rules)
  } catch (error) {
    if (error instanceof EgressError && error.code === 'validation_failed') return error.message
    throw error
  }
  return 'accepted'
}

describe('the URL of a foreign host', () => {
  const refused: readonly [string, string, RegExp, TargetRules?][] = [
    ['A008 credentials', 'http://user:pw@seller.test/', /user name/],
    ['an empty password', 'http://user@seller.test/', /user name/],
    ['A009 file scheme', 'file:///etc/passwd', /scheme/],
    ['gopher', 'gopher://seller.test/', /scheme/],
    ['data', 'data:text/plain,hi', /scheme/],
    ['A010 port 22', 'https://seller.test:22/', /port/, { sandboxHosts }],
    ['A011 port 25', 'http://seller.test:25/', /port/, { sandboxHosts }],
    [
      'an operator port, for a sandbox host',
      'http://seller.test:81/',
      /port/,
      {
        sandboxHosts,
        allowedPorts: [81],
      },
    ],
    ['the port of a sandbox host, for another', 'http://a.test:4701/', /port/, { sandboxHosts }],
    ['A012 NUL in the host', 'http://127.0.0.1%00.seller.test/', /absolute/],
    ['a real NUL', 'http://seller.test/\0', /control/],
    ['a line break that the parser would drop', 'http://sel\nler.test/', /control/],
    ['a space', 'http://seller.test/a b', /control/],
    ['nothing', '', /absolute/],
    ['a relative one', '/etc/passwd', /absolute/],
    ['2,049 characters', `http://seller.test/${'a'.repeat(2_030)}`, /longer/],
    ['a host that grows when written out', `http://a.test/${'é'.repeat(1_000)}`, /longer/],
    ['http where https is asked for', 'http://seller.test/', /https/, { httpsOnly: true }],
    ['a hub key', 'http://seller.test/?key=ahk_abc', /key/],
    ['a hub key, percent-encoded', 'http://seller.test/%61hk%5Fabc', /key/],
  ]
  for (const [title, url, reason, rules] of refused) {
    it(`refuses ${title}`, () => {
      expect(refusal(url, rules)).to.match(reason)
    })
  }

  it('allows standard ports, those of the operator, and that of a sandbox host', () => {
    const rules = { allowedPorts: [8443], sandboxHosts }
    for (const url of [
      'http://a.test/',
      'https://a.test/',
      'http://a.test:443/',
      'https://a.test:8443/x?y#z',
      'http://seller.test/',
      'http://seller.test:4701/',
    ]) {
      expect(refusal(url, rules), url).to.equal('accepted')
    }
  })

  it('comes out in one spelling, without the fragment', () => {
    for (const url of ['http://0x7f.1/', 'http://2130706433/', 'http://0177.0.0.1/']) {
      expect(parseTarget(url).hostname, url).to.equal('127.0.0.1')
    }
    expect(parseTarget('http://①②⑦.⓪.⓪.①/').hostname).to.equal('127.0.0.1')
    for (const fragment of ['#b', '#']) {
      const { href } = parseTarget(`HTTPS://Seller.TEST:443/a${fragment}`)
      expect(href).to.equal('https://seller.test/a')
    }
  })

  it('is refused with a typed error, whatever it is', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.webUrl()), (url) => void refusal(url)))
  })
})

describe('HUB_SANDBOX_HOSTS', () => {
  it('maps names to ports of 127.0.0.1', () => {
    const hosts = parseSandboxHosts('a.test=127.0.0.1:1, b.test=127.0.0.1:65535')
    expect([...hosts]).to.deep.equal([
      ['a.test', 1],
      ['b.test', 65_535],
    ])
    expect(parseSandboxHosts('').size).to.equal(0)
  })

  it('maps nothing to anywhere else', () => {
    for (const text of [
      'a.test=10.0.0.1:80',
      'a.test=127.0.0.2:80',
      'a.test=127.0.0.1',
      'a.test=127.0.0.1:0',
      'a.test=127.0.0.1:65536',
      '127.0.0.1=127.0.0.1:80',
      'localhost=127.0.0.1:80',
      'A.test=127.0.0.1:80',
      'a.test',
    ]) {
      expect(() => parseSandboxHosts(text), text).to.throw(TypeError)
    }
  })
})
