import { existsSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { agentTargets } from '../../../../core/catalog/listings/discovery/agent-file.ts'
import { canonicalUrl } from '../../../../core/catalog/listings/discovery/canonical-url.ts'
import {
  cleanTags,
  nameOfUrl,
  storable,
} from '../../../../core/catalog/listings/discovery/clean-text.ts'
import { readPage } from '../../../../core/catalog/listings/discovery/index-page.ts'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { checkOffer, checkOffers } from '../../../../core/catalog/listings/discovery/offers.ts'
import { classifyResponse } from '../../../../core/catalog/listings/probe/classify-response.ts'
import { REASONS } from '../../../../core/catalog/listings/reasons.ts'
import { cleanText } from '../../../../core/text.ts'
import { offer, PAY_TO, row, USDC } from '../rows.ts'

const RULES = { httpsOnly: true }
const urlOf = (text: unknown) => {
  const result = canonicalUrl(text, RULES)
  return typeof result === 'string' ? result : result.url
}
const reasonOf = (raw: unknown) => {
  const result = normalizeRow(raw, RULES)
  return 'reason' in result ? result.reason : 'listed'
}

describe('a canonical URL', () => {
  for (const text of [
    'https://API.Acme.com/v1/a',
    'https://api.acme.com:443/v1/a',
    'https://api.acme.com./v1/a#top',
    'https://api.acme.com/v1/%61?',
    'https://api.acme.com/v1/b/../a',
    '  https://api.acme.com/v1/a ',
  ]) {
    it(`is the same for ${text}`, () => expect(urlOf(text)).to.equal('https://api.acme.com/v1/a'))
  }

  it('keeps the query, its order and significant escapes', () => {
    const text = 'https://acme.com/a%2Fb?z=1&a=%26#x'
    expect(urlOf(text)).to.equal('https://acme.com/a%2Fb?z=1&a=%26')
  })

  const refused: Readonly<Record<string, string>> = {
    '': 'no_url',
    'api.acme.com/v1': 'malformed_url',
    'ftp://acme.com/': 'malformed_url',
    'javascript:alert(1)': 'malformed_url',
    [`https://acme.com/${'a'.repeat(2_100)}`]: 'malformed_url',
    'http://acme.com/': 'not_https',
    'https://localhost/': 'local_host',
    'https://127.0.0.1/': 'local_host',
    'https://[::1]/': 'local_host',
    'https://0x7f.1/': 'local_host',
    'https://169.254.169.254/latest': 'local_host',
    'https://intranet/': 'local_host',
    'https://api.example.com/': 'local_host',
    'https://printer.local/': 'local_host',
    'https://acme.com:8443/': 'port',
    'https://user:pass@acme.com/': 'credentials_in_url',
    'https://acme.com/?key=ahk_secret': 'credentials_in_url',
  }
  for (const [text, reason] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 60) || 'nothing'}: ${reason}`, () =>
      expect(urlOf(text)).to.equal(reason))
  }

  it('is its own canonical form', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['https'], withFragments: true }), (text) => {
        const once = urlOf(text)
        if (once.startsWith('https:')) expect(urlOf(once)).to.equal(once)
      }),
      { numRuns: 50 },
    )
  })
})

describe('an offer from an untrusted source', () => {
  it('has address and token with their checksums', () => {
    const result = checkOffer(offer({ payTo: PAY_TO.toLowerCase(), asset: USDC.toLowerCase() }))
    expect(result).to.include({ payTo: PAY_TO, asset: USDC, price: 3_000n, payable: true })
  })

  it('is accepted in x402 version 1 as well', () => {
    const { amount, ...rest } = offer({ network: 'base' })
    const result = checkOffer({ ...rest, maxAmountRequired: amount })
    expect(result).to.include({ network: 'eip155:8453', price: 3_000n })
  })

  const refused: readonly (readonly [title: string, change: object, reason: string])[] = [
    ['another scheme', { scheme: 'upto' }, 'scheme'],
    ['a network that nobody knows', { network: 'xlayer' }, 'network'],
    ['a broken id of Solana', { network: 'solana:5eykt4UsFv8P8NJdTREpYbfj1W7N2H4' }, 'network'],
    ['test money', { network: 'eip155:84532' }, 'testnet'],
    ['a token by its name', { asset: 'USDC' }, 'asset'],
    ['USDC of another network', { network: 'eip155:137' }, 'asset'],
    ['a number as a price', { amount: 3_000 }, 'price'],
    ['dollars as a price', { amount: '$0.01' }, 'price'],
    ['a decimal', { amount: '0.01' }, 'price'],
    ['nothing', { amount: '0' }, 'price'],
    ['less than nothing', { amount: '-1' }, 'price'],
    ['ten billion dollars', { amount: '10000000000000000' }, 'price'],
    ['two prices', { maxAmountRequired: '4000' }, 'price'],
    ['a payee with a wrong checksum', { payTo: PAY_TO.replace('a', 'A') }, 'pay_to'],
    ['half a payee', { payTo: '0xabc' }, 'pay_to'],
    ['the payee nobody', { payTo: `0x${'0'.repeat(40)}` }, 'pay_to'],
    ['the token as payee', { payTo: USDC }, 'pay_to'],
  ]
  for (const [title, change, reason] of refused) {
    it(`is refused as ${reason} with ${title}`, () =>
      expect(checkOffer(offer(change))).to.equal(reason))
  }

  it('is sorted among several: payable by the hub first, then the cheapest', () => {
    const solana = {
      network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
      asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
      payTo: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
      amount: '1',
    }
    const result = checkOffers([offer(solana), offer({ amount: '9' }), offer(), 7])
    expect(result).to.be.an('array').with.length(3)
    expect(result).to.have.nested.property('[0].price', 9n)
    expect(result).to.have.nested.property('[2].payable', false)
  })

  it('is refused with the reason of the entry that passed most checks', () => {
    const entries = [offer({ scheme: 'upto' }), offer({ payTo: '0x1' }), offer({ asset: 'USD' })]
    expect(checkOffers(entries)).to.equal('pay_to')
  })
})

describe('a row of an index', () => {
  it('becomes a listing with truncated texts', () => {
    const result = normalizeRow(
      row({ serviceName: `  Rain\u202e\u0000 maker ${'x'.repeat(300)}` }),
      RULES,
    )
    expect(result).to.have.nested.property('candidate.name').with.length.at.most(100)
    expect(result)
      .to.have.nested.property('candidate.name')
      .match(/^Rain maker x+…$/)
  })

  it('defines the method by its method, its body or the default', () => {
    const called = (input: object) => {
      const result = normalizeRow(row({ extensions: { bazaar: { info: { input } } } }), RULES)
      return 'candidate' in result ? result.candidate.method : result.reason
    }
    expect(called({ method: 'post' })).to.equal('POST')
    expect(called({ bodyType: 'json', body: {} })).to.equal('POST')
    expect(called({ type: 'http' })).to.equal('GET')
    expect(called({ method: 'BREW' })).to.equal('method')
  })

  it('becomes a listing or a refusal with a reason for any input, and never throws', () => {
    const entry = fc.record({
      scheme: fc.constantFrom<unknown>('exact', 'upto', 7),
      network: fc.constantFrom<unknown>('base', 'eip155:8453', 'peaq', null),
      asset: fc.constantFrom<unknown>(USDC, 'USDC', {}),
      amount: fc.oneof(fc.constant('5'), fc.anything()),
      payTo: fc.oneof(fc.constant(PAY_TO), fc.anything()),
    })
    const like = fc.record(
      {
        resource: fc.oneof(fc.webUrl(), fc.anything()),
        type: fc.oneof(fc.constant('http'), fc.anything()),
        accepts: fc.oneof(fc.array(entry), fc.anything()),
        description: fc.anything(),
        tags: fc.anything(),
        extensions: fc.oneof(fc.record({ bazaar: fc.object() }), fc.anything()),
        metadata: fc.anything(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(like, fc.anything()), (raw) => {
        const result = normalizeRow(raw, RULES)
        if ('reason' in result) expect(REASONS).to.have.property(result.reason)
        else JSON.stringify({ ...result.candidate, offers: [] })
      }),
      { numRuns: 300 },
    )
  })
})

describe('text from an untrusted source', () => {
  it('contains no control characters for terminals, pages or readers (case A099)', () => {
    const dirty = 'a\u001b[31mred\u202e\u2066 \u0000\u200b\u{e0041}b\n<script>'
    expect(cleanText(dirty, 100)).to.equal('a [31mred b <script>')
  })

  it('consists of whole characters, however short', () => {
    expect(cleanText('🦊'.repeat(50), 20).isWellFormed()).to.equal(true)
  })

  it('becomes distinct tags of letters, digits and hyphens', () => {
    const tags = ['Web Search', 'web-search', ' ', 7, 'Über', '<b>', 'x'.repeat(60)]
    expect(cleanTags(tags)).to.deep.equal(['web-search', 'über', 'b'])
    expect(cleanTags(Array.from({ length: 99 }, (_, n) => `t${n}`))).to.have.length(12)
  })

  it('is replaced by a name derived from the URL if it is empty', () => {
    expect(nameOfUrl('https://a.com/api/v1/people-enrich')).to.equal('People enrich')
    expect(nameOfUrl('https://a.com/weather/:city')).to.equal('Weather')
    expect(nameOfUrl('https://a.com/')).to.equal('a.com')
    expect(nameOfUrl('https://a.com/%E0%A4%A')).to.be.a('string')
  })

  it('is stored only if the database can hold it', () => {
    const deep = JSON.parse(`${'['.repeat(100)}${']'.repeat(100)}`)
    for (const bad of [{ a: '\u0000' }, { a: '\ud800' }, { '\u0000': 1 }, deep, 'x'.repeat(99)]) {
      expect(storable(bad, 50)).to.equal(null)
    }
    expect(storable({ a: ['🦊'] }, 50)).to.deep.equal({ a: ['🦊'] })
  })
})

const SAMPLES = '../shared/data/x402/wild-samples.json'

describe('formats seen in the wild', () => {
  const samples = existsSync(SAMPLES) ? JSON.parse(readFileSync(SAMPLES, 'utf8')) : undefined
  before(function () {
    if (samples === undefined) this.skip()
  })

  const rows: readonly (readonly [name: string, path: readonly (string | number)[], is: string])[] =
    [
      ['an item of CDP', ['cdp_bazaar_list_item', 'item'], 'listed'],
      ['the item of its documents', ['cdp_doc_item', 'item'], 'local_host'],
      ['a merchant’s, without terms', ['cdp_merchant', 'body'], 'no_offer'],
      ['a facilitator among resources', ['ultravioleta_discovery', 'body'], 'not_http'],
      ['one in an envelope', ['b402_binance_envelope', 'body'], 'local_host'],
      ['a list of URLs', ['well_known_x402scan', 'body'], 'not_an_object'],
      ['a draft of a document', ['well_known_x402_json_draft', 'body'], 'local_host'],
      ['a document of its own making', ['well_known_broken', 'body'], 'no_url'],
    ]
  for (const [title, path, expected] of rows) {
    it(`${title}: ${expected}`, () => {
      const found = path.reduce((value, name) => value[name], samples)
      const page = path.at(-1) === 'body' ? readPage(found) : { rows: [found] }
      expect(page?.rows.map(reasonOf)).to.deep.equal([expected])
    })
  }

  it('include rows of an observatory without terms', () => {
    const { rows: seen } = samples.observatory_resources
    expect(new Set(seen.map(reasonOf))).to.deep.equal(new Set(['no_offer', 'not_http']))
  })

  const url = 'https://api.strale.io/x402/iban-validate'
  const answered = (body: unknown, header?: unknown) => {
    const headers: Record<string, string> = header
      ? { 'payment-required': Buffer.from(JSON.stringify(header)).toString('base64') }
      : {}
    return classifyResponse({ status: 402, headers, body: Buffer.from(JSON.stringify(body)) }, url)
  }

  it('include a version 1 offer whose resource is not a URL: it is up, with its schema', () => {
    const verdict = answered(samples.v1_402_body.body)
    expect(verdict).to.include({ outcome: 'up', version: 1 })
    expect(verdict.offers?.[0]).to.include({ price: 10_000n, network: 'eip155:8453' })
    expect(verdict.description?.inputSchema).to.have.nested.property(
      'bodyFields.query.required',
      true,
    )
  })

  it('include a bare requirement in the header, which is not an offer', () => {
    const header = samples.malformed_goldbean.decoded_header
    expect(answered({}, header).outcome).to.equal('malformed_offer')
  })

  it('include version 1 offers with misplaced terms, which are refused', () => {
    expect(answered(samples.malformed_strale_mixed.body).outcome).to.equal('scheme')
  })

  it('include an agent file, of which only x402 endpoints are listed', () => {
    const targets = agentTargets(samples.erc8004_registration_swarm.agentCard)
    expect(targets).to.have.length(1)
    expect(targets).to.have.nested.property('[0].url', 'https://data.solarpunk.buzz/weather/v1')
  })

  it('include imitated networks and tokens, which are refused', () => {
    const { dirty_network_values: networks, dirty_asset_values: assets } =
      samples.observatory_2026_10_05
    for (const network of networks) {
      expect(checkOffer(offer({ network })), network).to.be.oneOf(['network', 'testnet'])
    }
    for (const asset of assets.slice(0, 4)) {
      expect(checkOffer(offer({ asset })), asset).to.equal('asset')
    }
  })
})
