import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect } from 'chai'
import { createLog } from '../../../core/log.ts'
import { ConnectionGuard, type Requester } from '../../../server/http/connection-guard.ts'

const MIB = 1_048_576

describe('memory for a response that is being made', () => {
  const cut: string[] = []
  let guard: ConnectionGuard
  beforeEach(() => {
    cut.length = 0
    guard = new ConnectionGuard(createLog('silent'), { budgetBytes: 256 * MIB, sweepMs: 60_000 })
  })
  const open: ServerResponse[] = []
  afterEach(() => {
    for (const res of open.splice(0)) guard.forget(res)
  })

  /** Begins a request. */
  function request(name: string, requester: Requester, headers = {}): ServerResponse {
    const destroy = (): void => void cut.push(name)
    const socket = { bytesRead: 0, bytesWritten: 0, writableLength: 0, destroy }
    const req = { headers, socket } as unknown as IncomingMessage
    const res = { writableLength: 0, socket } as unknown as ServerResponse
    guard.watch(req, res, requester)
    open.push(res)
    return res
  }
  const reserve = (name: string, requester: Requester, mib: number): boolean =>
    guard.reserve(request(name, requester), mib * MIB)
  const keyed = (principal: string): Requester => ({ keyId: `key_${principal}`, principal })
  const paying = (principal: string): Requester => ({ ...keyed(principal), reserved: 1n })

  it('is refused beyond the share of those who pay nothing, and no equal is cut for it', () => {
    expect(reserve('a', {}, 40)).to.equal(true)
    expect(reserve('b', {}, 40), 'keyless, beyond a quarter').to.equal(false)
    expect(cut).to.deep.equal([])
    expect(reserve('c', keyed('c'), 100)).to.equal(true)
    expect(reserve('d', keyed('d'), 100), 'keyed, beyond half').to.equal(false)
    expect(cut).to.deep.equal(['a'])
  })

  it('is taken from those who hold more', () => {
    const greedy = [1, 2].map(() => request('greedy', keyed('greedy')))
    for (const res of greedy) expect(guard.reserve(res, 64 * MIB)).to.equal(true)
    expect(reserve('greedy', keyed('greedy'), 64)).to.equal(false)
    expect(reserve('modest', keyed('modest'), 64)).to.equal(true)
    expect(cut).to.deep.equal(['greedy'])
  })

  it('A141 is taken from the least deserving for those who pay', () => {
    expect(reserve('keyless', {}, 60)).to.equal(true)
    expect(reserve('keyed', keyed('a'), 60)).to.equal(true)
    expect(reserve('payer', paying('b'), 100)).to.equal(true)
    expect(cut).to.deep.equal([])
    expect(reserve('payer', paying('b'), 90)).to.equal(true)
    expect(cut).to.deep.equal(['keyless'])
    expect(reserve('payer', paying('b'), 60)).to.equal(true)
    expect(cut).to.deep.equal(['keyless', 'keyed'])
    expect(reserve('payer', paying('b'), 32), 'of the same payer').to.equal(false)
    expect(reserve('other', paying('c'), 32), 'of another one').to.equal(true)
    expect(cut).to.deep.equal(['keyless', 'keyed', 'payer'])
  })

  it('is given back if the response is shorter than expected', () => {
    const [first, second] = [1, 2].map((i) => request(`${i}`, keyed(`${i}`)))
    expect(guard.reserve(first!, 100 * MIB)).to.equal(true)
    expect(guard.reserve(second!, 100 * MIB)).to.equal(false)
    expect(guard.reserve(first!, 1 * MIB)).to.equal(true)
    expect(guard.reserve(second!, 100 * MIB)).to.equal(true)
  })

  it('is never taken from those who hold next to nothing', () => {
    for (let i = 0; i < 5; i++) request('small', {}, { 'content-length': '100' })
    expect(reserve('keyless', {}, 60)).to.equal(true)
    expect(reserve('payer', paying('a'), 256)).to.equal(false)
    expect(reserve('payer', paying('a'), 250)).to.equal(true)
    expect(cut).to.deep.equal(['keyless'])
  })

  it('counts bodies of requests until they are answered', () => {
    guard = new ConnectionGuard(createLog('silent'), { budgetBytes: 4 * MIB })
    const headers = { 'content-length': String(MIB / 2) }
    for (let i = 0; i < 3; i++) request(`${i}`, {}, headers)
    expect(cut, 'beyond a quarter').to.have.lengthOf(1)
  })
})
