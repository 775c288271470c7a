import { expect } from 'chai'
import * as fc from 'fast-check'
import { EgressError } from '../../../core/egress/errors.ts'
import {
  forwardableHeaders,
  isRelayable,
  relayableHeaders,
  returnableHeaders,
} from '../../../core/egress/headers.ts'

function refusal(headers: Record<string, unknown>): string {
  try {
    forwardableHeaders(headers)
  } catch (error) {
    if (error instanceof EgressError && error.code === 'validation_failed') return error.message
    throw error
  }
  return 'accepted'
}

describe('request headers of a caller', () => {
  const refused: readonly [string, Record<string, unknown>, RegExp][] = [
    ['A017 a key of the hub', { Authorization: 'Bearer ahk_abc' }, /authorization: contains a key/],
    ['a key of the hub elsewhere', { 'X-Note': 'see AHK_abc' }, /key/],
    ['A019 Host', { Host: 'admin.internal' }, /host: may not/],
    ['A020 a line break', { 'X-A': 'a\r\nX-Injected: 1' }, /control/],
    ['a lone line feed', { 'X-A': 'a\nb' }, /control/],
    ['NUL', { 'X-A': 'a\0b' }, /control/],
    ['a character beyond one byte', { 'X-A': '€' }, /control/],
    ['a line break in the name', { 'X-A\r\nB': 'a' }, /name/],
    ['an empty name', { '': 'a' }, /name/],
    ['a name with a colon', { ':path': '/' }, /name/],
    ['a number', { 'X-A': 1 }, /string/],
    ['a list', { 'X-A': ['a', 'b'] }, /string/],
    ['a name twice', { 'X-A': '1', 'x-a': '2' }, /twice/],
    ['65 headers', Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, ''])), /64/],
    ['too many bytes', { 'x-a': 'a'.repeat(17_000) }, /16384/],
  ]
  for (const [title, headers, reason] of refused) {
    it(`refuses ${title}`, () => expect(refusal(headers)).to.match(reason))
  }

  it('refuse connection headers and those of the hub', () => {
    const names = `Connection Keep-Alive Proxy-Connection Proxy-Authorization TE Trailer Upgrade
      Transfer-Encoding Content-Length Expect Cookie Via Forwarded X-Forwarded-For X-Forwarded-Host
      X-Real-IP PAYMENT-SIGNATURE X-PAYMENT PAYMENT-RESPONSE X-Payment-Response Sec-Fetch-Site`
    for (const name of names.split(/\s+/))
      expect(refusal({ [name]: 'x' }), name).to.match(/may not/)
  })

  it('are returned in lower case, without Accept-Encoding', () => {
    expect(
      forwardableHeaders({
        Accept: 'text/csv',
        Authorization: 'Bearer sk-of-the-seller',
        'X-API-Key': 'k',
        'Accept-Encoding': 'gzip',
      }),
    ).to.deep.equal({
      accept: 'text/csv',
      authorization: 'Bearer sk-of-the-seller',
      'x-api-key': 'k',
    })
  })

  it('cause a typed error if they are invalid in any way', () => {
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.anything()), (any) => void refusal(any)))
  })
})

describe('forwarded headers', () => {
  it('A018 to a provider are an allow-list, without those named by Connection', () => {
    expect(
      relayableHeaders({
        authorization: 'Bearer ahk_abc',
        cookie: 'a=b',
        'x-forwarded-for': '1.2.3.4',
        'payment-signature': 'x',
        connection: 'close, X-Hop, Accept-Language',
        'x-hop': '1',
        'accept-language': 'de',
        accept: 'text/ahk_csv',
        'content-type': 'application/json',
        range: undefined,
      }),
    ).to.deep.equal({ 'content-type': 'application/json' })
  })

  it('A018 to a provider never tell what a proxy before the hub knows of the caller', () => {
    const names = `x-real-ip x-forwarded-for x-original-forwarded-for x-client-ip client-ip
      x-cluster-client-ip true-client-ip cf-connecting-ip cf-access-jwt-assertion fastly-client-ip
      fly-client-ip x-azure-clientip x-amzn-oidc-identity x-goog-authenticated-user-email`
    for (const name of names.split(/\s+/)) {
      expect(isRelayable(name), name).to.equal(false)
      expect(relayableHeaders({ [name]: '192.0.2.1' }, [name]), name).to.deep.equal({})
    }
    for (const name of ['x-lang', 'cf-access-client-id', 'x-client-version']) {
      expect(relayableHeaders({ [name]: 'a' }, [name]), name).to.deep.equal({ [name]: 'a' })
    }
  })

  it('to the caller contain no cookies, no framing and no headers of the hub', () => {
    expect(
      returnableHeaders({
        'content-type': 'text/csv',
        'content-length': '3',
        'transfer-encoding': 'chunked',
        'set-cookie': ['a=b', 'c=d'],
        'x-charged-microdollars': '0',
        'strict-transport-security': 'max-age=0',
        link: ['<a>; rel="next"', '<b>; rel="prev"'],
        etag: '"1"',
        connection: 'etag',
        'payment-response': 'e30=',
      }),
    ).to.deep.equal({
      'content-type': 'text/csv',
      link: '<a>; rel="next", <b>; rel="prev"',
      'payment-response': 'e30=',
    })
  })
})
