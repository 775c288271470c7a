import { expect } from 'chai'
import {
  type Answer,
  base64,
  choose,
  header,
  type Json,
  none,
  OTHER,
  OURS,
  PAY_TO,
  refusal,
  USDC,
  V1,
  V2,
  v1,
  v2,
} from './offer-samples.ts'

describe('an offer', () => {
  it('of version 2 is read from the header', () => {
    expect(choose(v2([V2]))).to.deep.equal({
      version: 2,
      amount: 3_000n,
      payTo: PAY_TO,
      payToChanged: false,
      maxTimeoutSeconds: 300,
      flow: 'authorization',
      accepted: V2,
      resource: { url: 'https://seller.test/x' },
    })
  })

  it('of version 1 is read from the body', () => {
    expect(choose(v1([V1]))).to.include({ version: 1, amount: 2_000n, payTo: PAY_TO })
  })

  it('of version 2 is read from the body if there is no header', () => {
    const offered = choose(v1([V2], { x402Version: 2 }))
    expect(offered).to.include({ version: 2, amount: 3_000n, payTo: PAY_TO })
  })

  it('of version 1 may name the network as version 2 does', () => {
    expect(choose(v1([{ ...V1, network: 'eip155:8453' }]))).to.include({ version: 1 })
  })

  it('in both versions is read from the header', () => {
    const both = { ...v2([V2]), body: v1([V1]).body }
    expect(choose(both)).to.include({ version: 2, amount: 3_000n })
  })

  const good = v2([V2]).headers['payment-required']
  const unreadable: readonly [string, Answer, string][] = [
    ['no header and no body', { headers: {}, body: none }, 'no_offer'],
    ['a page', { headers: {}, body: Buffer.from('<html>pay me') }, 'no_offer'],
    ['JSON of another kind', { headers: {}, body: Buffer.from('{"error":"pay"}') }, 'no_offer'],
    ['version 3 in the body', v1([V2], { x402Version: 3 }), 'malformed_offer'],
    ['entries of version 1 as version 2', v1([V1], { x402Version: 2 }), 'network'],
    ['the header twice', header([good, good]), 'duplicate_offer'],
    ['two headers joined', header(`${good}, ${good}`), 'malformed_offer'],
    ['broken base64', header('!!!!'), 'malformed_offer'],
    ['an empty header', header(''), 'malformed_offer'],
    ['base64 of no JSON', header(Buffer.from('{"x').toString('base64')), 'malformed_offer'],
    ['broken base64 beside a good body', header('%', v1([V1]).body), 'malformed_offer'],
    [
      'a bare requirement (seen in the wild)',
      header(base64({ ...V2, amount: 40_000 })),
      'malformed_offer',
    ],
    [
      'version 1 in the header',
      header(base64({ x402Version: 1, accepts: [V1] })),
      'malformed_offer',
    ],
    ['version 3', header(base64({ x402Version: 3, accepts: [V2] })), 'malformed_offer'],
    ['accepts that is not a list', v2({ 0: V2 }), 'malformed_offer'],
    ['no entries', v2([]), 'no_offer'],
    ['entries that are not objects', v2([null, 1, 'x', [V2]]), 'malformed_offer'],
    ['101 entries', v2(Array.from({ length: 101 }, () => V2)), 'malformed_offer'],
    ['null', header(base64(null)), 'malformed_offer'],
    [
      'nesting that overflows the stack',
      header(Buffer.from(`${'['.repeat(40_000)}${']'.repeat(40_000)}`).toString('base64')),
      'malformed_offer',
    ],
  ]
  for (const [title, answer, reason] of unreadable) {
    it(`is refused: ${title}`, () => {
      expect(refusal(answer)).to.include({ code: 'upstream_payment_terms', reason })
    })
  }
})

