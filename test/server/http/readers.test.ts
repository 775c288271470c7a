import {
  checkEndpointSchema,
  checkL2ForOpenAPI,
  discoverOriginSchema,
  getOpenAPI,
  getWarningsForL2,
  isOpenApiParseFailure,
  validatePaymentRequiredDetailed,
} from '@agentcash/discovery'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { expect } from 'chai'
import { type LocalAccount, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../../core/clock.ts'
import { usd } from '../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { TRANSFER_TYPES } from '../../../core/payments/chain/authorization.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

interface Sold {
  /** Price in dollars. */
  readonly price: string
  /** Undefined for GET. */
  readonly input?: unknown
  /** Query of a GET, with its question mark. */
  readonly query?: string
  /** Minimum and maximum, if the price depends on the input. */
  readonly range?: string
  /** True if it requires a key. */
  readonly keyed?: true
}

const text = 'Jane Smith of Acme paid 20 EUR in Paris. The staff was lovely.'

/** Every route payable by x402, with an input. Add new ones here. */
const SOLD: Readonly<Record<string, Sold>> = {
  '/proxy/analysis/analyze': {
    price: '0.003000',
    input: { text, instructions: 'Summarize.', output_format: '{"summary": "text"}' },
  },
  '/proxy/analysis/classify': { price: '0.003000', input: { text, categories: ['food', 'law'] } },
  '/proxy/analysis/extract-entities': { price: '0.003000', input: { text } },
  '/proxy/analysis/sentiment': { price: '0.002000', input: { text } },
  '/proxy/echo/say': { price: '0.000100', input: { words: 'hello' } },
  '/proxy/magazine/fetch': {
    price: '0.005000',
    query: '?max_age=0&url=http://magazine.test/articles/bread',
    range: '0.000000-0.005000 USD',
  },
  '/proxy/tenders/v1/changes': { price: '0.050000' },
  '/proxy/tenders/v1/daily-action-brief': { price: '0.050000' },
  '/proxy/tenders/v1/feed': { price: '0.010000' },
  '/v1/credits/purchase': {
    price: '5.000000',
    input: { amount_microdollars: 5_000_000 },
    keyed: true,
  },
}

/** Sends a plain HTTP request. */
interface Shopping {
  readonly url: string
  readonly init: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
  }
}

/**
 * Pays with a third-party client, which reads the header of the 402. A buyer of credits raises its
 * own limit of 1 USD.
 */
const officially = (account: LocalAccount, { url, init }: Shopping): Promise<Response> => {
  const client = new x402Client()
    .register(USDC_BASE.network, new ExactEvmScheme(account))
    .setSpendControls({ maxAmountPerPayment: '$5' })
  return wrapFetchWithPayment(fetch, client)(url, init)
}

interface Offered {
  readonly x402Version: number
  readonly accepts: readonly {
    readonly scheme: string
    readonly network: string
    readonly asset: Hex
    readonly payTo: Hex
    readonly maxAmountRequired: string
    readonly maxTimeoutSeconds: number
    readonly extra: Readonly<Record<string, string>>
  }[]
}

/** Pays by the specification of x402 version 1 alone, which reads only the JSON of the 402. */
async function byBodyAlone(account: LocalAccount, { url, init }: Shopping): Promise<Response> {
  const unpaid = await fetch(url, init)
  if (unpaid.status !== 402) return unpaid
  const { x402Version, accepts } = (await unpaid.json()) as Offered
  const accepted = accepts.find((one) => one.scheme === 'exact' && one.network === 'base')!
  const { scheme, network, asset, payTo, maxAmountRequired, maxTimeoutSeconds, extra } = accepted
  const now = Math.floor(systemClock.now().getTime() / 1_000)
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(32)))
  const times = { validAfter: 0n, validBefore: BigInt(now + maxTimeoutSeconds) }
  const message = {
    from: account.address,
    to: payTo,
    value: BigInt(maxAmountRequired),
    ...times,
    nonce,
  }
  const signature = await account.signTypedData({
    domain: { ...extra, chainId: 8453, verifyingContract: asset },
    primaryType: 'TransferWithAuthorization',
    types: TRANSFER_TYPES,
    message,
  })
  const payload = { signature, authorization: message }
  const payment = { x402Version, scheme, network, payload }
  const json = JSON.stringify(payment, (_, one) => (typeof one === 'bigint' ? String(one) : one))
  const headers = { ...init.headers, 'X-PAYMENT': Buffer.from(json).toString('base64') }
  return fetch(url, { ...init, headers })
}

const BUYERS = {
  '@x402/fetch': officially,
  'a buyer of version 1, who reads bodies alone': byBodyAlone,
}

