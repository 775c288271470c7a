import { expect } from 'chai'
import { isLicensed, parseLicenses } from '../../../../core/catalog/domains/license-document.ts'
import { SiteLicenses } from '../../../../core/catalog/domains/site-licenses.ts'
import { licensesIn } from '../../../../core/catalog/listings/probe/robots-licenses.ts'
import { paths, useCatalog } from '../fixture.ts'

const rsl = (...contents: string[]) =>
  `<?xml version="1.0"?><rsl xmlns="https://rslstandard.org/rsl">${contents.join('')}</rsl>`
const content = (license: string, url = '/', attributes = '') =>
  `<content url="${url}"${attributes}><license>${license}</license></content>`
const usage = (element: string, words: string) => `<${element} type="usage">${words}</${element}>`

describe('licenses in a robots.txt', () => {
  const of = (...lines: string[]) => licensesIn(lines.join('\n'), 'agenthub')

  it('count for the group of the hub, else for all, else for every site', () => {
    expect(of('License: a', '', 'User-agent: *', 'Allow: /')).to.deep.equal(['a'])
    expect(of('User-agent: *', 'Allow: /', 'License: a')).to.deep.equal(['a'])
    expect(of('User-agent: *', 'Allow: /', '', 'License: a')).to.deep.equal(['a'])
    expect(of('User-agent: *', 'Allow: /', 'Sitemap: s', 'License: a')).to.deep.equal(['a'])
    expect(of('User-agent: AgentHub', 'License: a', 'User-agent: *', 'License: b')).to.deep.equal([
      'a',
    ])
    expect(of('User-agent: x', 'License: a', 'User-agent: *', 'Allow: /')).to.deep.equal([])
    expect(of('User-agent: x', 'User-agent: agenthub', 'LICENSE : a \r')).to.deep.equal(['a'])
    expect(of('License: a', 'License: b', 'Licensee: c')).to.deep.equal(['a', 'b'])
  })
})

describe('the contents of a license document', () => {
  const isFor = (pattern: string, url: string) =>
    isLicensed(parseLicenses(rsl(content('', pattern)), 'https://a.example/')[0]!, url)

  it('are those that a pattern of robots.txt matches', () => {
    for (const [pattern, path, expected] of [
      ['/', '/x', true],
      ['/a', '/ab', true],
      ['/a$', '/ab', false],
      ['/a$', '/a', true],
      ['/*/b', '/a/b/c', true],
      ['/*/b$', '/b/a/b', true],
      ['/*b*b$', '/b', false],
      ['/*.html$', '/a.html.html', true],
      ['/a*', '/b', false],
    ] as const) {
      expect(isFor(pattern, `https://a.example${path}`), `${pattern} ${path}`).to.equal(expected)
    }
  })
  it('are matched at once, whatever a site names', () => {
    const pattern = `/${'*a'.repeat(2_000)}*b`
    expect(isFor(pattern, `https://a.example/${'a'.repeat(2_000)}`)).to.equal(false)
  })
  it('are refused if there are too many', () => {
    const all = Array.from({ length: 1_001 }, () => content(''))
    expect(() => parseLicenses(rsl(...all), 'https://a.example/')).to.throw('too many')
  })
})

describe('a license document (RSL)', () => {
  const isFree = (license: string, attributes?: string) =>
    parseLicenses(rsl(content(license, '/', attributes)), 'https://a.example/')[0]?.isFree

  it('gives pages to AI for nothing unless it says otherwise', () => {
    for (const license of [
      '',
      '<payment/>',
      '<payment type="free"/>',
      '<payment type="attribution"><standard>https://l.example</standard></payment>',
      usage('permits', 'search ai-input'),
      usage('permits', '<![CDATA[ai-input]]>'),
      usage('permits', ' all '),
      usage('prohibits', 'ai-train'),
      '<permits type="geo">DE</permits>',
    ]) {
      expect(isFree(license), license).to.equal(true)
    }
    for (const license of [
      '<payment type="crawl"><amount currency="USD">0.01</amount></payment>',
      '<payment type="use"/>',
      usage('prohibits', 'ai-all'),
      usage('prohibits', 'search all'),
      usage('permits', 'search'),
      '<reporting type="telemetry" profile="https://r.example"/>',
    ]) {
      expect(isFree(license), license).to.equal(false)
    }
    expect(isFree('', ' server="https://olp.example"')).to.equal(false)
    const two = '<payment type="crawl"/></license><license><payment type="free"/>'
    expect(isFree(two), 'one of its licenses').to.equal(true)
  })

  it('is refused if it is not RSL or not well-formed', () => {
    const wrong = [
      '',
      'no',
      '<rsl/>',
      rsl('<content>'),
      `<!DOCTYPE r [<!ENTITY a "x">]>${rsl('&a;')}`,
    ]
    for (const text of wrong) {
      expect(() => parseLicenses(text, 'https://a.example/'), text).to.throw()
    }
  })
})

describe('the license of a site', () => {
  const world = useCatalog()
  const serve = (license: string | number, robots = 'License: http://index.test/license.xml') => {
    world.at('owner.test', paths({ '/robots.txt': (_, response) => response.end(robots) }))
    world.at('index.test', (_, response) =>
      typeof license === 'number' ? response.writeHead(license).end() : response.end(license),
    )
  }
  const allows = (path = '/page', own = 'http://hub.test/license.xml') =>
    new SiteLicenses(world.egress, world.robots).allowFreeUse(`http://owner.test${path}`, own)

  it('decides which pages AI may use free of charge, by the most specific content', async () => {
    const paid = '<payment type="crawl"/>'
    serve(
      rsl(
        content(paid, '/*'),
        content('', '/open/'),
        content(paid, 'http://owner.test/open/not$'),
        content(paid, 'http://other.test/open/page'),
      ),
    )
    expect(await allows()).to.equal(false)
    expect(await allows('/open/page')).to.equal(true)
    expect(await allows('/open/not')).to.equal(false)
    expect(await allows('/open/note')).to.equal(true)
  })

  it('A315 allows free use if absent, and refuses it if unreadable, large or many', async () => {
    serve(404, 'User-agent: *')
    expect(await allows()).to.equal(true)
    const free = rsl(content(''))
    const named = (count: number) => 'License: http://index.test/license.xml?n\n'.repeat(count)
    for (const [count, expected] of [
      [3, true],
      [4, false],
    ] as const) {
      world.clear()
      serve(free, named(count))
      expect(await allows(), `${count} documents`).to.equal(expected)
    }
    for (const license of [404, 500, 'no XML', free.padEnd(65_537)]) {
      world.clear()
      serve(license)
      expect(await allows(), String(license).slice(0, 9)).to.equal(false)
    }
    world.clear()
    serve(404, 'License: http://127.0.0.1/license.xml\nLicense: nowhere')
    expect(await allows()).to.equal(false)
  })

  it('is not asked if it is that of the hub', async () => {
    serve(500)
    expect(await allows('/page', 'http://index.test/license.xml')).to.equal(true)
    expect(world.visits).not.to.include('GET index.test/license.xml')
  })
})