describe('refused terms include', () => {
  const cases: readonly [string, Json, string][] = [
    ['scheme upto', { scheme: 'upto' }, 'scheme'],
    ['Permit2', { extra: { ...V2.extra, assetTransferMethod: 'permit2' } }, 'scheme'],
    ['escrow', { extra: { ...V2.extra, paymentFlow: 'escrow' } }, 'scheme'],
    ['A091 another network', { network: 'eip155:1' }, 'network'],
    ['the version 1 name of the network', { network: 'base' }, 'network'],
    ['A091 asset swap', { asset: OTHER }, 'asset'],
    ['asset by its name', { asset: 'USDC' }, 'asset'],
    ['A091 forged EIP-712 name', { extra: { name: 'USDC', version: '2' } }, 'domain'],
    ['forged EIP-712 version', { extra: { name: 'USD Coin', version: '1' } }, 'domain'],
    ['no EIP-712 domain', { extra: undefined }, 'domain'],
    ['dollars instead of units', { amount: '0.003' }, 'amount'],
    ['dollars with a sign', { amount: '$0.01' }, 'amount'],
    ['a number', { amount: 3_000 }, 'amount'],
    ['an exponent', { amount: '3e3' }, 'amount'],
    ['hexadecimal', { amount: '0xbb8' }, 'amount'],
    ['nothing', { amount: '0' }, 'amount'],
    ['a space', { amount: ' 3000' }, 'amount'],
    ['other digits', { amount: '３０００' }, 'amount'],
    ['no amount', { amount: undefined }, 'amount'],
    ['two amounts', { maxAmountRequired: '9000' }, 'amount'],
    ['no address', { payTo: undefined }, 'pay_to'],
    ['a name as address', { payTo: 'seller.eth' }, 'pay_to'],
    ['a wrong checksum', { payTo: PAY_TO.replace('d6dF', 'D6dF') }, 'pay_to'],
    ['the zero address', { payTo: `0x${'0'.repeat(40)}` }, 'pay_to'],
    ['the token itself', { payTo: USDC }, 'pay_to'],
    ['a wallet of the hub as payee', { payTo: OURS }, 'own_wallet'],
    ['a wallet of the hub in lower case', { payTo: OURS.toLowerCase() }, 'own_wallet'],
    ['A088 ten years', { maxTimeoutSeconds: 315_360_000 }, 'timeout'],
    ['more than a day', { maxTimeoutSeconds: 86_401 }, 'timeout'],
    ['too short to settle', { maxTimeoutSeconds: 9 }, 'timeout'],
    ['half seconds', { maxTimeoutSeconds: 60.5 }, 'timeout'],
    ['seconds as text', { maxTimeoutSeconds: '60' }, 'timeout'],
    ['a resource elsewhere', { resource: 'https://evil.test/x' }, 'resource'],
  ]
  for (const [title, change, reason] of cases) {
    it(title, () => {
      const error = refusal(v2([{ ...V2, ...change }]))
      expect(error).to.include({ code: 'upstream_payment_terms', reason })
    })
  }

  it('an offer for another host', () => {
    for (const url of ['https://evil.test/x', 'https://seller.test.evil.test/', '//evil.test', 7]) {
      const answer = v2([V2], { resource: { url } })
      if (url === '//evil.test') expect(choose(answer).amount).to.equal(3_000n)
      else expect(refusal(answer).reason, String(url)).to.equal('resource')
    }
    expect(refusal(v1([{ ...V1, resource: 'http://evil.test' }])).reason).to.equal('resource')
  })

  it('an offer that requires an extension', () => {
    const extensions = { 'sign-in-with-x': { info: { required: true } } }
    expect(refusal(v2([V2], { extensions })).reason).to.equal('extension')
    const optional = { bazaar: { info: { input: {} } }, 'sign-in-with-x': { info: {} } }
    expect(choose(v2([V2], { extensions: optional })).amount).to.equal(3_000n)
  })

  it('networks that are not Base, by their names if these are names', () => {
    const offered = (...networks: unknown[]) => v2(networks.map((network) => ({ ...V2, network })))
    const sentence = 'The seller does not accept payments on Base.'
    const { message } = refusal(offered('solana:5eykt', 'base', 7, 'pay <me>'))
    expect(message).to.equal(`${sentence} It offers solana:5eykt, base; Base is eip155:8453.`)
    expect(refusal(offered({})).message).to.equal(sentence)
  })

  it('A087 a price above the maximum, which is reported', () => {
    const error = refusal(v2([{ ...V2, amount: '990000' }]))
    expect(error).to.include({ code: 'price_exceeds_max', reason: 'above_max', price: 990_000n })
    expect(refusal(v2([V2]), { caps: [5_000n, 2_999n] })).to.include({
      code: 'price_exceeds_max',
      reason: 'above_cap',
      price: 3_000n,
    })
    expect(refusal(v2([{ ...V2, amount: '9'.repeat(78) }])).reason).to.equal('above_max')
  })

  it('the reason of the entry that got furthest', () => {
    const far = { ...V2, maxTimeoutSeconds: 1 }
    expect(refusal(v2([{ ...V2, scheme: 'upto' }, far, { ...V2, asset: OTHER }])).reason).to.equal(
      'timeout',
    )
  })
})

