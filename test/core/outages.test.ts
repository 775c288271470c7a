import { expect } from 'chai'
import { LedgerUnavailable } from '../../core/ledger/retry.ts'
import { createLog } from '../../core/log.ts'
import { type OutageOptions, Outages } from '../../core/outages.ts'
import { ChainUnavailable } from '../../core/payments/chain/chain.ts'
import { eventually } from '../support/eventually.ts'

type Line = Readonly<Record<string, unknown>>

const refused = (): Error => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })

function open(options: OutageOptions = {}) {
  const lines: Line[] = []
  const log = createLog('debug', { write: (line) => lines.push(JSON.parse(line) as Line) })
  return { lines, outages: new Outages(log, { checkMs: 5, settleMs: 50, ...options }) }
}

const hasStack = ({ err }: Line): boolean => (err as Line | undefined)?.['stack'] !== undefined

describe('an outage in the log', () => {
  it('is one line with a stack, however many failures it causes', () => {
    const { lines, outages } = open()
    for (let call = 0; call < 1_000; call++) {
      outages.fail('error', { err: refused(), call }, 'a call failed')
    }
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ component: 'database', call: 0, msg: 'a call failed', level: 50 })
    expect(hasStack(lines[0]!)).to.equal(true)
  })

  it('is counted once a minute', () => {
    let now = 0
    const { lines, outages } = open({ now: () => now })
    for (; now <= 180_000; now += 1_000) outages.fail('warn', { err: refused() }, 'a call failed')
    expect(lines.map(({ msg, failures }) => [msg, failures])).to.deep.equal([
      ['a call failed', undefined],
      ['still failing', 61],
      ['still failing', 121],
      ['still failing', 181],
    ])
  })

  it('logs each different error once, and its stack once', () => {
    const { lines, outages } = open()
    const errors = [refused(), new LedgerUnavailable('no ledger', { cause: refused() })]
    for (let round = 0; round < 10; round++) {
      for (const err of errors) outages.fail('error', { err }, 'a call failed')
      outages.fail('error', { err: refused(), job: 'x' }, 'a job failed')
      outages.fail('warn', { err: new ChainUnavailable(`block ${round}`) }, 'a job failed')
    }
    expect(lines.map((line) => [line['component'], line['msg'], hasStack(line)])).to.deep.equal([
      ['database', 'a call failed', true],
      ['database', 'a call failed', true],
      ['database', 'a job failed', false],
      ['blockchain node', 'a job failed', true],
    ])
    expect(lines[2]).to.include({ error: 'Error ECONNREFUSED connect' })
  })

  it('takes a bounded number of lines, whatever the errors say', () => {
    const { lines, outages } = open()
    for (let index = 0; index < 500; index++) {
      const err = `error ${'x'.repeat(index)}`
      outages.fail('warn', { err, component: 'index' }, 'failed to read an index')
    }
    expect(lines).to.have.length(20)
  })

  it('never hides an error of no known component', () => {
    const { lines, outages } = open()
    const err = new TypeError('a bug')
    for (let call = 0; call < 3; call++) outages.fail('error', { err, call }, 'a call failed')
    expect(lines.map(hasStack)).to.deep.equal([true, true, true])
    expect(lines.map(({ call }) => call)).to.deep.equal([0, 1, 2])
  })

  it('ends with one line when its check succeeds', async () => {
    const { lines, outages } = open()
    let isDown = true
    outages.addCheck('database', async () => {
      if (isDown) throw refused()
    })
    for (let call = 0; call < 7; call++) outages.fail('error', { err: refused() }, 'a call failed')
    isDown = false
    await eventually(() => lines.length > 1)
    expect(lines[1]).to.include({ component: 'database', failures: 7, seconds: 0, level: 40 })
    expect(lines[1]).to.include({ msg: 'available again' })
    outages.succeed('database')
    expect(lines).to.have.length(2)
  })

  it('ends with a success only if no failure follows', async () => {
    const { lines, outages } = open()
    const fail = () => outages.fail('warn', { err: 'refused', component: 'mail server' }, 'unsent')
    fail()
    outages.succeed('mail server')
    fail()
    outages.succeed('mail server')
    await eventually(() => lines.length > 1)
    expect(lines.map(({ msg }) => msg)).to.deep.equal(['unsent', 'available again'])
    expect(lines[1]).to.include({ failures: 2 })
  })

  it('that comes back soon is logged again, without the same stack', async () => {
    const { lines, outages } = open()
    const fail = () => outages.fail('error', { err: refused() }, 'a call failed')
    fail()
    outages.succeed('database')
    await eventually(() => lines.length === 2)
    fail()
    expect(lines.map(({ msg }) => msg)).to.deep.equal([
      'a call failed',
      'available again',
      'a call failed',
    ])
    expect(lines.map(hasStack)).to.deep.equal([true, false, false])
  })

  it('after which nothing was heard for ten minutes is over', () => {
    let now = 0
    const { lines, outages } = open({ now: () => now })
    for (; now <= 1_200_001; now += 600_000) outages.fail('warn', { err: refused() }, 'lost')
    expect(lines.map(hasStack)).to.deep.equal([true, true, true])
  })
})
