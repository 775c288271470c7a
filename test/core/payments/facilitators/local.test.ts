import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { request } from 'undici'
import {
  assertSupports,
  type Facilitator,
  FacilitatorUnavailable,
} from '../../../../core/payments/facilitators/facilitator.ts'
import { httpFacilitator } from '../../../../core/payments/facilitators/http.ts'
import { createOffers } from '../../../../core/payments/receiving/offers.ts'
import { authorizationOf } from '../../../support/authorization.ts'
import { NETWORK, type Stack, sign, startStack, USDC } from '../stack.ts'

const SALE = { amount: 3_000n, maxTimeoutSeconds: 60, resource: { url: 'https://hub.test/echo' } }

describe('facilitators', () => {
  let stack: Stack
  const closers: (() => void)[] = []
  before(async () => {
    stack = await startStack()
  })
  after(async () => {
    for (const close of closers) close()
    await stack.stop()
  })

  const prepare = async () => {
    const { offers, wallets } = stack
    const payment = offers.read(await sign(wallets.agent.account, offers.offer(SALE).required))
    return [payment, offers.requirements(SALE)] as const
  }
  const shop = (facilitator: Facilitator) =>
    createOffers({ facilitator, payTo: stack.payTo, network: NETWORK })
  const evidence = async ([payment]: Awaited<ReturnType<typeof prepare>>, tx: `0x${string}`) => {
    const { from, to, value, nonce } = authorizationOf(payment.payload)
    const transfer = { tx, token: USDC, from, to, value: BigInt(value), nonce }
    return (await stack.chain.transferEvidence(transfer)).found
  }
  const serve = async (
    handle: (body: string, res: ServerResponse, req: IncomingMessage) => void,
  ) => {
    const server = createServer((req, res) => {
      let body = ''
      req.on('data', (chunk) => {
        body += String(chunk)
      })
      req.on('end', () => handle(body, res, req))
    }).listen(0, '127.0.0.1')
    closers.push(() => {
      server.close()
      server.closeAllConnections()
    })
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  /** A proxy of the node, except for requests that `cut` handles. */
  const proxy = (
    cut: (body: string, res: ServerResponse, pass: () => Promise<string>) => boolean,
  ) =>
    serve((body, res) => {
      const pass = async () =>
        (await request(stack.rpcUrl, { method: 'POST', body, headers: JSON_TYPE })).body.text()
      if (cut(body, res, pass)) return
      void pass().then((text) => res.setHeader('content-type', 'application/json').end(text))
    })

  describe('local', () => {
    it('settles 20 concurrent payments by fewer transactions', async () => {
      const payments = await Promise.all(Array.from({ length: 20 }, prepare))
      const settled = await Promise.all(payments.map((args) => stack.offers.settle(...args)))
      expect(settled.map(({ outcome }) => outcome)).to.deep.equal(Array(20).fill('settled'))
      expect(new Set(settled.map(({ tx }) => tx)).size).to.be.within(1, 19)
      const seen = payments.map((args, i) => evidence(args, settled[i]!.tx!))
      expect(await Promise.all(seen)).to.deep.equal(Array(20).fill('confirmed'))
    })
    it('verifies 20 concurrent payments and reports what is wrong with the bad ones', async () => {
      const payments = await Promise.all(Array.from({ length: 20 }, prepare))
      for (const args of payments.slice(0, 3)) await stack.offers.settle(...args)
      const verified = await Promise.all(payments.map((args) => stack.offers.verify(...args)))
      const reasons = verified.map(({ valid, reason }) => (valid ? 'valid' : reason))
      const used = 'invalid_exact_evm_nonce_already_used'
      expect(reasons).to.deep.equal([used, used, used, ...Array(17).fill('valid')])
    })
    it('verifies payments beside those that cannot be encoded', async () => {
      const prepared = await Promise.all(Array.from({ length: 4 }, prepare))
      const changes = [
        {},
        { validAfter: `1${'0'.repeat(77)}` },
        { from: '0xABCDEFabcdef00000000000000000000000000AB' },
        { nonce: '0x12' },
      ]
      const verdicts = await Promise.allSettled(
        prepared.map(([payment, requirement], i) => {
          const authorization = { ...authorizationOf(payment.payload), ...changes[i] }
          const payload = { ...payment.payload, authorization } as typeof payment.payload
          return stack.offers.verify({ ...payment, payload }, requirement)
        }),
      )
      const valid = verdicts.map((each) => each.status === 'fulfilled' && each.value.valid)
      expect(valid).to.deep.equal([true, false, false, false])
    })
    it('sends a payment once that arrives alone and in a batch at the same time', async () => {
      const payments = await Promise.all(Array.from({ length: 5 }, prepare))
      const before = await stack.chain.balanceOf(stack.payTo)
      const twice = [...payments, ...payments, payments[0]!]
      const settled = await Promise.all(twice.map((args) => stack.offers.settle(...args)))
      expect(settled[0]).to.have.property('outcome', 'settled')
      expect(await stack.chain.balanceOf(stack.payTo)).to.equal(before + 5n * SALE.amount)
    })
    it('prepares one of several payments, and settles it alone without asking again', async () => {
      let estimates = 0
      const rpcUrl = await proxy((body) => {
        if (body.includes('eth_estimateGas')) estimates++
        return false
      })
      const offers = shop(stack.facilitatorWith({ rpcUrl }))
      const [first, ...others] = await Promise.all([prepare(), prepare(), prepare()])
      for (const args of [first, ...others]) offers.prepare(...args)
      expect((await offers.settle(...first)).outcome).to.equal('settled')
      expect(estimates, 'prepared').to.equal(1)
      const settled = await Promise.all(others.map((args) => offers.settle(...args)))
      expect(settled.map(({ outcome }) => outcome)).to.deep.equal(['settled', 'settled'])
      expect(estimates, 'not prepared').to.be.within(2, 3)
    })
    it('is not blocked by failing payments in a batch', async () => {
      const used = await Promise.all(Array.from({ length: 5 }, prepare))
      for (const args of used) await stack.offers.settle(...args)
      const fresh = await Promise.all(Array.from({ length: 5 }, prepare))
      const mixed = used.flatMap((args, i) => [args, fresh[i] ?? args])
      const outcomes = await Promise.all(mixed.map((args) => stack.offers.settle(...args)))
      expect(outcomes.filter(({ outcome }) => outcome === 'settled').length).to.equal(5)
      expect((await stack.offers.settle(...(await prepare()))).outcome).to.equal('settled')
    })
    it('returns pending with the hash if no block comes; the chain decides later', async () => {
      await stack.rpc('evm_setIntervalMining', 0)
      await stack.rpc('evm_setAutomine', false)
      const slow = shop(stack.facilitatorWith({ confirmationTimeoutMs: 100 }))
      const args = await prepare()
      const pending = await slow.settle(...args)
      expect(pending).to.include({ outcome: 'pending', reason: 'settlement_pending' })
      if (pending.tx === undefined) throw new Error('no hash')
      expect(await evidence(args, pending.tx)).to.equal('missing')
      await stack.rpc('evm_setAutomine', true)
      await stack.rpc('evm_mine')
      expect(await evidence(args, pending.tx)).to.equal('confirmed')
      expect(await slow.settle(...args)).to.include({ outcome: 'settled', tx: pending.tx })
    })
    it('settles although the node accepted the transaction without a response', async () => {
      const rpcUrl = await proxy((body, _res, pass) => {
        if (!body.includes('eth_sendRawTransaction')) return false
        void pass()
        return true
      })
      const args = await prepare()
      const facilitator = stack.facilitatorWith({ rpcUrl, rpcTimeoutMs: 1_500 })
      // It did arrive, so its receipt is there at once.
      const settled = await shop(facilitator).settle(...args)
      expect(settled.outcome).to.equal('settled')
      expect(await evidence(args, settled.tx ?? '0x')).to.equal('confirmed')
    })
    it('fails definitely if the node refuses the transaction, and sends the next one', async () => {
      let refusals = 0
      const rpcUrl = await proxy((body, res) => {
        if (refusals > 1 || !body.includes('eth_sendRawTransaction')) return false
        refusals++
        const { id } = JSON.parse(body)
        const error = { code: -32_000, message: 'txpool is full' }
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
        return true
      })
      const offers = shop(stack.facilitatorWith({ rpcUrl }))
      const args = await prepare()
      expect(await offers.settle(...args)).to.include({
        outcome: 'failed',
        reason: 'not_broadcast',
      })
      expect(await offers.settle(...args)).to.include({ outcome: 'settled' })
    })
    it('does not blame the payer if the node is down', async () => {
      const offers = shop(
        stack.facilitatorWith({ rpcUrl: 'http://127.0.0.1:9', rpcTimeoutMs: 300 }),
      )
      const args = await prepare()
      const verified = await offers.verify(...args).catch((error: unknown) => error)
      expect(verified).to.be.instanceOf(FacilitatorUnavailable)
      expect(await offers.settle(...args)).to.include({
        outcome: 'failed',
        reason: 'not_broadcast',
      })
    })
    it('sends nothing while its database is down, and says so', async () => {
      const down = () => Promise.reject(new Error('Connection terminated'))
      const pool = { query: down, connect: down } as unknown as Pool
      const offers = shop(stack.facilitatorWith({ pool }))
      const args = await prepare()
      const results = [await offers.settle(...args), await offers.settle(...args)]
      for (const { outcome, reason } of results) {
        expect({ outcome, reason }).to.deep.equal({ outcome: 'failed', reason: 'not_broadcast' })
      }
      expect(await stack.offers.settle(...args)).to.include({ outcome: 'settled' })
    })
    it('reports what it supports', async () => {
      await assertSupports(stack.facilitator, NETWORK)
      const { signers } = await stack.facilitator.getSupported()
      expect(signers).to.deep.equal({ 'eip155:*': [stack.facilitator.address] })
    })
  })

  describe('http', () => {
    const host = () =>
      serve((body, res, req) => {
        const { facilitator } = stack
        const { paymentPayload, paymentRequirements } = body === '' ? {} : JSON.parse(body)
        const answers: Record<string, () => Promise<unknown>> = {
          '/verify': () => facilitator.verify(paymentPayload, paymentRequirements),
          '/settle': () => facilitator.settle(paymentPayload, paymentRequirements),
          '/supported': () => facilitator.getSupported(),
        }
        res.statusCode = req.headers.authorization === `Bearer ${req.url}` ? 200 : 401
        void answers[req.url ?? '']?.().then((answer) => res.end(JSON.stringify(answer)))
      })
    const authHeaders = async (operation: string) => ({ Authorization: `Bearer /${operation}` })

    it('verifies and settles through a service', async () => {
      const facilitator = httpFacilitator({ url: `${await host()}/`, authHeaders })
      await assertSupports(facilitator, NETWORK)
      const offers = shop(facilitator)
      const args = await prepare()
      expect(await offers.verify(...args)).to.include({ valid: true })
      expect(await offers.settle(...args)).to.include({ outcome: 'settled' })
    })
    it('leaves the outcome open if the service does not respond', async () => {
      const url = await serve(() => {})
      const facilitator = httpFacilitator({ url, timeoutMs: 100 })
      const offers = shop(facilitator)
      const args = await prepare()
      const verified = await offers.verify(...args).catch((error: unknown) => error)
      expect(verified).to.be.instanceOf(FacilitatorUnavailable)
      const settled = await offers.settle(...args)
      expect(settled).to.include({ outcome: 'pending', reason: 'settlement_pending' })
      expect(settled.tx).to.equal(undefined)
      const supported = await assertSupports(facilitator, NETWORK).catch((error: unknown) => error)
      expect(supported).to.be.instanceOf(FacilitatorUnavailable)
    })
    it('leaves the outcome open for untrusted reasons', async () => {
      const tx = `0x${'a'.repeat(64)}`
      for (const [status, answer, outcome] of [
        [200, { success: false, errorReason: 'internal', transaction: '' }, 'pending'],
        [200, { success: false, errorReason: 'invalid_payload', transaction: tx }, 'pending'],
        [
          500,
          { success: false, errorReason: 'unexpected_settle_error', transaction: '' },
          'pending',
        ],
        [502, 'Bad gateway', 'pending'],
        [200, { success: true, transaction: '' }, 'pending'],
        [400, { success: false, errorReason: 'invalid_payload', transaction: '' }, 'failed'],
      ] as const) {
        const url = await serve((_body, res) => {
          res.statusCode = status
          res.end(
            JSON.stringify(typeof answer === 'string' ? answer : { ...answer, network: NETWORK }),
          )
        })
        const facilitator = httpFacilitator({ url })
        const offers = shop(facilitator)
        const settled = await offers.settle(...(await prepare()))
        expect(settled.outcome, JSON.stringify(answer)).to.equal(outcome)
      }
    })
    it('requires https or a loopback address', () => {
      expect(() => httpFacilitator({ url: 'http://facilitator.test' })).to.throw(TypeError)
    })
  })
})

const JSON_TYPE = { 'content-type': 'application/json' }