describe('accepted terms', () => {
  const amountOf = (...entries: Json[]) => choose(v2(entries)).amount

  it('are the cheapest in any position (price bait)', () => {
    const dear = { ...V2, amount: '9999' }
    expect(amountOf(dear, V2)).to.equal(3_000n)
    expect(amountOf({ ...V2, amount: '990000' }, V2)).to.equal(3_000n)
    expect(amountOf({ ...V2, amount: '20' }, { ...V2, amount: '3' })).to.equal(3n)
    expect(amountOf({ ...V2, amount: '1', asset: OTHER }, V2, V2)).to.equal(3_000n)
  })

  it('settle after the work if prices are equal', () => {
    const upfront = { ...V2, extra: { ...V2.extra, paymentFlow: 'upfront' } }
    expect(choose(v2([upfront, V2])).flow).to.equal('authorization')
    expect(choose(v2([upfront])).flow).to.equal('upfront')
  })

  it('may write addresses in any case', () => {
    const lower = { ...V2, asset: USDC.toLowerCase(), payTo: PAY_TO.toLowerCase() }
    expect(choose(v2([lower]))).to.include({ payTo: PAY_TO, amount: 3_000n })
    const sloppy = { ...V2, asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bda02913' }
    expect(choose(v2([sloppy])).amount).to.equal(3_000n)
  })

  it('may omit the resource or name one that is not a URL', () => {
    expect(choose(v2([V2], { resource: undefined })).amount).to.equal(3_000n)
    expect(choose(v1([{ ...V1, resource: 'reap-ai-v1' }])).amount).to.equal(2_000n)
    expect(choose(v1([{ ...V1, resource: '/x' }])).amount).to.equal(2_000n)
    const port = { resource: { url: 'http://Seller.test:3000/x' } }
    expect(choose(v2([V2], port)).amount).to.equal(3_000n)
  })

  it('are refused if the payee changed, unless the caller accepts the new one', () => {
    const knownPayTo = [OTHER]
    const accepted = choose(v2([V2]), { knownPayTo, acceptedPayTo: PAY_TO.toLowerCase() })
    expect(accepted.payToChanged).to.equal(true)
    for (const acceptedPayTo of [undefined, OTHER]) {
      const refused = refusal(v2([V2]), { knownPayTo, acceptedPayTo })
      expect(refused).to.include({ code: 'pay_to_changed', payTo: PAY_TO })
    }
    const both = v2([
      { ...V2, amount: '1' },
      { ...V2, payTo: OTHER },
    ])
    expect(choose(both, { knownPayTo }).payTo, 'the known one first').to.equal(OTHER)
    expect(choose(v2([V2]), { knownPayTo: [PAY_TO.toLowerCase()] }).payToChanged).to.equal(false)
  })

  it('cost at most the maximum', () => {
    expect(choose(v2([V2]), { maxAmount: 3_000n, caps: [3_000n] }).amount).to.equal(3_000n)
    expect(refusal(v2([V2]), { maxAmount: 2_999n }).reason).to.equal('above_max')
  })
})