describe('outside readers of our offers', () => {
  const hub = useHub()
  const account = privateKeyToAccount(generatePrivateKey())
  let apiKey: string
  before(async () => {
    apiKey = (await hub().agent()).apiKey
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc: usd('11') })
  })

  const shopping = (path: string): Shopping => {
    const { input, keyed, query = '' } = SOLD[path]!
    const headers = {
      'content-type': 'application/json',
      ...(keyed ? { authorization: `Bearer ${apiKey}` } : {}),
    }
    const init =
      input === undefined
        ? { method: 'GET', headers }
        : { method: 'POST', headers, body: JSON.stringify(input) }
    return { url: `${hub().url}${path}${query}`, init }
  }
  const purse = () => hub().hub.paymentDeps.chain.balanceOf(account.address)

  for (const [name, buy] of Object.entries(BUYERS)) {
    describe(name, () => {
      for (const [path, { price }] of Object.entries(SOLD)) {
        it(`understands the 402 of ${path} and pays exactly its price`, async () => {
          const before = await purse()
          const answer = await buy(account, shopping(path))
          expect(answer.status, await answer.clone().text()).to.be.oneOf([200, 201])
          const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response')!)
          expect(receipt).to.include({ success: true, payer: account.address })
          expect(before - (await purse())).to.equal(usd(price))
        })
      }
    })
  }

  describe('the crawler @agentcash/discovery', () => {
    const price = (path: string) => {
      const { price, keyed, range } = SOLD[path]!
      if (range !== undefined) return range
      return keyed ? `${price}-10000.000000 USD` : `${price} USD`
    }

    it('finds every route that costs money, who may call it, its price, its protocol', async () => {
      const found = await discoverOriginSchema({ target: hub().url })
      if (!found.found) throw new Error(found.message)
      const paid = found.endpoints.filter(({ authMode = '' }) => authMode.endsWith('paid'))
      const read = paid.map((one) => [one.path, one.authMode, one.price, one.protocols])
      const sold = Object.keys(SOLD).map((path) => {
        const mode = SOLD[path]!.keyed ? 'apiKey+paid' : 'paid'
        return [path, mode, price(path), PROTOCOLS]
      })
      const external = ['/proxy/external', 'apiKey+paid', '0.000000-1.000000 USD', ['credits']]
      const topups = ['/v1/topups', 'paid', '5.000000-10000.000000 USD', PROTOCOLS]
      const pages = ['/proxy/magazine/pages', 'paid', '0.000000-0.005000 USD', PROTOCOLS]
      const batch = ['/proxy/magazine/batch', 'paid', '0.000000-0.250000 USD', PROTOCOLS]
      const license = ['/proxy/magazine/license.xml', 'paid', '0.000000-0.005000 USD', PROTOCOLS]
      const metered = ['/proxy/echo/repeat', 'paid', '0.000000-0.010000 USD', ['x402']]
      expect(read).to.have.deep.members([...sold, external, topups, pages, batch, license, metered])
    })

    it('has nothing to say against any route', async () => {
      const document = (await getOpenAPI(hub().url)).unwrapOr(null)
      if (!document || isOpenApiParseFailure(document)) throw new Error('not read')
      const warnings = getWarningsForL2(checkL2ForOpenAPI(document))
      // A hub has many routes, and agents search among them instead of reading all.
      expect(warnings.filter(({ code }) => code !== 'L2_ROUTE_COUNT_HIGH')).to.deep.equal([])
    })

    for (const [path, { price, keyed }] of Object.entries(SOLD)) {
      it(`finds the 402 of ${path} valid, with its price`, async () => {
        const { url, init } = shopping(path)
        const { authorization = '' } = init.headers
        const { headers } = await ask(url, url, {
          headers: keyed ? { authorization } : {},
          body: SOLD[path]!.input,
        })
        const offer = decodePaymentRequiredHeader(String(headers['payment-required']))
        const judged = validatePaymentRequiredDetailed(offer, keyed ? NO_SCHEMAS : {})
        expect(judged.issues.filter(({ severity }) => severity !== 'info')).to.deep.equal([])
        expect(judged.normalized?.accepts.map(({ amount }) => amount)).to.deep.equal([
          String(usd(price)),
        ])
        if (keyed) return
        const probed = await checkEndpointSchema({ url, probe: true })
        if (!probed.found) throw new Error(probed.message)
        const options = probed.advisories.flatMap((one) => one.paymentOptions ?? [])
        for (const protocol of PROTOCOLS) {
          const same = options.filter((option) => option.protocol === protocol)
          expect(same, 'of GET, or of POST, and of HEAD').to.have.length.within(1, 2)
          for (const option of same) expect(option).to.include({ amount: String(usd(price)) })
        }
      })
    }
  })
})

const PROTOCOLS = ['x402', 'mpp']

/** Purchases of credits are described by /openapi.json alone. */
const NO_SCHEMAS = { requireInputSchema: false, requireOutputSchema: false }
