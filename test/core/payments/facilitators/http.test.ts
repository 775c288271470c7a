import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { Hex } from '../../../../core/payments/chain/asset.ts'
import {
  assertSupports,
  FacilitatorUnavailable,
} from '../../../../core/payments/facilitators/facilitator.ts'
import { httpFacilitator } from '../../../../core/payments/facilitators/http.ts'
import { NETWORK, type Stack } from '../stack.ts'
import { prepare, shop } from './fixture.ts'
import { answer, pays, type Services, startServices } from './mock-services.ts'

const OTHER_TOKEN = '0x00000000000000000000000000000000000000b0'

describe('a facilitator over HTTP', () => {
  let services: Services
  let stack: Stack
  before(async () => {
    services = await startServices(1_000)
    ;({ stack } = services)
  })
  after(() => services.stop())
  const buy: Services['buy'] = (...args) => services.buy(...args)

  describe('without a valid response leaves the outcome open', () => {
    const silences: Record<string, (res: ServerResponse) => unknown> = {
      'pending forever': (res) =>
        answer(res, { errorReason: 'settlement_pending', transaction: `0x${'e'.repeat(64)}` }),
      hanging: () => {},
      'dropping the connection': (res) => res.socket?.destroy(),
      'returning 500': (res) => answer(res, { errorReason: 'invalid_payload' }, 500),
      'returning a reason reserved for the hub': (res) =>
        answer(res, { errorReason: 'not_broadcast' }),
      'returning invalid JSON': (res) => res.end('success'),
      'returning another schema': (res) => res.end('{"success":"yes","transaction":7}'),
      'responding compressed': (res) => {
        res.setHeader('content-encoding', 'gzip')
        res.end(gzipSync(JSON.stringify({ success: true })))
      },
      'responding one byte at a time': (res) => {
        const drip = setInterval(() => res.write(' '), 50)
        res.on('close', () => clearInterval(drip))
      },
    }
    for (const [what, silence] of Object.entries(silences)) {
      it(what, async () => {
        const settled = await buy(silence)
        expect(settled).to.include({ outcome: 'pending', reason: 'settlement_pending' })
      })
    }
    it('responding with 50 MB, which are not read', async () => {
      const piece = Buffer.alloc(1_048_576, ' ')
      let taken = 0
      const { resolve, promise: closed } = Promise.withResolvers<void>()
      const settled = await buy(async (res) => {
        res.on('close', resolve)
        for (let i = 0; i < 50 && !res.destroyed; i++) {
          if (!res.write(piece)) await Promise.race([once(res, 'drain'), closed])
          taken = i + 1
        }
        res.end()
      })
      await closed
      expect(settled.outcome).to.equal('pending')
      expect(taken).to.be.below(25) // only what the sockets buffer
    })
    it('redirecting, which sends the payment to no other host', async () => {
      const heard: string[] = []
      const thief = await services.serve((body, res) => {
        heard.push(body)
        res.end(JSON.stringify({ success: true, transaction: `0x${'f'.repeat(64)}` }))
      })
      for (const status of [301, 302, 307, 308]) {
        const settled = await buy((res) => {
          res.writeHead(status, { location: `${thief.url}/settle` }).end()
        })
        expect(settled.outcome).to.equal('pending')
      }
      expect(heard).to.deep.equal([])
    })
  })

  describe('that is unreachable', () => {
    const dead = 'http://127.0.0.1:9'

    it('settles nothing definitely and verifies nothing', async () => {
      const offers = shop(stack, services.watched(dead))
      const args = await prepare(stack)
      const verified = await offers.verify(...args).catch((error: unknown) => error)
      expect(verified).to.be.instanceOf(FacilitatorUnavailable)
      const settled = await offers.settle(...args)
      expect(settled).to.include({ outcome: 'failed', reason: 'not_broadcast' })
    })
    it('leaves open a payment it received before', async () => {
      const args = await prepare(stack)
      const served = await services.service((res) => {
        res.on('finish', served.close) // it is sent again because it is pending
        answer(res, { errorReason: 'settlement_pending', transaction: `0x${'9'.repeat(64)}` })
      })
      const settled = await shop(stack, services.watched(served.url)).settle(...args)
      expect(settled.outcome).to.equal('pending')
    })
    it('gets no payment without authentication', async () => {
      let requestCount = 0
      const { url } = await services.service(() => requestCount++)
      const authHeaders = async () => Promise.reject(new Error('no key'))
      const offers = shop(stack, httpFacilitator({ url, authHeaders }))
      const settled = await offers.settle(...(await prepare(stack)))
      expect(settled).to.include({ outcome: 'failed', reason: 'not_broadcast' })
      expect(requestCount).to.equal(0)
    })
    it('gets authentication headers made for its URL', async () => {
      const { url } = await services.service((res) => pays(res, ''))
      const requests: unknown[] = []
      const authHeaders = async (...of: unknown[]) => {
        requests.push(of)
        return {}
      }
      const facilitator = httpFacilitator({ url: `${url}/`, authHeaders })
      await shop(stack, facilitator).settle(...(await prepare(stack)))
      await facilitator.getSupported()
      expect(requests).to.deep.equal([
        ['settle', { method: 'POST', url: `${url}/settle` }],
        ['supported', { method: 'GET', url: `${url}/supported` }],
      ])
    })
  })

  describe('is refused at startup', () => {
    const supported = async (body: object, own: readonly Hex[] = []): Promise<string> => {
      const { url, close } = await services.serve((_body, res) => res.end(JSON.stringify(body)))
      const check = assertSupports(httpFacilitator({ url }), NETWORK, own)
      const message = await check.then(() => 'fine').catch((error: Error) => error.message)
      close()
      return message
    }
    const kind = { x402Version: 2, scheme: 'exact', network: NETWORK }
    const signers = { 'eip155:*': ['0x00000000000000000000000000000000000000D0'] }

    it('unless it settles what the hub sells', async () => {
      expect(await supported({ kinds: [kind] })).to.equal('fine')
      expect(await supported({ kinds: [{ ...kind, extra: null }], signers })).to.equal('fine')
      const extra = { name: 'USD Coin', version: '2', assetTransferMethod: 'eip3009' }
      expect(await supported({ kinds: [{ ...kind, extra }] })).to.equal('fine')
    })
    for (const [what, change] of Object.entries({
      'another network': { network: 'eip155:84532' },
      'another scheme': { scheme: 'upto' },
      'another version': { x402Version: 1 },
      'another transfer method': { extra: { assetTransferMethod: 'permit2' } },
      'another token': { extra: { asset: OTHER_TOKEN } },
    })) {
      it(`if it settles on ${what}`, async () => {
        const message = await supported({ kinds: [{ ...kind, ...change }] })
        expect(message).to.match(/does not settle "exact" .* on eip155:8453, but \w+ v\d on eip155/)
      })
    }
    it('if it sends from a wallet of the hub', async () => {
      const own = ['0x00000000000000000000000000000000000000d0'] as const
      expect(await supported({ kinds: [kind], signers }, own)).to.match(/somebody else has its key/)
    })
    it('if its response is malformed', async () => {
      expect(await supported({ kinds: 'all' })).to.match(/malformed response to "supported"/)
    })
  })
})
